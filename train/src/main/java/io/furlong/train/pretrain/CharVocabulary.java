package io.furlong.train.pretrain;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The tiny model's vocabulary: four special tokens, then one id a character; 80 in all. {@link #write} writes it as Hugging Face's
 * {@code tokenizer.json}: a BPE model without merges, which gives one token a character, and whose tokens are joined without blanks.
 */
final class CharVocabulary {
    static final List<String> SPECIAL = List.of("<pad>", "<unk>", "<s>", "</s>");
    static final int END = SPECIAL.indexOf("</s>");
    private static final int UNKNOWN = SPECIAL.indexOf("<unk>");
    private static final String CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ \n+-*/=:,.?!()";
    static final int SIZE = SPECIAL.size() + CHARACTERS.length();
    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

    private CharVocabulary() {}

    static int[] encode(String text) {
        return text.chars().map(c -> CHARACTERS.indexOf(c) < 0 ? UNKNOWN : SPECIAL.size() + CHARACTERS.indexOf(c)).toArray();
    }

    /** Writes {@code tokenizer.json}, {@code tokenizer_config.json} and {@code special_tokens_map.json}. */
    static void write(Path directory) throws IOException {
        List<Map<String, Object>> added = new ArrayList<>();
        Map<String, Integer> vocab = new LinkedHashMap<>();
        for (int id = 0; id < SPECIAL.size(); id++) {
            vocab.put(SPECIAL.get(id), id);
            Map<String, Object> token = new LinkedHashMap<>();
            token.put("id", id);
            token.put("content", SPECIAL.get(id));
            for (String flag : List.of("single_word", "lstrip", "rstrip", "normalized")) {
                token.put(flag, false);
            }
            token.put("special", true);
            added.add(token);
        }
        for (int i = 0; i < CHARACTERS.length(); i++) {
            vocab.put(CHARACTERS.substring(i, i + 1), SPECIAL.size() + i);
        }
        Map<String, Object> model = new LinkedHashMap<>();
        model.put("type", "BPE");
        model.put("dropout", null);
        model.put("unk_token", SPECIAL.get(UNKNOWN));
        model.put("continuing_subword_prefix", null);
        model.put("end_of_word_suffix", null);
        model.put("fuse_unk", false);
        model.put("byte_fallback", false);
        model.put("ignore_merges", false);
        model.put("vocab", vocab);
        model.put("merges", List.of());
        Map<String, Object> tokenizer = new LinkedHashMap<>();
        tokenizer.put("version", "1.0");
        tokenizer.put("truncation", null);
        tokenizer.put("padding", null);
        tokenizer.put("added_tokens", added);
        tokenizer.put("normalizer", null);
        tokenizer.put("pre_tokenizer", null);
        tokenizer.put("post_processor", null);
        tokenizer.put("decoder", Map.of("type", "Fuse"));
        tokenizer.put("model", model);
        JSON.writeValue(directory.resolve("tokenizer.json").toFile(), tokenizer);

        Map<String, String> special = new LinkedHashMap<>();
        special.put("bos_token", "<s>");
        special.put("eos_token", "</s>");
        special.put("pad_token", "<pad>");
        special.put("unk_token", "<unk>");
        JSON.writeValue(directory.resolve("special_tokens_map.json").toFile(), special);
        Map<String, Object> config = new LinkedHashMap<>(special);
        config.put("tokenizer_class", "PreTrainedTokenizerFast");
        config.put("model_max_length", Pretrainer.CONTEXT);
        config.put("clean_up_tokenization_spaces", false);
        config.put("chat_template", "{% for message in messages %}{{ message.content }}{% endfor %}");
        JSON.writeValue(directory.resolve("tokenizer_config.json").toFile(), config);
    }
}
