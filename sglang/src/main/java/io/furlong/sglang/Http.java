package io.furlong.sglang;

import io.furlong.sglang.Connection.Head;
import io.furlong.sglang.Connection.Origin;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Deque;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import javax.net.ssl.SSLSocketFactory;

/**
 * The connections of one process to all its engines. A deadline covers an exchange as a whole, the last byte of the body included;
 * an exchange past it, or cancelled, loses its connection, so nothing late can arrive anywhere. What changes an engine or gives it work is
 * sent only while this process may act.
 */
public final class Http implements AutoCloseable {
    /** Name of the thread that ends exchanges past their deadline. */
    public static final String DEADLINES = "http-deadlines";

    private static final Duration CONNECT = Duration.ofSeconds(5);
    /** SGLang's server closes a connection that it has heard nothing on for 5 s. */
    private static final long LONGEST_IDLE_NANOS = Duration.ofSeconds(4).toNanos();

    private final Optional<String> apiKey;
    private final BooleanSupplier mayAct;
    private final SSLSocketFactory secure;
    /** Used last comes first, so that those which are too many grow old. */
    private final Map<Origin, Deque<Connection>> idle = new ConcurrentHashMap<>();
    /** Idle or not. */
    private final Set<Connection> open = ConcurrentHashMap.newKeySet();
    private final ScheduledThreadPoolExecutor deadlines = new ScheduledThreadPoolExecutor(1, Thread.ofPlatform().name(DEADLINES).daemon().factory());
    private volatile boolean closed;

    Http(Optional<String> apiKey, BooleanSupplier mayAct, SSLSocketFactory secure) {
        this.apiKey = apiKey;
        this.mayAct = mayAct;
        this.secure = secure;
        deadlines.setRemoveOnCancelPolicy(true);
    }

    public static Http open() {
        return open(() -> true);
    }

    /**
     * @param mayAct asked right before each call that changes an engine or gives it work; while it says no, such a call fails as if there were no
     *               connection, and nothing is sent. Calls that only look are always sent
     */
    public static Http open(BooleanSupplier mayAct) {
        return new Http(Optional.empty(), mayAct, (SSLSocketFactory) SSLSocketFactory.getDefault());
    }

    /** @param apiKey sent as {@code Authorization: Bearer}, for servers started with {@code --api-key} or {@code --admin-api-key} */
    public static Http withKey(String apiKey) {
        if (apiKey.chars().anyMatch(c -> c < ' ')) {
            throw new IllegalArgumentException("the API key holds a control character");
        }
        return new Http(Optional.of(apiKey), () -> true, (SSLSocketFactory) SSLSocketFactory.getDefault());
    }

    /** Whoever still waits for a reply is told that the connection dropped. */
    @Override
    public void close() {
        closed = true;
        open.forEach(this::discard);
        deadlines.shutdownNow();
        deadlines.close();
    }

    /** How many connections there are, idle ones included. */
    public int connections() {
        return open.size();
    }

    Exchange get(URI uri) {
        return new Exchange(uri, "GET", new byte[0], () -> true);
    }

    Exchange delete(URI uri) {
        return new Exchange(uri, "DELETE", new byte[0], mayAct);
    }

    Exchange post(URI uri, byte[] body) {
        return new Exchange(uri, "POST", body, mayAct);
    }

    private byte[] request(URI uri, String method, byte[] body) {
        StringBuilder head = new StringBuilder(256).append(method).append(' ').append(uri.getRawPath().isEmpty() ? "/" : uri.getRawPath());
        if (uri.getRawQuery() != null) {
            head.append('?').append(uri.getRawQuery());
        }
        head.append(" HTTP/1.1\r\nHost: ").append(uri.getHost());
        if (uri.getPort() >= 0) {
            head.append(':').append(uri.getPort());
        }
        head.append("\r\nUser-Agent: furlong\r\nAccept: */*\r\n");
        if (!method.equals("GET")) {
            head.append("Content-Type: application/json\r\nContent-Length: ").append(body.length).append("\r\n");
        }
        apiKey.ifPresent(key -> head.append("Authorization: Bearer ").append(key).append("\r\n"));
        byte[] start = head.append("\r\n").toString().getBytes(StandardCharsets.UTF_8);
        byte[] whole = new byte[start.length + body.length];
        System.arraycopy(start, 0, whole, 0, start.length);
        System.arraycopy(body, 0, whole, start.length, body.length);
        return whole;
    }

    // The pool

    /** One that is there already, if it still is. */
    private Optional<Connection> idleOne(Origin origin) {
        Deque<Connection> all = idle.getOrDefault(origin, new ConcurrentLinkedDeque<>());
        for (Connection one = all.pollFirst(); one != null; one = all.pollFirst()) {
            if (one.idleNanos() < LONGEST_IDLE_NANOS && one.alive()) {
                return Optional.of(one);
            }
            discard(one);
        }
        return Optional.empty();
    }

    private void giveBack(Connection connection) {
        if (!connection.reusable()) {
            discard(connection);
            return;
        }
        connection.idle();
        Deque<Connection> all = idle.computeIfAbsent(connection.origin(), o -> new ConcurrentLinkedDeque<>());
        all.addFirst(connection);
        for (Connection oldest = all.peekLast(); oldest != null && oldest.idleNanos() > LONGEST_IDLE_NANOS; oldest = all.peekLast()) {
            if (all.removeLastOccurrence(oldest)) {
                discard(oldest);
            }
        }
        if (closed) {
            discard(connection);
        }
    }

    private void discard(Connection connection) {
        open.remove(connection);
        connection.close();
    }

    private enum End { NONE, CANCELLED, TIMED_OUT }

    /** One request and its reply: nothing is sent before it is awaited. Awaited once, by one thread; cancelled, if need be, by any other. */
    final class Exchange {
        private final URI uri;
        private final String method;
        private final byte[] body;
        private final BooleanSupplier allowed;
        /** Guarded by this object: once it has ended, nothing is begun any more and its connection is closed. */
        private End end = End.NONE;
        private Optional<Connection> connection = Optional.empty();
        /** Of the awaiting thread. */
        private boolean connected;

        private Exchange(URI uri, String method, byte[] body, BooleanSupplier allowed) {
            this.uri = uri;
            this.method = method;
            this.body = body;
            this.allowed = allowed;
        }

        /** Ends it now; whoever awaits it gets {@link EngineException.Kind#CANCELLED}. */
        void cancel() {
            end(End.CANCELLED);
        }

        /** Sends it and waits for the whole reply. */
        HttpReply await(Duration deadline) throws EngineException, InterruptedException {
            Future<?> alarm = alarm(deadline);
            try {
                Connection on = sent();
                Head head = on.head();
                HttpReply reply = new HttpReply(uri, head, on.body(head));
                finished();
                giveBack(on);
                return reply;
            } catch (IOException e) {
                throw failed(e, deadline);
            } finally {
                alarm.cancel(false);
                connection().ifPresent(Http.this::discard);
            }
        }

        /**
         * Sends it and waits until the reply begins.
         *
         * @return the body as it comes, of a reply whose status is 2xx; has to be closed
         */
        InputStream stream(Duration deadline) throws EngineException, InterruptedException {
            Future<?> alarm = alarm(deadline);
            try {
                Connection on = sent();
                Head head = on.head();
                if (head.status() / 100 != 2) {
                    throw new HttpReply(uri, head, on.body(head)).fault();
                }
                InputStream stream = on.stream(head);
                finished();
                return new FilterInputStream(stream) {
                    @Override
                    public void close() throws IOException {
                        super.close();
                        giveBack(on);
                    }
                };
            } catch (IOException e) {
                throw failed(e, deadline);
            } finally {
                alarm.cancel(false);
                connection().ifPresent(Http.this::discard);
            }
        }

        private Future<?> alarm(Duration deadline) throws EngineException {
            if (closed) {
                throw new EngineException(EngineException.Kind.UNREACHABLE, 0, uri + " can't be connected to: this client is closed");
            }
            return deadlines.schedule(() -> end(End.TIMED_OUT), Math.max(1, deadline.toNanos()), TimeUnit.NANOSECONDS);
        }

        private Connection sent() throws IOException {
            byte[] request = request(uri, method, body);
            Origin origin = Origin.of(uri);
            Optional<Connection> known = idleOne(origin);
            Connection on = known.isPresent() ? known.get() : new Connection(origin);
            open.add(on);
            begin(on);
            if (known.isEmpty()) {
                on.connect(CONNECT, secure);
            }
            if (!allowed.getAsBoolean()) {
                throw new IOException("not sent: this process may not act now");
            }
            connected = true;
            on.send(request);
            return on;
        }

        private synchronized void begin(Connection on) throws IOException {
            connection = Optional.of(on);
            if (end != End.NONE || closed) {
                throw new IOException("ended before it began");
            }
        }

        private synchronized void finished() throws IOException {
            if (end != End.NONE) {
                throw new IOException("ended");
            }
            connection = Optional.empty();
        }

        private synchronized Optional<Connection> connection() {
            return connection;
        }

        private synchronized void end(End how) {
            if (end == End.NONE) {
                end = how;
                connection.ifPresent(Connection::close);
            }
        }

        private synchronized End how() {
            return end;
        }

        private EngineException failed(IOException e, Duration deadline) throws InterruptedException {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            return switch (how()) {
                case CANCELLED -> new EngineException(EngineException.Kind.CANCELLED, 0, uri + ": given up on");
                case TIMED_OUT -> new EngineException(EngineException.Kind.TIMED_OUT, 0, uri + " gave no full answer in " + deadline.toMillis() / 1000.0 + " s");
                case NONE -> connected ? dropped(uri, e) : new EngineException(EngineException.Kind.UNREACHABLE, uri + " can't be connected to" + why(e), e);
            };
        }
    }

    static EngineException dropped(URI uri, IOException e) {
        return new EngineException(EngineException.Kind.DROPPED, uri + " dropped the connection" + why(e), e);
    }

    private static String why(IOException e) {
        return e.getMessage() == null ? "" : ": " + e.getMessage();
    }
}
