package io.furlong.sglang;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.StandardSocketOptions;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

/**
 * One connection that speaks HTTP/1.1 (RFC 9112): a request, its whole reply, then perhaps the next. Used by one thread at a time, which blocks;
 * {@link #close} from any other ends whatever it waits for, and so does an interrupt.
 *
 * <p>Why not a client from a library: on a virtual thread this costs a seventh of the CPU that {@code java.net.http} takes for a rollout's reply, and
 * holds no buffers while a request waits. `furlong bench client` measures it.
 */
final class Connection implements AutoCloseable {
    /** Where it leads. */
    record Origin(String scheme, String host, int port) {
        static Origin of(URI uri) {
            int standard = uri.getScheme().equals("https") ? 443 : 80;
            return new Origin(uri.getScheme(), uri.getHost(), uri.getPort() < 0 ? standard : uri.getPort());
        }
    }

    /** Status and header fields of a reply. */
    record Head(int status, String fields) {
        /** Value of the first field of that name, in whichever case it is written. */
        Optional<String> field(String name) {
            for (int line = 0; line < fields.length();) {
                int end = fields.indexOf('\n', line);
                if (fields.regionMatches(true, line, name, 0, name.length()) && fields.charAt(line + name.length()) == ':') {
                    return Optional.of(fields.substring(line + name.length() + 1, end).strip());
                }
                line = end + 1;
            }
            return Optional.empty();
        }

        private boolean says(String name, String value) {
            return field(name).filter(v -> v.equalsIgnoreCase(value)).isPresent();
        }
    }

    private static final int LARGEST_HEAD = 1 << 16;
    private static final int LARGEST_BODY = 1 << 28;

    private final Origin origin;
    private final SocketChannel channel;
    private InputStream in = InputStream.nullInputStream();
    private OutputStream out = OutputStream.nullOutputStream();
    /** What came and was not read yet: from {@code at} to {@code end}. */
    private byte[] buffer = new byte[1024];
    private int at;
    private int end;
    /** Whether another request may follow the reply that was read last. */
    private boolean reusable;
    private long idleSince;

    Connection(Origin origin) throws IOException {
        this.origin = origin;
        this.channel = SocketChannel.open();
    }

    Origin origin() {
        return origin;
    }

    void connect(Duration limit, SSLSocketFactory secure) throws IOException {
        InetSocketAddress address = new InetSocketAddress(origin.host(), origin.port());
        if (address.isUnresolved()) {
            throw new IOException("unknown host " + origin.host());
        }
        Socket socket = channel.socket();
        socket.connect(address, (int) Math.max(1, limit.toMillis()));
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        if (origin.scheme().equals("https")) {
            SSLSocket tls = (SSLSocket) secure.createSocket(socket, origin.host(), origin.port(), true);
            SSLParameters checked = tls.getSSLParameters();
            checked.setEndpointIdentificationAlgorithm("HTTPS");
            tls.setSSLParameters(checked);
            tls.startHandshake();
            socket = tls;
        }
        in = socket.getInputStream();
        out = socket.getOutputStream();
    }

    /** One whole request, head and body. */
    void send(byte[] request) throws IOException {
        out.write(request);
        out.flush();
    }

    /** Waits for the head of the reply, past interim ones. */
    Head head() throws IOException {
        Head head = section();
        while (head.status() / 100 == 1) {
            head = section();
        }
        return head;
    }

    /** The body that belongs to {@code head}. */
    byte[] body(Head head) throws IOException {
        if (!isChunked(head)) {
            Optional<String> length = head.field("Content-Length");
            if (length.isPresent()) {
                byte[] body = fixed(length(length.get(), 10));
                reusable = !head.says("Connection", "close");
                return body;
            }
        }
        return stream(head).readAllBytes();
    }

    /** The same as it comes. Read to its end, the connection can be used again. */
    InputStream stream(Head head) throws IOException {
        boolean keeps = !head.says("Connection", "close");
        if (head.status() == 204 || head.status() == 304) {
            return new Body(Framing.COUNTED, 0, keeps);
        }
        if (isChunked(head)) {
            return new Body(Framing.CHUNKED, 0, keeps);
        }
        Optional<String> length = head.field("Content-Length");
        return length.isPresent() ? new Body(Framing.COUNTED, length(length.get(), 10), keeps) : new Body(Framing.TO_THE_END, 0, false);
    }

    boolean reusable() {
        return reusable && at == end;
    }

    void idle() {
        reusable = false;
        idleSince = System.nanoTime();
    }

    /** For how long nobody has used it. */
    long idleNanos() {
        return System.nanoTime() - idleSince;
    }

    /** Whether an idle one can take a request: not if the other side has closed it, or said something unasked. */
    boolean alive() {
        try {
            channel.configureBlocking(false);
            int read = channel.read(ByteBuffer.allocate(1));
            channel.configureBlocking(true);
            return read == 0;
        } catch (IOException e) {
            return false;
        }
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            // it is gone, which is what closing is for
        }
    }

    private static boolean isChunked(Head head) {
        return head.field("Transfer-Encoding").filter(v -> v.toLowerCase(java.util.Locale.ROOT).endsWith("chunked")).isPresent();
    }

    /** A status line and header fields, up to the empty line. */
    private Head section() throws IOException {
        String status = line();
        String[] parts = status.split(" ", 3);
        if (parts.length < 2 || !parts[0].startsWith("HTTP/1.") || parts[1].length() != 3) {
            throw new IOException("the reply begins with what is no HTTP: " + status);
        }
        String closing = parts[0].equals("HTTP/1.0") ? "Connection: close\n" : "";
        StringBuilder fields = new StringBuilder(256);
        for (String line = line(); !line.isEmpty(); line = line()) {
            fields.append(line).append('\n');
            if (fields.length() > LARGEST_HEAD) {
                throw new IOException("the head of the reply is longer than " + LARGEST_HEAD + " bytes");
            }
        }
        return new Head(length(parts[1], 10), closing + fields);
    }

    private String line() throws IOException {
        int searched = at;
        while (true) {
            for (; searched < end; searched++) {
                if (buffer[searched] == '\n') {
                    int stop = searched > at && buffer[searched - 1] == '\r' ? searched - 1 : searched;
                    String line = new String(buffer, at, stop - at, StandardCharsets.ISO_8859_1);
                    at = searched + 1;
                    return line;
                }
            }
            int begun = searched - at;
            if (at > 0) {
                System.arraycopy(buffer, at, buffer, 0, begun);
                at = 0;
                end = begun;
            } else if (end == buffer.length) {
                if (end > LARGEST_HEAD) {
                    throw new IOException("a line of the reply's head is longer than " + LARGEST_HEAD + " bytes");
                }
                buffer = Arrays.copyOf(buffer, 2 * end);
            }
            int read = in.read(buffer, end, buffer.length - end);
            if (read < 0) {
                throw new EOFException(end == 0 ? "closed before a reply" : "closed in the middle of a reply's head");
            }
            end += read;
            searched = begun;
        }
    }

    private static int length(String number, int radix) throws IOException {
        try {
            int length = Integer.parseUnsignedInt(number, radix);
            if (length >= 0 && length <= LARGEST_BODY) {
                return length;
            }
            throw new IOException("a reply of " + number + " bytes is too large");
        } catch (NumberFormatException e) {
            throw new IOException("the reply's head has " + number + " for a number", e);
        }
    }

    private byte[] fixed(int length) throws IOException {
        byte[] body = new byte[length];
        int have = buffered(body, 0, length);
        while (have < length) {
            int read = in.read(body, have, length - have);
            if (read < 0) {
                throw cutShort(have, length);
            }
            have += read;
        }
        return body;
    }

    private int buffered(byte[] to, int offset, int most) {
        int n = Math.min(most, end - at);
        System.arraycopy(buffer, at, to, offset, n);
        at += n;
        return n;
    }

    private static EOFException cutShort(int have, int of) {
        return new EOFException("closed after " + have + " of " + of + " bytes");
    }

    private enum Framing { COUNTED, CHUNKED, TO_THE_END }

    /** A reply's body; {@link #close} before its end closes the connection. */
    private final class Body extends InputStream {
        private final Framing framing;
        private final boolean keeps;
        /** Of the body, or of the present chunk. */
        private int left;
        private boolean over;

        private Body(Framing framing, int length, boolean keeps) {
            this.framing = framing;
            this.keeps = keeps;
            this.left = length;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] to, int offset, int most) throws IOException {
            if (over || most == 0) {
                return over ? -1 : 0;
            }
            if (framing == Framing.CHUNKED && left == 0) {
                left = length(line().replaceAll(";.*", "").strip(), 16);
                if (left == 0) {
                    for (String trailer = line(); !trailer.isEmpty();) {
                        trailer = line();
                    }
                }
            }
            if (left == 0 && framing != Framing.TO_THE_END) {
                return ended();
            }
            int wanted = framing == Framing.TO_THE_END ? most : Math.min(most, left);
            int read = at < end ? buffered(to, offset, wanted) : in.read(to, offset, wanted);
            if (read < 0) {
                if (framing != Framing.TO_THE_END) {
                    throw new EOFException("closed in the middle of a reply");
                }
                return ended();
            }
            if (framing != Framing.TO_THE_END) {
                left -= read;
                if (framing == Framing.CHUNKED && left == 0 && !line().isEmpty()) {
                    throw new IOException("a chunk of the reply is longer than it said");
                }
            }
            return read;
        }

        private int ended() {
            over = true;
            reusable = keeps;
            return -1;
        }

        @Override
        public byte[] readAllBytes() throws IOException {
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            byte[] some = new byte[1 << 13];
            for (int n = read(some, 0, some.length); n >= 0; n = read(some, 0, some.length)) {
                all.write(some, 0, n);
                if (all.size() > LARGEST_BODY) {
                    throw new IOException("a reply of more than " + LARGEST_BODY + " bytes is too large");
                }
            }
            return all.toByteArray();
        }

        @Override
        public void close() {
            if (!over) {
                Connection.this.close();
            }
        }
    }
}
