package io.furlong.rollout;

import io.furlong.core.Prompt;
import io.furlong.core.PromptSource;
import java.util.Map;
import java.util.Optional;

/** Rows from memory: row i asks "i" and its label is "i". */
final class ListSource implements PromptSource {
    private final int rows;

    ListSource(int rows) {
        this.rows = rows;
    }

    @Override
    public Prompt row(int epoch, long row) {
        return new Prompt(row, epoch, String.valueOf(row), new int[] {1, (int) row + 10}, String.valueOf(row), Map.of(), 0, 0);
    }

    @Override
    public Optional<Prompt> at(int epoch, long position) {
        return position < rows ? Optional.of(row(epoch, position)) : Optional.empty();
    }

    @Override
    public long rows() {
        return rows;
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
