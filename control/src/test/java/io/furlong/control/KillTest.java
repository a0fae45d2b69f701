package io.furlong.control;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.control.store.Stores;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** kill -9 at random moments, on a SQLite file: no confirmed step is lost, none is doubled, the next process goes on. */
@Timeout(1800)
class KillTest {
    @TempDir
    private Path dir;

    @Test
    void no_confirmed_step_is_lost_to_a_kill() throws Exception {
        kills(3, 1);
    }

    @Test
    @Tag("slow")
    void no_confirmed_step_is_lost_to_any_of_a_hundred_kills() throws Exception {
        kills(100, 2);
    }

    private void kills(int count, long seed) throws Exception {
        Random random = new Random(seed);
        String file = dir.resolve("furlong.db").toString();
        long next = 0;
        for (int k = 0; k < count; k++) {
            Child child = Child.controller(file, "p" + k);
            child.expect("LEADING");
            for (int i = 0; i < 400; i++) {
                child.order("step");
            }
            int after = random.nextInt(40);
            for (int i = 0; i <= after; i++) {
                child.expect("COMMITTED");
            }
            List<Long> confirmed = child.kill().stream().filter(l -> l.startsWith("COMMITTED ")).map(l -> Long.parseLong(l.substring(10))).toList();
            assertThat(confirmed).first().isEqualTo(next);
            try (Store store = Stores.open(file)) {
                Registration r = store.live().getFirst();
                List<Long> steps = store.versions(r.id()).stream().map(v -> v.commit().stamp().step()).toList();
                assertThat(steps).isSorted().doesNotHaveDuplicates();
                assertThat(steps.size() - 1L).isEqualTo(steps.getLast()).isBetween(confirmed.getLast(), confirmed.getLast() + 1);
                assertThat(r.progress().step()).isEqualTo(steps.getLast());
                assertThat(r.progress().lastVersion()).isGreaterThanOrEqualTo(store.lastVersion(r.id()).orElseThrow().commit().stamp().version());
                next = steps.getLast() + 1;
            }
        }
    }
}
