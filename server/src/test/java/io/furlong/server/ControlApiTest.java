package io.furlong.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.furlong.control.config.AdapterConfigReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ControlApiTest {
    private final Api api = new Api(3);

    @AfterEach
    void close() {
        api.close();
    }

    @Test
    void a_client_of_the_reference_system_works_unchanged() throws Exception {
        assertThat(api.get("/health").json().path("status").asText()).isEqualTo("healthy");
        Api.Answer made = api.post("/adapter_runs", Api.body("a"));
        assertThat(made.status()).isEqualTo(200);
        assertThat(made.json().path("name").asText()).isEqualTo("a");
        assertThat(made.json().path("slot").asInt()).isZero();
        assertThat(api.get("/adapter_runs/state?names=a&names=nobody").text()).isEqualTo("{\"states\":{\"a\":\"PENDING\",\"nobody\":null}}");
        api.step("a", 0);
        JsonNode status = api.get("/adapter_runs").json().path("adapters").get(0);
        List<String> fields = new ArrayList<>();
        status.fieldNames().forEachRemaining(fields::add);
        assertThat(fields).startsWith("name", "slot", "version", "step", "accumulated_groups", "registration_id", "data", "rank", "alpha",
                "rollout_batch_size", "n_samples_per_prompt", "save", "input_key", "label_key", "metadata_key", "rm_type", "custom_rm_path",
                "num_step", "num_epoch", "metadata", "state");
        assertThat(status.path("state").asText()).isEqualTo("ACTIVE");
        assertThat(api.delete("/adapter_runs/a").text()).contains("\"status\":\"ok\",\"name\":\"a\"");
        assertThat(api.get("/adapter_runs/a").json().path("state").asText()).isEqualTo("RETIRING");
        api.clean("a");
        assertThat(api.get("/adapter_runs/a").json().path("state").asText()).isEqualTo("COMPLETED");
        assertThat(api.get("/adapter_runs/a").json().path("version").isNull()).isTrue();
        assertThat(api.delete("/adapter_runs/a").status()).isEqualTo(200);
        assertThat(api.get("/adapter_runs/nobody").text()).contains("\"detail\":\"Adapter 'nobody' not registered\"");
        assertThat(api.get("/adapter_runs/nobody").status()).isEqualTo(404);
        assertThat(api.delete("/adapter_runs/nobody").status()).isEqualTo(404);
    }

    @Test
    void a_mistake_is_one_line_and_names_the_nearest_key() throws Exception {
        Api.Answer a = api.post("/adapter_runs", "{\"nam\":\"a\",\"config\":{}}");
        assertThat(a.status()).isEqualTo(400);
        assertThat(a.json().path("detail").asText()).contains("nam").contains("name").doesNotContain("\n");
        Api.Answer b = api.post("/adapter_runs", "{\"name\":\"a\",\"config\":{\"data\":\"/x\",\"rm_type\":\"exact\",\"rnk\":8}}");
        assertThat(b.status()).isEqualTo(400);
        assertThat(b.json().path("detail").asText()).contains("rnk").contains("rank");
        assertThat(api.post("/adapter_runs", "{\"name\":\"a\",\"config\":{\"data\":\"/x\",\"rm_type\":\"exact\",\"rank\":\"8\"}}").status()).isEqualTo(400);
        assertThat(api.post("/adapter_runs", "{\"name\":\"a\\n\",\"config\":{\"data\":\"/x\",\"rm_type\":\"exact\"}}").status()).isEqualTo(400);
        assertThat(api.post("/adapter_runs", "{\"name\":\"state\",\"config\":{\"data\":\"/x\",\"rm_type\":\"exact\"}}").json().path("detail").asText())
                .contains("reserved");
        assertThat(api.get("/adapter_runs?limt=3").json().path("detail").asText()).contains("limit");
        assertThat(api.registry.live()).isEmpty();
    }

    @Test
    void what_does_not_fit_is_refused_with_the_right_status() throws Exception {
        for (String name : List.of("a", "b", "c")) {
            assertThat(api.post("/adapter_runs", Api.body(name)).status()).isEqualTo(200);
        }
        Api.Answer full = api.post("/adapter_runs", Api.body("d"));
        assertThat(full.status()).isEqualTo(409);
        assertThat(full.json().path("detail").asText()).contains("No free adapter slots");
        assertThat(api.post("/adapter_runs", Api.body("a")).status()).isEqualTo(409);
        String queued = Api.body("d").replace("{\"name\"", "{\"when_full\":\"queue\",\"name\"");
        assertThat(api.post("/adapter_runs", queued).json().path("phase").asText()).isEqualTo("QUEUED");
        assertThat(api.get("/adapter_runs/d").json().path("state").asText()).isEqualTo("PENDING");
        assertThat(api.call("POST", "/adapter_runs", new byte[(1 << 20) + 1]).status()).isEqualTo(413);
        assertThat(api.get("/nowhere").status()).isEqualTo(404);
    }

    @Test
    void an_unchanged_registry_is_answered_with_304() throws Exception {
        api.post("/adapter_runs", Api.body("a"));
        String tag = api.get("/adapter_runs").etag();
        assertThat(tag).isNotEmpty();
        assertThat(api.get("/adapter_runs", "If-None-Match", tag).status()).isEqualTo(304);
        api.step("a", 0);
        assertThat(api.get("/adapter_runs", "If-None-Match", tag).status()).isEqualTo(200);
    }

    @Test
    void a_change_that_depends_on_a_state_is_refused_when_that_is_no_longer_so() throws Exception {
        api.post("/adapter_runs", Api.body("a"));
        api.step("a", 0);
        String tag = api.get("/adapter_runs/a").etag();
        assertThat(api.patch("/adapter_runs/a", "{\"weight\":2}", "If-Match", tag).status()).isEqualTo(200);
        assertThat(api.patch("/adapter_runs/a", "{\"weight\":3}", "If-Match", tag).status()).isEqualTo(412);
        assertThat(api.get("/adapter_runs/a").text()).contains("\"weight\":2.0");
        assertThat(api.patch("/adapter_runs/a", "{\"weight\":4}", "If-Match", "*").status()).isEqualTo(200);
    }

    @Test
    void the_same_idempotency_key_registers_once() throws Exception {
        Api.Answer first = api.post("/adapter_runs", Api.body("a"), "Idempotency-Key", "k1");
        Api.Answer again = api.post("/adapter_runs", Api.body("a"), "Idempotency-Key", "k1");
        assertThat(again.status()).isEqualTo(200);
        assertThat(again.json().path("registration_id")).isEqualTo(first.json().path("registration_id"));
        assertThat(api.post("/adapter_runs", Api.body("b"), "Idempotency-Key", "k1").status()).isEqualTo(409);
        assertThat(api.registry.live()).hasSize(1);
    }

    @Test
    void validate_only_says_what_would_be_and_changes_nothing() throws Exception {
        Api.Answer ok = api.post("/adapter_runs?validate_only=true", Api.body("a"));
        assertThat(ok.status()).isEqualTo(200);
        assertThat(ok.json().path("config").path("rollout_batch_size").asInt()).isEqualTo(16);
        assertThat(api.registry.live()).isEmpty();
        assertThat(api.store.lastEventId()).isZero();
    }

    @Test
    void a_running_adapter_is_changed_paused_rolled_back_and_forked() throws Exception {
        api.post("/adapter_runs", Api.body("a"));
        api.step("a", 0);
        api.step("a", 1);
        assertThat(api.patch("/adapter_runs/a", "{\"lr\":0.5,\"max_staleness\":2}").json().path("desired").path("lr").asDouble()).isEqualTo(0.5);
        assertThat(api.patch("/adapter_runs/a", "{\"paused\":true}").json().path("phase").asText()).isEqualTo("PAUSED");
        assertThat(api.patch("/adapter_runs/a", "{\"paused\":false}").json().path("phase").asText()).isEqualTo("ACTIVE");
        assertThat(api.patch("/adapter_runs/a", "{\"lr\":-1}").status()).isEqualTo(400);
        assertThat(api.patch("/adapter_runs/a", "{\"paused\":\"yes\"}").status()).isEqualTo(400);
        assertThat(api.post("/adapter_runs/a/rollback", "{\"version\":1}").json().path("desired").path("rollback_to").asLong()).isEqualTo(1);
        assertThat(api.post("/adapter_runs/a/rollback", "{\"step\":9}").status()).isEqualTo(400);
        Api.Answer fork = api.post("/adapter_runs/a/fork", "{\"name\":\"b\",\"version\":2,\"config\":{\"optimizer\":{\"lr\":0.01}}}");
        assertThat(fork.status()).isEqualTo(200);
        JsonNode config = api.get("/adapter_runs/b").json().path("config");
        assertThat(config.path("init_from").path("version").asLong()).isEqualTo(2);
        assertThat(config.path("optimizer").path("lr").asDouble()).isEqualTo(0.01);
        assertThat(api.get("/adapter_runs/a/checkpoints").json().path("checkpoints")).hasSize(2);
        assertThat(api.get("/adapter_runs/a/metrics").json().path("groups").path("trained").asLong()).isEqualTo(4);
    }

    @Test
    void figures_of_an_adapter_are_scraped_and_those_of_one_engine_name_it() throws Exception {
        api.post("/adapter_runs", Api.body("a"));
        api.figures.record("a", 1, java.util.Map.of("logprob_gap_max", 2e-5, "engine_logprob_gap_max{engine=http://10.0.0.1:30000}", 0.25));
        assertThat(api.get("/metrics").text()).contains("furlong_logprob_gap_max{adapter=\"a\"} 2.0E-5",
                "furlong_engine_logprob_gap_max{adapter=\"a\",engine=\"http://10.0.0.1:30000\"} 0.25");
    }

    @Test
    void a_tenant_sees_and_touches_only_its_own() throws Exception {
        String acme = Access.issue(api.store, "acme", "test", java.time.Instant.EPOCH);
        String other = Access.issue(api.store, "other", "test", java.time.Instant.EPOCH);
        String operator = Access.issue(api.store, Access.OPERATOR, "test", java.time.Instant.EPOCH);
        assertThat(api.get("/adapter_runs").status()).isEqualTo(401);
        assertThat(api.as("flg_wrong").get("/adapter_runs").status()).isEqualTo(403);
        assertThat(api.as(acme).post("/adapter_runs", Api.body("a")).status()).isEqualTo(200);
        assertThat(api.as(other).get("/adapter_runs").json().path("adapters")).isEmpty();
        assertThat(api.get("/adapter_runs/a").status()).isEqualTo(404);
        assertThat(api.delete("/adapter_runs/a").status()).isEqualTo(404);
        assertThat(api.patch("/adapter_runs/a", "{\"lr\":1}").status()).isEqualTo(404);
        assertThat(api.get("/adapter_runs/state?names=a").json().path("states").path("a").isNull()).isTrue();
        assertThat(api.get("/events", "Accept", "application/json").json().path("events")).isEmpty();
        assertThat(api.get("/metrics").text()).doesNotContain("adapter=\"a\"");
        assertThat(api.post("/adapter_runs", Api.body("a")).status()).isEqualTo(409);
        assertThat(api.as(operator).get("/adapter_runs").json().path("adapters")).hasSize(1);
        assertThat(api.get("/metrics").text()).contains("furlong_adapter_step{adapter=\"a\"}");
        assertThat(api.get("/health").status()).isEqualTo(200);
    }

    @Test
    void ready_asks_every_part() throws Exception {
        Api.Answer a = api.get("/ready");
        assertThat(a.status()).isEqualTo(200);
        assertThat(a.json().path("checks").findValuesAsText("name")).contains("store");
    }

    @Test
    void listening_beyond_loopback_needs_tokens() {
        ServerOptions open = ServerOptions.loopback(0, AdapterConfigReader.plain(Path.of("/x"))).withHost("0.0.0.0");
        assertThatThrownBy(() -> ControlServer.start(open, api.registry)).isInstanceOf(IllegalStateException.class).hasMessageContaining("tokens");
    }

    @Test
    void a_long_list_comes_in_pages() throws Exception {
        for (int i = 0; i < 7; i++) {
            api.post("/adapter_runs", Api.body("x" + i));
            api.delete("/adapter_runs/x" + i + "?mode=now");
            api.clean("x" + i);
        }
        List<String> names = new ArrayList<>();
        String path = "/adapter_runs?limit=3&ended=only";
        while (!path.isEmpty()) {
            JsonNode page = api.get(path).json();
            names.addAll(StreamSupport.stream(page.path("adapters").spliterator(), false).map(n -> n.path("name").asText()).toList());
            path = page.has("next_before") ? "/adapter_runs?limit=3&ended=only&before=" + page.path("next_before").asLong() : "";
        }
        assertThat(names.stream().sorted().collect(Collectors.joining(","))).isEqualTo("x0,x1,x2,x3,x4,x5,x6");
    }
}
