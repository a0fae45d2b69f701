package io.furlong.rollout.data;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Optional;

/**
 * A dataset file by path and format, known to be there, to be a file and not to be empty.
 *
 * @param format told by the suffix
 */
record DatasetFile(Path path, Format format) {
    private static final int BLOCK = 1 << 20;

    /** Formats that can be read. */
    enum Format {
        JSONL, CSV, PARQUET;

        boolean isText() {
            return this != PARQUET;
        }
    }

    static DatasetFile of(Path path) {
        if (!Files.exists(path)) {
            throw new DatasetException(path, "there is no such file; data must name a .jsonl, .parquet or .csv file");
        }
        if (Files.isDirectory(path)) {
            throw new DatasetException(path, "is a directory; data must name a .jsonl, .parquet or .csv file");
        }
        String name = path.getFileName().toString().toLowerCase(Locale.ROOT);
        Format format;
        if (name.endsWith(".jsonl") || name.endsWith(".ndjson")) {
            format = Format.JSONL;
        } else if (name.endsWith(".parquet")) {
            format = Format.PARQUET;
        } else if (name.endsWith(".csv")) {
            format = Format.CSV;
        } else {
            throw new DatasetException(path, "can't tell the format from the name; it must end in .jsonl, .parquet or .csv");
        }
        if (!Files.isReadable(path)) {
            throw new DatasetException(path, "may not be read by this user");
        }
        DatasetFile file = new DatasetFile(path, format);
        if (file.size() == 0) {
            throw new DatasetException(path, "is empty; it must have at least one row");
        }
        return file;
    }

    long size() {
        try {
            return Files.size(path);
        } catch (IOException e) {
            throw new DatasetException(path, "can't be read (" + e + ")", e);
        }
    }

    /** SHA-256 of the bytes, in hex; on the way a text file is checked to be UTF-8. */
    String fingerprint() {
        try (InputStream in = Files.newInputStream(path)) {
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            Utf8 utf8 = new Utf8();
            byte[] block = new byte[BLOCK];
            for (int n = in.readNBytes(block, 0, BLOCK); n > 0; n = in.readNBytes(block, 0, BLOCK)) {
                sha.update(block, 0, n);
                if (format.isText()) {
                    utf8.check(block, n, n < BLOCK);
                }
            }
            return HexFormat.of().formatHex(sha.digest());
        } catch (IOException e) {
            throw new DatasetException(path, "can't be read (" + e + ")", e);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }

    /** Checks block after block, counting lines. */
    private final class Utf8 {
        private final CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder()
                .onMalformedInput(CodingErrorAction.REPORT).onUnmappableCharacter(CodingErrorAction.REPORT);
        private final CharBuffer chars = CharBuffer.allocate(BLOCK + 16);
        private final ByteBuffer bytes = ByteBuffer.allocate(BLOCK + 16);
        private long line = 1;

        void check(byte[] block, int length, boolean last) {
            bytes.put(block, 0, length).flip();
            int from = bytes.position();
            CoderResult r = decoder.decode(bytes, chars.clear(), last);
            for (int i = from; i < bytes.position(); i++) {
                if (bytes.get(i) == '\n') {
                    line++;
                }
            }
            if (r.isError()) {
                throw new DatasetException(path, "line " + line + ": byte 0x"
                        + HexFormat.of().toHexDigits(bytes.get(bytes.position())) + " is not UTF-8; the file must be UTF-8 text");
            }
            bytes.compact();
        }
    }

    /** One record of a text file as it stands there. */
    record Line(long number, String text) {}

    /** The {@code row}-th record of a JSON lines file, blank lines aside. */
    Optional<Line> line(long row) {
        if (format != Format.JSONL) {
            return Optional.empty();
        }
        try (BufferedReader in = Files.newBufferedReader(path)) {
            long number = 0;
            long records = -1;
            for (String text = in.readLine(); text != null; text = in.readLine()) {
                number++;
                if (!text.isBlank() && ++records == row) {
                    return Optional.of(new Line(number, text));
                }
            }
            return Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Where a record is, for messages, one-based: {@code line 17}, or {@code row 17} where records may span lines. */
    String place(long row) {
        return line(row).map(l -> "line " + l.number()).orElse("row " + (row + 1));
    }
}
