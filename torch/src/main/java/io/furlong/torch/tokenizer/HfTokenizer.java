package io.furlong.torch.tokenizer;

import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.furlong.core.Tokenizer;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;

/**
 * The tokenizer of a model directory: Hugging Face's own code, so the ids are those that SGLang gets from the same files.
 *
 * <p>Special tokens: {@link #encode} lets the tokenizer's post-processor add them (a BOS, where the model has one), as SGLang does
 * with {@code text}; a text that already begins with the BOS token, as a rendered chat template does, gets no second one.
 * {@link #decode} leaves them out.
 *
 * <p>Nothing is fetched: the native library comes out of its jar into {@code DJL_CACHE_DIR} (default {@code ~/.djl.ai}).
 */
public final class HfTokenizer implements Tokenizer, AutoCloseable {
    static final String FILE = "tokenizer.json";
    private static final List<String> FILES =
            List.of(FILE, "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja");
    private static final ObjectMapper JSON = new ObjectMapper();

    static {
        setUnlessSet("ai.djl.offline", "true");
        setUnlessSet("OPT_OUT_TRACKING", "true");
        setUnlessSet("RUST_FLAVOR", "cpu");
    }

    private final HuggingFaceTokenizer tokenizer;
    private final Optional<ChatTemplate> template;
    private final Optional<String> bos;
    private final String fingerprint;
    private final int vocabSize;

    private HfTokenizer(HuggingFaceTokenizer tokenizer, Optional<ChatTemplate> template, Optional<String> bos, String fingerprint, int vocabSize) {
        this.tokenizer = tokenizer;
        this.template = template;
        this.bos = bos;
        this.fingerprint = fingerprint;
        this.vocabSize = vocabSize;
    }

    /** @param directory a model directory in Hugging Face layout, with {@code tokenizer.json} */
    public static HfTokenizer load(Path directory) {
        Path file = directory.resolve(FILE);
        if (!Files.isRegularFile(file)) {
            throw new TokenizerException(file + ": no such file; a model directory needs a tokenizer.json (a 'fast' tokenizer)");
        }
        try {
            int vocabSize = vocabSize(read(file));
            SpecialTokens special = SpecialTokens.load(directory);
            HuggingFaceTokenizer tokenizer = call(() -> HuggingFaceTokenizer.newInstance(file, Map.of("truncation", "false", "padding", "false")));
            return new HfTokenizer(tokenizer, ChatTemplate.load(directory), special.bos(), fingerprint(directory), vocabSize);
        } catch (IOException | RuntimeException e) {
            if (e instanceof TokenizerException problem) {
                throw problem;
            }
            throw new TokenizerException(file + ": not a tokenizer.json that Hugging Face's tokenizers library can read: " + firstLine(e), e);
        }
    }

    @Override
    public int[] encode(String text) {
        boolean hasBos = bos.isPresent() && text.startsWith(bos.get());
        long[] ids = call(() -> tokenizer.encode(text, !hasBos, false).getIds());
        int[] tokenIds = new int[ids.length];
        for (int i = 0; i < ids.length; i++) {
            tokenIds[i] = Math.toIntExact(ids[i]);
        }
        return tokenIds;
    }

    @Override
    public String decode(int[] tokenIds) {
        return decode(tokenIds, true);
    }

    /** As {@link #decode(int[])}, special tokens written out, for people to look at. */
    public String decodeWithSpecialTokens(int[] tokenIds) {
        return decode(tokenIds, false);
    }

    @Override
    public String chat(List<Map<String, Object>> messages) {
        return template.orElseThrow(() -> new TokenizerException(
                "the model has no chat template: add chat_template to tokenizer_config.json, or a chat_template.jinja")).render(messages);
    }

    @Override
    public boolean hasChatTemplate() {
        return template.isPresent();
    }

    @Override
    public String fingerprint() {
        return fingerprint;
    }

    /** One above the highest token id of the vocabulary and the added tokens. */
    @Override
    public int vocabSize() {
        return vocabSize;
    }

    @Override
    public void close() {
        tokenizer.close();
    }

    private String decode(int[] tokenIds, boolean skipSpecialTokens) {
        long[] ids = new long[tokenIds.length];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = tokenIds[i];
        }
        return ids.length == 0 ? "" : call(() -> tokenizer.decode(ids, skipSpecialTokens));
    }

    private static <T> T call(Callable<T> work) {
        try {
            return NativePool.call(work);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new TokenizerException("interrupted while waiting for the tokenizer", e);
        }
    }

    private static int vocabSize(JsonNode file) {
        int highest = -1;
        JsonNode vocab = file.path("model").path("vocab");
        if (vocab.isArray()) {
            highest = vocab.size() - 1;
        } else {
            for (JsonNode id : vocab) {
                highest = Math.max(highest, id.asInt());
            }
        }
        for (JsonNode added : file.path("added_tokens")) {
            highest = Math.max(highest, added.path("id").asInt());
        }
        return highest + 1;
    }

    private static String fingerprint(Path directory) throws IOException {
        try {
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            for (String name : FILES) {
                Path file = directory.resolve(name);
                if (Files.isRegularFile(file)) {
                    byte[] bytes = Files.readAllBytes(file);
                    sha.update(name.getBytes(StandardCharsets.UTF_8));
                    sha.update(ByteBuffer.allocate(Long.BYTES).putLong(0, bytes.length));
                    sha.update(bytes);
                }
            }
            return HexFormat.of().formatHex(sha.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }

    static JsonNode read(Path file) {
        try {
            return JSON.readTree(Files.readAllBytes(file));
        } catch (JsonProcessingException e) {
            throw new TokenizerException(file + ": line " + e.getLocation().getLineNr() + ": not JSON: " + e.getOriginalMessage(), e);
        } catch (IOException e) {
            throw new TokenizerException(file + ": can't be read: " + e.getMessage(), e);
        }
    }

    private static String firstLine(Throwable e) {
        return String.valueOf(e.getMessage()).lines().findFirst().orElse(e.getClass().getSimpleName());
    }

    private static void setUnlessSet(String property, String value) {
        if (System.getProperty(property) == null) {
            System.setProperty(property, value);
        }
    }
}
