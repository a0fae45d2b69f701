package io.furlong.torch.tokenizer;

/** A tokenizer or chat template that can't be used, in one line naming the file. */
public final class TokenizerException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public TokenizerException(String message) {
        super(message);
    }

    public TokenizerException(String message, Throwable cause) {
        super(message, cause);
    }
}
