package io.furlong.sglang;

import io.furlong.wire.ErrorReply;

/**
 * Why a call to an engine gave no answer, in kinds that call for different reactions. An aborted generation is none of them: it is
 * an ordinary answer with finish reason {@code abort}.
 */
public final class EngineException extends Exception {
    private static final long serialVersionUID = 1L;

    /** What happened, and so what can be done. */
    public enum Kind {
        /** A 4xx that would come again: a bad value, an unknown field type, a duplicate rid. */
        BAD_REQUEST,
        /** 400 "has never been loaded": the engine lacks the adapter, most likely since it restarted. */
        UNKNOWN_ADAPTER,
        /** 401 or 403. */
        UNAUTHORIZED,
        /** 404: this server, a router mostly, has no such route. */
        NOT_FOUND,
        /** 408, 429, or a scheduler that gave the request back with 503: try again later. */
        OVERLOADED,
        /** Any other 5xx from the engine, plain text included. */
        SERVER_FAULT,
        /** A 5xx that the router made: no worker, or its call to one failed. */
        GATEWAY,
        /** An error event inside a stream whose status was 200. */
        IN_STREAM,
        /** No connection came about: the request was never sent. */
        UNREACHABLE,
        /** Nothing, or not everything, came before the deadline. */
        TIMED_OUT,
        /** The connection ended in the middle of an answer. */
        DROPPED,
        /** An answer that can't be read. */
        UNREADABLE,
        /** Given up on by us: {@link GenerateCall#cancel}. */
        CANCELLED
    }

    private final Kind kind;
    private final int status;

    EngineException(Kind kind, int status, String message) {
        super(message);
        this.kind = kind;
        this.status = status;
    }

    EngineException(Kind kind, String message, Throwable cause) {
        super(message, cause);
        this.kind = kind;
        this.status = 0;
    }

    /**
     * Tells the shapes of SGLang, FastAPI and the router apart.
     *
     * @param engine  base URL, for the message
     * @param gateway whether the header {@code X-SMG-Error-Code} says that the router made the reply
     */
    static EngineException of(String engine, int status, String body, boolean gateway) {
        ErrorReply reply = ErrorReply.read(status, body);
        String message = engine + " answered " + status + ": " + firstLine(reply.message());
        Kind kind = switch (status) {
            case 401, 403 -> Kind.UNAUTHORIZED;
            case 404 -> Kind.NOT_FOUND;
            case 408, 429 -> Kind.OVERLOADED;
            default -> status >= 500 ? serverKind(status, body, gateway)
                    : saysUnknownAdapter(reply.message()) ? Kind.UNKNOWN_ADAPTER : Kind.BAD_REQUEST;
        };
        return new EngineException(kind, status, message);
    }

    /**
     * SGLang's wordings for an adapter that is not there: the tokenizer's check, the registry's, which races with an unload, and that of a
     * server which once had it and can't load it again.
     */
    static boolean saysUnknownAdapter(String message) {
        return message.contains("has never been loaded") || message.contains("LoRA adapters are not loaded") || message.contains("Failed to implicitly load LoRA adapter");
    }

    private static Kind serverKind(int status, String body, boolean gateway) {
        if (gateway || body.contains("\"no_available_workers\"") || body.contains("\"call_upstream_") || status == 502 || status == 504) {
            return Kind.GATEWAY;
        }
        return status == 503 ? Kind.OVERLOADED : Kind.SERVER_FAULT;
    }

    private static String firstLine(String text) {
        String line = text.strip().lines().findFirst().orElse("(no text)");
        return line.length() > 300 ? line.substring(0, 300) + "…" : line;
    }

    public Kind kind() {
        return kind;
    }

    /** HTTP status; 0 when there was none. */
    public int status() {
        return status;
    }
}
