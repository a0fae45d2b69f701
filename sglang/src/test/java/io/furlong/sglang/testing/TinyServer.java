package io.furlong.sglang.testing;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * HTTP/1.1 on loopback, small enough to misbehave on purpose: connections can be cut before, after or in the middle of an answer, and the
 * whole server can be killed and started again on its port. One virtual thread a connection, keep-alive.
 */
public final class TinyServer implements AutoCloseable {
    /** What came in. */
    public record Request(String method, String path, String query, String authorization, byte[] body) {
        public String text() {
            return new String(body, StandardCharsets.UTF_8);
        }
    }

    /** What goes out. */
    public record Reply(int status, String contentType, byte[] body, String header) {
        public static Reply json(int status, String body) {
            return new Reply(status, "application/json", body.getBytes(StandardCharsets.UTF_8), "");
        }

        public static Reply text(int status, String body) {
            return new Reply(status, "text/plain; charset=utf-8", body.getBytes(StandardCharsets.UTF_8), "");
        }

        public static Reply events(String body) {
            return new Reply(200, "text/event-stream", body.getBytes(StandardCharsets.UTF_8), "");
        }

        /** The connection is closed after {@code bytes} of the body. */
        Reply cutAfter(int bytes) {
            return new Reply(status, contentType, body, "cut=" + bytes);
        }
    }

    /** Answers; an exception cuts the connection. */
    public interface Handler {
        Reply handle(Request request) throws IOException, InterruptedException;
    }

    private final Handler handler;
    private final int port;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition closed = lock.newCondition();
    /** Open ones; guarded by {@code lock}. */
    private final Set<Socket> connections = new HashSet<>();
    private volatile ServerSocket listener;
    private volatile Thread acceptor = Thread.currentThread();

    public TinyServer(Handler handler) {
        this.handler = handler;
        this.listener = listen(0);
        this.port = listener.getLocalPort();
        accept();
    }

    public URI url() {
        return URI.create("http://127.0.0.1:" + port);
    }

    /** Waits until all are closed. @return how many are open when the time is over */
    public int awaitNoConnections(Duration limit) throws InterruptedException {
        long left = limit.toNanos();
        lock.lockInterruptibly();
        try {
            while (!connections.isEmpty() && left > 0) {
                left = closed.awaitNanos(left);
            }
            return connections.size();
        } finally {
            lock.unlock();
        }
    }

    /** Refuses connections from now on and cuts those that are open. */
    public void kill() {
        try {
            listener.close();
            // The port is free only once nobody is in accept any more.
            acceptor.join();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        cutAll();
    }

    /** Cuts every open connection; new ones are accepted. */
    public void cutAll() {
        lock.lock();
        try {
            connections.forEach(TinyServer::close);
        } finally {
            lock.unlock();
        }
    }

    /** Listens again, on the same port. */
    public void start() {
        listener = listen(port);
        accept();
    }

    @Override
    public void close() {
        kill();
    }

    private static ServerSocket listen(int port) {
        try {
            ServerSocket socket = new ServerSocket();
            socket.setReuseAddress(true);
            socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 1024);
            return socket;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void accept() {
        ServerSocket mine = listener;
        acceptor = Thread.ofVirtual().start(() -> {
            while (!mine.isClosed()) {
                try {
                    Socket connection = mine.accept();
                    opened(connection);
                    Thread.ofVirtual().start(() -> serve(connection));
                } catch (IOException e) {
                    return;
                }
            }
        });
    }

    private void serve(Socket connection) {
        try (connection) {
            connection.setTcpNoDelay(true);
            InputStream in = new BufferedInputStream(connection.getInputStream(), 1 << 14);
            OutputStream out = connection.getOutputStream();
            for (Request request = read(in); request != null; request = read(in)) {
                Reply reply = handler.handle(request);
                if (!write(out, reply)) {
                    return;
                }
            }
        } catch (IOException | RuntimeException e) {
            // cut, by us or by the client
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            closed(connection);
        }
    }

    private void opened(Socket connection) {
        lock.lock();
        try {
            connections.add(connection);
        } finally {
            lock.unlock();
        }
    }

    private void closed(Socket connection) {
        lock.lock();
        try {
            connections.remove(connection);
            closed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private static boolean write(OutputStream out, Reply reply) throws IOException {
        String head = "HTTP/1.1 " + reply.status() + " X\r\nContent-Type: " + reply.contentType() + "\r\nContent-Length: " + reply.body().length + "\r\n"
                + (reply.header().isEmpty() || reply.header().startsWith("cut=") ? "" : reply.header() + "\r\n") + "\r\n";
        byte[] start = head.getBytes(StandardCharsets.US_ASCII);
        int length = reply.header().startsWith("cut=") ? Math.min(reply.body().length, Integer.parseInt(reply.header().substring(4))) : reply.body().length;
        ByteArrayOutputStream all = new ByteArrayOutputStream(start.length + length);
        all.write(start);
        all.write(reply.body(), 0, length);
        all.writeTo(out);
        out.flush();
        return length == reply.body().length;
    }

    private static @org.jspecify.annotations.Nullable Request read(InputStream in) throws IOException {
        String line = line(in);
        if (line.isEmpty()) {
            return null;
        }
        String[] parts = line.split(" ");
        int length = 0;
        String authorization = "";
        for (String header = line(in); !header.isEmpty(); header = line(in)) {
            if (header.regionMatches(true, 0, "content-length:", 0, 15)) {
                length = Integer.parseInt(header.substring(15).strip());
            } else if (header.regionMatches(true, 0, "authorization:", 0, 14)) {
                authorization = header.substring(14).strip();
            }
        }
        String target = parts[1];
        int q = target.indexOf('?');
        return new Request(parts[0], q < 0 ? target : target.substring(0, q), q < 0 ? "" : target.substring(q + 1), authorization, in.readNBytes(length));
    }

    private static String line(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            if (c < 0) {
                return "";
            }
            if (c != '\r') {
                line.append((char) c);
            }
        }
        return line.toString();
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
