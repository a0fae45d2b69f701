package io.furlong.control;

import io.furlong.core.RegistrationId;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The files of versions: directories directly under any of the roots whose names begin
 * {@code {adapter}.{12 hex of the registration}@v{number}}, after a dot and a word such as {@code .unfinished-} while they are written.
 */
public final class VersionDirectories {
    private final List<Path> roots;

    public VersionDirectories(List<Path> roots) {
        this.roots = List.copyOf(roots);
    }

    /** Removes what belongs to versions of the registration other than these: left by a crash before its commit. */
    public void keepOnly(String adapter, RegistrationId registration, Set<Long> versions) throws IOException {
        for (Found f : find(adapter, registration)) {
            if (!versions.contains(f.version)) {
                delete(f.directory);
            }
        }
    }

    /** Removes what belongs to these versions of the registration. */
    public void remove(String adapter, RegistrationId registration, Set<Long> versions) throws IOException {
        for (Found f : find(adapter, registration)) {
            if (versions.contains(f.version)) {
                delete(f.directory);
            }
        }
    }

    private record Found(Path directory, long version) {}

    private List<Found> find(String adapter, RegistrationId registration) throws IOException {
        Pattern name = Pattern.compile("(?:\\.(?:[a-z]+-)?)?" + Pattern.quote(adapter + "." + registration.shortHex() + "@v") + "(\\d{1,18})(\\D.*)?");
        List<Found> found = new ArrayList<>();
        for (Path root : roots) {
            if (!Files.isDirectory(root)) {
                continue;
            }
            try (var entries = Files.newDirectoryStream(root)) {
                for (Path p : entries) {
                    Matcher m = name.matcher(p.getFileName().toString());
                    if (m.matches()) {
                        found.add(new Found(p, Long.parseLong(m.group(1))));
                    }
                }
            }
        }
        return found;
    }

    private static void delete(Path directory) throws IOException {
        Files.walkFileTree(directory, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path dir, java.io.IOException problem) throws IOException {
                Files.delete(dir);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
