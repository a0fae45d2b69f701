package io.furlong.core;

import java.util.List;

/** Problems of an adapter's configuration that one room can see; registration asks all of them. */
public interface ConfigCheck {
    /** One line a problem; empty when there is none. Must not change anything. */
    List<String> problems(String adapter, AdapterConfig config);
}
