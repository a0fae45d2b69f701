package io.furlong.engine;

import io.helidon.common.buffers.BufferData;
import io.helidon.common.buffers.DataReader;
import io.helidon.common.buffers.DataWriter;
import io.helidon.common.concurrency.limits.Limit;
import io.helidon.common.socket.HelidonSocket;
import io.helidon.common.socket.PeerInfo;
import io.helidon.webserver.ConnectionContext;
import io.helidon.webserver.ListenerContext;
import io.helidon.webserver.ProxyProtocolData;
import io.helidon.webserver.Router;
import io.helidon.webserver.http1.Http1Config;
import io.helidon.webserver.http1.Http1ConnectionSelector;
import io.helidon.webserver.spi.ServerConnection;
import io.helidon.webserver.spi.ServerConnectionSelector;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.function.Supplier;

/**
 * Tells a handler at once when its client goes away, although it has nothing to send.
 *
 * <p>While a handler waits, a virtual thread reads ahead on the connection: an HTTP/1 client that has sent its request sends nothing until it has its
 * answer, so the read ends when the client closes. What else it may bring, the beginning of the next request, goes to the connection, which
 * joins the read instead of reading itself; so never do two threads read. Handlers run on their connection's thread and find it in a scoped value.
 */
final class ClientWatch implements ServerConnectionSelector {
    private static final ScopedValue<Incoming> INCOMING = ScopedValue.newInstance();

    private final Http1ConnectionSelector http1 = Http1ConnectionSelector.builder().config(Http1Config.create()).build();

    /**
     * For a handler that has read its whole request.
     *
     * @param whenGone run if the client closes before the result is closed
     */
    static Watch start(Runnable whenGone) {
        return INCOMING.get().watch(whenGone);
    }

    /** Ends the watch. */
    interface Watch extends AutoCloseable {
        @Override
        void close();
    }

    @Override
    public int bytesToIdentifyConnection() {
        return http1.bytesToIdentifyConnection();
    }

    @Override
    public Support supports(BufferData data) {
        return http1.supports(data);
    }

    @Override
    public Set<String> supportedApplicationProtocols() {
        return http1.supportedApplicationProtocols();
    }

    @Override
    public ServerConnection connection(ConnectionContext context) {
        Incoming incoming = new Incoming(context.dataReader());
        ServerConnection connection = http1.connection(new ReadingFrom(context, DataReader.create(incoming)));
        return new ServerConnection() {
            @Override
            public void handle(Limit limit) throws InterruptedException {
                ScopedValue.where(INCOMING, incoming).<Void, InterruptedException>call(() -> {
                    connection.handle(limit);
                    return null;
                });
            }

            @Override
            public Duration idleTime() {
                return connection.idleTime();
            }

            @Override
            public void close(boolean interrupt) {
                connection.close(interrupt);
            }
        };
    }

    /** What comes in on one connection. Used by its thread; only the read ahead, of which there is one at most, runs beside it. */
    private static final class Incoming implements Supplier<byte[]> {
        private final DataReader socket;
        private Optional<CompletableFuture<byte[]>> ahead = Optional.empty();
        private volatile Optional<Runnable> whenGone = Optional.empty();

        Incoming(DataReader socket) {
            this.socket = socket;
        }

        @Override
        public byte[] get() {
            if (ahead.isEmpty()) {
                return read();
            }
            CompletableFuture<byte[]> pending = ahead.get();
            ahead = Optional.empty();
            try {
                return pending.join();
            } catch (CompletionException e) {
                throw e.getCause() instanceof RuntimeException cause ? cause : e;
            }
        }

        Watch watch(Runnable gone) {
            whenGone = Optional.of(gone);
            if (ahead.isEmpty()) {
                CompletableFuture<byte[]> pending = new CompletableFuture<>();
                ahead = Optional.of(pending);
                Thread.ofVirtual().name("furlong-client-watch").start(() -> readAhead(pending));
            } else if (ahead.get().isCompletedExceptionally()) {
                gone.run();
            }
            return () -> whenGone = Optional.empty();
        }

        private void readAhead(CompletableFuture<byte[]> pending) {
            while (!pending.isDone()) {
                try {
                    pending.complete(read());
                } catch (RuntimeException e) {
                    // A handler may take longer than a connection may idle.
                    if (whenGone.isEmpty() || !timedOut(e)) {
                        pending.completeExceptionally(e);
                        whenGone.ifPresent(Runnable::run);
                    }
                }
            }
        }

        private byte[] read() {
            socket.ensureAvailable();
            return socket.readBytes(socket.available());
        }

        private static boolean timedOut(Throwable e) {
            return e instanceof SocketTimeoutException || e.getCause() != null && timedOut(e.getCause());
        }
    }

    /** A connection that is read by way of {@code dataReader}. */
    private record ReadingFrom(ConnectionContext context, DataReader dataReader) implements ConnectionContext {
        @Override
        public ListenerContext listenerContext() {
            return context.listenerContext();
        }

        @Override
        public ExecutorService executor() {
            return context.executor();
        }

        @Override
        public DataWriter dataWriter() {
            return context.dataWriter();
        }

        @Override
        public Router router() {
            return context.router();
        }

        @Override
        public Optional<ProxyProtocolData> proxyProtocolData() {
            return context.proxyProtocolData();
        }

        @Override
        public HelidonSocket serverSocket() {
            return context.serverSocket();
        }

        @Override
        public PeerInfo remotePeer() {
            return context.remotePeer();
        }

        @Override
        public PeerInfo localPeer() {
            return context.localPeer();
        }

        @Override
        public boolean isSecure() {
            return context.isSecure();
        }

        @Override
        public String socketId() {
            return context.socketId();
        }

        @Override
        public String childSocketId() {
            return context.childSocketId();
        }
    }
}
