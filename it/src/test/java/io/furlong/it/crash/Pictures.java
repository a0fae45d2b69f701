package io.furlong.it.crash;

import io.furlong.it.crash.Move.Point;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiPredicate;

/**
 * Copies of a run's directory, one for each state of it that a crash could leave.
 *
 * <p>At each move there are two: what a kill leaves, which is what the files say, and what a power cut leaves at the worst: of a file that
 * was not synced its name only, and an old name where the directory above was not synced.
 */
final class Pictures {
    private final Path world;
    private final Path gallery;
    /** By content. */
    private final Map<String, Picture> all = new LinkedHashMap<>();
    private final Set<Path> synced = new HashSet<>();
    private final BiPredicate<Move, Cause> wanted;
    private int moves;

    /** @param moves that had been made, the last one told of included */
    record Picture(Path copy, int moves, Move last, Cause cause) {}

    enum Cause { KILL, POWER_CUT }

    /** @param wanted asked of every move in order, for each cause */
    Pictures(Path world, Path gallery, BiPredicate<Move, Cause> wanted) {
        this.world = world;
        this.gallery = gallery;
        this.wanted = wanted;
    }

    List<Picture> all() {
        return new ArrayList<>(all.values());
    }

    /** Called at each move. */
    void take(Move move, Path path) {
        moves++;
        if (move.point() == Point.SYNCED) {
            synced.add(path);
        }
        try {
            for (Cause cause : Cause.values()) {
                if (wanted.test(move, cause)) {
                    keep(move, cause);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void keep(Move move, Cause cause) throws IOException {
        Path copy = gallery.resolve("picture-" + all.size());
        String content = copy(world, copy, cause);
        if (all.putIfAbsent(content, new Picture(copy, moves, move, cause)) != null) {
            delete(copy);
        }
    }

    /** Makes a picture the world. */
    void putBack(Picture picture) throws IOException {
        delete(world);
        Files.move(picture.copy(), world);
    }

    /** Copies what counts and returns its digest. */
    private String copy(Path from, Path to, Cause cause) throws IOException {
        MessageDigest digest = sha256();
        List<Path> paths;
        try (var walk = Files.walk(from)) {
            paths = walk.sorted().toList();
        }
        for (Path path : paths) {
            String name = path.getFileName().toString();
            if (name.endsWith(".lock") || name.endsWith("-shm") || !Files.exists(path)) {
                continue;
            }
            Path target = to.resolve(from.relativize(path));
            digest.update(target.toString().substring(to.toString().length()).getBytes());
            if (Files.isDirectory(path)) {
                Files.createDirectories(target);
            } else {
                byte[] bytes = cause == Cause.POWER_CUT && path.startsWith(from.resolve("versions")) && !isSynced(path) ? new byte[0] : Files.readAllBytes(path);
                Files.write(target, bytes);
                digest.update(bytes);
            }
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    /** A file is synced under the name it had then. */
    private boolean isSynced(Path path) {
        Path version = world.resolve("versions").resolve(world.resolve("versions").relativize(path).getName(0));
        return synced.contains(path) || synced.contains(version.resolveSibling(".unfinished-" + version.getFileName()).resolve(version.relativize(path)));
    }

    private static void delete(Path directory) throws IOException {
        if (Files.exists(directory)) {
            try (var walk = Files.walk(directory)) {
                for (Path path : walk.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(path);
                }
            }
        }
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
