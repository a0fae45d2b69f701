package io.furlong.wire;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * {@code POST /load_lora_adapter}.
 *
 * @param loraName       the name that requests select it by
 * @param loraPath       a PEFT directory that the server sees
 * @param pinned         never unloaded to make room
 * @param upsert         replaces the weights of a loaded name in place (servers that announce it only)
 * @param version        our number of these weights, reported in {@code meta_info.lora_versions}
 * @param expectedDigest SHA-256 the weights must have (servers that announce upsert only)
 */
@JsonInclude(JsonInclude.Include.NON_EMPTY)
public record LoadLoraRequest(String loraName, String loraPath, @JsonInclude(JsonInclude.Include.NON_DEFAULT) boolean pinned,
                              @JsonInclude(JsonInclude.Include.NON_DEFAULT) boolean upsert, OptionalLong version, Optional<String> expectedDigest) {
    public LoadLoraRequest {
        RequiredField.check("lora_name", loraName);
        RequiredField.check("lora_path", loraPath);
    }

    public static LoadLoraRequest of(String name, String path) {
        return new LoadLoraRequest(name, path, false, false, OptionalLong.empty(), Optional.empty());
    }

    /** Replaces what {@code name} serves, or loads it if nothing does. */
    public static LoadLoraRequest upsert(String name, String path, long version) {
        return new LoadLoraRequest(name, path, false, true, OptionalLong.of(version), Optional.empty());
    }

    public LoadLoraRequest expecting(String digest) {
        return new LoadLoraRequest(loraName, loraPath, pinned, upsert, version, Optional.of(digest));
    }
}
