package io.furlong.torch;

import io.furlong.torch.FusedLinear.Part;
import java.util.EnumMap;
import java.util.List;
import java.util.ArrayList;
import java.util.Map;
import java.util.Optional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * The weights of several adapters as batched matrices, for decode steps in which each has about as many rows: one batched product with all A and one with
 * all B a linear, in place of several small ones for every adapter. Ranks are padded with zeros, scaling is folded into B. Holds copies; owned by one thread.
 */
final class AdapterStack implements AutoCloseable {
    private final Owner owner = new Owner();
    private final List<LoraWeights> adapters;
    private final int rank;
    /** By layer, then by the first projection of the fused linear. */
    private final List<Map<Projection, Stacked>> layers = new ArrayList<>();

    /** Down {@code [adapters, in, parts * rank]} and up {@code [adapters, parts * rank, out]}, block-diagonal over the parts. */
    private record Stacked(Tensor down, Tensor up) {}

    /** @param previous what it holds of the same adapters is taken over: from one step to the next few of them change */
    AdapterStack(BaseModel model, List<LoraWeights> adapters, Optional<AdapterStack> previous) {
        this.adapters = List.copyOf(adapters);
        rank = adapters.stream().mapToInt(LoraWeights::maxRank).max().orElse(0);
        Optional<AdapterStack> known = previous.filter(p -> p.rank == rank);
        try (Scope scope = new Scope()) {
            for (BaseModel.Block block : model.blocks()) {
                Map<Projection, Stacked> stacked = new EnumMap<>(Projection.class);
                for (FusedLinear linear : List.of(block.qkv(), block.output(), block.gateUp(), block.down())) {
                    if (adapters.stream().anyMatch(lora -> linear.parts().stream().anyMatch(part -> lora.pair(linear.layer(), part.projection()).isPresent()))) {
                        stacked.put(linear.parts().getFirst().projection(), stack(linear, known));
                    }
                }
                layers.add(stacked);
            }
        }
    }

    /** Whether it holds exactly these adapters, in this order. */
    boolean holds(List<LoraWeights> others) {
        return adapters.equals(others);
    }

    /** For a batch that begins with {@code rowsEach} rows of each adapter in order; rows after them are the base's. */
    Adapters forRows(int rowsEach) {
        return new Even(rowsEach);
    }

    @Override
    public void close() {
        owner.close();
    }

    private Stacked stack(FusedLinear linear, Optional<AdapterStack> known) {
        TensorVector downs = new TensorVector();
        TensorVector ups = new TensorVector();
        for (LoraWeights lora : adapters) {
            Stacked one = known.flatMap(k -> k.of(linear, lora)).orElseGet(() -> made(linear, lora));
            downs.push_back(one.down());
            ups.push_back(one.up());
        }
        return new Stacked(owner.own(torch.stack(downs, 0).transpose(1, 2)), owner.own(torch.stack(ups, 0)));
    }

    /** One adapter's down {@code [parts * rank, in]} and up {@code [parts * rank, out]}. */
    private Optional<Stacked> of(FusedLinear linear, LoraWeights lora) {
        int at = adapters.indexOf(lora);
        return at < 0 ? Optional.empty() : Optional.ofNullable(layers.get(linear.layer()).get(linear.parts().getFirst().projection()))
                .map(s -> new Stacked(s.down().select(0, at).t(), s.up().select(0, at)));
    }

    private Stacked made(FusedLinear linear, LoraWeights lora) {
        long inner = (long) linear.parts().size() * rank;
        Tensor down = torch.zeros(inner, linear.weight().size(1));
        Tensor up = torch.zeros(inner, linear.out());
        for (int i = 0; i < linear.parts().size(); i++) {
            Part part = linear.parts().get(i);
            Optional<LoraWeights.Pair> pair = lora.pair(linear.layer(), part.projection());
            if (pair.isPresent()) {
                long row = (long) i * rank;
                down.narrow(0, row, pair.get().rank()).copy_(pair.get().a());
                up.narrow(0, row, pair.get().rank()).narrow(1, part.offset(), part.size()).copy_(pair.get().transposedB().mul(pair.get().scalingArg()));
            }
        }
        return new Stacked(down, up);
    }

    private final class Even implements Adapters {
        private final long rowsEach;

        Even(long rowsEach) {
            this.rowsEach = rowsEach;
        }

        @Override
        public Tensor[] apply(FusedLinear linear, Tensor x) {
            Tensor y = torch.linear(x, linear.weight(), linear.biasArg());
            addUpdate(y, linear, x);
            return linear.split(y);
        }

        @Override
        public Tensor addTo(Tensor residual, FusedLinear linear, Tensor x) {
            residual.addmm_(x, linear.transposed());
            linear.bias().ifPresent(residual::add_);
            addUpdate(residual, linear, x);
            return residual;
        }

        private void addUpdate(Tensor y, FusedLinear linear, Tensor x) {
            Stacked stacked = layers.get(linear.layer()).get(linear.parts().getFirst().projection());
            if (stacked != null) {
                adapted(y).baddbmm_(torch.bmm(adapted(x), stacked.down()), stacked.up());
            }
        }

        /** The adapters' rows, {@code [adapters, rowsEach, columns]}. */
        private Tensor adapted(Tensor t) {
            long rows = adapters.size() * rowsEach;
            return (rows == t.size(0) ? t : t.narrow(0, 0, rows)).view(adapters.size(), rowsEach, t.size(1));
        }
    }
}
