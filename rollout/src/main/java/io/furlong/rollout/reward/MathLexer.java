package io.furlong.rollout.reward;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Cuts LaTeX or plain text into tokens; what only moves the ink is left out. */
final class MathLexer {
    /** What a token is. */
    enum Kind {
        NUMBER, SYMBOL, FUNCTION, WORD, TEXT, COMMAND, OPERATOR, RELATION, OPEN, CLOSE, END
    }

    /**
     * @param text   the number, the symbol, the operator, or the inside of a {@code \text{…}}
     * @param spaced white space came before it
     */
    record Token(Kind kind, String text, boolean spaced) {
        boolean is(Kind k, String t) {
            return kind == k && text.equals(t);
        }
    }

    private static final int MAX_LENGTH = 2_000;
    private static final Set<String> FUNCTIONS = Set.of("sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh",
            "cosh", "tanh", "log", "ln", "exp", "sqrt", "gcd", "lcm", "max", "min", "lg", "abs");
    private static final Map<String, String> SYMBOLS = Map.ofEntries(Map.entry("pi", "π"), Map.entry("theta", "θ"), Map.entry("alpha", "α"),
            Map.entry("beta", "β"), Map.entry("gamma", "γ"), Map.entry("delta", "δ"), Map.entry("lambda", "λ"), Map.entry("mu", "μ"),
            Map.entry("phi", "φ"), Map.entry("varphi", "φ"), Map.entry("omega", "ω"), Map.entry("sigma", "σ"), Map.entry("epsilon", "ε"),
            Map.entry("rho", "ρ"), Map.entry("tau", "τ"), Map.entry("infty", "∞"), Map.entry("infinity", "∞"), Map.entry("Theta", "Θ"),
            Map.entry("Omega", "Ω"), Map.entry("Delta", "Δ"), Map.entry("emptyset", "∅"), Map.entry("varnothing", "∅"),
            Map.entry("mathbb{R}", "ℝ"), Map.entry("ell", "ℓ"));
    private static final Map<String, String> RELATIONS = Map.ofEntries(Map.entry("=", "="), Map.entry("<", "<"), Map.entry(">", ">"),
            Map.entry("≤", "≤"), Map.entry("≥", "≥"), Map.entry("le", "≤"), Map.entry("leq", "≤"), Map.entry("leqslant", "≤"),
            Map.entry("ge", "≥"), Map.entry("geq", "≥"), Map.entry("geqslant", "≥"), Map.entry("lt", "<"), Map.entry("gt", ">"),
            Map.entry("ne", "≠"), Map.entry("neq", "≠"), Map.entry("≠", "≠"), Map.entry("in", "∈"), Map.entry("∈", "∈"));
    private static final Map<String, String> OPERATORS = Map.ofEntries(Map.entry("cdot", "*"), Map.entry("times", "*"), Map.entry("×", "*"),
            Map.entry("·", "*"), Map.entry("*", "*"), Map.entry("div", "/"), Map.entry("÷", "/"), Map.entry("/", "/"), Map.entry("+", "+"),
            Map.entry("-", "-"), Map.entry("−", "-"), Map.entry("–", "-"), Map.entry("^", "^"), Map.entry("_", "_"), Map.entry("!", "!"),
            Map.entry("pm", "±"), Map.entry("±", "±"), Map.entry("cup", "∪"), Map.entry("∪", "∪"), Map.entry(",", ","), Map.entry(";", ","),
            Map.entry("&", "&"), Map.entry("|", "|"), Map.entry("mid", "|"), Map.entry("vert", "|"), Map.entry("lvert", "|"), Map.entry("rvert", "|"));
    private static final Set<String> INK = Set.of("left", "right", "displaystyle", "textstyle", "quad", "qquad", "big", "Big", "bigl", "bigr",
            "Bigl", "Bigr", "bigg", "Bigg", "limits", "circ", "degree", "boldsymbol", "bf", "rm", "it");
    private static final Set<String> TEXTS = Set.of("text", "textbf", "textit", "textrm", "mathrm", "mathbf", "mbox", "operatorname", "mathit");
    private static final Pattern NUMBER = Pattern.compile("\\d+(?:\\.\\d+)?|\\.\\d+");
    private static final Pattern GROUPED = Pattern.compile("\\d{1,3}(?:(?:,|\\{,\\}|,\\\\!)\\d{3})+(?![\\d,])(?:\\.\\d+)?");
    private static final Pattern DEGREE = Pattern.compile("\\^\\s*(?:\\{\\s*\\\\circ\\s*\\}|\\\\circ)");
    private static final Pattern LETTERS = Pattern.compile("\\p{L}+");
    private static final Pattern COMMAND = Pattern.compile("\\\\([A-Za-z]+)");

    private final String s;
    private final List<Token> tokens = new ArrayList<>();
    private int at;
    private int depth;
    private boolean spaced;

    private MathLexer(String s) {
        this.s = s;
    }

    static List<Token> tokens(String text) {
        if (text.length() > MAX_LENGTH) {
            throw new MathSyntaxException("longer than " + MAX_LENGTH + " characters");
        }
        MathLexer lexer = new MathLexer(DEGREE.matcher(text).replaceAll(" "));
        lexer.run();
        return lexer.tokens;
    }

    private void run() {
        while (at < s.length()) {
            char c = s.charAt(at);
            if (Character.isWhitespace(c) || c == '~') {
                at++;
                spaced = true;
            } else if (c == '\\') {
                backslash();
            } else if (Character.isDigit(c) || c == '.' && at + 1 < s.length() && Character.isDigit(s.charAt(at + 1))) {
                number();
            } else if (Character.isLetter(c)) {
                letters();
            } else {
                sign(c);
            }
        }
        add(Kind.END, "");
    }

    private void add(Kind kind, String text) {
        tokens.add(new Token(kind, text, spaced));
        spaced = false;
    }

    private Matcher match(Pattern p) {
        Matcher m = p.matcher(s).region(at, s.length());
        if (!m.lookingAt()) {
            throw new MathSyntaxException("'" + s.charAt(at) + "'");
        }
        at = m.end();
        return m;
    }

    /** Commas between groups of three digits belong to the number, except inside brackets, where they separate. */
    private void number() {
        Matcher grouped = GROUPED.matcher(s).region(at, s.length()).useTransparentBounds(true);
        if (depth == 0 && grouped.lookingAt()) {
            at = grouped.end();
            add(Kind.NUMBER, grouped.group().replaceAll("[^\\d.]", ""));
        } else {
            String digits = match(NUMBER).group();
            add(Kind.NUMBER, digits.startsWith(".") ? "0" + digits : digits);
        }
    }

    private void letters() {
        String run = match(LETTERS).group();
        if (FUNCTIONS.contains(run)) {
            add(Kind.FUNCTION, run);
        } else if (SYMBOLS.containsKey(run)) {
            add(Kind.SYMBOL, SYMBOLS.get(run));
        } else if (run.length() > 2) {
            add(Kind.WORD, run);
        } else {
            run.codePoints().forEach(c -> add(Kind.SYMBOL, Character.toString(c)));
        }
    }

    private void sign(char c) {
        at++;
        String sign = String.valueOf(c);
        switch (c) {
            case '$', '%', '°', '\u200b' -> { }
            case '(', '[', '{' -> {
                depth++;
                add(Kind.OPEN, sign);
            }
            case ')', ']', '}' -> {
                depth--;
                add(Kind.CLOSE, sign);
            }
            case '√' -> add(Kind.FUNCTION, "sqrt");
            case '∞' -> add(Kind.SYMBOL, sign);
            case '²', '³' -> {
                add(Kind.OPERATOR, "^");
                add(Kind.NUMBER, c == '²' ? "2" : "3");
            }
            default -> {
                if (c == '*' && at < s.length() && s.charAt(at) == '*') {
                    at++;
                    add(Kind.OPERATOR, "^");
                } else if ((c == '<' || c == '>') && at < s.length() && s.charAt(at) == '=') {
                    at++;
                    add(Kind.RELATION, c == '<' ? "≤" : "≥");
                } else if (RELATIONS.containsKey(sign)) {
                    add(Kind.RELATION, RELATIONS.get(sign));
                } else if (OPERATORS.containsKey(sign)) {
                    add(Kind.OPERATOR, OPERATORS.get(sign));
                } else {
                    throw new MathSyntaxException("'" + sign + "'");
                }
            }
        }
    }

    private void backslash() {
        if (at + 1 < s.length() && !Character.isLetter(s.charAt(at + 1))) {
            char c = s.charAt(at + 1);
            at += 2;
            switch (c) {
                case '{' -> {
                    depth++;
                    add(Kind.OPEN, "\\{");
                }
                case '}' -> {
                    depth--;
                    add(Kind.CLOSE, "\\}");
                }
                case '\\' -> add(Kind.OPERATOR, "\\\\");
                case '|' -> add(Kind.OPERATOR, "|");
                case ' ', ',', ';', ':', '!' -> spaced = true;
                case '%', '$', '(', ')', '[', ']' -> { }
                default -> throw new MathSyntaxException("'\\" + c + "'");
            }
            return;
        }
        String name = match(COMMAND).group(1);
        if (TEXTS.contains(name)) {
            add(Kind.TEXT, braced());
        } else if (name.equals("begin") || name.equals("end")) {
            String matrix = braced();
            if (!matrix.endsWith("matrix")) {
                throw new MathSyntaxException("\\" + name + "{" + matrix + "}");
            }
            depth += name.equals("begin") ? 1 : -1;
            add(name.equals("begin") ? Kind.OPEN : Kind.CLOSE, "matrix");
        } else if (FUNCTIONS.contains(name)) {
            add(Kind.FUNCTION, name);
        } else if (SYMBOLS.containsKey(name)) {
            add(Kind.SYMBOL, SYMBOLS.get(name));
        } else if (RELATIONS.containsKey(name)) {
            add(Kind.RELATION, RELATIONS.get(name));
        } else if (OPERATORS.containsKey(name)) {
            add(Kind.OPERATOR, OPERATORS.get(name));
        } else if (INK.contains(name)) {
            spaced = true;
        } else {
            switch (name) {
                case "frac", "dfrac", "tfrac", "cfrac" -> add(Kind.COMMAND, "frac");
                case "binom", "dbinom", "tbinom" -> add(Kind.COMMAND, "binom");
                case "lbrace" -> add(Kind.OPEN, "\\{");
                case "rbrace" -> add(Kind.CLOSE, "\\}");
                default -> throw new MathSyntaxException("\\" + name);
            }
        }
    }

    /** The inside of the braces that follow. */
    private String braced() {
        while (at < s.length() && Character.isWhitespace(s.charAt(at))) {
            at++;
        }
        if (at >= s.length() || s.charAt(at) != '{') {
            throw new MathSyntaxException("a brace is missing");
        }
        int end = BoxedAnswer.closingBrace(s, at);
        if (end < 0) {
            throw new MathSyntaxException("a closing brace is missing");
        }
        String inside = s.substring(at + 1, end);
        at = end + 1;
        return inside;
    }
}
