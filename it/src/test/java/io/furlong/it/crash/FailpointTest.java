package io.furlong.it.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.it.crash.Move.Point;
import io.furlong.it.crash.Pictures.Cause;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiPredicate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A run that dies before or after any write, fsync, rename, transaction, load, canary or flip ends, started again, with the weights of
 * one that nobody disturbed, bit for bit.
 *
 * <p>All that outlives the process, whose engine is in it, is on disk. So one run is enough to know what a kill at each of its moves would
 * leave: its directory is copied at each. Every picture that differs from the others is put back in its place, and a run is started on it.
 */
@Timeout(900)
class FailpointTest {
    private static final Map<String, Integer> STEPS = Map.of("sort", 1, "upper", 2);
    /** In between there is more of the same. */
    private static final Set<Point> POWER_CUTS = Set.of(Point.WRITTEN, Point.RENAMING, Point.RENAMED, Point.COMMITTED);

    @TempDir
    Path directory;

    @Test
    void aRunThatDiesBeforeOrAfterAnyKindOfMoveEndsBitEqualOnceStartedAgain() throws Exception {
        Set<String> kinds = new HashSet<>();
        dies(SmallRun.deterministic(directory.resolve("world"), STEPS), (move, cause) -> move.version() != 1 && (cause == Cause.KILL || POWER_CUTS.contains(move.point())) && kinds.add(move.kind() + cause));
    }

    @Test
    @Tag("slow")
    void aRunThatDiesAtAnyMoveAtAllEndsBitEqualOnceStartedAgain() throws Exception {
        dies(SmallRun.deterministic(directory.resolve("world"), STEPS), (move, cause) -> true);
    }

    @Test
    void anAdapterThatWaitsForASlotGetsItThoughTheRunDiesBetweenOneThatLeavesAndTheNext() throws Exception {
        dies(SmallRun.oneAfterTheOther(directory.resolve("world"), Map.of("sort", 1, "upper", 1)),
                (move, cause) -> cause == Cause.KILL && move.adapter().equals("sort") && move.to().equals("completed"));
    }

    private void dies(SmallRun world, BiPredicate<Move, Cause> where) throws Exception {
        world.write();
        Pictures pictures = new Pictures(world.directory(), directory.resolve("pictures"), where);
        List<Move> whole = world.go(pictures::take);
        Lifetimes undisturbed = new Lifetimes(world);
        undisturbed.add(whole);
        Map<String, String> expected = undisturbed.check();
        everyKindOfMoveWasSeen(whole);

        Map<String, Object> wrong = new LinkedHashMap<>();
        for (Pictures.Picture picture : pictures.all()) {
            pictures.putBack(picture);
            Lifetimes lives = new Lifetimes(world);
            lives.add(whole.subList(0, picture.moves()));
            try {
                if (!world.isOver()) {
                    lives.add(world.go((move, path) -> { }));
                }
                assertThat(lives.check()).isEqualTo(expected);
            } catch (Exception | AssertionError e) {
                wrong.put(picture.toString(), e);
            }
        }
        assertThat(wrong).as(pictures.all().size() + " pictures").isEmpty();
    }

    private static void everyKindOfMoveWasSeen(List<Move> moves) {
        Set<Point> points = new HashSet<>();
        moves.forEach(m -> points.add(m.point()));
        assertThat(points).containsExactlyInAnyOrder(Point.values());
        Set<String> transactions = new TreeSet<>();
        moves.stream().filter(m -> m.point() == Point.COMMITTED).forEach(m -> transactions.add(m.to()));
        assertThat(transactions).contains(Moves.STEP, Moves.NUMBER, Moves.IN_FORCE, "registered", "retiring", "cleanup", "completed");
    }
}
