package io.furlong.rollout.reward;

import io.furlong.rollout.reward.MathLexer.Kind;
import io.furlong.rollout.reward.MathLexer.Token;
import io.furlong.rollout.reward.MathValue.Collection;
import io.furlong.rollout.reward.MathValue.Collection.Form;
import io.furlong.rollout.reward.MathValue.Relation;
import io.furlong.rollout.reward.MathValue.Scalar;
import io.furlong.rollout.reward.MathValue.Sequence;
import io.furlong.rollout.reward.MathValue.Words;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * Reads an answer whole, or not at all: nothing that fails to parse is ever taken for the part of it that did.
 *
 * <pre>
 * answer   := item (',' item)*                         item     := sum (relation sum)*
 * sum      := ['±'] term (('+' | '-' | '±') term)*      term     := power (('*' | '/' | nothing) power)*
 * power    := primary '!'* ['^' exponent]              primary  := number | symbol | function | \frac … | bracket
 * </pre>
 */
final class MathParser {
    private static final int MAX_DEPTH = 120;
    private static final Pattern PLAIN_WORDS = Pattern.compile("\\(?[\\p{L}]+[.)]*|\\(?[\\p{L}]+(?: [\\p{L}]+){0,2}\\)?");

    private final List<Token> tokens;
    private final Atoms atoms;
    private int at;
    private int depth;

    private MathParser(List<Token> tokens, Atoms atoms) {
        this.tokens = tokens;
        this.atoms = atoms;
    }

    /** @throws MathSyntaxException if it isn't understood to its last character */
    static MathValue parse(String text, Atoms atoms) {
        atoms.spend(text.length());
        String t = text.strip();
        while (t.endsWith(".") || t.endsWith(",")) {
            t = t.substring(0, t.length() - 1).strip();
        }
        MathParser p = new MathParser(MathLexer.tokens(t), atoms);
        Token first = p.tokens.getFirst();
        if (p.tokens.size() == 2 && (first.kind() == Kind.TEXT || first.kind() == Kind.WORD)) {
            return words(first, atoms);
        }
        MathValue v = p.answer();
        p.expect(Kind.END, "");
        return v;
    }

    /** {@code \text{13}} is a number, {@code \text{(C)}} and {@code Monday} are words. */
    private static MathValue words(Token t, Atoms atoms) {
        String inside = t.text().strip();
        if (t.kind() == Kind.TEXT && inside.chars().anyMatch(Character::isDigit)) {
            return parse(inside, atoms);
        }
        if (!PLAIN_WORDS.matcher(inside).matches()) {
            throw new MathSyntaxException("prose");
        }
        return new Words(inside.replaceAll("[().]", "").toUpperCase(Locale.ROOT));
    }

    private Token peek() {
        return tokens.get(at);
    }

    private boolean take(Kind kind, String text) {
        if (peek().is(kind, text)) {
            at++;
            return true;
        }
        return false;
    }

    private void expect(Kind kind, String text) {
        if (!take(kind, text)) {
            throw new MathSyntaxException("'" + peek().text() + "' where '" + text + "' should be");
        }
    }

    private MathValue answer() {
        List<MathValue> items = new ArrayList<>();
        do {
            items.add(item());
        } while (take(Kind.OPERATOR, ",") || andIsNext());
        if (items.size() == 1) {
            return items.getFirst();
        }
        // n = 1, 2, 3 says that n is one of three
        if (items.getFirst() instanceof Relation(List<MathValue> sides, List<String> operators) && operators.equals(List.of("="))
                && items.stream().skip(1).noneMatch(Relation.class::isInstance)) {
            List<MathValue> values = new ArrayList<>(List.of(sides.get(1)));
            values.addAll(items.subList(1, items.size()));
            return new Relation(List.of(sides.getFirst(), new Collection(Form.LIST, values)), operators);
        }
        return new Collection(Form.LIST, items);
    }

    private boolean andIsNext() {
        Token t = peek();
        boolean and = (t.kind() == Kind.WORD || t.kind() == Kind.TEXT) && (t.text().strip().equals("and") || t.text().strip().equals("or"));
        if (and) {
            at++;
        }
        return and;
    }

    private MathValue item() {
        List<MathValue> sides = new ArrayList<>(List.of(union()));
        List<String> operators = new ArrayList<>();
        while (peek().kind() == Kind.RELATION) {
            operators.add(tokens.get(at++).text());
            sides.add(union());
        }
        if (operators.isEmpty()) {
            return sides.getFirst();
        }
        return operators.equals(List.of("∈")) ? sides.get(1) : new Relation(sides, operators);
    }

    private MathValue union() {
        List<MathValue> parts = new ArrayList<>(List.of(sum()));
        while (take(Kind.OPERATOR, "∪")) {
            parts.add(sum());
        }
        return parts.size() == 1 ? parts.getFirst() : new Collection(Form.UNION, parts);
    }

    private MathValue sum() {
        boolean both = take(Kind.OPERATOR, "±");
        MathValue first = term();
        if (both) {
            Fraction v = scalar(first);
            first = plusMinus(Fraction.of(Rational.ZERO), v);
        }
        while (true) {
            if (take(Kind.OPERATOR, "+")) {
                first = new Scalar(scalar(first).plus(scalar(term()), atoms));
            } else if (take(Kind.OPERATOR, "-")) {
                first = new Scalar(scalar(first).plus(scalar(term()).negate(), atoms));
            } else if (take(Kind.OPERATOR, "±")) {
                first = plusMinus(scalar(first), scalar(term()));
            } else {
                return first;
            }
        }
    }

    private MathValue plusMinus(Fraction a, Fraction b) {
        return new Collection(Form.PLUS_MINUS, List.of(new Scalar(a.plus(b, atoms)), new Scalar(a.plus(b.negate(), atoms))));
    }

    private static Fraction scalar(MathValue v) {
        if (v instanceof Scalar(Fraction f)) {
            return f;
        }
        throw new MathSyntaxException("a number is missing");
    }

    private MathValue term() {
        if (++depth > MAX_DEPTH) {
            throw new MathSyntaxException("nested too deep");
        }
        MathValue v = factors();
        depth--;
        return v;
    }

    private MathValue factors() {
        if (take(Kind.OPERATOR, "-")) {
            return new Scalar(scalar(term()).negate());
        }
        if (take(Kind.OPERATOR, "+")) {
            return term();
        }
        MathValue v = power();
        while (true) {
            if (take(Kind.OPERATOR, "*")) {
                v = new Scalar(scalar(v).times(scalar(signedPower()), atoms));
            } else if (take(Kind.OPERATOR, "/")) {
                v = new Scalar(scalar(v).over(scalar(signedPower()), atoms));
            } else if (unit(v)) {
                return v;
            } else if (startsFactor()) {
                v = new Scalar(scalar(v).times(scalar(power()), atoms));
            } else {
                return v;
            }
        }
    }

    private MathValue signedPower() {
        return take(Kind.OPERATOR, "-") ? new Scalar(scalar(power()).negate()) : power();
    }

    /** Words after a value are its unit and say nothing about its size. */
    private boolean unit(MathValue v) {
        if (!(v instanceof Scalar) || peek().kind() != Kind.TEXT && peek().kind() != Kind.WORD || peek().text().strip().matches("and|or")) {
            return false;
        }
        while (peek().kind() == Kind.TEXT || peek().kind() == Kind.WORD || peek().is(Kind.OPERATOR, "/")) {
            if (peek().text().chars().anyMatch(Character::isDigit)) {
                throw new MathSyntaxException("a number among words");
            }
            at++;
            if (take(Kind.OPERATOR, "^")) {
                primary();
            }
        }
        return true;
    }

    private boolean startsFactor() {
        Token t = peek();
        return switch (t.kind()) {
            case SYMBOL, FUNCTION, COMMAND -> true;
            case OPEN -> t.text().equals("(") || t.text().equals("{");
            default -> false;
        };
    }

    private MathValue power() {
        Token first = peek();
        MathValue v = primary();
        // 1\frac{1}{2} is one and a half
        if (first.kind() == Kind.NUMBER && peek().is(Kind.COMMAND, "frac")) {
            Fraction part = scalar(primary());
            if (part.number().filter(n -> n.num().signum() > 0 && n.num().compareTo(n.den()) < 0).isPresent()) {
                return new Scalar(scalar(v).plus(part, atoms));
            }
            v = new Scalar(scalar(v).times(part, atoms));
        }
        while (true) {
            if (take(Kind.OPERATOR, "!")) {
                v = new Scalar(scalar(v).factorial(atoms));
            } else if (take(Kind.OPERATOR, "^")) {
                v = new Scalar(scalar(v).power(exponent(), atoms));
            } else if (first.kind() == Kind.NUMBER && take(Kind.OPERATOR, "_")) {
                v = new Scalar(Fraction.atom("#base(" + first.text() + "," + exponent() + ")"));
            } else {
                return v;
            }
        }
    }

    private Fraction exponent() {
        boolean minus = take(Kind.OPERATOR, "-");
        Fraction e = scalar(primary());
        return minus ? e.negate() : e;
    }

    private MathValue primary() {
        if (++depth > MAX_DEPTH) {
            throw new MathSyntaxException("nested too deep");
        }
        MathValue v = unnested(tokens.get(at++));
        depth--;
        return v;
    }

    private MathValue unnested(Token t) {
        return switch (t.kind()) {
            case NUMBER -> new Scalar(Fraction.of(Rational.parse(t.text())));
            case SYMBOL -> symbol(t.text());
            case FUNCTION -> new Scalar(function(t.text()));
            case COMMAND -> new Scalar(t.text().equals("frac") ? argument().over(argument(), atoms) : argument().choose(argument(), atoms));
            case OPEN -> bracket(t.text());
            case OPERATOR -> {
                if (!t.text().equals("|")) {
                    throw new MathSyntaxException("'" + t.text() + "'");
                }
                Fraction inside = scalar(sum());
                expect(Kind.OPERATOR, "|");
                yield new Scalar(absolute(inside));
            }
            default -> throw new MathSyntaxException("'" + t.text() + "'");
        };
    }

    private static Fraction absolute(Fraction f) {
        Optional<Rational> n = f.number();
        return n.isEmpty() ? Fraction.atom("#abs(" + f + ")") : n.get().num().signum() < 0 ? f.negate() : f;
    }

    /** A variable, with its subscript; {@code f(x)} for f, g, h. */
    private MathValue symbol(String name) {
        String full = name;
        if (take(Kind.OPERATOR, "_")) {
            full = name + "_" + argument();
        }
        boolean function = name.equals("f") || name.equals("g") || name.equals("h");
        if (function && peek().is(Kind.OPEN, "(")) {
            at++;
            MathValue inside = bracket("(");
            return new Scalar(Fraction.atom(full + "(" + inside + ")"));
        }
        return new Scalar(Fraction.atom(full));
    }

    /** What follows {@code \frac}, {@code _} and the like: braces, or one digit, or one symbol. */
    private Fraction argument() {
        Token t = peek();
        if (t.kind() == Kind.NUMBER && t.text().length() > 1 && !t.text().contains(".")) {
            tokens.set(at, new Token(Kind.NUMBER, t.text().substring(1), false));
            return Fraction.of(Rational.parse(t.text().substring(0, 1)));
        }
        return scalar(primary());
    }

    private Fraction function(String name) {
        return switch (name) {
            case "sqrt" -> {
                int k = 2;
                if (take(Kind.OPEN, "[")) {
                    k = scalar(sum()).number().filter(Rational::isInteger).filter(n -> n.bits() < 8)
                            .orElseThrow(() -> new MathSyntaxException("degree of a root")).num().intValueExact();
                    expect(Kind.CLOSE, "]");
                }
                yield argument().root(k, atoms);
            }
            case "exp" -> Fraction.atom("e").power(scalar(power()), atoms);
            case "abs" -> absolute(scalar(primary()));
            default -> {
                Fraction base = take(Kind.OPERATOR, "_") ? argument() : Fraction.atom("#none");
                Fraction exponent = take(Kind.OPERATOR, "^") ? exponent() : Fraction.ONE;
                yield applied(name, base).power(exponent, atoms);
            }
        };
    }

    /** All in terms of sin, cos and ln, with sin² = 1 − cos². */
    private Fraction applied(String name, Fraction base) {
        MathValue argument = peek().is(Kind.OPEN, "(") ? primary() : product();
        String inside = argument instanceof Scalar(Fraction f) ? f.toString() : argument.toString();
        Fraction sin = Fraction.atom("#sin(" + inside + ")");
        Fraction cos = Fraction.atom("#cos(" + inside + ")");
        atoms.define("#sin(" + inside + ")", 2, Polynomial.ONE.plus(
                new Polynomial(Map.of(new TreeMap<>(Map.of("#cos(" + inside + ")", 2)), Rational.of(-1)))));
        return switch (name) {
            case "sin" -> sin;
            case "cos" -> cos;
            case "tan" -> sin.over(cos, atoms);
            case "cot" -> cos.over(sin, atoms);
            case "sec" -> Fraction.ONE.over(cos, atoms);
            case "csc" -> Fraction.ONE.over(sin, atoms);
            case "log" -> base.toString().contains("#none") ? Fraction.atom("#log(" + inside + ")")
                    : Fraction.atom("#ln(" + inside + ")").over(Fraction.atom("#ln(" + base + ")"), atoms);
            default -> Fraction.atom("#" + name + "(" + inside + ")");
        };
    }

    /** {@code 2x} in {@code \sin 2x}: factors that stand next to each other, up to the next function. */
    private MathValue product() {
        Fraction v = scalar(power());
        while (startsFactor() && peek().kind() != Kind.FUNCTION) {
            v = v.times(scalar(power()), atoms);
        }
        return new Scalar(v);
    }

    private MathValue bracket(String open) {
        if (open.equals("matrix")) {
            return matrix();
        }
        if (peek().kind() == Kind.CLOSE) {
            throw new MathSyntaxException("empty brackets");
        }
        MathValue inside = answer();
        Token close = tokens.get(at++);
        if (close.kind() != Kind.CLOSE) {
            throw new MathSyntaxException("'" + close.text() + "' where a bracket should close");
        }
        boolean matches = switch (open) {
            case "(", "[" -> close.text().equals(")") || close.text().equals("]");
            case "{" -> close.text().equals("}");
            default -> close.text().equals("\\}");
        };
        if (!matches) {
            throw new MathSyntaxException("'" + open + "' closed by '" + close.text() + "'");
        }
        if (open.equals("\\{")) {
            return new Collection(Form.BRACES, inside instanceof Collection(Form form, List<MathValue> items) && form == Form.LIST ? items
                    : List.of(inside));
        }
        if (inside instanceof Collection(Form form, List<MathValue> items) && form == Form.LIST) {
            return open.equals("{") ? new Collection(Form.BRACES, items) : new Sequence(open, items, close.text());
        }
        return inside;
    }

    private MathValue matrix() {
        List<MathValue> rows = new ArrayList<>();
        do {
            List<MathValue> row = new ArrayList<>();
            do {
                row.add(sum());
            } while (take(Kind.OPERATOR, "&"));
            rows.add(new Sequence("matrix", row, "matrix"));
        } while (take(Kind.OPERATOR, "\\\\") && peek().kind() != Kind.CLOSE);
        expect(Kind.CLOSE, "matrix");
        return new Sequence("matrix", rows, "matrix");
    }
}
