package io.furlong.rollout.reward;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * What an answer is. Two answers are the same only if they are the same kind of thing: a set is no tuple, an equation is not its
 * right-hand side. The exceptions are stated where they are made.
 */
sealed interface MathValue {
    /** A number or an expression. */
    record Scalar(Fraction value) implements MathValue {}

    /** Elements in brackets, in order: tuples, points, intervals, matrices. */
    record Sequence(String open, List<MathValue> items, String close) implements MathValue {}

    /** Elements without order: {@code \{1, 2\}}, {@code ±2}, solutions that are listed without brackets. */
    record Collection(Form form, List<MathValue> items) implements MathValue {
        /** How it was written. */
        enum Form { BRACES, LIST, PLUS_MINUS, UNION }
    }

    /** Two sides or, for {@code a < x < b}, more. */
    record Relation(List<MathValue> sides, List<String> operators) implements MathValue {
        private boolean isEquation() {
            return operators.equals(List.of("="));
        }

        /** What a single variable is said to be; empty for any other relation. */
        Optional<MathValue> value() {
            return isEquation() && sides.getFirst() instanceof Scalar(Fraction left) && left.isVariable() ? Optional.of(sides.get(1))
                    : Optional.empty();
        }

        /** Of an equation: left side less right side. */
        Optional<Fraction> difference(Atoms atoms) {
            return isEquation() && sides.get(0) instanceof Scalar(Fraction left) && sides.get(1) instanceof Scalar(Fraction right)
                    ? Optional.of(left.plus(right.negate(), atoms)) : Optional.empty();
        }
    }

    /** A word or a choice: {@code \text{Monday}}, {@code (C)}. */
    record Words(String text) implements MathValue {}

    default boolean sameAs(MathValue o, Atoms atoms) {
        return switch (this) {
            case Scalar a when o instanceof Scalar b -> a.value().sameAs(b.value(), atoms);
            case Sequence a when o instanceof Sequence b -> a.open().equals(b.open()) && a.close().equals(b.close())
                    && inOrder(a.items(), b.items(), atoms);
            // (0, 1) and 0, 1 are written for one another; order counts then
            case Sequence a when o instanceof Collection b && b.form() == Collection.Form.LIST -> a.open().equals("(")
                    && a.close().equals(")") && inOrder(a.items(), b.items(), atoms);
            case Collection a when o instanceof Sequence b -> b.sameAs(a, atoms);
            case Collection a when o instanceof Collection b -> (a.form() == Collection.Form.UNION) == (b.form() == Collection.Form.UNION)
                    && inAnyOrder(a.items(), b.items(), atoms);
            case Relation a when o instanceof Relation b -> sameRelation(a, b, atoms);
            // x = 5 answers what 5 answers; 2x + z = 1 doesn't answer what 1 answers
            case Relation a -> a.value().filter(v -> v.sameAs(o, atoms)).isPresent();
            case Words a when o instanceof Words b -> a.text().equals(b.text());
            case Words a -> o instanceof Scalar s && s.value().toString().equals(Fraction.atom(a.text().toUpperCase(Locale.ROOT)).toString());
            default -> (o instanceof Relation || o instanceof Words) && o.sameAs(this, atoms);
        };
    }

    private static boolean inOrder(List<MathValue> a, List<MathValue> b, Atoms atoms) {
        if (a.size() != b.size()) {
            return false;
        }
        for (int i = 0; i < a.size(); i++) {
            if (!a.get(i).sameAs(b.get(i), atoms)) {
                return false;
            }
        }
        return true;
    }

    private static boolean inAnyOrder(List<MathValue> a, List<MathValue> b, Atoms atoms) {
        if (a.size() != b.size()) {
            return false;
        }
        List<MathValue> left = new ArrayList<>(b);
        for (MathValue v : a) {
            Optional<MathValue> found = left.stream().filter(w -> v.sameAs(w, atoms)).findFirst();
            if (found.isEmpty()) {
                return false;
            }
            left.remove(found.get());
        }
        return true;
    }

    private static boolean sameRelation(Relation a, Relation b, Atoms atoms) {
        if (a.operators().equals(b.operators()) && inOrder(a.sides(), b.sides(), atoms)) {
            return true;
        }
        Relation turned = new Relation(a.sides().reversed(), a.operators().reversed().stream().map(MathValue::turned).toList());
        if (turned.operators().equals(b.operators()) && inOrder(turned.sides(), b.sides(), atoms)) {
            return true;
        }
        Optional<Fraction> da = a.difference(atoms);
        Optional<Fraction> db = b.difference(atoms);
        return da.isPresent() && db.isPresent() && da.get().proportionalTo(db.get(), atoms);
    }

    private static String turned(String operator) {
        return switch (operator) {
            case "<" -> ">";
            case ">" -> "<";
            case "≤" -> "≥";
            case "≥" -> "≤";
            default -> operator;
        };
    }
}
