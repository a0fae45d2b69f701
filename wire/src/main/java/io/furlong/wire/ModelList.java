package io.furlong.wire;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** {@code GET /v1/models}: the base model and every registered adapter. */
public record ModelList(String object, List<Card> data) {
    /**
     * @param id          adapter name, or the base model's served name
     * @param root        adapter path, or the base model's
     * @param parent      the base model's served name, for adapters
     * @param maxModelLen absent for adapters
     */
    @JsonInclude(JsonInclude.Include.ALWAYS)
    public record Card(String id, String object, OptionalLong created, String ownedBy, Optional<String> root, Optional<String> parent,
                       OptionalInt maxModelLen) {}
}
