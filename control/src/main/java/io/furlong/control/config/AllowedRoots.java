package io.furlong.control.config;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Directories that a configuration may name files in; symbolic links are followed before the check. */
public final class AllowedRoots {
    /** No limit: for files that the user of this machine wrote. */
    public static final AllowedRoots ANY = new AllowedRoots(List.of());

    private final List<Path> roots;

    private AllowedRoots(List<Path> roots) {
        this.roots = roots;
    }

    public static AllowedRoots of(List<Path> roots) {
        if (roots.isEmpty()) {
            throw new IllegalArgumentException("allowed roots must name at least one directory");
        }
        return new AllowedRoots(roots.stream().map(AllowedRoots::real).toList());
    }

    /** Nothing when the path is inside; otherwise what would be accepted. */
    public Optional<String> refusal(Path path) {
        Path real = real(path);
        if (roots.isEmpty() || roots.stream().anyMatch(real::startsWith)) {
            return Optional.empty();
        }
        return Optional.of("a path inside " + String.join(" or ", roots.stream().map(Path::toString).toList()));
    }

    /** The path with the links of its longest existing part resolved. */
    private static Path real(Path path) {
        Path whole = path.toAbsolutePath().normalize();
        for (Path existing = whole; existing != null; existing = existing.getParent()) {
            try {
                return existing.toRealPath().resolve(existing.relativize(whole));
            } catch (IOException e) {
                continue; // not there (yet): its parent decides
            }
        }
        return whole;
    }
}
