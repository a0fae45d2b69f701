package io.furlong.it.crash;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * kill -9 of a whole run, engine and all, at random moments, again and again: what is started on what is left ends with the weights of a run
 * that nobody disturbed, bit for bit. ({@link SurvivingEnginesTest} kills at random moments too, eight times in its short form.)
 */
@Timeout(3600)
class KilledRunTest {
    private static final Map<String, Integer> STEPS = Map.of("sort", 4, "upper", 5);
    /** A kill comes after at most so many lines of what the process says; a version takes some forty. */
    private static final int LINES = 90;
    private static final int KILLS_A_RUN = 12;

    @TempDir
    Path directory;

    private Launcher launcher;
    private Map<String, String> expected;

    @BeforeEach
    void undisturbed() throws Exception {
        launcher = Launcher.shared();
        SmallRun world = SmallRun.deterministic(directory.resolve("undisturbed"), STEPS).write();
        Lifetimes lives = new Lifetimes(world);
        lives.add(world.go((move, path) -> { }));
        expected = lives.check();
    }

    @Test
    void aRunThatIsKilledAtTwelveRandomMomentsEndsBitEqual() throws Exception {
        assertThat(kills(12, 1)).isEqualTo(12);
    }

    @Test
    @Tag("slow")
    void runsThatAreKilledAtFiveHundredRandomMomentsEndBitEqual() throws Exception {
        int wanted = Integer.getInteger("furlong.it.kills", 500);
        assertThat(kills(wanted, Long.getLong("furlong.it.seed", 2))).isEqualTo(wanted);
    }

    private int kills(int wanted, long seed) throws Exception {
        Random random = new Random(seed);
        int kills = 0;
        for (int run = 0; kills < wanted; run++) {
            SmallRun world = SmallRun.deterministic(directory.resolve("run-" + run), STEPS).write();
            kills += killed(world, random, Math.min(KILLS_A_RUN, wanted - kills));
        }
        return kills;
    }

    /** One run, killed until it has been often enough or is at its end. */
    private int killed(SmallRun world, Random random, int wanted) throws IOException, InterruptedException {
        Lifetimes lives = new Lifetimes(world);
        int kills = 0;
        while (!lives.mayBeOver() || !world.isOver()) {
            ChildProcess run = launcher.start(RunProcess.class, world.directory().getFileName().toString(), world.file().toString());
            if (kills == wanted) {
                run.ends();
            } else if (livesFor(run, random.nextInt(LINES))) {
                run.kill();
                kills++;
            } else {
                run.ends();
            }
            lives.add(run.moves());
        }
        assertThat(lives.check()).as(world + ", " + kills + " kills").isEqualTo(expected);
        return kills;
    }

    /** False if it ended by itself before. */
    private static boolean livesFor(ChildProcess run, int lines) throws IOException {
        for (int i = 0; i < lines; i++) {
            if (!run.reads(line -> true)) {
                return false;
            }
        }
        return true;
    }
}
