package io.furlong.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.control.Registration;
import io.furlong.control.Retirement;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** No body makes a 5xx, and whatever is refused has changed nothing. */
@Timeout(900)
class FuzzTest {
    private record Target(String method, String path, String template) {}

    private static final List<Target> TARGETS = List.of(
            new Target("POST", "/adapter_runs", "{\"name\":\"new\",\"config\":$CONFIG}"),
            new Target("POST", "/adapter_runs", "{\"name\":\"new\",\"config\":$CONFIG,\"when_full\":\"queue\"}"),
            new Target("POST", "/adapter_runs?validate_only=true", "{\"name\":\"new\",\"config\":$CONFIG}"),
            new Target("POST", "/adapter_runs", "{\"name\":\"new\",\"yaml_path\":\"/nowhere/a.yaml\"}"),
            new Target("PATCH", "/adapter_runs/live", "{\"lr\":0.01,\"num_step\":50,\"weight\":2.0,\"max_staleness\":2,\"paused\":false}"),
            new Target("POST", "/adapter_runs/live/rollback", "{\"version\":1}"),
            new Target("POST", "/adapter_runs/live/rollback", "{\"step\":1}"),
            new Target("POST", "/adapter_runs/live/fork", "{\"name\":\"new\",\"version\":1,\"config\":{\"rank\":4}}"));

    @Test
    void ten_thousand_bodies() throws Exception {
        fuzz(20260101, 10_000);
    }

    @Test
    @Tag("slow")
    void two_hundred_thousand_bodies() throws Exception {
        fuzz(7, 200_000);
    }

    private static void fuzz(long seed, int count) throws Exception {
        Bodies bodies = new Bodies(seed);
        int accepted = 0;
        try (Api api = new Api(3)) {
            api.post("/adapter_runs", Api.body("live"));
            api.step("live", 0);
            api.step("live", 1);
            for (int i = 0; i < count; i++) {
                Target target = TARGETS.get(bodies.below(TARGETS.size()));
                byte[] body = bodies.next(target.template());
                long epoch = api.registry.snapshot().epoch();
                long event = api.store.lastEventId();
                Api.Answer answer = api.call(target.method(), target.path(), body);
                String what = target.method() + " " + target.path() + " #" + i + " " + new String(body, StandardCharsets.UTF_8) + " → " + answer.text();
                assertThat(answer.status()).as(what).isLessThan(500);
                if (answer.status() >= 400) {
                    assertThat(api.registry.snapshot().epoch()).as(what).isEqualTo(epoch);
                    assertThat(api.store.lastEventId()).as(what).isEqualTo(event);
                    assertThat(answer.json().path("detail").asText()).as(what).isNotBlank();
                } else {
                    accepted++;
                    endAllBut(api);
                }
            }
        }
        assertThat(accepted).as("bodies that were right").isBetween(count / 50, count * 9 / 10);
    }

    private static void endAllBut(Api api) throws Exception {
        for (Registration r : api.registry.live()) {
            if (!r.name().equals("live")) {
                api.registry.retire(r.name(), Retirement.Mode.NOW, Retirement.Cause.USER, "");
                if (api.registry.live(r.name()).isPresent()) {
                    api.clean(r.name());
                }
            }
        }
    }
}
