package io.furlong.rollout;

import io.furlong.core.AdapterConfig;
import io.furlong.core.DataConfig;
import io.furlong.core.PromptSource;

/** Opens datasets. */
@FunctionalInterface
public interface PromptSources {
    /**
     * Blocks while the file is read and checked.
     *
     * @param data what to read: the adapter's training data, or its evaluation data
     * @throws io.furlong.rollout.data.DatasetException one line that names the file, and line and column where there is one
     */
    PromptSource open(String adapter, AdapterConfig config, DataConfig data);
}
