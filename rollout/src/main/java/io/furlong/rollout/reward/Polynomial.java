package io.furlong.rollout.reward;

import java.util.HashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * A sum of monomials over atoms (variables, roots, function values) with exact coefficients; no monomial has coefficient 0, and
 * every atom's power is reduced by the {@link Atoms} it comes from, so equal polynomials have equal terms.
 *
 * @param terms coefficient by monomial; a monomial is the positive power of each of its atoms
 */
record Polynomial(Map<SortedMap<String, Integer>, Rational> terms) {
    static final Polynomial ZERO = new Polynomial(Map.of());
    static final Polynomial ONE = of(Rational.ONE);

    static Polynomial of(Rational value) {
        return value.isZero() ? ZERO : new Polynomial(Map.of(new TreeMap<>(), value));
    }

    static Polynomial atom(String name) {
        return new Polynomial(Map.of(new TreeMap<>(Map.of(name, 1)), Rational.ONE));
    }

    boolean isZero() {
        return terms.isEmpty();
    }

    boolean isConstant() {
        return terms.isEmpty() || terms.size() == 1 && terms.keySet().iterator().next().isEmpty();
    }

    /** Its value, if it is constant. */
    Rational constant() {
        return terms.isEmpty() ? Rational.ZERO : terms.values().iterator().next();
    }

    /** The term without atoms. */
    Rational constantTerm() {
        return terms.getOrDefault(new TreeMap<>(), Rational.ZERO);
    }

    boolean isMonomial() {
        return terms.size() == 1;
    }

    Polynomial plus(Polynomial o) {
        Map<SortedMap<String, Integer>, Rational> sum = new HashMap<>(terms);
        o.terms.forEach((m, c) -> add(sum, m, c));
        return new Polynomial(sum);
    }

    Polynomial scaled(Rational factor) {
        if (factor.isZero()) {
            return ZERO;
        }
        Map<SortedMap<String, Integer>, Rational> scaled = new HashMap<>();
        terms.forEach((m, c) -> scaled.put(m, c.times(factor)));
        return new Polynomial(scaled);
    }

    Polynomial times(Polynomial o, Atoms atoms) {
        Map<SortedMap<String, Integer>, Rational> product = new HashMap<>();
        Polynomial reduced = ZERO;
        for (Map.Entry<SortedMap<String, Integer>, Rational> a : terms.entrySet()) {
            for (Map.Entry<SortedMap<String, Integer>, Rational> b : o.terms.entrySet()) {
                Rational c = a.getValue().times(b.getValue());
                atoms.spend(1 + c.bits() / 64);
                SortedMap<String, Integer> m = new TreeMap<>(a.getKey());
                b.getKey().forEach((atom, power) -> m.merge(atom, power, Atoms::sumOfPowers));
                if (atoms.reducible(m)) {
                    reduced = reduced.plus(atoms.reduce(m).scaled(c));
                } else {
                    add(product, m, c);
                }
            }
        }
        return new Polynomial(product).plus(reduced);
    }

    private static void add(Map<SortedMap<String, Integer>, Rational> sum, SortedMap<String, Integer> m, Rational c) {
        Rational s = sum.getOrDefault(m, Rational.ZERO).plus(c);
        if (s.isZero()) {
            sum.remove(m);
        } else {
            sum.put(m, s);
        }
    }

    /** The same text for equal polynomials. */
    @Override
    public String toString() {
        return terms.entrySet().stream().map(e -> e.getValue() + "*" + e.getKey()).sorted().collect(Collectors.joining("+"));
    }
}
