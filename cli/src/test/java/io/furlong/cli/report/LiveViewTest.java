package io.furlong.cli.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.core.AdapterState;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

class LiveViewTest {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
    private Instant now = Instant.EPOCH;
    private final List<LiveLine> lines = new ArrayList<>();

    private LiveView view(LiveView.Terminal terminal) {
        return new LiveView(out, terminal, () -> now, () -> lines);
    }

    private String drawn() {
        String text = bytes.toString(StandardCharsets.UTF_8);
        bytes.reset();
        return text;
    }

    private static LiveLine line(String name, AdapterState state, long step, long tokens) {
        return new LiveLine(name, state, step, 40, step == 0 ? OptionalDouble.empty() : OptionalDouble.of(0.625), 1, step + 1, tokens);
    }

    @Test
    void plainOutputIsOneLineAnAdapterWithTheTimeInFront() {
        LiveView view = view(LiveView.Terminal.PLAIN);
        lines.addAll(List.of(line("add", AdapterState.ACTIVE, 11, 50_000), line("reverse", AdapterState.PENDING, 0, 0)));
        view.draw();
        drawn();
        lines.clear();
        lines.add(line("add", AdapterState.ACTIVE, 12, 56_200));
        lines.add(line("reverse", AdapterState.PENDING, 0, 0));
        now = Instant.ofEpochSecond(5);
        view.draw();
        assertThat(drawn()).isEqualTo("""
                   5s add            step 12/40, reward  0.63, staleness 1, version 13, 1,240 tok/s
                   5s reverse        step 0/40, reward     –, staleness 1, version 1, 0 tok/s  pending
                """);
    }

    @Test
    void theRateIsThatOfTheLastSeconds() {
        LiveView view = view(LiveView.Terminal.PLAIN);
        for (int second = 5; second <= 60; second += 5) {
            now = Instant.ofEpochSecond(second);
            lines.clear();
            lines.add(line("add", AdapterState.ACTIVE, 1, second <= 30 ? second * 100 : 3000));
            view.draw();
            if (second == 30) {
                assertThat(drawn()).contains(" 100 tok/s");
            }
        }
        assertThat(drawn()).endsWith(" 0 tok/s\n");
    }

    @Test
    void aTerminalIsRedrawnOverTheLinesOfBefore() {
        LiveView view = view(LiveView.Terminal.REDRAWN);
        lines.add(line("add", AdapterState.ACTIVE, 20, 0));
        lines.add(line("reverse", AdapterState.FAILED, 4, 0));
        view.draw();
        assertThat(drawn()).doesNotContain("A").contains("████████░░░░░░░░ 20/40", "  failed");
        lines.removeLast();
        view.draw();
        assertThat(drawn()).startsWith("\033[2A\033[2K").endsWith("\033[J");
        view.draw();
        assertThat(drawn()).startsWith("\033[1A");
    }

    @Test
    void closingDrawsTheLastStateOnce() {
        LiveView view = LiveView.start(out, LiveView.Terminal.PLAIN, () -> now, () -> lines);
        lines.add(line("add", AdapterState.COMPLETED, 40, 0));
        view.close();
        assertThat(drawn()).containsOnlyOnce("step 40/40").contains("completed");
    }
}
