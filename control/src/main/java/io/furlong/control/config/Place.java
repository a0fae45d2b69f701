package io.furlong.control.config;

/**
 * One spot in a source.
 *
 * @param line from 1; 0 where lines mean nothing
 */
public record Place(Source source, int line) {
    /** {@code adapters/gsm8k.yaml:12: sampling.temperature}, or {@code config.sampling.temperature} for a body. */
    String name(String key) {
        return switch (source) {
            case Source.File file -> file.shown() + (line > 0 ? ":" + line : "") + (key.isEmpty() ? "" : ": " + key);
            case Source.Body body when body.prefix().isEmpty() -> key.isEmpty() ? "body" : key;
            case Source.Body body -> key.isEmpty() ? body.prefix() : body.prefix() + "." + key;
        };
    }
}
