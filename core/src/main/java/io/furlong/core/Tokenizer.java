package io.furlong.core;

import java.util.List;
import java.util.Map;

/** Text to token ids and back, exactly as the engine does it. Safe for use by many threads. */
public interface Tokenizer {
    int[] encode(String text);

    /** Special tokens left out. */
    String decode(int[] tokenIds);

    /**
     * The model's chat template applied, generation prompt added.
     *
     * @param messages each with {@code role} and {@code content}
     */
    String chat(List<Map<String, Object>> messages);

    boolean hasChatTemplate();

    /** SHA-256 of the tokenizer's files, to notice that engine and trainer differ. */
    String fingerprint();

    int vocabSize();
}
