package io.furlong.control;

import static io.furlong.control.Fixtures.active;
import static io.furlong.control.Fixtures.commit;
import static io.furlong.control.Fixtures.end;
import static io.furlong.control.Fixtures.limits;
import static io.furlong.control.Fixtures.registry;
import static io.furlong.control.Fixtures.request;
import static io.furlong.control.Fixtures.stamp;
import static io.furlong.control.Fixtures.step;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.furlong.control.store.Stores;
import io.furlong.core.AdapterState;
import io.furlong.core.PolicyStamp;
import io.furlong.core.StopRule;
import io.furlong.core.StepLog.StaleRegistrationException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RegistryTest {
    private final Fixtures.Clock clock = new Fixtures.Clock();
    private final Store store = Stores.memory();
    private final AdapterRegistry registry = registry(store, limits(2), clock);
    private final DeadlineWatch watch = new DeadlineWatch(registry);

    @AfterEach
    void close() {
        store.close();
    }

    @Test
    void an_adapter_lives_from_pending_to_completed() throws Exception {
        Registration r = registry.register(request("a"));
        assertThat(r.state()).isEqualTo(AdapterState.PENDING);
        assertThat(r.slot()).isZero();
        step(registry, r, 0);
        assertThat(registry.snapshot().find("a").orElseThrow().admits()).isTrue();
        step(registry, r, 1);
        registry.retire("a", Retirement.Mode.DRAIN, Retirement.Cause.FINISHED, "");
        assertThat(registry.snapshot().find("a").orElseThrow()).satisfies(a -> {
            assertThat(a.admits()).as("nothing new").isFalse();
            assertThat(a.draining()).as("its step is finished").isTrue();
            assertThat(a.sampleable()).isTrue();
        });
        step(registry, r, 2);
        registry.stopped(r.id());
        registry.cleaned(r.id());
        assertThat(registry.snapshot().find("a")).isEmpty();
        assertThat(registry.find("a").orElseThrow().state()).isEqualTo(AdapterState.COMPLETED);
        assertThat(registry.find("a").orElseThrow().progress().step()).isEqualTo(2);
    }

    @Test
    void the_lowest_free_slot_is_given_and_a_full_house_refuses_or_queues() throws Exception {
        Registration a = active(registry, "a");
        active(registry, "b");
        assertThatThrownBy(() -> registry.register(request("c"))).isInstanceOf(RefusedException.class).hasMessageContaining("No free adapter slots");
        Registration queued = registry.register(new AdapterRegistry.Request("acme", "c", Fixtures.config("c"), AdapterRegistry.Request.WhenFull.QUEUE));
        assertThat(queued.state()).isEqualTo(AdapterState.QUEUED);
        end(registry, a);
        assertThat(registry.live("c").orElseThrow().state()).isEqualTo(AdapterState.PENDING);
        assertThat(registry.live("c").orElseThrow().slot()).isZero();
    }

    @Test
    void engine_places_are_counted_and_the_arithmetic_is_in_the_message() throws Exception {
        AdapterRegistry tight = registry(Stores.memory(), Limits.of(8, () -> 5), clock);
        tight.register(request("a"));
        assertThatThrownBy(() -> tight.register(request("b"))).isInstanceOf(RefusedException.class)
                .hasMessage("adapter 'b' needs 2 adapter places on the engines (max_staleness + 1); 2 are taken by other adapters and 2 kept free, of 5 in all");
    }

    @Test
    void a_pending_adapter_that_is_deleted_is_never_sampleable() throws Exception {
        Registration r = registry.register(request("a"));
        PolicyStamp stamp = stamp("a", r.id(), registry.nextVersion(r.id()), 0);
        registry.commit(commit("a", stamp));
        registry.retire("a", Retirement.Mode.DRAIN, Retirement.Cause.USER, "");
        registry.inForce(stamp);
        assertThat(registry.snapshot().find("a").orElseThrow().sampleable()).isFalse();
    }

    @Test
    void a_name_comes_free_only_after_cleanup_and_with_a_new_registration() throws Exception {
        Registration first = active(registry, "a");
        registry.retire("a", Retirement.Mode.NOW, Retirement.Cause.USER, "");
        assertThatThrownBy(() -> registry.register(request("a"))).hasMessageContaining("still cleaning up");
        registry.stopped(first.id());
        assertThatThrownBy(() -> registry.register(request("a"))).hasMessageContaining("still cleaning up");
        registry.cleaned(first.id());
        Registration second = registry.register(request("a"));
        assertThat(second.id()).isNotEqualTo(first.id());
        assertThat(second.progress().step()).isZero();
        assertThatThrownBy(() -> registry.commit(commit("a", stamp("a", first.id(), 9, 9)))).isInstanceOf(StaleRegistrationException.class);
        assertThatThrownBy(() -> registry.inForce(stamp("a", first.id(), 9, 9))).isInstanceOf(StaleRegistrationException.class);
    }

    @Test
    void nothing_is_committed_for_an_adapter_that_ends_now() throws Exception {
        Registration r = active(registry, "a");
        long version = registry.nextVersion(r.id());
        registry.retire("a", Retirement.Mode.NOW, Retirement.Cause.USER, "");
        assertThatThrownBy(() -> registry.commit(commit("a", stamp("a", r.id(), version, 1)))).isInstanceOf(StaleRegistrationException.class);
    }

    @Test
    void a_fault_ends_as_failed_with_reason_and_remedy_and_keeps_the_last_version() throws Exception {
        Registration r = active(registry, "a");
        registry.fail(r.id(), "its data file is gone", "put it back");
        assertThat(registry.live("a").orElseThrow().state()).isEqualTo(AdapterState.RETIRING);
        registry.stopped(r.id());
        registry.cleaned(r.id());
        Registration failed = registry.find("a").orElseThrow();
        assertThat(failed.state()).isEqualTo(AdapterState.FAILED);
        assertThat(failed.failure().orElseThrow().remedy()).isEqualTo("put it back");
        assertThat(registry.last(r.id())).isPresent();
    }

    @Test
    void version_numbers_rise_even_when_a_number_was_never_committed() throws Exception {
        Registration r = registry.register(request("a"));
        assertThat(registry.nextVersion(r.id())).isEqualTo(1);
        assertThat(registry.nextVersion(r.id())).isEqualTo(2);
        registry.commit(commit("a", stamp("a", r.id(), 2, 0)));
        assertThat(registry.nextVersion(r.id())).isEqualTo(3);
    }

    @Test
    void steps_are_committed_one_after_the_other() throws Exception {
        Registration r = active(registry, "a");
        long version = registry.nextVersion(r.id());
        assertThatThrownBy(() -> registry.commit(commit("a", stamp("a", r.id(), version, 2)))).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void learning_rate_and_steps_change_with_the_next_commit_and_staleness_at_once() throws Exception {
        Registration r = active(registry, "a");
        registry.patch("a", new Desired.Patch(OptionalDouble.of(0.5), OptionalInt.of(7), OptionalDouble.of(3), OptionalInt.of(2), java.util.Optional.empty()));
        assertThat(registry.snapshot().find("a").orElseThrow().config().maxStaleness()).isEqualTo(2);
        assertThat(registry.snapshot().find("a").orElseThrow().config().weight()).isEqualTo(3);
        assertThat(registry.snapshot().find("a").orElseThrow().config().optimizer().lr()).isEqualTo(1e-3);
        step(registry, r, 1);
        assertThat(registry.snapshot().find("a").orElseThrow().config().optimizer().lr()).isEqualTo(0.5);
        assertThat(registry.snapshot().find("a").orElseThrow().targetStep()).isEqualTo(7);
        assertThat(registry.live("a").orElseThrow().desired().isNothing()).isTrue();
    }

    @Test
    void a_wrong_wish_is_refused_and_changes_nothing() throws Exception {
        active(registry, "a");
        Registration before = registry.live("a").orElseThrow();
        assertThatThrownBy(() -> registry.patch("a", Desired.Patch.lr(Double.NaN))).isInstanceOf(RefusedException.class)
                .hasMessageContaining("optimizer.lr");
        assertThat(registry.live("a").orElseThrow()).isEqualTo(before);
    }

    @Test
    void a_rollback_goes_back_in_steps_and_on_in_versions() throws Exception {
        Registration r = active(registry, "a");
        step(registry, r, 1);
        step(registry, r, 2);
        registry.rollback("a", 2);
        assertThat(registry.live("a").orElseThrow().desired().rollback()).hasValue(2);
        PolicyStamp back = stamp("a", r.id(), registry.nextVersion(r.id()), 1);
        registry.commit(commit("a", back));
        assertThat(registry.snapshot().find("a").orElseThrow().admits()).as("while the abandoned weights are in force").isFalse();
        registry.inForce(back);
        assertThat(registry.snapshot().find("a").orElseThrow().admits()).isTrue();
        assertThat(registry.snapshot().find("a").orElseThrow().step()).isEqualTo(1);
        assertThat(registry.snapshot().find("a").orElseThrow().inForce().orElseThrow().version()).isEqualTo(4);
        assertThat(registry.live("a").orElseThrow().desired().isNothing()).isTrue();
    }

    @Test
    void snapshots_are_told_in_order_one_epoch_after_the_other() throws Exception {
        List<Long> epochs = new ArrayList<>();
        try (var subscription = registry.onChange(s -> epochs.add(s.epoch()))) {
            Registration a = active(registry, "a");
            end(registry, a);
        }
        long last = epochs.getLast();
        assertThat(epochs).isSorted().doesNotHaveDuplicates();
        assertThat(registry.snapshot().epoch()).isEqualTo(last);
        registry.register(request("b"));
        assertThat(epochs.getLast()).isEqualTo(last);
    }

    @Test
    void draining_turns_into_now_at_its_deadline() throws Exception {
        active(registry, "a");
        registry.retire("a", Retirement.Mode.DRAIN, Retirement.Cause.USER, "");
        watch.expire();
        assertThat(registry.live("a").orElseThrow().retirement().orElseThrow().mode()).isEqualTo(Retirement.Mode.DRAIN);
        clock.advance(Duration.ofSeconds(60));
        watch.expire();
        assertThat(registry.live("a").orElseThrow().retirement().orElseThrow().mode()).isEqualTo(Retirement.Mode.NOW);
        assertThat(registry.snapshot().find("a").orElseThrow().sampleable()).isFalse();
        assertThat(watch.nextExpiry()).isEmpty();
    }

    @Test
    void quotas_of_a_tenant_bound_its_adapters_and_its_tokens_of_the_day() throws Exception {
        registry.quota(new Store.Tenant("acme", 1, 1, 250));
        Registration a = active(registry, "a");
        assertThatThrownBy(() -> registry.register(request("b"))).isInstanceOf(RefusedException.class).hasMessageContaining("1 adapters of 1");
        step(registry, a, 1);
        step(registry, a, 2);
        assertThat(registry.live("a").orElseThrow().state()).isEqualTo(AdapterState.ACTIVE);
        step(registry, a, 3);
        assertThat(registry.live("a").orElseThrow().state()).isEqualTo(AdapterState.PAUSED);
        assertThatThrownBy(() -> registry.resume("a")).isInstanceOf(RefusedException.class).hasMessageContaining("tokens of the day");
        assertThat(store.tokensOn("acme", java.time.LocalDate.parse("2026-01-01"))).isEqualTo(300);
        clock.advance(Duration.ofHours(24));
        watch.expire();
        assertThat(registry.live("a").orElseThrow().state()).isEqualTo(AdapterState.ACTIVE);
    }

    @Test
    void stop_rules_end_an_adapter_by_steps_epochs_reward_tokens_or_time() throws Exception {
        Registration a = registry.register(new AdapterRegistry.Request("acme", "a", Fixtures.config("a",
                new StopRule(OptionalInt.empty(), OptionalInt.of(2), OptionalDouble.of(0.9), 2, java.util.Optional.of(Duration.ofHours(1)),
                        java.util.OptionalLong.of(250)), 1), AdapterRegistry.Request.WhenFull.REFUSE));
        registry.rows(a.id(), 10);
        assertThat(registry.live("a").orElseThrow().progress().targetStep()).isEqualTo(5);
        step(registry, a, 0);
        step(registry, a, 1);
        assertThat(registry.stopReached(a.id())).isEmpty();
        registry.evaluated(Fixtures.stamp("a", a.id(), 11, 1), 0.95);
        registry.evaluated(Fixtures.stamp("a", a.id(), 12, 1), 0.5);
        registry.evaluated(Fixtures.stamp("a", a.id(), 13, 1), 0.95);
        // The same version once more, as after a crash.
        registry.evaluated(Fixtures.stamp("a", a.id(), 13, 1), 0.95);
        assertThat(registry.stopReached(a.id())).isEmpty();
        registry.evaluated(Fixtures.stamp("a", a.id(), 14, 1), 0.91);
        assertThat(registry.stopReached(a.id()).orElseThrow()).contains("reward target 0.9 held for 2");
        registry.evaluated(Fixtures.stamp("a", a.id(), 15, 1), 0.1);
        step(registry, a, 2);
        step(registry, a, 3);
        assertThat(registry.stopReached(a.id()).orElseThrow()).contains("300 tokens generated of 250");
        step(registry, a, 4);
        step(registry, a, 5);
        assertThat(registry.stopReached(a.id()).orElseThrow()).contains("step 5 of 5");
        clock.advance(Duration.ofHours(1));
        watch.expire();
        assertThat(registry.live("a").orElseThrow().retirement().orElseThrow().cause()).isEqualTo(Retirement.Cause.FINISHED);
    }

    @Test
    void steps_are_counted_from_where_the_adapter_resumed() throws Exception {
        Registration a = registry.register(new AdapterRegistry.Request("acme", "a", Fixtures.config("a", StopRule.steps(3), 1),
                AdapterRegistry.Request.WhenFull.REFUSE));
        step(registry, a, 40);
        assertThat(registry.snapshot().find("a").orElseThrow().targetStep()).isEqualTo(43);
        assertThat(registry.snapshot().find("a").orElseThrow().admits()).isTrue();
        step(registry, a, 41);
        step(registry, a, 42);
        step(registry, a, 43);
        assertThat(registry.snapshot().find("a").orElseThrow().admits()).isFalse();
    }

    @Test
    void a_save_directory_is_its_adapters_own() throws Exception {
        active(registry, "a");
        assertThatThrownBy(() -> registry.register(saving("b", "/save/a"))).hasMessageContaining("overlaps");
        assertThatThrownBy(() -> registry.register(saving("b", "/save/a/inner"))).hasMessageContaining("overlaps");
        assertThatThrownBy(() -> registry.register(saving("b", "/save"))).hasMessageContaining("overlaps");
        end(registry, registry.live("a").orElseThrow());
        assertThatThrownBy(() -> registry.register(saving("b", "/save/a"))).hasMessageContaining("what adapter 'a' left");
        registry.register(saving("a", "/save/a"));
    }

    private static AdapterRegistry.Request saving(String name, String save) {
        return new AdapterRegistry.Request("acme", name, Patches.withSave(Fixtures.config(name), java.nio.file.Path.of(save)),
                AdapterRegistry.Request.WhenFull.REFUSE);
    }
}
