package io.furlong.torch;

import io.furlong.torch.FusedLinear.Part;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * Several adapters side by side, for batches in which every row may have another one: the A of all adapters as one matrix, the B likewise, scaled.
 * A row's update is {@code B (mask * (A x))} with a mask that keeps the columns of its own adapter: a little more arithmetic than needed, in few large products
 * instead of many small ones. Holds copies; owned by one thread.
 */
final class AdapterStack implements AutoCloseable {
    private final Owner owner = new Owner();
    private final List<LoraWeights> adapters;
    private final int[] offsets;
    private final int width;
    private final List<Map<Projection, Stacked>> layers = new ArrayList<>();

    /** Down: the A of the fused linear's parts, {@code [parts * width, in]}; up: this part's B transposed, {@code [width, out]}. */
    private record Stacked(Optional<Tensor> down, Optional<Tensor> up) {}

    AdapterStack(BaseModel model, List<LoraWeights> adapters) {
        this.adapters = List.copyOf(adapters);
        offsets = new int[adapters.size()];
        int ranks = 0;
        for (int i = 0; i < offsets.length; i++) {
            offsets[i] = ranks;
            ranks += adapters.get(i).maxRank();
        }
        width = ranks;
        try (Scope scope = new Scope()) {
            for (BaseModel.Block block : model.blocks()) {
                Map<Projection, Stacked> stacked = new EnumMap<>(Projection.class);
                for (FusedLinear linear : List.of(block.qkv(), block.output(), block.gateUp(), block.down())) {
                    stack(linear, stacked);
                }
                layers.add(stacked);
            }
        }
    }

    /** Whether it holds all of {@code present} and is not mostly made of others. */
    boolean serves(List<LoraWeights> present) {
        return adapters.containsAll(present) && width <= 2 * present.stream().mapToInt(LoraWeights::maxRank).sum();
    }

    /** The adapters of a batch with {@code loras.get(i)} for row {@code i}; in the current scope. */
    Adapters select(List<Optional<LoraWeights>> loras) {
        int parts = 3;
        float[] mask = new float[loras.size() * parts * width];
        for (int row = 0; row < loras.size(); row++) {
            if (loras.get(row).isPresent()) {
                LoraWeights lora = loras.get(row).get();
                int from = offsets[adapters.indexOf(lora)];
                for (int part = 0; part < parts; part++) {
                    int at = (row * parts + part) * width + from;
                    java.util.Arrays.fill(mask, at, at + lora.maxRank(), 1f);
                }
            }
        }
        Tensor three = Tensor.create(mask, loras.size(), (long) parts * width);
        return new Selected(new Tensor[] {three.narrow(1, 0, width), three.narrow(1, 0, 2L * width), three});
    }

    @Override
    public void close() {
        owner.close();
    }

    private void stack(FusedLinear linear, Map<Projection, Stacked> into) {
        boolean any = false;
        TensorVector downs = new TensorVector();
        Map<Projection, Tensor> ups = new EnumMap<>(Projection.class);
        long in = linear.weight().size(1);
        for (Part part : linear.parts()) {
            TensorVector partUps = new TensorVector();
            boolean adapted = false;
            for (LoraWeights lora : adapters) {
                Optional<LoraWeights.Pair> pair = lora.pair(linear.layer(), part.projection());
                adapted |= pair.isPresent();
                long missing = lora.maxRank() - pair.map(LoraWeights.Pair::rank).orElse(0);
                pair.ifPresent(p -> {
                    downs.push_back(p.a().detach());
                    partUps.push_back(p.b().detach().mul(p.scalingArg()).t());
                });
                if (missing > 0) {
                    downs.push_back(torch.zeros(missing, in));
                    partUps.push_back(torch.zeros(missing, part.size()));
                }
            }
            if (adapted) {
                ups.put(part.projection(), owner.own(torch.cat(partUps, 0)));
            }
            any |= adapted;
        }
        Optional<Tensor> down = any ? Optional.of(owner.own(torch.cat(downs, 0))) : Optional.empty();
        linear.parts().forEach(part -> into.put(part.projection(), new Stacked(down, Optional.ofNullable(ups.get(part.projection())))));
    }

    private final class Selected implements Adapters {
        /** By number of parts less one, {@code [rows, parts * width]}. */
        private final Tensor[] masks;

        Selected(Tensor[] masks) {
            this.masks = masks;
        }

        @Override
        public Tensor apply(FusedLinear linear, Tensor x) {
            return update(linear, x, torch.linear(x, linear.weight(), linear.biasArg()));
        }

        @Override
        public Tensor addTo(Tensor residual, FusedLinear linear, Tensor x) {
            residual.addmm_(x, linear.transposed());
            linear.bias().ifPresent(residual::add_);
            return update(linear, x, residual);
        }

        private Tensor update(FusedLinear linear, Tensor x, Tensor y) {
            Map<Projection, Stacked> stacked = layers.get(linear.layer());
            Optional<Tensor> down = stacked.get(linear.parts().getFirst().projection()).down();
            if (down.isEmpty()) {
                return y;
            }
            Tensor inner = torch.linear(x, down.get());
            inner.mul_(masks[linear.parts().size() - 1]);
            for (int i = 0; i < linear.parts().size(); i++) {
                Part part = linear.parts().get(i);
                Optional<Tensor> up = stacked.get(part.projection()).up();
                if (up.isPresent()) {
                    Tensor own = linear.parts().size() == 1 ? inner : inner.narrow(1, (long) i * width, width);
                    Tensor out = linear.parts().size() == 1 ? y : y.narrow(1, part.offset(), part.size());
                    out.addmm_(own, up.get());
                }
            }
            return y;
        }
    }
}
