package io.furlong.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The script {@code furlong} in a copy of its own, with JDKs and a Maven that only say what they were asked. */
class LauncherTest {
    private static final Path SCRIPT = Path.of("..", "furlong").toAbsolutePath().normalize();

    @TempDir
    Path dir;

    private Path home;
    private Path jvms;
    private Path tools;

    @BeforeEach
    void aCheckout() throws IOException {
        home = Files.createDirectories(dir.resolve("check out")).toRealPath();
        jvms = Files.createDirectories(dir.resolve("jvm"));
        tools = Files.createDirectories(dir.resolve("tools"));
        Files.copy(SCRIPT, home.resolve("furlong"), java.nio.file.StandardCopyOption.COPY_ATTRIBUTES);
        Files.createDirectories(home.resolve("core/src/main"));
        Files.writeString(home.resolve("pom.xml"), "<project/>");
        for (String tool : List.of("bash", "env", "dirname", "readlink", "grep", "find", "sed", "mkdir", "rm", "mv", "tee", "tail", "cp", "touch", "date", "sort")) {
            executable(tools.resolve(tool), "#!/bin/bash\nexec " + which(tool) + " \"$@\"\n");
        }
    }

    @Test
    void theScriptIsValidBash() throws Exception {
        Process check = new ProcessBuilder("bash", "-n", SCRIPT.toString()).redirectErrorStream(true).start();
        assertThat(new String(check.getInputStream().readAllBytes())).isEmpty();
        assertThat(check.waitFor()).isZero();
    }

    @Test
    void aJdk25IsFoundAmongOthers() throws Exception {
        built();
        jdk("a-jdk-17", "17.0.15");
        jdk("b-jdk-25", "25.0.3");
        jdk("c-jdk-26", "26");
        Result run = run(Map.of(), "version");
        assertThat(run.code).isZero();
        assertThat(run.out).startsWith("b-jdk-25|").contains("|io.furlong.cli.Furlong|version\n", "--enable-native-access=ALL-UNNAMED",
                "-Dorg.bytedeco.javacpp.maxPhysicalBytes=0", "-Dfurlong.home=" + home).endsWith("OMP_WAIT_POLICY=PASSIVE\n");
    }

    @Test
    void theJdkIsShownWithoutABuild() throws Exception {
        Path jdk = jdk("jdk", "25.0.3");
        assertThat(run(Map.of(), "--jdk").out).isEqualTo(jdk + "\n");
    }

    @Test
    void theFirstReleaseOfJdk25HasNoSecondNumber() throws Exception {
        built();
        jdk("jdk", "25");
        assertThat(run(Map.of()).out).startsWith("jdk|");
    }

    @Test
    void theEnvironmentIsAskedFirst() throws Exception {
        built();
        jdk("a", "25.0.1");
        Path ours = jdk("b", "25.0.3");
        Path old = jdk("c", "17.0.1");
        assertThat(run(Map.of("FURLONG_JAVA_HOME", ours.toString())).out).startsWith("b|");
        assertThat(run(Map.of("JAVA_HOME", ours.toString())).out).startsWith("b|");
        assertThat(run(Map.of("JAVA_HOME", old.toString())).out).as("an old JAVA_HOME is passed over").startsWith("a|");
        Result wrong = run(Map.of("FURLONG_JAVA_HOME", old.toString()));
        assertThat(wrong.code).isEqualTo(1);
        assertThat(wrong.err).isEqualTo("furlong: FURLONG_JAVA_HOME is " + old + ", which is not a JDK 25\n");
    }

    @Test
    void aMacKeepsItsJdksOneLevelDeeper() throws Exception {
        built();
        jdk("temurin-25.jdk/Contents/Home", "25.0.3");
        assertThat(run(Map.of()).out).startsWith("Home|");
    }

    @Test
    void withoutAJdk25OneLineSaysHowToGetOne() throws Exception {
        built();
        jdk("jdk-17", "17.0.15");
        Result run = run(Map.of());
        assertThat(run.code).isEqualTo(1);
        assertThat(run.err).hasLineCount(1).startsWith("furlong: needs a JDK 25 and found none: ").contains("FURLONG_JAVA_HOME");
    }

    @Test
    void theFirstRunBuildsWithProgressAndTheSecondDoesNot() throws Exception {
        jdk("jdk", "25.0.3");
        maven("echo '[INFO] Building Furlong: core 0.1.0-SNAPSHOT   [2/13]'; echo '[INFO] noise'");
        Result first = run(Map.of());
        assertThat(first.code).isZero();
        assertThat(first.err).contains("furlong: building", "[2/13] core").doesNotContain("noise");
        assertThat(Files.readString(home.resolve("maven.args"))).contains("-f " + home + "/pom.xml", "-DskipTests");
        assertThat(run(Map.of()).err).isEmpty();
    }

    @Test
    void aSourceThatChangedSinceIsBuiltAgain() throws Exception {
        built();
        jdk("jdk", "25.0.3");
        maven("true");
        Files.setLastModifiedTime(Files.writeString(home.resolve("core/src/main/A.java"), ""), FileTime.from(Instant.now().plusSeconds(60)));
        assertThat(run(Map.of()).err).contains("furlong: building");
    }

    @Test
    void aBuildLeavesTheJarsOfWhatRunsAlone() throws Exception {
        jdk("jdk", "25.0.3");
        maven("true");
        Path first = classPath(run(Map.of()).out);
        Files.delete(home.resolve("target/furlong.built"));
        Path second = classPath(run(Map.of()).out);
        assertThat(second).isNotEqualTo(first);
        for (Path app : List.of(first, second)) {
            assertThat(app.resolve("furlong-core.jar")).exists();
            assertThat(app.resolve("furlong-bench-1.jar")).exists();
        }
    }

    private static Path classPath(String commandLine) {
        List<String> arguments = List.of(commandLine.split("[|\n]"));
        String path = arguments.get(arguments.indexOf("-cp") + 1);
        return Path.of(path.substring(0, path.length() - "/*".length()));
    }

    @Test
    void aFailedBuildShowsItsErrorsAndIsTriedAgain() throws Exception {
        jdk("jdk", "25.0.3");
        maven("echo '[ERROR] A.java:[3,1] ; expected'; exit 1");
        for (int i = 0; i < 2; i++) {
            Result run = run(Map.of());
            assertThat(run.code).isEqualTo(1);
            assertThat(run.err).contains("[ERROR] A.java:[3,1] ; expected", "the build failed; all of its output is in " + home + "/target/build.log");
            assertThat(run.out).isEmpty();
        }
    }

    @Test
    void withoutMavenOneLineSaysSo() throws Exception {
        jdk("jdk", "25.0.3");
        Result run = run(Map.of());
        assertThat(run.code).isEqualTo(1);
        assertThat(run.err).hasLineCount(1).startsWith("furlong: needs Maven to build itself");
    }

    @Test
    void itRunsThroughLinksFromAnyDirectory() throws Exception {
        built();
        jdk("jdk", "25.0.3");
        Path first = Files.createSymbolicLink(dir.resolve("first"), home.resolve("furlong"));
        Path second = Files.createSymbolicLink(Files.createDirectories(dir.resolve("bin")).resolve("second"), Path.of("../first"));
        for (Path start : List.of(first, second)) {
            assertThat(run(start, Map.of(), "x").out).contains("-Dfurlong.home=" + home);
        }
    }

    @Test
    void argumentsArriveAsTheyWereGiven() throws Exception {
        built();
        jdk("jdk", "25.0.3");
        assertThat(run(Map.of(), "generate", "two words", "*").out).contains("Furlong|generate|two words|*\n");
    }

    private void built() throws IOException {
        Files.createDirectories(home.resolve("target/app/first"));
        Files.writeString(home.resolve("target/furlong.built"), "first\n");
        Files.setLastModifiedTime(home.resolve("target/furlong.built"), FileTime.from(Instant.now().plusSeconds(5)));
    }

    private Path jdk(String name, String version) throws IOException {
        Path jdk = Files.createDirectories(jvms.resolve(name));
        Files.createDirectories(jdk.resolve("bin"));
        executable(jdk.resolve("bin/java"), """
                #!/bin/bash
                home=${0%/bin/java}
                printf '%s' "${home##*/}"; printf '|%s' "$@"; printf '\\n'
                echo "OMP_WAIT_POLICY=$OMP_WAIT_POLICY"
                """);
        executable(jdk.resolve("bin/javac"), "#!/bin/bash\n");
        Files.writeString(jdk.resolve("release"), "IMPLEMENTOR=\"Test\"\nJAVA_VERSION=\"" + version + "\"\n");
        return jdk;
    }

    /** Leaves the jars that a build leaves, then does something of its own. */
    private void maven(String does) throws IOException {
        executable(tools.resolve("mvn"), "#!/bin/bash\necho \"$@\" >'" + home + "/maven.args'\nmkdir -p '" + home + "/target/lib' '" + home
                + "/bench/target'\n: >'" + home + "/target/lib/furlong-core.jar'\n: >'" + home + "/bench/target/furlong-bench-1.jar'\n" + does + "\n");
    }

    private static void executable(Path file, String text) throws IOException {
        Files.writeString(file, text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private static Path which(String tool) {
        return List.of(Path.of("/usr/bin", tool), Path.of("/bin", tool)).stream().filter(Files::exists).findFirst().orElseThrow();
    }

    private Result run(Map<String, String> environment, String... args) throws Exception {
        return run(home.resolve("furlong"), environment, args);
    }

    private Result run(Path script, Map<String, String> environment, String... args) throws Exception {
        ProcessBuilder builder = new ProcessBuilder();
        builder.command().add(script.toString());
        builder.command().addAll(List.of(args));
        builder.environment().clear();
        builder.environment().putAll(Map.of("PATH", tools.toString(), "HOME", dir.toString(), "FURLONG_JVM_DIRS", jvms.toString()));
        builder.environment().putAll(environment);
        builder.directory(dir.toFile()).redirectOutput(dir.resolve("out").toFile()).redirectError(dir.resolve("err").toFile());
        int code = builder.start().waitFor();
        return new Result(code, Files.readString(dir.resolve("out")), Files.readString(dir.resolve("err")));
    }

    private record Result(int code, String out, String err) {}
}
