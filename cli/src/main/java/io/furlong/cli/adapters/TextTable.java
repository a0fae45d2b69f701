package io.furlong.cli.adapters;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** Rows under a head line, columns as wide as they need; numbers to the right. */
final class TextTable {
    private static final Pattern NUMBER = Pattern.compile("-?[\\d.,]+([e/%].*)?|–");
    private final List<List<String>> rows = new ArrayList<>();
    private final List<String> head;

    TextTable(String... head) {
        this.head = List.of(head);
    }

    void row(String... cells) {
        if (cells.length != head.size()) {
            throw new IllegalArgumentException(cells.length + " cells for " + head.size() + " columns");
        }
        rows.add(List.of(cells));
    }

    List<String> lines() {
        List<String> lines = new ArrayList<>();
        lines.add(line(head));
        rows.forEach(row -> lines.add(line(row)));
        return lines;
    }

    private String line(List<String> cells) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < cells.size(); i++) {
            int column = i;
            int width = Math.max(head.get(i).length(), rows.stream().mapToInt(r -> r.get(column).length()).max().orElse(0));
            boolean right = !rows.isEmpty() && rows.stream().allMatch(r -> NUMBER.matcher(r.get(column)).matches());
            String pad = " ".repeat(width - cells.get(i).length());
            line.append(i == 0 ? "" : "  ").append(right ? pad + cells.get(i) : cells.get(i) + pad);
        }
        return line.toString().stripTrailing();
    }
}
