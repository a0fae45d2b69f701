package io.furlong.control;

/** Another control plane leads now: nothing this process writes is accepted any more. */
public final class LeaseLostException extends StoreException {
    private static final long serialVersionUID = 1L;

    public LeaseLostException(String message) {
        super(message);
    }
}
