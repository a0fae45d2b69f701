package io.furlong.control;

import io.furlong.control.RefusedException.Kind;
import io.furlong.core.AdapterConfig;
import io.furlong.core.ConfigException;
import io.furlong.core.OptimizerConfig;
import io.furlong.core.StopRule;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** What a {@link Desired.Patch} does to a registration, at once and at the next step boundary. Pure. */
final class Patches {
    private Patches() {}

    /** Weight and staleness at once; learning rate and number of steps as wishes, checked now so that they can't fail later. */
    static Registration apply(Registration r, Desired.Patch patch) throws RefusedException {
        if (r.retirement().isPresent() && !patch.equals(Desired.Patch.NOTHING)) {
            throw new RefusedException(Kind.CONFLICT, "adapter '" + r.name() + "' is retiring: nothing of it can be changed");
        }
        try {
            Desired old = r.desired();
            OptionalDouble lr = patch.lr().isPresent() ? patch.lr() : old.lr();
            OptionalInt numStep = patch.numStep().isPresent() ? patch.numStep() : old.numStep();
            lr.ifPresent(v -> r.config().optimizer().withLr(v));
            numStep.ifPresent(n -> r.config().stop().withNumStep(n));
            AdapterConfig c = r.config();
            AdapterConfig now = with(c, c.optimizer(), c.stop(), patch.weight().orElse(c.weight()), patch.maxStaleness().orElse(c.maxStaleness()));
            return r.withConfig(now).withDesired(new Desired(lr, numStep, old.rollback()));
        } catch (ConfigException e) {
            throw new RefusedException(Kind.INVALID, e.getMessage());
        }
    }

    /** What a commit makes of the wishes: they are part of the configuration from the next step on. */
    static Registration atBoundary(Registration r, boolean rolledBack) {
        Desired d = r.desired();
        AdapterConfig c = r.config();
        OptimizerConfig optimizer = d.lr().isPresent() ? c.optimizer().withLr(d.lr().getAsDouble()) : c.optimizer();
        StopRule stop = d.numStep().isPresent() ? c.stop().withNumStep(d.numStep().getAsInt()) : c.stop();
        Progress p = d.numStep().isPresent() ? r.progress().withTargetStep(r.progress().startStep() + d.numStep().getAsInt()) : r.progress();
        OptionalLong rollback = rolledBack ? OptionalLong.empty() : d.rollback();
        return r.withConfig(with(c, optimizer, stop, c.weight(), c.maxStaleness())).withProgress(p)
                .withDesired(new Desired(OptionalDouble.empty(), OptionalInt.empty(), rollback));
    }

    static Map<String, Object> describe(Desired.Patch patch) {
        Map<String, Object> m = new LinkedHashMap<>();
        patch.lr().ifPresent(v -> m.put("lr", v));
        patch.numStep().ifPresent(v -> m.put("num_step", v));
        patch.weight().ifPresent(v -> m.put("weight", v));
        patch.maxStaleness().ifPresent(v -> m.put("max_staleness", v));
        patch.run().ifPresent(v -> m.put("run", v.name().toLowerCase()));
        return m;
    }

    static AdapterConfig withSave(AdapterConfig c, Path save) {
        return new AdapterConfig(c.data(), c.reward(), c.rolloutBatchSize(), c.nSamplesPerPrompt(), c.lora(), c.sampling(), c.loss(), c.optimizer(),
                c.maxStaleness(), c.stragglers(), c.weight(), c.stop(), c.filters(), c.eval(), c.initFrom(), save, c.metadata());
    }

    private static AdapterConfig with(AdapterConfig c, OptimizerConfig optimizer, StopRule stop, double weight, int maxStaleness) {
        return new AdapterConfig(c.data(), c.reward(), c.rolloutBatchSize(), c.nSamplesPerPrompt(), c.lora(), c.sampling(), c.loss(), optimizer,
                maxStaleness, c.stragglers(), weight, stop, c.filters(), c.eval(), c.initFrom(), c.save(), c.metadata());
    }
}
