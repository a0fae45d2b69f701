package io.furlong.sglang;

import io.furlong.wire.GenerateResponse;
import io.furlong.wire.MetaInfo;
import io.furlong.wire.TokenLogprob;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Chunks of one stream joined to the reply they make. {@code completion_tokens} is the total in every chunk, so a part that is as long
 * replaces what was there, and a shorter one goes to its end.
 */
final class Joined {
    private final List<Integer> ids = new ArrayList<>();
    private final List<TokenLogprob> logprobs = new ArrayList<>();
    private final StringBuilder text = new StringBuilder();
    private Optional<GenerateResponse> last = Optional.empty();

    void add(GenerateResponse chunk) {
        int total = chunk.metaInfo().completionTokens().orElse(ids.size() + chunk.outputIds().length);
        boolean whole = chunk.outputIds().length >= total;
        if (whole) {
            ids.clear();
            text.setLength(0);
        }
        for (int id : chunk.outputIds()) {
            ids.add(id);
        }
        chunk.text().ifPresent(text::append);
        chunk.metaInfo().outputTokenLogprobs().ifPresent(part -> {
            if (part.size() >= total) {
                logprobs.clear();
            }
            logprobs.addAll(part);
        });
        last = Optional.of(chunk);
    }

    /** Empty when no chunk came. */
    Optional<GenerateResponse> reply() {
        return last.map(chunk -> {
            MetaInfo m = chunk.metaInfo();
            Optional<List<TokenLogprob>> all = m.outputTokenLogprobs().isPresent() || !logprobs.isEmpty() ? Optional.of(List.copyOf(logprobs)) : Optional.empty();
            MetaInfo meta = new MetaInfo(m.id(), m.finishReason(), m.promptTokens(), m.completionTokens(), m.cachedTokens(), m.weightVersion(),
                    m.numRetractions(), m.reasoningTokens(), m.e2eLatency(), m.inputTokenLogprobs(), all, m.outputTokenLogprobsLength(),
                    m.inputTopLogprobs(), m.outputTopLogprobs(), m.inputTokenIdsLogprobs(), m.outputTokenIdsLogprobs(), m.loraVersions(), m.loraDigest());
            return new GenerateResponse(chunk.text().map(t -> text.toString()), ids.stream().mapToInt(Integer::intValue).toArray(), meta, OptionalInt.empty());
        });
    }
}
