package io.furlong.train.checkpoint;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import io.furlong.torch.CheckpointException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;

/**
 * The SHA-256 of each file of a checkpoint; itself identified by the SHA-256 of its bytes.
 *
 * @param format of the checkpoint; this code writes and reads 1
 * @param files  64 hex digits by path within the directory
 */
record Manifest(int format, Map<String, String> files) {
    static final String NAME = "manifest.json";
    private static final int FORMAT = 1;
    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

    Manifest {
        files = new TreeMap<>(files);
    }

    /** Of all files that are in the directory now. */
    static Manifest of(Path directory) throws IOException {
        Map<String, String> files = new TreeMap<>();
        try (var walk = Files.walk(directory)) {
            for (Path file : walk.filter(Files::isRegularFile).toList()) {
                String name = directory.relativize(file).toString();
                if (!name.equals(NAME)) {
                    files.put(name, sha256(file));
                }
            }
        }
        return new Manifest(FORMAT, files);
    }

    byte[] bytes() throws IOException {
        return JSON.writeValueAsBytes(this);
    }

    /** Reads the manifest of a checkpoint and compares every file with it. */
    static Manifest verified(Path directory) {
        Path path = directory.resolve(NAME);
        Manifest manifest;
        try {
            manifest = JSON.readValue(path.toFile(), Manifest.class);
        } catch (IOException e) {
            throw new CheckpointException(path + ": " + (Files.exists(path) ? "is not a manifest" : "no such file; this is not a checkpoint"), e);
        }
        if (manifest.format != FORMAT) {
            throw new CheckpointException(path + ": format is " + manifest.format + ", must be " + FORMAT);
        }
        manifest.files.forEach((name, digest) -> {
            Path file = directory.resolve(name);
            try {
                String is = sha256(file);
                if (!is.equals(digest)) {
                    throw new CheckpointException(file + ": SHA-256 is " + is.substring(0, 12) + "…, the manifest says " + digest.substring(0, 12) + "…; the file has changed");
                }
            } catch (IOException e) {
                throw new CheckpointException(file + ": named in the manifest but can't be read", e);
            }
        });
        return manifest;
    }

    /** SHA-256 of a checkpoint's manifest, 64 hex digits: identifies all of it. */
    static String digestOf(Path directory) throws IOException {
        return sha256(directory.resolve(NAME));
    }

    private static String sha256(Path file) throws IOException {
        try (InputStream in = new DigestInputStream(Files.newInputStream(file), MessageDigest.getInstance("SHA-256"))) {
            in.transferTo(java.io.OutputStream.nullOutputStream());
            return HexFormat.of().formatHex(((DigestInputStream) in).getMessageDigest().digest());
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
