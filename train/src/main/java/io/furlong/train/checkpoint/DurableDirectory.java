package io.furlong.train.checkpoint;

import io.furlong.train.checkpoint.DiskObserver.Move;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.List;

/**
 * A directory that appears under its name whole and on disk, or not at all.
 *
 * <p>Files go into a sibling whose name starts with a dot; {@link #publish} forces every file, then every directory, renames, and forces the
 * parent. A power cut before the rename leaves only the dotted sibling, which the next writer of the same name removes.
 */
final class DurableDirectory {
    private static final String UNFINISHED = ".unfinished-";
    private final Path target;
    private final Path work;
    private final DiskObserver observer;

    /** @throws FileAlreadyExistsException if something has that name: a finished directory is never written again */
    DurableDirectory(Path target, DiskObserver observer) throws IOException {
        this.target = target;
        this.observer = observer;
        work = target.resolveSibling(UNFINISHED + target.getFileName());
        if (Files.exists(target)) {
            throw new FileAlreadyExistsException(target.toString());
        }
        delete(work);
        Files.createDirectories(work);
    }

    /** Where to write, until {@link #publish}. */
    Path work() {
        return work;
    }

    /** Runs one file's or one group of files' writing between its two observations. */
    void write(String name, Writing writing) throws IOException {
        Path path = work.resolve(name);
        observer.at(Move.WRITING, path);
        writing.into(path);
        observer.at(Move.WRITTEN, path);
    }

    /** Forces everything to disk and gives it its name. */
    void publish() throws IOException {
        List<Path> all;
        try (var walk = Files.walk(work)) {
            all = walk.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path path : all) {
            sync(path);
        }
        observer.at(Move.RENAMING, target);
        Files.move(work, target, StandardCopyOption.ATOMIC_MOVE);
        observer.at(Move.RENAMED, target);
        sync(target.toAbsolutePath().getParent());
    }

    private void sync(Path path) throws IOException {
        observer.at(Move.SYNCING, path);
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            channel.force(true);
        }
        observer.at(Move.SYNCED, path);
    }

    /** Removes a directory with all that is in it, if it is there. */
    static void delete(Path directory) throws IOException {
        if (!Files.exists(directory)) {
            return;
        }
        try (var walk = Files.walk(directory)) {
            for (Path path : walk.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        }
    }

    /** Whether a name is that of a directory whose writing never ended. */
    static boolean isUnfinished(Path directory) {
        return directory.getFileName().toString().startsWith(UNFINISHED);
    }

    /** Writes to the path it is given. */
    interface Writing {
        void into(Path path) throws IOException;
    }
}
