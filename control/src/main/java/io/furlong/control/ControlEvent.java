package io.furlong.control;

import java.time.Instant;
import java.util.Map;

/**
 * Something that happened, in the order in which it became durable.
 *
 * @param id           rises by one with each event of the store; 0 until it is stored
 * @param tenant       who may see it
 * @param registration 32 hex digits
 * @param kind         one word, such as {@code registered}, {@code committed}, {@code in_force}, {@code failed}
 * @param detail       JSON-like values
 */
public record ControlEvent(long id, Instant at, String tenant, String adapter, String registration, String kind,
                           Map<String, Object> detail) {
    public ControlEvent {
        detail = Map.copyOf(detail);
    }

    public ControlEvent withId(long stored) {
        return new ControlEvent(stored, at, tenant, adapter, registration, kind, detail);
    }
}
