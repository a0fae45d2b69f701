package io.furlong.engine;

import io.furlong.torch.BaseModel;
import io.furlong.torch.Chunk;
import io.furlong.torch.Decoder;
import io.furlong.torch.KvCache;
import io.furlong.torch.KvPrefix;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.Numerics;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Runs the decoder for requests in cache rows. Belongs to the engine's thread; what it returns belongs to the caller's scope. */
final class ModelRunner implements AutoCloseable {
    private final Decoder decoder;
    private final KvCache cache;

    /** The tokens {@code from … to − 1} of a request, to be computed into its row. */
    record Piece(Request request, int row, int from, int to) {
        int length() {
            return to - from;
        }
    }

    ModelRunner(BaseModel base, Numerics numerics) {
        decoder = new Decoder(base, numerics);
        cache = new KvCache(base.config());
    }

    /** @return hidden states of all pieces' tokens, piece after piece, shape [tokens, hidden] */
    Tensor prefill(List<Piece> pieces) {
        return decoder.prefill(cache, pieces.stream()
                .map(p -> new Chunk(p.row(), p.from(), p.request().tokens(p.from(), p.to()), weights(p.request()))).toList());
    }

    /**
     * One token each, adapters and base mixed.
     *
     * @param requests those of rows 0, 1, …; the last token of each is the one to compute
     * @return logits, shape [requests, vocab]
     */
    Tensor decode(List<Request> requests) {
        int[] tokens = new int[requests.size()];
        int[] positions = new int[tokens.length];
        List<Optional<LoraWeights>> adapters = new ArrayList<>(tokens.length);
        for (int row = 0; row < tokens.length; row++) {
            Request request = requests.get(row);
            tokens[row] = request.lastToken();
            positions[row] = request.length() - 1;
            adapters.add(weights(request));
        }
        return decoder.logits(decoder.decode(cache, tokens, positions, adapters));
    }

    /** Logits of some rows of {@code hidden}, shape [rows, vocab]. */
    Tensor logits(Tensor hidden, List<Integer> rows) {
        return decoder.logits(hidden.index_select(0, torch.tensor(rows.stream().mapToInt(Integer::intValue).toArray())));
    }

    /** Logits of the rows {@code from … from + count − 1} of {@code hidden}. */
    Tensor logits(Tensor hidden, int from, int count) {
        return decoder.logits(hidden.narrow(0, from, count));
    }

    KvPrefix save(int row, int length) {
        return cache.prefix(row, length);
    }

    void load(PrefixCache.Match match, int row) {
        cache.load(match.prefix(), match.length(), row);
    }

    void copy(int from, int to, int length) {
        if (length > 0) {
            cache.copy(from, to, length);
        }
    }

    long cacheBytes() {
        return cache.bytes();
    }

    /** Takes away what sequences that were not numbers left behind. */
    void scrub() {
        cache.scrub();
    }

    void clear() {
        cache.clear();
    }

    @Override
    public void close() {
        cache.close();
        decoder.close();
    }

    private static Optional<LoraWeights> weights(Request request) {
        return request.adapter().map(LoadedAdapter::weights);
    }
}
