package io.furlong.sglang.testing;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.sglang.ModelShape;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;

/** Adapter directories of a tiny model, whose weights file also says what effect the adapter has in {@link HashModel}. */
public final class AdapterFiles {
    public static final int HIDDEN = 16;
    public static final int LAYERS = 2;
    /** A and B of two linear layers, float32. */
    public static final int BYTES_A_RANK = LAYERS * 2 * 2 * HIDDEN * 4;
    /** The tiny model. */
    public static final ModelShape SHAPE = new ModelShape(LAYERS, HashModel.VOCAB, 4096, Map.of("q_proj", new ModelShape.Linear(HIDDEN, HIDDEN),
            "k_proj", new ModelShape.Linear(HIDDEN, HIDDEN), "v_proj", new ModelShape.Linear(HIDDEN, HIDDEN), "o_proj", new ModelShape.Linear(HIDDEN, HIDDEN)));
    private static final ObjectMapper JSON = new ObjectMapper();

    private AdapterFiles() {}

    /** Writes a directory that every check accepts: q_proj and v_proj of both layers, all zeros. */
    public static void write(Path directory, int rank, double effect, String salt) throws IOException {
        Files.createDirectories(directory);
        Files.writeString(directory.resolve("adapter_config.json"), "{\"peft_type\":\"LORA\",\"r\":" + rank + ",\"lora_alpha\":" + rank
                + ",\"target_modules\":[\"q_proj\",\"v_proj\"],\"use_rslora\":false,\"use_dora\":false,\"rank_pattern\":{},\"alpha_pattern\":{}}");
        ObjectNode header = JSON.createObjectNode();
        header.putObject("__metadata__").put("effect", Double.toString(effect)).put("salt", salt);
        int offset = 0;
        for (int layer = 0; layer < LAYERS; layer++) {
            for (String name : new String[] {"q_proj", "v_proj"}) {
                offset = tensor(header, layer, name + ".lora_A", rank, HIDDEN, offset);
                offset = tensor(header, layer, name + ".lora_B", HIDDEN, rank, offset);
            }
        }
        byte[] head = header.toString().getBytes(StandardCharsets.UTF_8);
        ByteBuffer file = ByteBuffer.allocate(8 + head.length + offset).order(ByteOrder.LITTLE_ENDIAN);
        file.putLong(head.length).put(head);
        Files.write(directory.resolve("adapter_model.safetensors"), file.array());
    }

    private static int tensor(ObjectNode header, int layer, String name, int rows, int columns, int offset) {
        int end = offset + rows * columns * 4;
        ObjectNode one = header.putObject("base_model.model.model.layers." + layer + ".self_attn." + name + ".weight").put("dtype", "F32");
        one.putArray("shape").add(rows).add(columns);
        one.putArray("data_offsets").add(offset).add(end);
        return end;
    }

    /** What an engine that reads the directory finds. @throws IOException if it is not there or can't be read */
    public static HashModel.Delta read(Path directory) throws IOException {
        byte[] bytes = Files.readAllBytes(directory.resolve("adapter_model.safetensors"));
        int length = (int) ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getLong();
        JsonNode meta = JSON.readTree(bytes, 8, length).path("__metadata__");
        return new HashModel.Delta(digest(bytes), Double.parseDouble(meta.path("effect").asText("0")));
    }

    public static String digest(byte[] bytes) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
