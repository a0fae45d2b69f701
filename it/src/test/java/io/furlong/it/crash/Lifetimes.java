package io.furlong.it.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.control.Registration;
import io.furlong.control.Store;
import io.furlong.control.VersionRow;
import io.furlong.control.store.Stores;
import io.furlong.core.AdapterState;
import io.furlong.core.LedgerSnapshot;
import io.furlong.core.StepCommit;
import io.furlong.it.crash.Move.Point;
import java.io.IOException;
import java.nio.file.Files;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.LongStream;

/** One run in several processes, each of which but the last was killed: what they did, and what must have come of it. */
final class Lifetimes {
    private final SmallRun run;
    private final List<List<Move>> lives = new ArrayList<>();

    Lifetimes(SmallRun run) {
        this.run = run;
    }

    /** What one process said that it did, in order. */
    void add(List<Move> moves) {
        lives.add(List.copyOf(moves));
    }

    /** False as long as some adapter has not begun to end. */
    boolean mayBeOver() {
        return run.steps().keySet().stream().noneMatch(adapter -> said(adapter, Point.COMMITTING, "completed").isEmpty());
    }

    /**
     * No step is lost or doubled, no number given twice, what was prepared was pushed again, and every attempt is accounted for.
     *
     * @return SHA-256 of the weights that each adapter left
     */
    Map<String, String> check() throws IOException {
        numbersAreGivenOnce();
        whatWasPreparedIsPushedAgain();
        Map<String, String> weights = new TreeMap<>();
        try (Store store = Stores.open(run.store().toString())) {
            assertThat(store.live()).isEmpty();
            assertThat(store.lastOrdinal()).as("registrations").isEqualTo(run.steps().size());
            for (String adapter : run.steps().keySet()) {
                Registration r = store.latest(adapter).orElseThrow();
                assertThat(r.state()).as(adapter + ": " + r.reason()).isEqualTo(AdapterState.COMPLETED);
                List<StepCommit> commits = store.versions(r.id()).stream().map(VersionRow::commit).toList();
                stepsAreWhole(adapter, r, commits);
                everyGroupIsAccountedFor(adapter, commits);
                weights.put(adapter, sha256(Files.readAllBytes(run.weights(adapter))));
            }
        }
        return weights;
    }

    private void numbersAreGivenOnce() {
        for (String adapter : run.steps().keySet()) {
            assertThat(said(adapter, Point.COMMITTED, Moves.NUMBER)).extracting(Move::version).as("version numbers of " + adapter).doesNotHaveDuplicates();
        }
    }

    private List<Move> said(String adapter, Point point, String to) {
        return lives.stream().flatMap(List::stream).filter(m -> m.is(point, to) && m.adapter().equals(adapter)).toList();
    }

    private void stepsAreWhole(String adapter, Registration r, List<StepCommit> commits) {
        assertThat(commits).as("steps of " + adapter).extracting(c -> c.stamp().step())
                .containsExactlyElementsOf(LongStream.rangeClosed(0, run.steps().get(adapter)).boxed().toList());
        assertThat(commits).extracting(c -> c.stamp().version()).isSorted().doesNotHaveDuplicates();
        Map<Long, StepCommit> byVersion = new HashMap<>();
        commits.forEach(c -> byVersion.put(c.stamp().version(), c));
        for (Move confirmed : said(adapter, Point.COMMITTED, Moves.STEP)) {
            assertThat(byVersion.get(confirmed.version()).stamp()).as("confirmed: " + confirmed).satisfies(s -> {
                assertThat(s.step()).isEqualTo(confirmed.step());
                assertThat(s.digest()).isEqualTo(confirmed.digest());
            });
        }
        assertThat(r.progress().inForce().orElseThrow()).isEqualTo(commits.getLast().stamp());
    }

    private void everyGroupIsAccountedFor(String adapter, List<StepCommit> commits) {
        for (StepCommit c : commits) {
            LedgerSnapshot ledger = c.ledger();
            assertThat(ledger.trained() + ledger.filteredTotal()).as(adapter + ", groups of step " + c.stamp().step()).isEqualTo(c.stamp().step() * SmallRun.GROUPS);
            assertThat(c.cursor().finished()).isEqualTo(ledger.trained() + ledger.filteredTotal() + ledger.failedTotal());
        }
        assertThat(commits.getLast().ledger().open()).as(adapter + ", groups open at the end").isZero();
    }

    /** A process that finds a version prepared brings that one into force before it makes another, with the digest it was committed with. */
    private void whatWasPreparedIsPushedAgain() {
        for (String adapter : run.steps().keySet()) {
            Map<Long, String> digests = new HashMap<>();
            // What is committed for sure, and what may be: a process that dies in a transaction doesn't say what came of it.
            Set<Long> prepared = new TreeSet<>();
            for (List<Move> life : lives) {
                Optional<Move> loads = life.stream().filter(m -> m.is(Point.LOADING, Moves.ENGINE) && m.adapter().equals(adapter)).findFirst();
                if (!prepared.isEmpty() && loads.isPresent()) {
                    assertThat(loads.get().version()).as("first version of " + adapter + " pushed after a kill").isIn(prepared);
                }
                for (Move m : life) {
                    if (m.adapter().equals(adapter) && !m.digest().isEmpty()) {
                        assertThat(digests.merge(m.version(), m.digest(), (a, b) -> a)).as("digest of " + adapter + " version " + m.version()).isEqualTo(m.digest());
                    }
                    if (m.adapter().equals(adapter) && m.is(Point.COMMITTED, Moves.STEP)) {
                        prepared.clear();
                    }
                    if (m.adapter().equals(adapter) && m.to().equals(Moves.STEP)) {
                        prepared.add(m.version());
                    }
                }
            }
        }
    }

    private static String sha256(byte[] bytes) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
