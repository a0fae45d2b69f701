package io.furlong.rollout.reward;

import java.util.HashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * What the atoms of one comparison mean: {@code atom^power} may stand for a polynomial (√2² = 2, i² = −1, sin² = 1 − cos²).
 * Also the work that the comparison may still do, so that its time is bounded whatever the texts are.
 */
final class Atoms {
    private static final int WORK = 20_000;
    private static final int MAX_POWER = 1_000_000;

    private record Rule(int power, Polynomial value) {}

    private final Map<String, Rule> rules = new HashMap<>();
    private long left = WORK;

    Atoms() {
        define("i", 2, Polynomial.of(Rational.of(-1)));
    }

    /** Takes from the work that is left; one unit is a term times a term. */
    void spend(long work) {
        left -= work;
        if (left < 0) {
            throw new MathSyntaxException("too much work");
        }
    }

    void define(String atom, int power, Polynomial value) {
        rules.put(atom, new Rule(power, value));
    }

    static int sumOfPowers(int a, int b) {
        if (a + b > MAX_POWER) {
            throw new MathSyntaxException("power too large");
        }
        return a + b;
    }

    boolean reducible(SortedMap<String, Integer> monomial) {
        for (Map.Entry<String, Integer> e : monomial.entrySet()) {
            Rule r = rules.get(e.getKey());
            if (r != null && e.getValue() >= r.power()) {
                return true;
            }
        }
        return false;
    }

    Polynomial reduce(SortedMap<String, Integer> monomial) {
        SortedMap<String, Integer> rest = new TreeMap<>();
        Polynomial value = Polynomial.ONE;
        for (Map.Entry<String, Integer> e : monomial.entrySet()) {
            Rule r = rules.get(e.getKey());
            int power = e.getValue();
            if (r != null) {
                value = value.times(power(r.value(), power / r.power()), this);
                power %= r.power();
            }
            if (power > 0) {
                rest.put(e.getKey(), power);
            }
        }
        return value.times(new Polynomial(Map.of(rest, Rational.ONE)), this);
    }

    /** By squaring. */
    Polynomial power(Polynomial base, int exponent) {
        Polynomial result = Polynomial.ONE;
        Polynomial square = base;
        for (int e = exponent; e > 0; e >>= 1) {
            if ((e & 1) == 1) {
                result = result.times(square, this);
            }
            if (e > 1) {
                square = square.times(square, this);
            }
        }
        return result;
    }
}
