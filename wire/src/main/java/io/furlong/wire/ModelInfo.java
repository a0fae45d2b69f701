package io.furlong.wire;

import java.util.List;
import java.util.Optional;

/** {@code GET /model_info}. */
public record ModelInfo(String modelPath, Optional<String> servedModelName, Optional<String> tokenizerPath, boolean isGeneration,
                        Optional<String> weightVersion, Optional<String> modelType, Optional<List<String>> architectures) {}
