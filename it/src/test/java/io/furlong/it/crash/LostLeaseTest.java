package io.furlong.it.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.control.Registration;
import io.furlong.control.Store;
import io.furlong.control.store.Stores;
import io.furlong.engine.EngineOptions;
import io.furlong.engine.EngineServer;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.io.TempDir;

/** A whole run whose process is stopped without warning while another takes over, and woken again: it does no harm, and ends. */
@EnabledIfEnvironmentVariable(named = "FURLONG_TEST_POSTGRES", matches = "jdbc:postgresql:.+",
        disabledReason = "no PostgreSQL: set FURLONG_TEST_POSTGRES to its JDBC URL")
@Timeout(300)
class LostLeaseTest {
    private static final Pattern VERSION = Pattern.compile("@v(\\d+)-");

    @TempDir
    Path directory;

    @Test
    void aRunThatSleptWhileAnotherTookOverSendsNothingWritesNothingAndEnds() throws Exception {
        String base = System.getenv("FURLONG_TEST_POSTGRES");
        String schema = "run" + ProcessHandle.current().pid();
        String store = base + (base.contains("?") ? "&" : "?") + "currentSchema=" + schema;
        sql("CREATE SCHEMA " + schema);
        Path model = SmallRun.HOME.resolve("models/furlong-tiny");
        try (EngineServer engine = EngineServer.start(EngineOptions.builder(model).maxLorasPerBatch(16).maxLoraRank(4).build());
                EngineDoor door = new EngineDoor(URI.create("http://127.0.0.1:" + engine.port()))) {
            ChildProcess sleeper = Launcher.shared().start(RunProcess.class, "sleeper", run(model, store, door.url()).toString());
            try {
                assertThat(door.await("/load_lora_adapter", 3)).as("a run under way: %s", door.posts()).isTrue();
                sleeper.signal("STOP");
                long stopped = System.nanoTime();
                try (Store taken = Stores.open(store)) {
                    assertThat(Duration.ofNanos(System.nanoTime() - stopped)).as("take-over").isLessThan(Duration.ofSeconds(10));
                    long events = taken.lastEventId();
                    Registration before = taken.live().getFirst();
                    Map<String, Long> files = files(before.progress().lastCommitted());
                    assertThat(files).isNotEmpty();
                    int posts = door.posts().size();
                    assertThat(door.posts()).contains("/generate");

                    sleeper.signal("CONT");
                    assertThat(sleeper.exitCode()).as("it ends, and not as if all were well").isNotZero();

                    assertThat(door.posts().subList(posts, door.posts().size())).as("what it asked of the engine after it woke").isEmpty();
                    assertThat(taken.lastEventId()).as("accepted writes").isEqualTo(events);
                    assertThat(taken.live()).containsExactly(before);
                    assertThat(files(before.progress().lastCommitted())).as("files that others use").isEqualTo(files);
                    assertThat(sleeper.errors()).contains("another control plane leads now");
                }
            } finally {
                sleeper.signal("CONT");
                sleeper.kill();
            }
        } finally {
            sql("DROP SCHEMA " + schema + " CASCADE");
        }
    }

    private Path run(Path model, String store, URI engine) throws IOException {
        Files.createDirectories(directory.resolve("run"));
        return Files.writeString(directory.resolve("run/run.yaml"), """
                seed: 7
                model: %s
                store: "%s"
                engine: {url: "%s", routing: direct, adapter_dir: %s, sglang_server_concurrency: 4}
                lora: {max_adapters: 1, max_rank: 4}
                adapters:
                  sort: {data: %s, num_step: 100000, rollout_batch_size: 2, n_samples_per_prompt: 2, rank: 4, alpha: 8, rm_type: exact_match,
                    input_key: text, label_key: label, sampling: {temperature: 1.0, max_new_tokens: 16}}
                """.formatted(model, store, engine, directory.resolve("versions"), SmallRun.HOME.resolve("examples/quickstart/sort/train.jsonl")));
    }

    /**
     * What another control plane goes on with: committed versions and exports, with the time of their last change. A version that was being written
     * is not among them: its number is never given again, so what becomes of its directory is nobody's concern but the next clean-up's.
     */
    private Map<String, Long> files(long committed) throws IOException {
        Map<String, Long> all = new TreeMap<>();
        for (String root : new String[] {"versions", "run/out"}) {
            if (Files.isDirectory(directory.resolve(root))) {
                try (Stream<Path> walk = Files.walk(directory.resolve(root))) {
                    for (Path p : walk.filter(Files::isRegularFile).filter(p -> versionOf(p) <= committed).toList()) {
                        all.put(p.toString(), Files.getLastModifiedTime(p).toMillis());
                    }
                }
            }
        }
        return all;
    }

    /** 0 for a file that is in no version's directory. */
    private static long versionOf(Path file) {
        Matcher version = VERSION.matcher(file.toString());
        return version.find() ? Long.parseLong(version.group(1)) : 0;
    }

    private static void sql(String statement) throws Exception {
        try (Connection c = DriverManager.getConnection(System.getenv("FURLONG_TEST_POSTGRES")); Statement s = c.createStatement()) {
            s.execute(statement);
        }
    }
}
