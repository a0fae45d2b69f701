package io.furlong.cli.adapters;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.cli.FurlongCommand;
import io.furlong.cli.TestConsole;
import io.furlong.control.AdapterRegistry;
import io.furlong.control.Limits;
import io.furlong.control.Store;
import io.furlong.control.VersionDirectories;
import io.furlong.control.config.AdapterConfigReader;
import io.furlong.control.store.Stores;
import io.furlong.core.AdapterConfig;
import io.furlong.server.Access;
import io.furlong.server.ControlServer;
import io.furlong.server.ServerOptions;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Against a real control API over a registry in memory; nothing trains. */
class AdaptersCommandTest {
    @TempDir
    Path dir;

    private Store store;
    private AdapterRegistry registry;
    private ControlServer server;
    private final TestConsole console = new TestConsole();

    @BeforeEach
    void aService() throws Exception {
        store = Stores.open("memory");
        registry = AdapterRegistry.open(Limits.of(2, () -> 64), List.of(), store, InstantSource.system(), new VersionDirectories(List.of()));
        server = ControlServer.start(ServerOptions.loopback(0, AdapterConfigReader.plain(dir.resolve("out"))), registry);
        Files.writeString(dir.resolve("gsm8k.yaml"), "data: rows.jsonl\nrm_type: math\nnum_step: 10\neval: {data: sub/held.jsonl}\n");
    }

    @AfterEach
    void end() throws Exception {
        server.close();
        store.close();
    }

    private int adapters(String... args) {
        List<String> all = new java.util.ArrayList<>(List.of("adapters"));
        all.addAll(List.of(args));
        all.addAll(List.of("--url", "http://127.0.0.1:" + server.port()));
        return console.furlong(all.toArray(String[]::new));
    }

    private void registered(String name) {
        assertThat(adapters("register", name, dir.resolve("gsm8k.yaml").toString())).isEqualTo(FurlongCommand.OK);
    }

    @Test
    void registeringSendsTheFileWithPathsAsTheServiceMustSeeThem() {
        registered("gsm8k");
        assertThat(console.out()).matches("gsm8k: registered as [0-9a-f]{32}, slot 0\n");
        AdapterConfig config = registry.find("gsm8k").orElseThrow().config();
        assertThat(config.data().path()).isEqualTo(dir.resolve("rows.jsonl"));
        assertThat(config.eval().orElseThrow().data()).isEqualTo(dir.resolve("sub/held.jsonl"));
    }

    @Test
    void theListIsATable() {
        registered("gsm8k");
        console.forget();
        assertThat(adapters("list")).isEqualTo(FurlongCommand.OK);
        assertThat(console.out().lines().map(String::strip)).containsExactly("name   phase    step  version  slot  tenant   reason",
                "gsm8k  pending  0/10        0     0  default");
    }

    @Test
    void whatTheServiceRefusesIsOneLineInItsOwnWords() throws Exception {
        Files.writeString(dir.resolve("gsm8k.yaml"), "data: rows.jsonl\nrm_type: math\nrnak: 3\n");
        assertThat(adapters("register", "gsm8k", dir.resolve("gsm8k.yaml").toString())).isEqualTo(FurlongCommand.MISTAKE);
        assertThat(console.err()).isEqualTo("furlong: config.rnak: unknown key, did you mean 'rank'?\n");
        console.forget();
        assertThat(adapters("show", "nobody")).isEqualTo(FurlongCommand.MISTAKE);
        assertThat(console.err()).isEqualTo("furlong: Adapter 'nobody' not registered\n");
    }

    @Test
    void validatingRegistersNothing() {
        assertThat(adapters("register", "gsm8k", dir.resolve("gsm8k.yaml").toString(), "--validate-only")).isEqualTo(FurlongCommand.OK);
        assertThat(console.out()).isEqualTo("gsm8k: valid\n");
        assertThat(registry.find("gsm8k")).isEmpty();
    }

    @Test
    void settingsAreNumbersAndTheServiceKnowsTheirNames() {
        registered("gsm8k");
        assertThat(adapters("set", "gsm8k", "num_step=20", "lr=5e-4")).isEqualTo(FurlongCommand.OK);
        console.forget();
        assertThat(adapters("set", "gsm8k", "lr=fast")).isEqualTo(FurlongCommand.MISTAKE);
        assertThat(console.err()).isEqualTo("furlong: lr: got 'fast', must be a number\n");
        console.forget();
        assertThat(adapters("set", "gsm8k", "num_stpe=3")).isEqualTo(FurlongCommand.MISTAKE);
        assertThat(console.err()).contains("num_stpe: unknown key, did you mean 'num_step'?");
    }

    @Test
    void anAdapterIsShownWithItsGroupsAndFigures() {
        registered("gsm8k");
        console.forget();
        assertThat(adapters("show", "gsm8k")).isEqualTo(FurlongCommand.OK);
        assertThat(console.out()).startsWith("gsm8k: pending, step 0/10, version 0\n").contains("groups: dispatched 0", "latest: none yet");
    }

    @Test
    void retiringSaysWhereItStands() {
        registered("gsm8k");
        console.forget();
        assertThat(adapters("retire", "gsm8k", "--now")).isEqualTo(FurlongCommand.OK);
        assertThat(console.out()).matches("gsm8k: (retiring|cleanup|completed)\n");
    }

    @Test
    void aTokenIsSentWhereOneIsWanted() {
        String token = Access.issue(store, "team-a", "test", Instant.EPOCH);
        assertThat(adapters("list")).isEqualTo(FurlongCommand.MISTAKE);
        assertThat(console.err()).contains("a token is needed");
        assertThat(adapters("list", "--token", token)).isEqualTo(FurlongCommand.OK);
    }

    @Test
    void withoutAServiceOneLineSaysSo() {
        assertThat(console.furlong("adapters", "list", "--url", "http://127.0.0.1:1")).isEqualTo(FurlongCommand.MISTAKE);
        assertThat(console.err()).isEqualTo("furlong: no control API answers at http://127.0.0.1:1 (ConnectException): is 'furlong serve' running there?\n");
        console.forget();
        assertThat(console.furlong("adapters", "list", "--url", "localhost:8068")).isEqualTo(FurlongCommand.MISTAKE);
        assertThat(console.err()).isEqualTo("furlong: --url: got 'localhost:8068', must be an http:// or https:// URL\n");
    }
}
