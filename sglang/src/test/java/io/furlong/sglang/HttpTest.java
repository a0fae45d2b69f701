package io.furlong.sglang;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.furlong.sglang.EngineException.Kind;
import io.furlong.sglang.testing.TinyServer;
import java.io.ByteArrayOutputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HttpTest {
    private static final Duration SOON = Duration.ofSeconds(20);

    private final Http http = Http.open();

    @AfterEach
    void close() {
        http.close();
    }

    /** Says the same bytes to each request, on as many connections as come. */
    private static final class Scripted implements AutoCloseable {
        private final ServerSocket listener;
        private final byte[] answer;
        private final Optional<CountDownLatch> mute;
        final AtomicInteger connections = new AtomicInteger();
        final AtomicInteger requests = new AtomicInteger();

        /** @param answer given as soon as the first bytes of a request are there; the connection ends after it if it says so by a final '!' */
        Scripted(ServerSocket listener, String answer, Optional<CountDownLatch> mute) {
            this.listener = listener;
            this.answer = answer.getBytes(StandardCharsets.ISO_8859_1);
            this.mute = mute;
            Thread.ofVirtual().start(this::accept);
        }

        static Scripted saying(String answer) throws IOException {
            return new Scripted(new ServerSocket(0, 50, InetAddress.getLoopbackAddress()), answer, Optional.empty());
        }

        /** Reads nothing and says nothing until the latch opens. */
        static Scripted mute(CountDownLatch until) throws IOException {
            return new Scripted(new ServerSocket(0, 50, InetAddress.getLoopbackAddress()), "!", Optional.of(until));
        }

        private void accept() {
            while (!listener.isClosed()) {
                try {
                    Socket connection = listener.accept();
                    connections.incrementAndGet();
                    Thread.ofVirtual().start(() -> serve(connection));
                } catch (IOException e) {
                    return;
                }
            }
        }

        private void serve(Socket connection) {
            try (connection) {
                if (mute.isPresent()) {
                    mute.get().await();
                    return;
                }
                boolean ends = answer[answer.length - 1] == '!';
                InputStream in = connection.getInputStream();
                OutputStream out = connection.getOutputStream();
                while (head(in)) {
                    requests.incrementAndGet();
                    out.write(answer, 0, ends ? answer.length - 1 : answer.length);
                    out.flush();
                    if (ends) {
                        return;
                    }
                }
            } catch (IOException e) {
                // the client hung up
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        private static boolean head(InputStream in) throws IOException {
            ByteArrayOutputStream head = new ByteArrayOutputStream();
            while (!head.toString(StandardCharsets.ISO_8859_1).endsWith("\r\n\r\n")) {
                int c = in.read();
                if (c < 0) {
                    return false;
                }
                head.write(c);
            }
            return true;
        }

        URI url() {
            return URI.create("http://127.0.0.1:" + listener.getLocalPort() + "/x");
        }

        @Override
        public void close() throws IOException {
            listener.close();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nCONTENT-LENGTH:5\r\n\r\nhello",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;name=value\r\nllo\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nTrailer: x\r\nOther: y\r\n\r\n",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello!",
        "HTTP/1.1 200 OK\r\n\r\nhello!",
        "HTTP/1.0 200 OK\r\n\r\nhello!"})
    void everyWayToEndABodyIsUnderstood(String answer) throws Exception {
        boolean ends = answer.endsWith("!");
        try (Scripted server = Scripted.saying(answer)) {
            for (int i = 0; i < 3; i++) {
                assertThat(http.get(server.url()).await(SOON).accepted().text()).isEqualTo("hello");
                try (InputStream stream = http.post(server.url(), new byte[0]).stream(SOON)) {
                    assertThat(stream.readAllBytes()).asString(StandardCharsets.UTF_8).isEqualTo("hello");
                }
            }
            assertThat(server.connections).as("connections for six requests").hasValue(ends ? 6 : 1);
            assertThat(http.connections()).isEqualTo(ends ? 0 : 1);
        }
    }

    @Test
    void aReplyWithoutABodyKeepsTheConnection() throws Exception {
        try (Scripted server = Scripted.saying("HTTP/1.1 204 No Content\r\n\r\n")) {
            assertThat(http.get(server.url()).await(SOON).body()).isEmpty();
            assertThat(http.get(server.url()).await(SOON).body()).isEmpty();
            assertThat(server.connections).hasValue(1);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "!",
        "HTTP/1.1 200 OK\r\nContent-Le!",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello!",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n!",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloo\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nhello!",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nhello!",
        "SSH-2.0-OpenSSH_9.6\r\n!"})
    void aReplyThatIsCutShortOrNoneAtAllIsNoReply(String answer) throws Exception {
        try (Scripted server = Scripted.saying(answer)) {
            assertThatThrownBy(() -> http.get(server.url()).await(SOON)).isInstanceOfSatisfying(EngineException.class, e -> assertThat(e.kind()).isEqualTo(Kind.DROPPED));
            assertThat(http.connections()).isZero();
        }
    }

    @Test
    void aConnectionThatTheServerClosedMeanwhileIsNotUsedAgain() throws Exception {
        try (TinyServer server = new TinyServer(r -> TinyServer.Reply.text(200, "ok"))) {
            for (int i = 0; i < 3; i++) {
                assertThat(http.get(server.url()).await(SOON).text()).isEqualTo("ok");
                server.kill();
                server.start();
            }
            assertThat(http.get(server.url()).await(SOON).text()).isEqualTo("ok");
            assertThat(http.connections()).isEqualTo(1);
        }
    }

    @Test
    void theDeadlineHoldsForARequestThatNobodyReads() throws Exception {
        CountDownLatch until = new CountDownLatch(1);
        try (Scripted server = Scripted.mute(until)) {
            assertThatThrownBy(() -> http.post(server.url(), new byte[1 << 26]).await(Duration.ofMillis(200)))
                    .isInstanceOfSatisfying(EngineException.class, e -> assertThat(e.kind()).isEqualTo(Kind.TIMED_OUT));
            assertThat(http.connections()).isZero();
        } finally {
            until.countDown();
        }
    }

    @Test
    void aCancelledExchangeEndsAtOnceAndIsNeverSentAfterwards() throws Exception {
        CountDownLatch until = new CountDownLatch(1);
        CountDownLatch sent = new CountDownLatch(1);
        try (TinyServer server = new TinyServer(r -> {
            sent.countDown();
            until.await();
            return TinyServer.Reply.text(200, "late");
        })) {
            Http.Exchange exchange = http.post(server.url(), new byte[0]);
            CompletableFuture<Kind> waiting = new CompletableFuture<>();
            Thread.ofVirtual().start(() -> waiting.complete(endOf(exchange)));
            sent.await();
            exchange.cancel();
            assertThat(waiting.get(20, TimeUnit.SECONDS)).isEqualTo(Kind.CANCELLED);
            Http.Exchange before = http.post(server.url(), new byte[0]);
            before.cancel();
            assertThat(endOf(before)).isEqualTo(Kind.CANCELLED);
            assertThat(http.connections()).isZero();
        } finally {
            until.countDown();
        }
    }

    private static Kind endOf(Http.Exchange exchange) {
        try {
            exchange.await(SOON);
            throw new AssertionError("it was answered");
        } catch (EngineException e) {
            return e.kind();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anInterruptEndsTheWait(boolean virtual) throws Exception {
        CountDownLatch until = new CountDownLatch(1);
        CountDownLatch sent = new CountDownLatch(1);
        try (TinyServer server = new TinyServer(r -> {
            sent.countDown();
            until.await();
            return TinyServer.Reply.text(200, "late");
        })) {
            FutureTask<HttpReply> work = new FutureTask<>(() -> http.post(server.url(), new byte[0]).await(SOON));
            Thread thread = (virtual ? Thread.ofVirtual() : Thread.ofPlatform()).start(work);
            sent.await();
            thread.interrupt();
            assertThatThrownBy(() -> work.get(20, TimeUnit.SECONDS)).isInstanceOf(ExecutionException.class).hasCauseInstanceOf(InterruptedException.class);
            assertThat(http.connections()).isZero();
        } finally {
            until.countDown();
        }
    }

    @Test
    void closingTheClientEndsWhatWaitsAndLeavesNoConnection() throws Exception {
        CountDownLatch until = new CountDownLatch(1);
        CountDownLatch sent = new CountDownLatch(1);
        try (TinyServer server = new TinyServer(r -> {
            sent.countDown();
            until.await();
            return TinyServer.Reply.text(200, "late");
        })) {
            CompletableFuture<Kind> waiting = new CompletableFuture<>();
            Thread.ofVirtual().start(() -> waiting.complete(endOf(http.post(server.url(), new byte[0]))));
            sent.await();
            http.close();
            assertThat(waiting.get(20, TimeUnit.SECONDS)).isEqualTo(Kind.DROPPED);
            assertThat(endOf(http.get(server.url()))).isEqualTo(Kind.UNREACHABLE);
            assertThat(http.connections()).isZero();
        } finally {
            until.countDown();
        }
    }

    @Test
    void whatMayNotActIsNotSentAndNeitherAreKeysThatWouldSmuggleFields() throws Exception {
        try (Http barred = Http.open(() -> false); Scripted server = Scripted.saying("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) {
            assertThatThrownBy(() -> barred.post(server.url(), new byte[0]).await(SOON)).isInstanceOfSatisfying(EngineException.class, e -> assertThat(e.kind()).isEqualTo(Kind.UNREACHABLE));
            assertThat(barred.get(server.url()).await(SOON).status()).isEqualTo(200);
            assertThat(server.requests).hasValue(1);
        }
        assertThatThrownBy(() -> Http.withKey("a\r\nX: y")).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void anEngineBehindTlsIsSpokenToAndOneOfAnotherNameIsNot(@TempDir Path directory) throws Exception {
        Path store = directory.resolve("keys.p12");
        assertThat(new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "keytool").toString(), "-genkeypair", "-alias", "k", "-keyalg", "EC", "-dname", "CN=localhost",
                "-ext", "san=dns:localhost", "-keystore", store.toString(), "-storepass", "secret").redirectErrorStream(true).start().waitFor()).isZero();
        SSLContext tls = context(store);
        try (Http client = new Http(Optional.empty(), () -> true, tls.getSocketFactory());
                Scripted server = new Scripted(tls.getServerSocketFactory().createServerSocket(0, 50, InetAddress.getLoopbackAddress()),
                        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", Optional.empty())) {
            URI named = URI.create(server.url().toString().replace("http://127.0.0.1", "https://localhost"));
            assertThat(client.get(named).await(SOON).text()).isEqualTo("hello");
            assertThat(client.get(named).await(SOON).text()).isEqualTo("hello");
            URI other = URI.create(named.toString().replace("localhost", "127.0.0.1"));
            assertThatThrownBy(() -> client.get(other).await(SOON)).isInstanceOfSatisfying(EngineException.class, e -> assertThat(e.kind()).isEqualTo(Kind.UNREACHABLE));
            try (Http strict = new Http(Optional.empty(), () -> true, (SSLSocketFactory) SSLSocketFactory.getDefault())) {
                assertThatThrownBy(() -> strict.get(named).await(SOON)).isInstanceOfSatisfying(EngineException.class, e -> assertThat(e.kind()).isEqualTo(Kind.UNREACHABLE));
            }
        }
    }

    private static SSLContext context(Path store) throws Exception {
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = new FileInputStream(store.toFile())) {
            keys.load(in, "secret".toCharArray());
        }
        KeyManagerFactory own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        own.init(keys, "secret".toCharArray());
        TrustManagerFactory trusted = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trusted.init(keys);
        SSLContext tls = SSLContext.getInstance("TLS");
        tls.init(own.getKeyManagers(), trusted.getTrustManagers(), null);
        return tls;
    }
}
