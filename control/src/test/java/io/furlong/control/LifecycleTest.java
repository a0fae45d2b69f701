package io.furlong.control;

import static io.furlong.core.AdapterState.ACTIVE;
import static io.furlong.core.AdapterState.CLEANUP;
import static io.furlong.core.AdapterState.COMPLETED;
import static io.furlong.core.AdapterState.FAILED;
import static io.furlong.core.AdapterState.PAUSED;
import static io.furlong.core.AdapterState.PENDING;
import static io.furlong.core.AdapterState.QUEUED;
import static io.furlong.core.AdapterState.RETIRING;
import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.control.Lifecycle.Move;
import io.furlong.control.Lifecycle.Trigger;
import io.furlong.core.AdapterState;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class LifecycleTest {
    /** One row a state; columns in the order of {@link Trigger}. {@code =} is "so already", {@code x} is a refusal. */
    private static final String TABLE = """
            state     SLOT    COMMIT   IN_FORCE PAUSE  RESUME RETIRE    FAIL     STOPPED CLEANED   CLEANED_AFTER_FAULT
            QUEUED    PENDING x        x        x      x      COMPLETED FAILED   x       x         x
            PENDING   x       PENDING  ACTIVE   x      x      RETIRING  RETIRING x       x         x
            ACTIVE    x       ACTIVE   ACTIVE   PAUSED =      RETIRING  RETIRING x       x         x
            PAUSED    x       PAUSED   PAUSED   =      ACTIVE RETIRING  RETIRING x       x         x
            RETIRING  x       RETIRING RETIRING x      x      RETIRING  RETIRING CLEANUP x         x
            CLEANUP   x       x        x        x      x      =         CLEANUP  =       COMPLETED FAILED
            COMPLETED x       x        x        x      x      =         x        =       =         x
            FAILED    x       x        x        x      x      =         =        =       x         =
            """;

    static Stream<Arguments> pairs() {
        List<Arguments> all = new ArrayList<>();
        List<String[]> rows = TABLE.lines().map(l -> l.strip().split("\\s+")).toList();
        for (String[] row : rows.subList(1, rows.size())) {
            for (int c = 1; c < row.length; c++) {
                all.add(Arguments.of(AdapterState.valueOf(row[0]), Trigger.valueOf(rows.getFirst()[c]), row[c]));
            }
        }
        return all.stream();
    }

    @ParameterizedTest(name = "{0} × {1} → {2}")
    @MethodSource("pairs")
    void every_state_knows_what_every_trigger_does(AdapterState state, Trigger trigger, String expected) {
        String found = switch (Lifecycle.on(state, trigger)) {
            case Move.To to -> to.state().name();
            case Move.Already already -> "=";
            case Move.Refused refused -> "x";
        };
        assertThat(found).isEqualTo(expected);
    }

    @Test
    void the_table_covers_every_pair() {
        assertThat(pairs().map(a -> a.get()[0] + " " + a.get()[1]).distinct().count())
                .isEqualTo((long) AdapterState.values().length * Trigger.values().length);
    }

    @Test
    void nothing_leads_out_of_a_terminal_state() {
        for (AdapterState state : EnumSet.of(COMPLETED, FAILED)) {
            for (Trigger trigger : Trigger.values()) {
                assertThat(Lifecycle.on(state, trigger)).isNotInstanceOf(Move.To.class);
            }
        }
    }

    @Test
    void every_end_of_an_adapter_that_held_a_slot_passes_through_cleanup() {
        Set<AdapterState> before = EnumSet.noneOf(AdapterState.class);
        for (AdapterState state : AdapterState.values()) {
            for (Trigger trigger : Trigger.values()) {
                if (Lifecycle.on(state, trigger) instanceof Move.To to && to.state().terminal()) {
                    before.add(state);
                }
            }
        }
        assertThat(before).containsExactlyInAnyOrder(QUEUED, CLEANUP);
    }

    @Test
    void only_active_and_paused_are_sampleable_and_neither_is_reached_from_an_ending() {
        for (AdapterState state : EnumSet.of(RETIRING, CLEANUP, COMPLETED, FAILED)) {
            for (Trigger trigger : Trigger.values()) {
                if (Lifecycle.on(state, trigger) instanceof Move.To to) {
                    assertThat(to.state()).isNotIn(ACTIVE, PAUSED, PENDING);
                }
            }
        }
    }
}
