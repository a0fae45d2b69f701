package io.furlong.control.config;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Parsed JSON of a request as nodes; places have no lines. */
public final class JsonBody {
    private JsonBody() {}

    /** @throws ConfigErrors when it is not an object */
    public static ConfigNode.Mapping of(JsonNode json, Source.Body source) {
        Place place = new Place(source, 0);
        if (node(json, place) instanceof ConfigNode.Mapping mapping) {
            return mapping;
        }
        throw new ConfigErrors(List.of(place.name("") + ": got " + node(json, place).shown() + ", must be an object"));
    }

    private static ConfigNode node(JsonNode json, Place place) {
        return switch (json.getNodeType()) {
            case OBJECT -> {
                Map<String, ConfigNode> entries = new LinkedHashMap<>();
                json.properties().forEach(e -> entries.put(e.getKey(), node(e.getValue(), place)));
                yield new ConfigNode.Mapping(place, entries);
            }
            case ARRAY -> {
                List<ConfigNode> items = new ArrayList<>();
                json.forEach(item -> items.add(node(item, place)));
                yield new ConfigNode.Items(place, items);
            }
            case NUMBER -> {
                Number value;
                if (!json.isIntegralNumber()) {
                    value = json.doubleValue();
                } else if (json.canConvertToLong()) {
                    value = json.longValue();
                } else {
                    value = json.bigIntegerValue();
                }
                yield new ConfigNode.Num(place, value);
            }
            case BOOLEAN -> new ConfigNode.Bool(place, json.booleanValue());
            case NULL, MISSING -> new ConfigNode.Nothing(place);
            case STRING, BINARY, POJO -> new ConfigNode.Text(place, json.asText());
        };
    }
}
