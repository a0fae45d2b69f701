package io.furlong.server;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.control.ControlEvent;
import io.furlong.control.Desired;
import io.furlong.control.Progress;
import io.furlong.control.Registration;
import io.furlong.control.VersionRow;
import io.furlong.control.config.AdapterConfigJson;
import io.furlong.core.AdapterConfig;
import io.furlong.core.AdapterState;
import io.furlong.core.Cursor;
import io.furlong.core.LedgerSnapshot;
import io.furlong.core.PolicyStamp;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;

/** What the API says of a registration. The reference system's fields come first, under its names and with its meaning. */
final class AdapterJson {
    private AdapterJson() {}

    /** One of the reference system's five words. */
    static String state(AdapterState state) {
        return switch (state) {
            case QUEUED, PENDING -> "PENDING";
            case ACTIVE, PAUSED -> "ACTIVE";
            case RETIRING -> "RETIRING";
            case CLEANUP -> "CLEANUP";
            case COMPLETED, FAILED -> "COMPLETED";
        };
    }

    static ObjectNode status(Registration r) {
        AdapterConfig c = r.config();
        Progress p = r.progress();
        ObjectNode o = Json.object();
        o.put("name", r.name());
        o.put("slot", r.slot());
        if (r.state().terminal()) {
            o.putNull("version");
        } else {
            o.put("version", p.inForce().map(PolicyStamp::version).orElse(0L));
        }
        o.put("step", p.step());
        o.put("accumulated_groups", r.accumulated());
        o.put("registration_id", r.id().hex());
        o.put("data", c.data().path().toString());
        o.put("rank", c.lora().rank());
        o.put("alpha", c.lora().alpha());
        o.put("rollout_batch_size", c.rolloutBatchSize());
        o.put("n_samples_per_prompt", c.nSamplesPerPrompt());
        o.put("save", c.save().toString());
        o.put("input_key", c.data().inputKey());
        put(o, "label_key", c.data().labelKey());
        put(o, "metadata_key", c.data().metadataKey());
        put(o, "rm_type", c.reward().rmType());
        put(o, "custom_rm_path", c.reward().customRmPath());
        o.set("num_step", c.stop().numStep().isPresent() ? o.numberNode(c.stop().numStep().getAsInt()) : o.nullNode());
        o.set("num_epoch", c.stop().numEpoch().isPresent() ? o.numberNode(c.stop().numEpoch().getAsInt()) : o.nullNode());
        o.set("metadata", Json.tree(c.metadata()));
        o.put("state", state(r.state()));
        o.put("phase", r.state().name());
        o.put("reason", r.reason());
        r.failure().ifPresent(f -> o.putObject("failure").put("reason", f.reason()).put("remedy", f.remedy()).put("at", f.at().toString()));
        r.retirement().ifPresent(t -> o.putObject("retirement").put("mode", t.mode().name().toLowerCase(java.util.Locale.ROOT))
                .put("cause", t.cause().name().toLowerCase(java.util.Locale.ROOT)).put("since", t.since().toString()).put("deadline", t.deadline().toString()));
        o.put("tenant", r.tenant());
        o.put("start_step", p.startStep());
        o.set("target_step", p.targetStep() == Integer.MAX_VALUE ? o.nullNode() : o.numberNode(p.targetStep()));
        o.put("max_staleness", c.maxStaleness());
        o.put("weight", c.weight());
        o.put("lr", c.optimizer().lr());
        p.inForce().ifPresent(s -> o.set("in_force", stamp(s)));
        p.prepared().ifPresent(s -> o.set("prepared", stamp(s)));
        o.set("desired", desired(r.desired()));
        o.put("rows", p.rows());
        o.put("finished_rows", p.finishedRows());
        o.put("generated_tokens", p.generatedTokens());
        o.put("trained_tokens", p.trainedTokens());
        o.put("registered_at", r.registeredAt().toString());
        put(o, "activated_at", r.activatedAt().map(Instant::toString));
        put(o, "ended_at", r.endedAt().map(Instant::toString));
        return o;
    }

    /** The status with the whole configuration, under the keys of adapter.yaml. */
    static ObjectNode whole(Registration r) {
        ObjectNode o = status(r);
        o.set("config", AdapterConfigJson.write(r.config()));
        return o;
    }

    static ObjectNode registered(Registration r) {
        return Json.object().put("name", r.name()).put("slot", r.slot()).put("registration_id", r.id().hex()).put("phase", r.state().name());
    }

    private static ObjectNode stamp(PolicyStamp s) {
        return Json.object().put("version", s.version()).put("step", s.step()).put("digest", s.digest()).put("served_name", s.servedName());
    }

    private static ObjectNode desired(Desired d) {
        ObjectNode o = Json.object();
        d.lr().ifPresent(v -> o.put("lr", v));
        d.numStep().ifPresent(v -> o.put("num_step", v));
        d.rollback().ifPresent(v -> o.put("rollback_to", v));
        return o;
    }

    static ObjectNode version(VersionRow v) {
        ObjectNode o = stamp(v.commit().stamp());
        o.put("state", v.state().name());
        o.put("checkpoint", v.commit().checkpoint().toString());
        o.put("checkpoint_digest", v.commit().checkpointDigest());
        o.put("committed_at", v.committedAt().toString());
        put(o, "in_force_at", v.inForceAt().map(Instant::toString));
        Cursor cursor = v.commit().cursor();
        o.putObject("cursor").put("epoch", cursor.epoch()).put("position", cursor.position()).put("finished", cursor.finished());
        return o;
    }

    static ObjectNode ledger(LedgerSnapshot l) {
        ObjectNode o = Json.object();
        o.put("dispatched", l.dispatched()).put("in_flight", l.inFlight()).put("buffered", l.buffered()).put("training", l.training());
        o.put("trained", l.trained()).put("filtered", l.filteredTotal()).put("stale", l.stale()).put("retired", l.retired());
        o.put("requeued", l.requeuedTotal()).put("failed", l.failedTotal());
        ObjectNode reasons = o.putObject("reasons");
        reasons(reasons, "filtered", l.filtered());
        reasons(reasons, "requeued", l.requeued());
        reasons(reasons, "failed", l.failed());
        return o;
    }

    private static void reasons(ObjectNode o, String key, Map<String, Long> counts) {
        ObjectNode by = o.putObject(key);
        counts.forEach(by::put);
    }

    static ObjectNode event(ControlEvent e) {
        ObjectNode o = Json.object();
        o.put("id", e.id()).put("at", e.at().toString()).put("adapter", e.adapter()).put("registration_id", e.registration());
        o.put("tenant", e.tenant()).put("kind", e.kind());
        o.set("detail", Json.tree(e.detail()));
        return o;
    }

    static ArrayNode array(Iterable<? extends JsonNode> items) {
        ArrayNode a = Json.object().arrayNode();
        items.forEach(a::add);
        return a;
    }

    private static void put(ObjectNode o, String key, Optional<String> text) {
        o.put(key, text.orElse(null));
    }
}
