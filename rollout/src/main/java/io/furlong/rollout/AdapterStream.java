package io.furlong.rollout;

import io.furlong.core.Adapter;
import io.furlong.core.AdapterConfig;
import io.furlong.core.AdapterConfig.Stragglers;
import io.furlong.core.Cursor;
import io.furlong.core.FilterConfig;
import io.furlong.core.Group;
import io.furlong.core.LedgerSnapshot;
import io.furlong.core.Outcome;
import io.furlong.core.PolicyStamp;
import io.furlong.core.Prompt;
import io.furlong.core.RegistrationId;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * What one registration has open, and what became of the rest.
 *
 * <p><b>Nothing vanishes.</b> An attempt is admitted, may be buffered, may be collected, and ends in exactly one
 * {@link Outcome}; every move goes through this class and through the {@link Ledger}.
 *
 * <p><b>The line.</b> Attempts stand in a line in the order of their tickets; a repeated row keeps its ticket. With
 * {@link Stragglers#WAIT} a step takes from the front only, and waits for whatever is missing there. A group is admitted only
 * while fewer than {@code (k + 1 − (S − f)) · B} are open, so it stands at most that far from the front; places move forward
 * only; hence by the time it is trained, at most k − (S − f) further steps have been taken and its age is at most k. Here S is
 * the number of optimizer steps taken, f the step whose weights are in force, k the staleness allowed, B groups make a step.
 *
 * <p>Guarded by the lock of {@link Streams}.
 */
final class AdapterStream {
    /** Attempts in a row that came to nothing through the adapter's own data or code, at which it is at fault. */
    private static final int FAILURES_IN_A_ROW = 32;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(500);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(30);

    /** Whether a failed attempt may be repeated. */
    enum Retry { AGAIN, NEVER }

    /** Whose doing it is that an attempt came to nothing. */
    enum Blame { ADAPTER, ENGINES }

    /** What a stream asks of its surroundings; called under the lock, must not block. */
    interface Surroundings {
        /** Rows are wanted: read a block and hand it to {@link AdapterStream#rowsRead}. */
        void readRows(AdapterStream stream);

        void changed(AdapterStream stream);

        void fault(AdapterStream stream, String reason);

        /** Its requests are to be aborted. */
        void retired(AdapterStream stream);

        /** Nothing of it is open any more. */
        void closed(AdapterStream stream);
    }

    private final Surroundings surroundings;
    private final RolloutLimits limits;
    private final Ledger ledger;
    private final PromptQueue prompts;
    private final StreamFigures figures;
    private final TreeMap<Long, Attempt> line = new TreeMap<>();
    private final List<Attempt> training = new ArrayList<>();
    private final Map<String, Integer> filteredInStep = new HashMap<>();
    private final Map<Long, Long> stepOfVersion = new HashMap<>();
    private Adapter adapter;
    private long ownStep;
    private long finishedRows;
    private int failuresInARow;
    private int pausesInARow;
    private Instant pausedUntil = Instant.MIN;
    private boolean faulty;
    /** After this step it ends; {@code Long.MAX_VALUE} unless it drains. */
    private long lastStep = Long.MAX_VALUE;
    private boolean retired;
    private boolean preparing;

    AdapterStream(Adapter adapter, LedgerSnapshot ledger, Cursor cursor, StreamFigures figures, RolloutLimits limits,
                  Surroundings surroundings) {
        this.adapter = adapter;
        this.ledger = new Ledger(ledger);
        this.prompts = new PromptQueue(cursor);
        this.figures = figures;
        this.limits = limits;
        this.surroundings = surroundings;
        this.ownStep = adapter.step();
        this.finishedRows = cursor.finished();
        adapter.inForce().ifPresent(s -> stepOfVersion.put(s.version(), s.step()));
    }

    /** Begins to read rows. */
    void start() {
        wantRows();
        surroundings.changed(this);
    }

    String name() {
        return adapter.name();
    }

    RegistrationId registration() {
        return adapter.registration();
    }

    AdapterConfig config() {
        return adapter.config();
    }

    LedgerSnapshot ledger() {
        return ledger.snapshot();
    }

    StreamFigures figures() {
        return figures;
    }

    PromptQueue prompts() {
        return prompts;
    }

    /** Groups of one pop: the smallest number whose samples split evenly over the trainer's processes. */
    static int unit(AdapterConfig config, RolloutLimits limits) {
        int n = config.nSamplesPerPrompt();
        return Math.max(limits.dataParallel(), n) / n;
    }

    // What the registry says.

    void seen(Adapter newer) {
        if (newer.step() < adapter.step()) {
            rolledBack();
            ownStep = newer.step();
        }
        adapter = newer;
        newer.inForce().ifPresent(s -> stepOfVersion.put(s.version(), s.step()));
        long oldest = steps() - config().maxStaleness() - 1;
        stepOfVersion.values().removeIf(step -> step < oldest && newer.stepInForce() != step);
        dropStale();
        surroundings.changed(this);
    }

    private void rolledBack() {
        for (Attempt a : List.copyOf(line.values())) {
            end(a, new Outcome.Requeued("rollback"));
            interrupt(a);
        }
        for (Attempt a : List.copyOf(training)) {
            end(a, new Outcome.Requeued("rollback"));
        }
        preparing = false;
        filteredInStep.clear();
    }

    /** The registration ends as soon as the step that it is at is committed, at once if not all groups of that step are under way. */
    void drain(Adapter newer) {
        lastStep = Math.min(lastStep, newer.step() + 1);
        seen(newer);
        endIfDrained();
    }

    private void endIfDrained() {
        if (draining() && !preparing && !canFinishStep()) {
            retire();
        }
    }

    private boolean draining() {
        return lastStep != Long.MAX_VALUE;
    }

    /** Whether the next step could be completed with what is open, nothing new being admitted. */
    private boolean canFinishStep() {
        int open = training.size() + line.size();
        if (open < config().rolloutBatchSize() || steps() >= Math.min(lastStep, adapter.targetStep())) {
            return false;
        }
        return remaining() == 0 || overtaking()
                || line.keySet().stream().skip(remaining() - 1L).findFirst().filter(last -> last < prompts.firstGivenBack().orElse(Long.MAX_VALUE)).isPresent();
    }

    /** The registration has ended: nothing more is admitted or trained; what is still being made ends when its calls return. */
    void retire() {
        if (retired) {
            return;
        }
        retired = true;
        for (Attempt a : List.copyOf(line.values())) {
            if (a.group != null) {
                end(a, new Outcome.Retired());
            }
        }
        if (!preparing) {
            endTraining(new Outcome.Retired());
        }
        prompts.clear();
        surroundings.retired(this);
        surroundings.changed(this);
    }

    /** Its calls didn't return in time: they are no longer waited for. A step that is being committed still says how it ended. */
    void writeOff() {
        for (Attempt a : List.copyOf(line.values())) {
            end(a, new Outcome.Retired());
            interrupt(a);
        }
        if (!preparing) {
            endTraining(new Outcome.Retired());
        }
        surroundings.changed(this);
    }

    boolean isRetired() {
        return retired;
    }

    boolean isOver() {
        return retired && ledger().open() == 0;
    }

    void close() {
        surroundings.closed(this);
    }

    private static void interrupt(Attempt a) {
        Thread t = a.runner;
        if (t != null) {
            t.interrupt();
        }
    }

    // Admission.

    /** S: a snapshot may be older than a step just committed, so the larger of the two. */
    long steps() {
        return Math.max(ownStep, adapter.step());
    }

    private int maxStaleness() {
        return limits.schedule() == RolloutLimits.Schedule.DETERMINISTIC ? 0 : config().maxStaleness();
    }

    /** Most groups that may be open now. */
    long room() {
        long behind = steps() - adapter.stepInForce();
        if (behind < 0) {
            return 0;
        }
        return Math.max(0, Math.min(maxStaleness() + 1 - behind, adapter.targetStep() - steps())) * config().rolloutBatchSize();
    }

    long ahead() {
        return ledger().open();
    }

    boolean canAdmit(Instant now) {
        return wouldAdmit() && !now.isBefore(pausedUntil);
    }

    private boolean wouldAdmit() {
        return !retired && !faulty && adapter.admits() && !prompts.isEmpty() && ahead() < room();
    }

    /** When it may admit again, if it only waits for engines to come back. */
    Optional<Instant> pausedUntil() {
        return wouldAdmit() ? Optional.of(pausedUntil) : Optional.empty();
    }

    /** Admits the head of the queue, pinned to the version in force. */
    Attempt admit(int reserved) {
        PromptQueue.Ticket t = prompts.take();
        PolicyStamp stamp = adapter.inForce().orElseThrow();
        Attempt a = new Attempt(this, t, ledger().dispatched(), stamp, maxStaleness(), reserved);
        line.put(t.number(), a);
        ledger.dispatched();
        wantRows();
        return a;
    }

    private void wantRows() {
        if (!retired && !draining() && !faulty && prompts.wantsRows()) {
            surroundings.readRows(this);
        }
    }

    void rowsRead(PromptQueue.Block block) {
        if (!retired) {
            prompts.add(block);
            surroundings.changed(this);
        }
    }

    /** Nothing more is admitted; the owner of the registry is told why. */
    void fault(String reason) {
        if (!faulty && !retired) {
            faulty = true;
            surroundings.fault(this, reason);
            surroundings.changed(this);
        }
    }

    // How an attempt goes on.

    /** All samples are made and scored; {@code rejections}: reasons to filter the group, by filter. */
    void finished(Attempt a, Group group, Map<String, String> rejections) {
        if (!a.open()) {
            return;
        }
        figures.finished(group);
        if (retired) {
            end(a, new Outcome.Retired());
        } else {
            a.group = group;
            a.rejections = rejections;
            pausesInARow = 0;
            pausedUntil = Instant.MIN;
            judge(a);
        }
        endIfDrained();
        surroundings.changed(this);
    }

    /** Judges what is finished: at once, or in the order of the line when nothing may depend on timing. */
    private void judge(Attempt latest) {
        if (limits.schedule() == RolloutLimits.Schedule.ASYNCHRONOUS) {
            keepOrFilter(latest);
            return;
        }
        long frontMissing = prompts.firstGivenBack().orElse(Long.MAX_VALUE);
        for (Attempt a : List.copyOf(line.values())) {
            if (a.group == null || a.ticket > frontMissing) {
                return;
            }
            if (a.at(Ledger.Place.IN_FLIGHT)) {
                keepOrFilter(a);
            }
        }
    }

    private void keepOrFilter(Attempt a) {
        failuresInARow = 0;
        for (FilterConfig f : config().filters()) {
            String reason = a.rejections.get(f.type());
            if (reason != null && filteredInStep.getOrDefault(f.type(), 0) < f.limitPerStep()) {
                filteredInStep.merge(f.type(), 1, Integer::sum);
                end(a, new Outcome.Filtered(reason));
                return;
            }
        }
        a.place = Ledger.Place.BUFFERED;
        ledger.buffered();
        dropIfStale(a);
    }

    /**
     * The attempt came to nothing; the prompt is tried again, or given up.
     *
     * @param reason a short word for the ledger
     * @param detail one line for people
     */
    void failed(Attempt a, String reason, String detail, Blame blame, Retry retry) {
        if (!a.open()) {
            return;
        }
        if (retired) {
            end(a, new Outcome.Retired());
        } else {
            boolean again = retry == Retry.AGAIN && a.prompt.retries() < limits.maxRetries();
            end(a, again ? new Outcome.Requeued(reason) : new Outcome.Failed(reason));
            if (blame == Blame.ADAPTER) {
                countFailure(detail);
            }
        }
        endIfDrained();
        surroundings.changed(this);
    }

    /** No engine answered: as {@link #failed}, and the adapter waits a little longer each time before it asks again. */
    void unavailable(Attempt a, Instant now) {
        if (a.open() && !retired) {
            Duration pause = FIRST_PAUSE.multipliedBy(1L << Math.min(6, pausesInARow++));
            pausedUntil = now.plus(pause.compareTo(LONGEST_PAUSE) > 0 ? LONGEST_PAUSE : pause);
        }
        failed(a, "unavailable", "no engine answered", Blame.ENGINES, Retry.AGAIN);
    }

    /** The row can't be scored, whatever the response: skipped and counted. */
    void unscorable(Attempt a, String reason, String detail) {
        if (!a.open()) {
            return;
        }
        end(a, retired ? new Outcome.Retired() : new Outcome.Filtered(reason));
        countFailure(detail);
        endIfDrained();
        surroundings.changed(this);
    }

    /** The adapter was no longer sampleable when a request was to be sent. */
    void unwanted(Attempt a) {
        if (a.open()) {
            end(a, new Outcome.Retired());
            endIfDrained();
            surroundings.changed(this);
        }
    }

    private void countFailure(String detail) {
        if (++failuresInARow >= FAILURES_IN_A_ROW) {
            fault(FAILURES_IN_A_ROW + " attempts in a row came to nothing; the last: " + detail);
        }
    }

    private void dropStale() {
        List.copyOf(line.values()).forEach(this::dropIfStale);
    }

    private void dropIfStale(Attempt a) {
        Group g = a.group;
        if (g != null && a.at(Ledger.Place.BUFFERED) && g.ageAt(steps()) > a.maxStaleness) {
            figures.stale(g);
            end(a, new Outcome.Stale());
        }
    }

    private void end(Attempt a, Outcome outcome) {
        Ledger.Place from = a.place;
        if (from == null) {
            throw new IllegalStateException("adapter '" + name() + "': attempt " + a.dispatch + " has ended already");
        }
        ledger.ended(from, 1, outcome);
        a.place = null;
        if (from == Ledger.Place.TRAINING) {
            training.remove(a);
        } else {
            line.remove(a.ticket);
        }
        if (retired) {
            return;
        }
        switch (outcome) {
            case Outcome.Stale _ -> prompts.giveBack(a.ticket, a.prompt.restaled());
            case Outcome.Requeued _ -> prompts.giveBack(a.ticket, a.prompt.retried());
            case Outcome.Trained _, Outcome.Filtered _, Outcome.Failed _ -> finishedRows++;
            case Outcome.Retired _ -> { }
        }
    }

    // Collection and training.

    /** Groups still wanted for the next step. */
    int remaining() {
        return retired ? 0 : Math.max(0, config().rolloutBatchSize() - training.size());
    }

    /** True while it could still add to a batch: something is open that is not in training, or may become so. */
    boolean mayContribute() {
        return remaining() > 0 && (!line.isEmpty() || wouldAdmit());
    }

    /** Groups that one pop takes now: a unit, in deterministic runs all that the step lacks, or 0 when they aren't there. */
    int takeable() {
        int want = limits.schedule() == RolloutLimits.Schedule.DETERMINISTIC ? remaining() : Math.min(unit(config(), limits), remaining());
        return want > 0 && ready(want).size() == want ? want : 0;
    }

    /** True when a step takes what is there, and doesn't wait for what stands before it in the line. */
    private boolean overtaking() {
        return config().stragglers() == Stragglers.DROP && limits.schedule() == RolloutLimits.Schedule.ASYNCHRONOUS;
    }

    /** The next {@code groups} that may be collected; fewer if they aren't there. */
    private List<Attempt> ready(int groups) {
        boolean overtaking = overtaking();
        long frontMissing = overtaking ? Long.MAX_VALUE : prompts.firstGivenBack().orElse(Long.MAX_VALUE);
        List<Attempt> ready = new ArrayList<>(groups);
        for (Attempt a : line.values()) {
            if (ready.size() == groups || a.ticket > frontMissing) {
                break;
            }
            if (a.at(Ledger.Place.BUFFERED)) {
                ready.add(a);
            } else if (!overtaking) {
                break;
            }
        }
        return ready;
    }

    /** Hands the next {@code groups} to the trainer. */
    List<Attempt> take(int groups) {
        List<Attempt> taken = ready(groups);
        for (Attempt a : taken) {
            line.remove(a.ticket);
            a.place = Ledger.Place.TRAINING;
            ledger.collected();
            training.add(a);
        }
        return taken;
    }

    /** True when what is collected and accumulated makes a whole step. */
    boolean stepComplete() {
        return training.size() == config().rolloutBatchSize();
    }

    /** What a commit of the collected groups has to record; empty when the registration has ended. */
    Optional<StepAccount> prepareStep() {
        if (retired || training.isEmpty()) {
            return Optional.empty();
        }
        preparing = true;
        List<Group> groups = new ArrayList<>();
        for (Attempt a : training) {
            groups.add(Objects.requireNonNull(a.group));
        }
        TreeMap<Long, Prompt> open = new TreeMap<>();
        line.forEach((ticket, a) -> open.put(ticket, a.prompt));
        return Optional.of(new StepAccount(name(), registration(), steps() + 1, groups,
                Ledger.ending(ledger(), Ledger.Place.TRAINING, training.size(), new Outcome.Trained()),
                prompts.cursor(open, finishedRows + training.size()), figures.generatedTokens(),
                figures.trainedTokens() + StepAccount.trainedTokens(groups)));
    }

    /** The step of {@code account} is committed. */
    void stepped(StepAccount account) {
        if (!preparing) {
            throw new IllegalStateException("adapter '" + name() + "': step " + account.step() + " was not prepared");
        }
        preparing = false;
        figures.trained(account.groups());
        endTraining(new Outcome.Trained());
        ownStep = account.step();
        filteredInStep.clear();
        dropStale();
        endIfDrained();
        surroundings.changed(this);
    }

    /** The step didn't happen: its groups are gone, {@code outcome} says how. */
    void notStepped(Outcome outcome) {
        preparing = false;
        filteredInStep.clear();
        endTraining(outcome);
        endIfDrained();
        surroundings.changed(this);
    }

    private void endTraining(Outcome outcome) {
        for (Attempt a : List.copyOf(training)) {
            end(a, outcome);
        }
    }

    /** The step of the oldest weights that made a token of the group, by the versions the engines reported. */
    OptionalLong stepOf(long version) {
        Long step = stepOfVersion.get(version);
        return step == null ? OptionalLong.empty() : OptionalLong.of(step);
    }

    AdapterStatistics statistics(int stuckRewards, long abandonedRewards) {
        return new AdapterStatistics(name(), registration(), ledger(), ahead(), room(), figures.requestsInFlight(),
                figures.generatedTokens(), figures.trainedTokens(), figures.tokensPerSecond(), figures.recentReward(),
                figures.recentLength(), figures.trainedLength(), figures.staleLength(), stuckRewards, abandonedRewards,
                finishedRows, prompts.rowsPerEpoch(), figures.constantSteps());
    }
}
