package io.furlong.bench;

import io.furlong.control.AdapterRegistry;
import io.furlong.control.Limits;
import io.furlong.control.Registration;
import io.furlong.control.Store;
import io.furlong.control.VersionDirectories;
import io.furlong.core.Adapter;
import io.furlong.core.AdapterConfig;
import io.furlong.core.Cursor;
import io.furlong.core.FinishReason;
import io.furlong.core.LedgerSnapshot;
import io.furlong.core.PolicyStamp;
import io.furlong.core.Prompt;
import io.furlong.core.PromptSource;
import io.furlong.core.RegistrationId;
import io.furlong.core.SampleRequest;
import io.furlong.core.SampleResult;
import io.furlong.core.Sampler;
import io.furlong.core.StepCommit;
import io.furlong.core.StepLog.StaleRegistrationException;
import io.furlong.core.Tokenizer;
import io.furlong.core.TrainBatch;
import io.furlong.rollout.Rollout;
import io.furlong.rollout.RolloutLimits;
import io.furlong.rollout.RolloutListener;
import io.furlong.rollout.RolloutParts;
import io.furlong.rollout.SingleTurn;
import io.furlong.rollout.StepAccount;
import io.furlong.rollout.reward.Rewards;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The real registry, store, dispatcher, buffers and collector, around an engine that answers at once and a trainer that does nothing. */
final class ControlLoop implements AutoCloseable {
    private static final int GROUPS = 100_000;
    private static final int WARM = 20_000;
    private static final int GROUPS_A_STEP = 32;
    private static final int GLOBAL_BATCH = 256;
    private static final int ROWS = 1000;

    private final Store store;
    private final AdapterRegistry registry;
    private final Rollout rollout;
    private final List<Registration> adapters = new ArrayList<>();

    ControlLoop(Store store, int count) throws Exception {
        this.store = store;
        registry = AdapterRegistry.open(Limits.of(count, () -> Integer.MAX_VALUE), List.of(), store, InstantSource.system(), new VersionDirectories(List.of()));
        rollout = new Rollout(new RolloutParts(registry, new Instantly(), new Digits(), (adapter, config, data) -> new Rows(), new Rewards(Set.of()),
                new SingleTurn(), () -> 1, 1, InstantSource.system()),
                new RolloutLimits(GLOBAL_BATCH, Duration.ofMillis(20), Duration.ofSeconds(20), 512, 1, 3, 4, Duration.ofSeconds(10),
                        RolloutLimits.Schedule.ASYNCHRONOUS), new Silent());
        for (int i = 0; i < count; i++) {
            AdapterConfig config = Synthetic.config(GROUPS_A_STEP, 1, Path.of("save", Integer.toString(i)));
            Registration r = registry.register(new AdapterRegistry.Request("bench", "a" + i, config, AdapterRegistry.Request.WhenFull.REFUSE));
            PolicyStamp stamp = stamp(r.name(), r.id(), 0);
            registry.commit(new StepCommit(r.name(), stamp, Path.of(stamp.servedName()), stamp.digest(), LedgerSnapshot.EMPTY,
                    Cursor.START, 0, 0));
            registry.inForce(stamp);
            adapters.add(r);
        }
    }

    private PolicyStamp stamp(String name, RegistrationId id, long step) {
        long version = registry.nextVersion(id);
        String digest = String.format("%064x", version);
        return new PolicyStamp(id, version, step, digest, PolicyStamp.versionedName(name, id, version, digest));
    }

    /** Once warm. */
    double groupsPerSecond() throws Exception {
        rollout.start();
        train(WARM);
        long start = System.nanoTime();
        int groups = train(GROUPS);
        return groups / Repeat.seconds(start);
    }

    private int train(int wanted) throws InterruptedException, StaleRegistrationException {
        int groups = 0;
        while (groups < wanted) {
            TrainBatch batch = rollout.collect();
            groups += batch.groups().size();
            for (String name : batch.stepping()) {
                step(registry.snapshot().find(name).orElseThrow());
            }
        }
        return groups;
    }

    private void step(Adapter a) throws StaleRegistrationException {
        StepAccount account = rollout.prepareStep(a.registration()).orElseThrow();
        PolicyStamp stamp = stamp(a.name(), a.registration(), account.step());
        registry.commit(new StepCommit(a.name(), stamp, Path.of(stamp.servedName()), stamp.digest(), account.ledger(), account.cursor(),
                account.generatedTokens(), account.trainedTokens()));
        rollout.stepped(account);
        registry.inForce(stamp);
    }

    /** One visible change of each adapter. */
    void changeAll() {
        for (Registration r : adapters) {
            registry.accumulated(Map.of(r.id(), 1));
        }
    }

    /** So many reads: the newest snapshot, and an adapter by its name. */
    void read(int times) {
        int there = 0;
        for (int i = 0; i < times; i++) {
            there += registry.snapshot().find(adapters.get(i % adapters.size()).name()).orElseThrow().accumulated();
        }
        if (there < 0) {
            throw new IllegalStateException("counts are never negative; looking at their sum keeps the reads from being left out");
        }
    }

    @Override
    public void close() {
        rollout.close();
        store.close();
    }

    /** Answers with the row's number, which is right. */
    private static final class Instantly implements Sampler {
        private static final int[] TOKENS = {1};
        private static final float[] LOG_PROBS = {-0.5f};

        @Override
        public SampleResult sample(SampleRequest r) {
            return new SampleResult(TOKENS, LOG_PROBS, "1", FinishReason.STOP, r.inputIds().length, 0, List.of(), "bench");
        }

        @Override
        public void abort(RegistrationId registration) {}
    }

    private static final class Silent implements RolloutListener {
        @Override
        public void adapterFault(String adapter, RegistrationId registration, String reason) {
            throw new IllegalStateException(adapter + ": " + reason);
        }

        @Override
        public void release(PolicyStamp stamp) {}

        @Override
        public void emptyBatch(Duration waited) {}
    }

    private static final class Digits implements Tokenizer {
        @Override
        public int[] encode(String text) {
            return text.chars().toArray();
        }

        @Override
        public String decode(int[] tokenIds) {
            return new String(tokenIds, 0, tokenIds.length);
        }

        @Override
        public String chat(List<Map<String, Object>> messages) {
            throw new UnsupportedOperationException("no chat here");
        }

        @Override
        public boolean hasChatTemplate() {
            return false;
        }

        @Override
        public String fingerprint() {
            return "0".repeat(64);
        }

        @Override
        public int vocabSize() {
            return 128;
        }
    }

    private static final class Rows implements PromptSource {
        @Override
        public Prompt row(int epoch, long row) {
            return new Prompt(row, epoch, "1", new int[] {1, 2}, "1", Map.of(), 0, 0);
        }

        @Override
        public Optional<Prompt> at(int epoch, long position) {
            return position < ROWS ? Optional.of(row(epoch, position)) : Optional.empty();
        }

        @Override
        public long rows() {
            return ROWS;
        }

        @Override
        public long tooLong() {
            return 0;
        }

        @Override
        public String fingerprint() {
            return "f".repeat(64);
        }

        @Override
        public void close() {}
    }
}
