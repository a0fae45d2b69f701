package io.furlong.cli.adapters;

import com.fasterxml.jackson.databind.JsonNode;
import io.furlong.cli.FurlongCommand;
import io.furlong.cli.report.LiveLine;
import io.furlong.cli.report.LiveView;
import io.furlong.core.AdapterState;
import java.io.IOException;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** Asks again only for adapters that an event has named; the view draws what is known. */
@Command(name = "watch", mixinStandardHelpOptions = true,
        description = "Shows the live adapters as they train; with a name, until that one has ended.",
        footer = {"", "Exit code 1 when the named adapter has failed.", "", "Example:", "  furlong adapters watch gsm8k"})
final class WatchCommand implements FurlongCommand {
    @Mixin
    private Connection connection = new Connection();

    @Parameters(arity = "0..1", paramLabel = "NAME", description = "One adapter only.")
    private Optional<String> name = Optional.empty();

    private final Map<String, LiveLine> lines = new ConcurrentSkipListMap<>();

    @Override
    public Integer call() throws Exception {
        try (ControlClient client = connection.open()) {
            if (name.isPresent()) {
                refresh(client, name.get());
            } else {
                for (JsonNode one : client.get("/adapter_runs?ended=exclude").path("adapters")) {
                    refresh(client, one.path("name").asText());
                }
            }
            try (LiveView _ = LiveView.start(System.out, LiveView.Terminal.ofStandardOutput(), InstantSource.system(), () -> List.copyOf(lines.values()))) {
                follow(client);
            }
        }
        return name.map(lines::get).filter(l -> l.state() == AdapterState.FAILED).isPresent() ? FAILED : OK;
    }

    private void follow(ControlClient client) throws IOException, InterruptedException {
        if (watchedHasEnded()) {
            return;
        }
        try {
            client.events(name.map(n -> "/adapter_runs/" + ControlClient.part(n)).orElse("") + "/events", Optional.empty(), event -> {
                try {
                    refresh(client, event.path("adapter").asText());
                } catch (IOException | InterruptedException e) {
                    throw new WatchEnded();
                }
                if (watchedHasEnded()) {
                    throw new WatchEnded();
                }
            });
        } catch (WatchEnded e) {
            return;
        }
    }

    private boolean watchedHasEnded() {
        return name.map(lines::get).filter(l -> l.state().terminal()).isPresent();
    }

    private void refresh(ControlClient client, String adapter) throws IOException, InterruptedException {
        String path = "/adapter_runs/" + ControlClient.part(adapter);
        JsonNode figures = client.get(path + "/metrics?after_step=" + Long.MAX_VALUE).path("latest");
        lines.put(adapter, new Status(client.get(path)).live(figures));
    }

    /** Leaves the stream from within its taker. */
    private static final class WatchEnded extends RuntimeException {
        private static final long serialVersionUID = 1L;

        WatchEnded() {
            super(null, null, false, false);
        }
    }
}
