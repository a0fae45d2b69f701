package io.furlong.rollout;

import io.furlong.core.Generator;
import io.furlong.core.Group;
import io.furlong.core.Prompt;
import io.furlong.core.Sample;
import io.furlong.core.SamplerException;
import io.furlong.core.Seeds;
import io.furlong.core.Tokenizer;
import io.furlong.rollout.AdapterStream.Blame;
import io.furlong.rollout.AdapterStream.Retry;
import io.furlong.rollout.reward.RewardRunner.RewardException;
import io.furlong.rollout.reward.UnscorableException;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.OptionalLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The way of one attempt, on a virtual thread of its own: generate, score, filter, hand in. Whatever happens, the attempt ends or
 * is handed in, its pin is taken off and its places are given back, each once.
 */
final class GroupRun {
    private static final Logger log = LoggerFactory.getLogger(GroupRun.class);

    private final Requests requests;
    private final Generator generator;
    private final Tokenizer tokenizer;
    private final Pins pins;
    private final ReentrantLock lock;
    private final InstantSource clock;
    private final long runSeed;

    GroupRun(Requests requests, Generator generator, Tokenizer tokenizer, Pins pins, ReentrantLock lock, InstantSource clock, long runSeed) {
        this.requests = requests;
        this.generator = generator;
        this.tokenizer = tokenizer;
        this.pins = pins;
        this.lock = lock;
        this.clock = clock;
        this.runSeed = runSeed;
    }

    void run(Attempt a, StreamKit kit) {
        a.runner = Thread.currentThread();
        AdapterStream stream = a.stream;
        Runnable end;
        try {
            Group group = score(a, generate(a), kit);
            Map<String, String> rejections = kit.rejections(group);
            end = () -> stream.finished(a, group, rejections);
        } catch (SamplerException e) {
            end = switch (e.kind()) {
                case UNWANTED -> () -> stream.unwanted(a);
                case ABORTED -> () -> stream.failed(a, "aborted", e.getMessage(), Blame.ENGINES, Retry.AGAIN);
                case MALFORMED -> () -> stream.failed(a, "malformed", e.getMessage(), Blame.ENGINES, Retry.AGAIN);
                case REJECTED -> () -> stream.failed(a, "rejected", e.getMessage(), Blame.ADAPTER, Retry.NEVER);
                case UNAVAILABLE -> () -> stream.unavailable(a, clock.instant());
            };
        } catch (RewardException e) {
            String reason = "reward_" + e.reason().name().toLowerCase(Locale.ROOT);
            end = () -> stream.failed(a, reason, e.getMessage(), Blame.ADAPTER, Retry.AGAIN);
        } catch (UnscorableException e) {
            end = () -> stream.unscorable(a, e.reason(), e.getMessage());
        } catch (InterruptedException e) {
            end = () -> stream.failed(a, "interrupted", "interrupted", Blame.ENGINES, Retry.AGAIN);
        } catch (RuntimeException | Error e) {
            log.warn("adapter '{}': generator {} failed on row {}", stream.name(), generator.name(), a.prompt.row(), e);
            end = () -> stream.failed(a, "generator_error", "generator " + generator.name() + " threw " + e, Blame.ADAPTER, Retry.AGAIN);
        }
        a.runner = null;
        lock.lock();
        try {
            end.run();
        } finally {
            lock.unlock();
        }
    }

    /** Makes the samples; then the weights aren't needed any more. */
    private List<Sample> generate(Attempt a) throws SamplerException, InterruptedException {
        AdapterStream stream = a.stream;
        Prompt prompt = a.prompt;
        String affinity = stream.registration().shortHex() + ":" + prompt.row();
        int n = stream.config().nSamplesPerPrompt();
        List<Sample> samples;
        try (Requests.Places places = requests.places(a.reserved)) {
            Generator.Turn turn = (index, number, ids, sampling) -> requests.send(stream, a.stamp, ids, sampling,
                    Seeds.sample(runSeed, stream.name(), prompt, index, number), affinity, places, a::open);
            samples = generator.generate(new Generator.Request(stream.name(), stream.config(), prompt, n, a.stamp, turn, tokenizer));
        } finally {
            lock.lock();
            try {
                pins.unpin(a.stamp);
            } finally {
                lock.unlock();
            }
        }
        if (samples.size() != n) {
            throw new IllegalStateException("made " + samples.size() + " samples, must be " + n);
        }
        return samples;
    }

    private Group score(Attempt a, List<Sample> samples, StreamKit kit)
            throws SamplerException, RewardException, UnscorableException, InterruptedException {
        List<Sample> scored = new ArrayList<>(samples.size());
        for (Sample s : samples) {
            scored.add(s.withReward(kit.rewards().score(a.prompt, s)));
        }
        return new Group(a.stream.name(), a.stream.registration(), a.dispatch, a.prompt, scored, a.stamp, policyStep(a, scored));
    }

    /** The step of the oldest weights that made a token: the pinned ones, or in slot mode what the engine says. */
    private long policyStep(Attempt a, List<Sample> samples) throws SamplerException {
        long oldest = samples.stream().mapToLong(Sample::oldestVersion).min().orElse(a.stamp.version());
        if (oldest == a.stamp.version()) {
            return a.stamp.step();
        }
        lock.lock();
        try {
            OptionalLong step = a.stream.stepOf(oldest);
            return step.orElseThrow(() -> new SamplerException(SamplerException.Kind.MALFORMED,
                    "the engine says version " + oldest + " made a token of a sample pinned to version " + a.stamp.version()
                            + ", but no such version has been in force lately"));
        } finally {
            lock.unlock();
        }
    }
}
