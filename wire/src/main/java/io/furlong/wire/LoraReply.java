package io.furlong.wire;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.Map;
import java.util.Optional;

/**
 * Answer to loading and unloading an adapter: 200 if it worked, 400 otherwise.
 *
 * @param rid            always null, as is {@code httpWorkerIpc}: SGLang's messages between its processes show through
 * @param loadedAdapters path by name; absent when the request was refused before anything was tried
 */
@JsonInclude(JsonInclude.Include.ALWAYS)
public record LoraReply(Optional<String> rid, Optional<String> httpWorkerIpc, boolean success, Optional<String> errorMessage,
                        Optional<Map<String, String>> loadedAdapters) {
    public static LoraReply done(Map<String, String> loadedAdapters) {
        return new LoraReply(Optional.empty(), Optional.empty(), true, Optional.empty(), Optional.of(loadedAdapters));
    }

    public static LoraReply failed(String message) {
        return new LoraReply(Optional.empty(), Optional.empty(), false, Optional.of(message), Optional.empty());
    }

    public static LoraReply failed(String message, Map<String, String> loadedAdapters) {
        return new LoraReply(Optional.empty(), Optional.empty(), false, Optional.of(message), Optional.of(loadedAdapters));
    }
}
