package io.furlong.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class AdaptersCacheTest {
    private Instant now = Instant.parse("2026-01-01T00:00:00Z");

    @Test
    void another_process_sees_what_changed_after_the_time_to_live_and_an_old_view_only_for_so_long() throws Exception {
        Api api = new Api(4);
        AdaptersCache cache = new AdaptersCache(URI.create(api.url("/")), Optional.empty(), Duration.ofSeconds(1), Duration.ofSeconds(10), () -> now);
        assertThat(cache.view().adapters()).isEmpty();
        api.post("/adapter_runs", Api.body("a"));
        assertThat(cache.view().adapters()).isEmpty();
        now = now.plusSeconds(1);
        assertThat(cache.view().find("a").orElseThrow().sampleable()).isFalse();
        String served = api.step("a", 0).servedName();
        now = now.plusSeconds(1);
        assertThat(cache.view().find("a").orElseThrow().servedName()).contains(served);
        assertThat(cache.view().find("a").orElseThrow().sampleable()).isTrue();
        AdaptersCache.View before = cache.view();
        now = now.plusSeconds(1);
        assertThat(cache.view()).isEqualTo(new AdaptersCache.View(now, before.tag(), before.adapters()));
        api.close();
        now = now.plusSeconds(5);
        assertThat(cache.view().adapters()).isNotEmpty();
        now = now.plusSeconds(10);
        assertThatThrownBy(cache::view).isInstanceOf(IOException.class).hasMessageContaining("control API at 127.0.0.1");
    }
}
