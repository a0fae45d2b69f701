package io.furlong.sglang;

import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;

/**
 * The connections of one process to all its engines. A deadline covers an exchange as a whole, the last byte of the body included;
 * an exchange past it, or cancelled, loses its connection, so nothing late can arrive anywhere. What changes an engine or gives it work is
 * sent only while this process may act.
 */
public final class Http implements AutoCloseable {
    private static final String JSON = "application/json";

    private final HttpClient client;
    private final Optional<String> apiKey;
    private final BooleanSupplier mayAct;

    private Http(Optional<String> apiKey, Duration connect, BooleanSupplier mayAct) {
        this.client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(connect)
                .executor(Executors.newVirtualThreadPerTaskExecutor()).build();
        this.apiKey = apiKey;
        this.mayAct = mayAct;
    }

    public static Http open() {
        return open(() -> true);
    }

    /**
     * @param mayAct asked right before each call that changes an engine or gives it work; while it says no, such a call fails as if there were no
     *               connection, and nothing is sent. Calls that only look are always sent
     */
    public static Http open(BooleanSupplier mayAct) {
        return new Http(Optional.empty(), Duration.ofSeconds(5), mayAct);
    }

    /** @param apiKey sent as {@code Authorization: Bearer}, for servers started with {@code --api-key} or {@code --admin-api-key} */
    public static Http withKey(String apiKey) {
        return new Http(Optional.of(apiKey), Duration.ofSeconds(5), () -> true);
    }

    @Override
    public void close() {
        client.shutdownNow();
        client.close();
    }

    Exchange<byte[]> get(URI uri) {
        return new Exchange<>(uri, client.sendAsync(request(uri).GET().build(), BodyHandlers.ofByteArray()));
    }

    Exchange<byte[]> delete(URI uri) {
        return act(uri, request(uri).DELETE().build(), BodyHandlers.ofByteArray());
    }

    Exchange<byte[]> post(URI uri, byte[] body) {
        return post(uri, body, BodyHandlers.ofByteArray());
    }

    <T> Exchange<T> post(URI uri, byte[] body, BodyHandler<T> handler) {
        HttpRequest request = request(uri).header("Content-Type", JSON).POST(BodyPublishers.ofByteArray(body)).build();
        return act(uri, request, handler);
    }

    private <T> Exchange<T> act(URI uri, HttpRequest request, BodyHandler<T> handler) {
        return new Exchange<>(uri, mayAct.getAsBoolean() ? client.sendAsync(request, handler)
                : CompletableFuture.failedFuture(new ConnectException("not sent: this process may not act now")));
    }

    private HttpRequest.Builder request(URI uri) {
        HttpRequest.Builder builder = HttpRequest.newBuilder(uri);
        apiKey.ifPresent(key -> builder.header("Authorization", "Bearer " + key));
        return builder;
    }

    /** One request that is out. */
    static final class Exchange<T> {
        private final URI uri;
        private final CompletableFuture<HttpResponse<T>> response;
        private volatile boolean cancelled;

        private Exchange(URI uri, CompletableFuture<HttpResponse<T>> response) {
            this.uri = uri;
            this.response = response;
        }

        /** Ends it now; whoever awaits it gets {@link EngineException.Kind#CANCELLED}. */
        void cancel() {
            cancelled = true;
            response.cancel(true);
        }

        HttpResponse<T> await(Duration deadline) throws EngineException, InterruptedException {
            try {
                return response.get(Math.max(1, deadline.toNanos()), TimeUnit.NANOSECONDS);
            } catch (TimeoutException e) {
                response.cancel(true);
                throw new EngineException(EngineException.Kind.TIMED_OUT, 0, uri + " gave no full answer in " + seconds(deadline));
            } catch (CancellationException e) {
                throw new EngineException(EngineException.Kind.CANCELLED, 0, uri + ": given up on");
            } catch (ExecutionException e) {
                throw cancelled ? new EngineException(EngineException.Kind.CANCELLED, 0, uri + ": given up on") : fault(uri, e.getCause());
            } catch (InterruptedException e) {
                response.cancel(true);
                throw e;
            }
        }
    }

    static EngineException fault(URI uri, Throwable cause) {
        EngineException.Kind kind = switch (cause) {
            case ConnectException e -> EngineException.Kind.UNREACHABLE;
            case HttpConnectTimeoutException e -> EngineException.Kind.UNREACHABLE;
            case IOException e when e.getCause() instanceof ConnectException -> EngineException.Kind.UNREACHABLE;
            default -> EngineException.Kind.DROPPED;
        };
        String what = kind == EngineException.Kind.UNREACHABLE ? " can't be connected to" : " dropped the connection";
        String why = cause.getMessage() == null ? "" : ": " + cause.getMessage();
        return new EngineException(kind, uri + what + why, cause);
    }

    private static String seconds(Duration d) {
        return d.toMillis() / 1000.0 + " s";
    }
}
