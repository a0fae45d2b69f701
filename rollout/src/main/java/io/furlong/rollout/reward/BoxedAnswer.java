package io.furlong.rollout.reward;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where a text gives its answer: in its last {@code \boxed{…}} or {@code \fbox{…}} (braces counted), boxes that follow each other
 * directly taken as a list; else after its last {@code ####}; else after its last "answer is" or "answer:"; else, if it is one
 * short line, the line itself.
 */
final class BoxedAnswer {
    private static final int END_READ = 20_000;
    private static final int SHORT_LINE = 200;
    private static final Pattern BOX = Pattern.compile("\\\\f?box(?:ed)?\\s*\\{");
    private static final Pattern BETWEEN = Pattern.compile("[\\s,$]*(?:\\\\?text\\{\\s*)?(?:and)?\\s*\\}?[\\s,$]*");
    private static final Pattern SAID = Pattern.compile("(?i)answer\\s*(?:is|:)\\s*:?\\s*");

    private BoxedAnswer() {}

    static Optional<String> of(String response) {
        String text = response.substring(Math.max(0, response.length() - END_READ));
        List<String> boxes = new ArrayList<>();
        int end = -1;
        Matcher m = BOX.matcher(text);
        boolean open = false;
        for (int from = 0; m.find(from); ) {
            int close = closingBrace(text, m.end() - 1);
            open = close < 0;
            if (open) {
                break;
            }
            if (end < 0 || !BETWEEN.matcher(text.substring(end, m.start())).matches()) {
                boxes.clear();
            }
            boxes.add(text.substring(m.end(), close));
            end = close + 1;
            from = close + 1;
        }
        if (open) {
            return Optional.empty(); // the last box was never finished: there is no answer
        }
        if (!boxes.isEmpty()) {
            return Optional.of(String.join(", ", boxes));
        }
        int hashes = text.lastIndexOf("####");
        if (hashes >= 0) {
            return line(text.substring(hashes + 4));
        }
        String said = null;
        for (Matcher s = SAID.matcher(text); s.find(); ) {
            said = text.substring(s.end());
        }
        if (said != null) {
            return line(said);
        }
        String whole = response.strip();
        return whole.length() <= SHORT_LINE && !whole.contains("\n") ? line(whole) : Optional.empty();
    }

    private static Optional<String> line(String text) {
        return text.strip().lines().findFirst().map(String::strip).filter(l -> !l.isEmpty());
    }

    /** Index of the brace that closes the one at {@code open}; −1 when none does. */
    static int closingBrace(String text, int open) {
        int depth = 0;
        for (int i = open; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '\\') {
                i++;
            } else if (c == '{') {
                depth++;
            } else if (c == '}' && --depth == 0) {
                return i;
            }
        }
        return -1;
    }
}
