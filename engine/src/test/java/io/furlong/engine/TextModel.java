package io.furlong.engine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A reference model with a tokenizer of one id a character: ids 0 … 94 are the printable ASCII characters, 95 is the end token. */
final class TextModel {
    static final int END = 95;

    private TextModel() {}

    static Path write(Path directory) throws IOException {
        for (String file : new String[] {"model.safetensors", "config.json"}) {
            Files.copy(Fixture.LLAMA.resolve(file), directory.resolve(file));
        }
        Files.writeString(directory.resolve("generation_config.json"), "{\"eos_token_id\": [" + END + "]}");
        StringBuilder vocab = new StringBuilder();
        for (char c = ' '; c <= '~'; c++) {
            vocab.append('"').append(c == '"' || c == '\\' ? "\\" : "").append(c).append("\":").append(c - ' ').append(',');
        }
        Files.writeString(directory.resolve("tokenizer.json"), """
                {"version":"1.0","truncation":null,"padding":null,
                 "added_tokens":[{"id":95,"content":"</s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
                 "normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":{"type":"Fuse"},
                 "model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,
                   "fuse_unk":false,"byte_fallback":false,"ignore_merges":false,"vocab":{%s"</s>":95},"merges":[]}}
                """.formatted(vocab));
        return directory;
    }
}
