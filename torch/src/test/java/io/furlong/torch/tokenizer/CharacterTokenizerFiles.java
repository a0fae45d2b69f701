package io.furlong.torch.tokenizer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Writes small tokenizers for the tests: one id a character, and one of single bytes. */
final class CharacterTokenizerFiles {
    private CharacterTokenizerFiles() {}

    /** Ids: 0 {@code <unk>}, 1 {@code <s>}, 2 {@code </s>}, then a–z from 3 on and a space; a BOS is added in front. */
    static Path characters(Path directory, String config) throws IOException {
        StringBuilder vocab = new StringBuilder("\"<unk>\":0,\"<s>\":1,\"</s>\":2");
        for (char c = 'a'; c <= 'z'; c++) {
            vocab.append(",\"").append(c).append("\":").append(c - 'a' + 3);
        }
        vocab.append(",\" \":29");
        Files.writeString(directory.resolve("tokenizer.json"), """
                {"version":"1.0","truncation":null,"padding":null,
                 "added_tokens":[%s,%s,%s],
                 "normalizer":null,"pre_tokenizer":null,
                 "post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
                   "pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],
                   "special_tokens":{"<s>":{"id":"<s>","ids":[1],"tokens":["<s>"]}}},
                 "decoder":{"type":"Fuse"},
                 "model":{"type":"BPE","dropout":null,"unk_token":"<unk>","continuing_subword_prefix":null,"end_of_word_suffix":null,
                   "fuse_unk":false,"byte_fallback":false,"ignore_merges":false,"vocab":{%s},"merges":[]}}
                """.formatted(added(0, "<unk>"), added(1, "<s>"), added(2, "</s>"), vocab));
        Files.writeString(directory.resolve("tokenizer_config.json"), config);
        return directory;
    }

    /** Ids are bytes, so that a character of several bytes needs several tokens. */
    static Path bytes(Path directory) throws IOException {
        StringBuilder vocab = new StringBuilder();
        for (int b = 0; b < 256; b++) {
            vocab.append(b == 0 ? "" : ",").append("\"<0x%02X>\":%d".formatted(b, b));
        }
        Files.writeString(directory.resolve("tokenizer.json"), """
                {"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,
                 "decoder":{"type":"Sequence","decoders":[{"type":"ByteFallback"},{"type":"Fuse"}]},
                 "model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,
                   "fuse_unk":false,"byte_fallback":true,"ignore_merges":false,"vocab":{%s},"merges":[]}}
                """.formatted(vocab));
        return directory;
    }

    private static String added(int id, String token) {
        return "{\"id\":%d,\"content\":\"%s\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":true}"
                .formatted(id, token);
    }
}
