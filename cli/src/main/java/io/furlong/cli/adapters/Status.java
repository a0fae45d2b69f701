package io.furlong.cli.adapters;

import com.fasterxml.jackson.databind.JsonNode;
import io.furlong.cli.report.LiveLine;
import io.furlong.core.AdapterState;
import java.util.Locale;
import java.util.OptionalDouble;

/** One adapter as the API shows it. */
record Status(JsonNode json) {
    String name() {
        return json.path("name").asText();
    }

    AdapterState phase() {
        return AdapterState.valueOf(json.path("phase").asText());
    }

    String progress() {
        String target = json.path("target_step").isInt() ? "/" + json.path("target_step").asText() : "";
        return json.path("step").asText() + target;
    }

    String version() {
        return json.path("version").isNumber() ? json.path("version").asText() : "–";
    }

    /** @param figures what was recorded last, by name */
    LiveLine live(JsonNode figures) {
        JsonNode reward = figures.path("reward_mean");
        return new LiveLine(name(), phase(), json.path("step").asLong(), json.path("target_step").asLong(0),
                reward.isNumber() ? OptionalDouble.of(reward.doubleValue()) : OptionalDouble.empty(), figures.path("staleness_max").asInt(0),
                json.path("version").asLong(0), json.path("generated_tokens").asLong());
    }

    /** One line about it. */
    String line() {
        return name() + ": " + phase().name().toLowerCase(Locale.ROOT) + ", step " + progress() + ", version " + version()
                + (json.path("reason").asText().isEmpty() ? "" : ", " + json.path("reason").asText());
    }
}
