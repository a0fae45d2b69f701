package io.furlong.it.crash;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;

/**
 * Starts processes of ours fast, since many are to be killed: their classes come from an archive that the first one leaves when it ends.
 * Such an archive needs jars, so directories on the class path are packed first.
 */
final class Launcher {
    private static Optional<Launcher> shared = Optional.empty();

    private final Path directory;
    private final String classPath;
    private final Path archive;

    private Launcher(Path directory, String classPath) {
        this.directory = directory;
        this.classPath = classPath;
        this.archive = directory.resolve("classes.jsa");
    }

    /** One for all tests of this process; the archive is there when it returns. */
    static synchronized Launcher shared() throws Exception {
        if (shared.isEmpty()) {
            Path directory = Files.createTempDirectory("furlong-crash-");
            directory.toFile().deleteOnExit();
            Launcher launcher = in(directory);
            launcher.start(RunProcess.class, "first", SmallRun.deterministic(directory.resolve("first"), Map.of("sort", 1)).write().file().toString()).ends();
            shared = Optional.of(launcher);
        }
        return shared.get();
    }

    private static Launcher in(Path directory) throws IOException {
        List<String> path = new ArrayList<>();
        for (String element : System.getProperty("java.class.path").split(File.pathSeparator)) {
            Path p = Path.of(element);
            path.add(Files.isDirectory(p) ? packed(p, directory.resolve("classes-" + path.size() + ".jar")).toString() : element);
        }
        return new Launcher(directory, String.join(File.pathSeparator, path));
    }

    private static Path packed(Path classes, Path jar) throws IOException {
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar)); var walk = Files.walk(classes)) {
            out.setLevel(0);
            for (Path path : walk.filter(p -> !p.equals(classes)).toList()) {
                boolean folder = Files.isDirectory(path);
                out.putNextEntry(new JarEntry(classes.relativize(path) + (folder ? "/" : "")));
                if (!folder) {
                    Files.copy(path, out);
                }
                out.closeEntry();
            }
        }
        return jar;
    }

    /** Runs a program whose standard error goes to a file of this name. */
    ChildProcess start(Class<?> program, String name, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx512m", "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1", "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow", "-Dorg.bytedeco.javacpp.maxPhysicalBytes=0",
                "-Xlog:disable", (Files.exists(archive) ? "-XX:SharedArchiveFile=" : "-XX:ArchiveClassesAtExit=") + archive, "-Dfurlong.it.home=" + SmallRun.HOME,
                "-cp", classPath, program.getName()));
        command.addAll(List.of(arguments));
        return new ChildProcess(command, directory.resolve(name + ".err"));
    }
}
