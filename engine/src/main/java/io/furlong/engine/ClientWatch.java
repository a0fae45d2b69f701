package io.furlong.engine;

import io.helidon.common.buffers.BufferData;
import io.helidon.common.concurrency.limits.Limit;
import io.helidon.common.socket.HelidonSocket;
import io.helidon.webserver.ConnectionContext;
import io.helidon.webserver.http1.Http1ConnectionSelector;
import io.helidon.webserver.spi.ServerConnection;
import io.helidon.webserver.spi.ServerConnectionSelector;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.Semaphore;

/**
 * Lets a handler know whether its client is still there while it has nothing to send. Helidon does not tell handlers of their connection, but runs
 * them on its thread, so the socket is handed down as a scoped value; while a socket idles, Helidon itself reads ahead and notices its end.
 */
final class ClientWatch implements ServerConnectionSelector {
    private static final ScopedValue<HelidonSocket> SOCKET = ScopedValue.newInstance();

    private final Http1ConnectionSelector http1 = Http1ConnectionSelector.builder().build();

    /** Call in a handler that has read its whole request. */
    static ClientWatch.Client ofThisRequest() {
        HelidonSocket socket = SOCKET.get();
        socket.idle();
        return socket::isConnected;
    }

    /** Whoever sent a request. */
    interface Client {
        boolean connected();
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
        ServerConnection connection = http1.connection(context);
        return new ServerConnection() {
            @Override
            public void handle(Semaphore requests) throws InterruptedException {
                ScopedValue.where(SOCKET, context.serverSocket()).<Void, InterruptedException>call(() -> {
                    connection.handle(requests);
                    return null;
                });
            }

            @Override
            public void handle(Limit limit) throws InterruptedException {
                ScopedValue.where(SOCKET, context.serverSocket()).<Void, InterruptedException>call(() -> {
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
}
