package io.furlong.wire;

/** A request that is answered with an error; carries the answer. */
public final class RejectedRequest extends Exception {
    private final transient ErrorReply reply;

    public RejectedRequest(ErrorReply reply) {
        super(reply.message());
        this.reply = reply;
    }

    public ErrorReply reply() {
        return reply;
    }
}
