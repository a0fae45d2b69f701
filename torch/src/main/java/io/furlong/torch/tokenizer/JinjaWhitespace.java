package io.furlong.torch.tokenizer;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Jinja's white space rules, applied to a template before it is parsed: {@code trim_blocks} (the newline after a block goes),
 * {@code lstrip_blocks} (blanks before a block at a line's start go), the {@code -} and {@code +} marks; comments and
 * the last newline of the file go too. What comes out
 * has no marks and means the same to any Jinja that leaves text alone. Source: Jinja's manual, "Whitespace Control".
 */
final class JinjaWhitespace {
    private static final Pattern END_OF_RAW = Pattern.compile("\\{%[-+]?\\s*endraw");

    private final String in;
    private final StringBuilder out = new StringBuilder();
    private int at;
    /** What the piece before asks of the text that follows. */
    private After after = After.KEEP;

    private enum After { KEEP, TRIM_NEWLINE, TRIM_ALL }

    private JinjaWhitespace(String in) {
        this.in = in;
    }

    /** @return the template without marks and comments */
    static String apply(String template) {
        return new JinjaWhitespace(template.endsWith("\n") ? template.substring(0, template.length() - 1) : template).run();
    }

    private String run() {
        while (at < in.length()) {
            int open = nextOpening();
            text(open);
            if (open < in.length()) {
                element(open);
            }
        }
        return out.toString();
    }

    private int nextOpening() {
        for (int i = in.indexOf('{', at); i >= 0 && i + 1 < in.length(); i = in.indexOf('{', i + 1)) {
            if ("{%#".indexOf(in.charAt(i + 1)) >= 0) {
                return i;
            }
        }
        return in.length();
    }

    private void text(int end) {
        String text = in.substring(at, end);
        text = switch (after) {
            case KEEP -> text;
            case TRIM_NEWLINE -> text.startsWith("\n") ? text.substring(1) : text.startsWith("\r\n") ? text.substring(2) : text;
            case TRIM_ALL -> text.stripLeading();
        };
        if (end < in.length()) {
            char kind = in.charAt(end + 1);
            char mark = end + 2 < in.length() ? in.charAt(end + 2) : ' ';
            if (mark == '-') {
                text = text.stripTrailing();
            } else if (kind != '{' && mark != '+') {
                boolean newlineTrimmed = after == After.TRIM_NEWLINE && text.length() < end - at;
                text = withoutIndent(text, at == 0 || newlineTrimmed);
            }
        }
        out.append(text);
        at = end;
    }

    /** @param lineStart whether the text's own beginning is that of a line */
    private static String withoutIndent(String text, boolean lineStart) {
        int end = text.length();
        while (end > 0 && (text.charAt(end - 1) == ' ' || text.charAt(end - 1) == '\t')) {
            end--;
        }
        return end > 0 && text.charAt(end - 1) == '\n' || end == 0 && lineStart ? text.substring(0, end) : text;
    }

    private void element(int open) {
        char kind = in.charAt(open + 1);
        String closing = kind == '{' ? "}}" : kind == '%' ? "%}" : "#}";
        int close = kind == '#' ? in.indexOf(closing, open + 2) : closing(open + 2, closing);
        if (close < 0) {
            out.append(in, open, in.length());
            at = in.length();
            return;
        }
        int from = open + 2 + (marked(open + 2) ? 1 : 0);
        boolean trimAfter = in.charAt(close - 1) == '-' && close - 1 >= from;
        int to = trimAfter || in.charAt(close - 1) == '+' && kind == '%' ? close - 1 : close;
        at = close + 2;
        after = trimAfter ? After.TRIM_ALL : kind == '{' ? After.KEEP : After.TRIM_NEWLINE;
        if (kind == '#') {
            return;
        }
        String body = in.substring(from, Math.max(from, to));
        out.append(in, open, open + 2).append(spaced(body)).append(closing);
        if (kind == '%' && body.strip().equals("raw")) {
            raw();
        }
    }

    /** Two closing braces within an expression, as of nested maps, moved apart: some parsers take them for its end. */
    private static String spaced(String body) {
        StringBuilder text = new StringBuilder();
        char quote = 0;
        for (int i = 0; i < body.length(); i++) {
            char c = body.charAt(i);
            text.append(c);
            if (quote != 0) {
                if (c == '\\' && i + 1 < body.length()) {
                    text.append(body.charAt(++i));
                } else if (c == quote) {
                    quote = 0;
                }
            } else if (c == '\'' || c == '"') {
                quote = c;
            } else if (c == '}') {
                text.append(' ');
            }
        }
        return text.toString();
    }

    /** Text between {@code raw} and {@code endraw} stays as it is. */
    private void raw() {
        Matcher end = END_OF_RAW.matcher(in);
        int until = end.find(at) ? end.start() : in.length();
        text(until);
    }

    private boolean marked(int i) {
        return i < in.length() && (in.charAt(i) == '-' || in.charAt(i) == '+');
    }

    /** The end of a block or expression: the first closing mark outside of string literals. */
    private int closing(int from, String closing) {
        char quote = 0;
        int depth = 0;
        for (int i = from; i + 1 < in.length(); i++) {
            char c = in.charAt(i);
            if (quote != 0) {
                if (c == '\\') {
                    i++;
                } else if (c == quote) {
                    quote = 0;
                }
            } else if (c == '\'' || c == '"') {
                quote = c;
            } else if (depth == 0 && in.startsWith(closing, i)) {
                return i;
            } else if (c == '{') {
                depth++;
            } else if (c == '}') {
                depth--;
            }
        }
        return -1;
    }
}
