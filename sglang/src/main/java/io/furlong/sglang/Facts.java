package io.furlong.sglang;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.furlong.wire.ModelList;
import io.furlong.wire.ServerInfo;
import io.furlong.wire.WireJson;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;

/** Asks an engine what it is, from the two pages that say it. */
final class Facts {
    private Facts() {}

    static EngineFacts ask(SglangClient client, Duration deadline) throws EngineException, InterruptedException {
        JsonNode settings = client.settings(deadline);
        try {
            ServerInfo info = WireJson.mapper().treeToValue(settings, ServerInfo.class);
            Optional<String> dtype = settings.path("dtype").isTextual() ? Optional.of(settings.path("dtype").textValue()) : Optional.empty();
            OptionalInt length = OptionalInt.empty();
            for (ModelList.Card card : client.models(deadline).data()) {
                if (card.parent().isEmpty() && length.isEmpty()) {
                    length = card.maxModelLen();
                }
            }
            return EngineFacts.of(info, dtype, length);
        } catch (JsonProcessingException e) {
            throw new EngineException(EngineException.Kind.UNREADABLE, client + ": /server_info has an unexpected shape: " + e.getOriginalMessage(), e);
        }
    }
}
