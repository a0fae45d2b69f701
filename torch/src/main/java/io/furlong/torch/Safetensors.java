package io.furlong.torch;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Tensors by name, memory-mapped from one {@code .safetensors} file or from the shards that an index lists.
 * Format: 8 bytes header length (little endian), a JSON header, then the data (https://huggingface.co/docs/safetensors).
 *
 * <p>{@link #floats} and {@link #longs} copy out of the mapping, so tensors outlive this object.
 */
public final class Safetensors implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int LARGEST_HEADER = 100_000_000;

    private final Path source;
    private final Arena arena = Arena.ofShared();
    private final SequencedMap<String, Entry> entries = new LinkedHashMap<>();

    private record Entry(Path file, ScalarType type, long[] shape, MemorySegment bytes) {}

    private Safetensors(Path source) {
        this.source = source;
    }

    /** Opens one file. */
    public static Safetensors open(Path file) {
        Safetensors tensors = new Safetensors(file);
        try {
            tensors.map(file);
            return tensors;
        } catch (RuntimeException e) {
            tensors.close();
            throw e;
        }
    }

    /** Opens {@code model.safetensors} of a directory, or the shards that {@code model.safetensors.index.json} lists. */
    public static Safetensors openModel(Path directory) {
        Path single = directory.resolve("model.safetensors");
        Path index = directory.resolve("model.safetensors.index.json");
        if (Files.exists(single)) {
            return open(single);
        }
        if (!Files.exists(index)) {
            throw new CheckpointException(directory + ": neither model.safetensors nor model.safetensors.index.json is there");
        }
        Safetensors tensors = new Safetensors(index);
        try {
            tensors.mapShards(directory, index);
            return tensors;
        } catch (RuntimeException e) {
            tensors.close();
            throw e;
        }
    }

    /** Names, in file order. */
    public Set<String> names() {
        return entries.sequencedKeySet();
    }

    /** The file or index these tensors come from. */
    public Path source() {
        return source;
    }

    /** Shape of the tensor {@code name}. */
    public long[] shape(String name) {
        return entry(name).shape.clone();
    }

    /** The tensor {@code name} (F32, BF16 or F16) as a new float32 tensor of the current scope; {@code shape}, where given, must be its shape. */
    public Tensor floats(String name, long... shape) {
        Entry entry = entry(name);
        if (shape.length > 0 && !Arrays.equals(shape, entry.shape)) {
            throw new CheckpointException(entry.file + ": tensor " + name + " has shape " + Arrays.toString(entry.shape) + ", must be " + Arrays.toString(shape));
        }
        return copy(name, entry, ScalarType.Float, ScalarType.Float, ScalarType.BFloat16, ScalarType.Half);
    }

    /** The tensor {@code name} (I64) as a new int64 tensor of the current scope. */
    public Tensor longs(String name) {
        return copy(name, entry(name), ScalarType.Long, ScalarType.Long);
    }

    @Override
    public void close() {
        arena.close();
    }

    private Tensor copy(String name, Entry entry, ScalarType wanted, ScalarType... accepted) {
        if (!Arrays.asList(accepted).contains(entry.type)) {
            throw new CheckpointException(entry.file + ": tensor " + name + " has type " + spelled(entry.type) + ", must be "
                    + String.join(" or ", Arrays.stream(accepted).map(Safetensors::spelled).toList()));
        }
        Torch.ready();
        try (Scope scope = new Scope(); TensorOptions options = new TensorOptions(entry.type)) {
            if (entry.bytes.byteSize() == 0) {
                return scope.give(torch.zeros(entry.shape, new TensorOptions(wanted)));
            }
            Tensor mapped = torch.from_blob(new Mapped(entry.bytes), entry.shape, options);
            return scope.give(entry.type == wanted ? mapped.clone() : mapped.to(wanted));
        }
    }

    private Entry entry(String name) {
        Entry entry = entries.get(name);
        if (entry == null) {
            throw new CheckpointException(source + ": tensor " + name + " is missing");
        }
        return entry;
    }

    private void mapShards(Path directory, Path index) {
        JsonNode weightMap;
        try {
            weightMap = JSON.readTree(index.toFile()).path("weight_map");
        } catch (IOException e) {
            throw new CheckpointException(index + ": not valid JSON", e);
        }
        if (!weightMap.isObject()) {
            throw new CheckpointException(index + ": weight_map is missing");
        }
        List<String> files = new ArrayList<>();
        weightMap.forEach(file -> {
            if (!files.contains(file.asText())) {
                files.add(file.asText());
            }
        });
        for (String file : files) {
            if (file.contains("/") || file.contains("..")) {
                throw new CheckpointException(index + ": shard \"" + file + "\" must be a file of the same directory");
            }
            map(directory.resolve(file));
        }
        weightMap.properties().forEach(named -> {
            Entry entry = entries.get(named.getKey());
            if (entry == null || !entry.file.getFileName().toString().equals(named.getValue().asText())) {
                throw new CheckpointException(directory.resolve(named.getValue().asText()) + ": tensor " + named.getKey() + " is missing, but the index places it there");
            }
        });
    }

    private void map(Path file) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            long size = channel.size();
            if (size < 8) {
                throw new CheckpointException(file + ": has " + size + " bytes, too short for a safetensors file");
            }
            MemorySegment all = channel.map(FileChannel.MapMode.READ_ONLY, 0, size, arena);
            long headerLength = all.asSlice(0, 8).asByteBuffer().order(ByteOrder.LITTLE_ENDIAN).getLong();
            if (headerLength < 2 || headerLength > LARGEST_HEADER || headerLength > size - 8) {
                throw new CheckpointException(file + ": header length " + headerLength + " does not fit a file of " + size + " bytes; truncated, or not a safetensors file");
            }
            byte[] json = all.asSlice(8, headerLength).toArray(java.lang.foreign.ValueLayout.JAVA_BYTE);
            MemorySegment data = all.asSlice(8 + headerLength);
            for (Iterator<Map.Entry<String, JsonNode>> it = header(file, json).properties().iterator(); it.hasNext(); ) {
                Map.Entry<String, JsonNode> named = it.next();
                if (!named.getKey().equals("__metadata__")) {
                    add(file, named.getKey(), named.getValue(), data);
                }
            }
        } catch (IOException e) {
            throw new CheckpointException(file + ": " + (Files.exists(file) ? "cannot be read: " + e.getMessage() : "no such file"), e);
        }
    }

    private static JsonNode header(Path file, byte[] json) {
        try {
            JsonNode header = JSON.readTree(json);
            if (header != null && header.isObject()) {
                return header;
            }
        } catch (IOException e) {
            throw new CheckpointException(file + ": header is not valid JSON", e);
        }
        throw new CheckpointException(file + ": header is not a JSON object");
    }

    private void add(Path file, String name, JsonNode tensor, MemorySegment data) {
        JsonNode offsets = tensor.path("data_offsets");
        JsonNode dimensions = tensor.path("shape");
        if (!dimensions.isArray() || offsets.size() != 2 || !offsets.get(0).isIntegralNumber() || !offsets.get(1).isIntegralNumber()) {
            throw new CheckpointException(file + ": tensor " + name + " needs dtype, shape and two data_offsets in the header");
        }
        ScalarType type = switch (tensor.path("dtype").asText()) {
            case "F64" -> ScalarType.Double;
            case "F32" -> ScalarType.Float;
            case "F16" -> ScalarType.Half;
            case "BF16" -> ScalarType.BFloat16;
            case "I64" -> ScalarType.Long;
            case "I32" -> ScalarType.Int;
            case "U8" -> ScalarType.Byte;
            case "BOOL" -> ScalarType.Bool;
            default -> throw new CheckpointException(file + ": tensor " + name + " has type " + tensor.path("dtype").asText() + ", must be F32, BF16 or F16");
        };
        long begin = offsets.get(0).asLong();
        long end = offsets.get(1).asLong();
        if (begin < 0 || end < begin || end > data.byteSize()) {
            throw new CheckpointException(file + ": tensor " + name + " lies at bytes " + begin + " to " + end + " of the data, but the file holds "
                    + data.byteSize() + "; the file is truncated");
        }
        long[] shape = new long[dimensions.size()];
        long bytes = width(type);
        for (int i = 0; i < shape.length; i++) {
            shape[i] = dimensions.get(i).asLong(-1);
            if (shape[i] < 0 || (shape[i] > 0 && bytes > Long.MAX_VALUE / shape[i])) {
                throw new CheckpointException(file + ": tensor " + name + " has the impossible shape " + dimensions);
            }
            bytes *= shape[i];
        }
        if (bytes != end - begin) {
            throw new CheckpointException(file + ": tensor " + name + " of shape " + dimensions + " takes " + bytes + " bytes, but its offsets span " + (end - begin));
        }
        if (entries.put(name, new Entry(file, type, shape, data.asSlice(begin, end - begin))) != null) {
            throw new CheckpointException(file + ": tensor " + name + " is there twice");
        }
    }

    private static int width(ScalarType type) {
        return switch (type) {
            case Double, Long -> 8;
            case Float, Int -> 4;
            case Half, BFloat16 -> 2;
            default -> 1;
        };
    }

    private static String spelled(ScalarType type) {
        return switch (type) {
            case Double -> "F64";
            case Float -> "F32";
            case Half -> "F16";
            case BFloat16 -> "BF16";
            case Long -> "I64";
            case Int -> "I32";
            case Byte -> "U8";
            default -> "BOOL";
        };
    }

    /**
     * Writes {@code tensors} (float32 or int64, any strides) to a new file, in the map's order, and forces it to disk.
     *
     * @param metadata free text under {@code __metadata__}; transformers wants {@code format: pt}
     */
    public static void write(Path file, SequencedMap<String, Tensor> tensors, Map<String, String> metadata) {
        ObjectNode header = JSON.createObjectNode();
        ObjectNode meta = header.putObject("__metadata__");
        metadata.forEach(meta::put);
        long offset = 0;
        for (Map.Entry<String, Tensor> named : tensors.entrySet()) {
            Tensor tensor = named.getValue();
            ScalarType type = tensor.scalar_type().intern();
            if (type != ScalarType.Float && type != ScalarType.Long) {
                throw new IllegalArgumentException("tensor " + named.getKey() + " has type " + type + ", must be float32 or int64");
            }
            ObjectNode entry = header.putObject(named.getKey()).put("dtype", spelled(type));
            for (long dimension : tensor.shape()) {
                entry.withArray("shape").add(dimension);
            }
            if (tensor.dim() == 0) {
                entry.putArray("shape");
            }
            entry.putArray("data_offsets").add(offset).add(offset + tensor.nbytes());
            offset += tensor.nbytes();
        }
        byte[] json = header.toString().getBytes(StandardCharsets.UTF_8);
        byte[] padded = Arrays.copyOf(json, (json.length + 7) / 8 * 8);
        Arrays.fill(padded, json.length, padded.length, (byte) ' ');
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            writeFully(channel, ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(padded.length).flip());
            writeFully(channel, ByteBuffer.wrap(padded));
            for (Tensor tensor : tensors.values()) {
                try (Scope scope = new Scope()) {
                    MemorySegment bytes = Tensors.memory(tensor.contiguous());
                    for (long at = 0; at < bytes.byteSize(); at += 1 << 30) {
                        writeFully(channel, bytes.asSlice(at, Math.min(1 << 30, bytes.byteSize() - at)).asByteBuffer());
                    }
                }
            }
            channel.force(true);
        } catch (IOException e) {
            throw new UncheckedIOException(file + ": cannot be written: " + e.getMessage(), e);
        }
    }

    private static void writeFully(FileChannel channel, ByteBuffer buffer) throws IOException {
        while (buffer.hasRemaining()) {
            channel.write(buffer);
        }
    }

    /** A pointer into the mapping, without ownership. */
    private static final class Mapped extends BytePointer {
        Mapped(MemorySegment segment) {
            super((Pointer) null);
            address = segment.address();
            limit = segment.byteSize();
            capacity = limit;
        }
    }
}
