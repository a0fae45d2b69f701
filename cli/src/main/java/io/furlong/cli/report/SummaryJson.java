package io.furlong.cli.report;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.core.LedgerSnapshot;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalDouble;

/** {@code summary.json}: a {@link RunSummary} for scripts. Evaluations that didn't happen are {@code null}. */
final class SummaryJson {
    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

    private SummaryJson() {}

    static void write(Path file, RunSummary run) throws IOException {
        Files.writeString(file, JSON.writeValueAsString(of(run)) + "\n");
    }

    static ObjectNode of(RunSummary run) {
        ObjectNode o = JSON.createObjectNode();
        o.put("seed", run.seed());
        o.put("wall_s", run.wall().toMillis() / 1000.0);
        o.put("device", run.device());
        o.put("model", run.model());
        o.put("tokens_generated", run.tokensGenerated());
        o.put("tokens_trained", run.tokensTrained());
        var adapters = o.putArray("adapters");
        for (RunSummary.AdapterResult a : run.adapters()) {
            ObjectNode one = adapters.addObject();
            one.put("name", a.name());
            put(one, "eval_before", a.greedy().before());
            put(one, "eval_after", a.greedy().after());
            one.put("steps", a.steps());
            one.put("versions_published", a.versionsPublished());
            one.put("max_staleness_seen", a.maxStalenessSeen());
            one.put("logprob_gap_max", a.logprobGapMax());
            one.set("groups", groups(a.groups()));
        }
        return o;
    }

    private static ObjectNode groups(LedgerSnapshot g) {
        return JSON.createObjectNode().put("dispatched", g.dispatched()).put("in_flight", g.inFlight()).put("buffered", g.buffered())
                .put("training", g.training()).put("trained", g.trained()).put("filtered", g.filteredTotal()).put("stale", g.stale())
                .put("retired", g.retired()).put("requeued", g.requeuedTotal()).put("failed", g.failedTotal());
    }

    private static void put(ObjectNode o, String key, OptionalDouble value) {
        if (value.isPresent()) {
            o.put(key, value.getAsDouble());
        } else {
            o.putNull(key);
        }
    }
}
