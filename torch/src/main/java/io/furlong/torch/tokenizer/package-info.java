/**
 * Text to token ids and back, with Hugging Face's own tokenizer, and chat templates.
 * A directory with {@code tokenizer.json} is enough; nothing here goes to the network.
 * Start reading at {@link io.furlong.torch.tokenizer.HfTokenizer}.
 */
@NullMarked
package io.furlong.torch.tokenizer;

import org.jspecify.annotations.NullMarked;
