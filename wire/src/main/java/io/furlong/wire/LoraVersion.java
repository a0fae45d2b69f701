package io.furlong.wire;

import com.fasterxml.jackson.annotation.JsonFormat;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;

/**
 * {@code [first output token, version]}: from this output token on, these weights of an adapter that is replaced in place made the tokens.
 *
 * @param fromToken zero-based
 * @param version   as given with the upsert, otherwise the engine's own number of that load
 */
@JsonFormat(shape = JsonFormat.Shape.ARRAY)
@JsonPropertyOrder({"from_token", "version"})
public record LoraVersion(int fromToken, long version) {}
