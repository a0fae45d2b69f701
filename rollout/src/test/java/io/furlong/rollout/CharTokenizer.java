package io.furlong.rollout;

import io.furlong.core.Tokenizer;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** A token a character; enough to tell prompts apart. */
public final class CharTokenizer implements Tokenizer {
    @Override
    public int[] encode(String text) {
        return text.chars().toArray();
    }

    @Override
    public String decode(int[] tokenIds) {
        return new String(tokenIds, 0, tokenIds.length);
    }

    @Override
    public String chat(List<Map<String, Object>> messages) {
        return messages.stream().map(m -> "<" + m.get("role") + ">" + m.get("content")).collect(Collectors.joining()) + "<assistant>";
    }

    @Override
    public boolean hasChatTemplate() {
        return true;
    }

    @Override
    public String fingerprint() {
        return "0".repeat(64);
    }

    @Override
    public int vocabSize() {
        return 65536;
    }
}
