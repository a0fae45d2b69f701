package io.furlong.wire;

/** {@code POST /unload_lora_adapter}. */
public record UnloadLoraRequest(String loraName) {
    public UnloadLoraRequest {
        RequiredField.check("lora_name", loraName);
    }
}
