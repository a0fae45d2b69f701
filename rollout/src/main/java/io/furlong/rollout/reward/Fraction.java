package io.furlong.rollout.reward;

import java.math.BigInteger;
import java.util.Optional;
import java.util.Set;

/**
 * An exact value: one polynomial over another. Equality is decided by multiplying out, so no common factor has to be found.
 * Numbers that would get too large to write out stay as they are written, as atoms.
 */
record Fraction(Polynomial num, Polynomial den) {
    static final Fraction ONE = of(Rational.ONE);
    private static final Set<String> CONSTANTS = Set.of("e", "i", "π");
    private static final int MAX_BITS = 40_000;
    private static final int MAX_ROOT_BITS = 1_000;
    private static final int MAX_FACTORIAL = 3_000;
    private static final int MAX_EXPANSION = 64;
    private static final int TRIAL_DIVISORS = 10_000;

    static Fraction of(Rational value) {
        return new Fraction(Polynomial.of(value), Polynomial.ONE);
    }

    static Fraction atom(String name) {
        return new Fraction(Polynomial.atom(name), Polynomial.ONE);
    }

    Optional<Rational> number() {
        return num.isConstant() && den.isConstant() ? Optional.of(num.constant().times(den.constant().inverse())) : Optional.empty();
    }

    /** True for a variable by itself, with a subscript or as {@code f(x)}. */
    boolean isVariable() {
        if (!den.equals(Polynomial.ONE) || !num.isMonomial() || !num.terms().containsValue(Rational.ONE)) {
            return false;
        }
        var monomial = num.terms().keySet().iterator().next();
        return monomial.size() == 1 && monomial.containsValue(1) && Character.isLetter(monomial.firstKey().charAt(0))
                && !CONSTANTS.contains(monomial.firstKey());
    }

    private Optional<BigInteger> integer() {
        return number().filter(Rational::isInteger).map(Rational::num);
    }

    private static Fraction quotient(Polynomial num, Polynomial den) {
        if (den.isZero()) {
            throw new MathSyntaxException("division by zero");
        }
        return den.isConstant() ? new Fraction(num.scaled(den.constant().inverse()), Polynomial.ONE) : new Fraction(num, den);
    }

    Fraction plus(Fraction o, Atoms atoms) {
        if (den.equals(o.den)) {
            return quotient(num.plus(o.num), den);
        }
        return quotient(num.times(o.den, atoms).plus(o.num.times(den, atoms)), den.times(o.den, atoms));
    }

    Fraction negate() {
        return new Fraction(num.scaled(Rational.of(-1)), den);
    }

    Fraction times(Fraction o, Atoms atoms) {
        return quotient(num.times(o.num, atoms), den.times(o.den, atoms));
    }

    Fraction over(Fraction o, Atoms atoms) {
        return quotient(num.times(o.den, atoms), den.times(o.num, atoms));
    }

    boolean sameAs(Fraction o, Atoms atoms) {
        return num.times(o.den, atoms).plus(o.num.times(den, atoms).scaled(Rational.of(-1))).isZero();
    }

    /** True if one is the other times a number that isn't 0: the equations that set them to 0 say the same. */
    boolean proportionalTo(Fraction o, Atoms atoms) {
        Polynomial a = num.times(o.den, atoms);
        Polynomial b = o.num.times(den, atoms);
        if (a.isZero() || b.isZero()) {
            return a.isZero() && b.isZero();
        }
        var term = a.terms().entrySet().iterator().next();
        Rational other = b.terms().getOrDefault(term.getKey(), Rational.ZERO);
        return !other.isZero() && a.scaled(other.times(term.getValue().inverse())).equals(b);
    }

    Fraction power(Fraction exponent, Atoms atoms) {
        Optional<Rational> number = exponent.number();
        if (number.isPresent() && number.get().isInteger()) {
            return power(number.get().num(), atoms);
        }
        if (number.isPresent() && number.get().den().bitLength() < 8) {
            return root(number.get().den().intValueExact(), atoms).power(number.get().num(), atoms);
        }
        Rational whole = exponent.den.isConstant() ? exponent.num.constantTerm() : Rational.ZERO;
        if (whole.isInteger() && !whole.isZero()) {
            Fraction rest = exponent.plus(Fraction.of(whole.negate()), atoms);
            return power(whole.num(), atoms).times(atom("#pow(" + this + "," + rest + ")"), atoms);
        }
        return atom("#pow(" + this + "," + exponent + ")");
    }

    private Fraction power(BigInteger exponent, Atoms atoms) {
        if (exponent.signum() < 0) {
            return ONE.over(this, atoms).power(exponent.negate(), atoms);
        }
        boolean small = exponent.bitLength() < 31;
        Optional<Rational> base = number();
        if (base.isPresent()) {
            boolean trivial = base.get().bits() <= 1;
            if (!small || !trivial && (long) base.get().bits() * exponent.intValueExact() > MAX_BITS) {
                return atom("#pow(" + this + "," + exponent + ")");
            }
            atoms.spend(1 + (long) base.get().bits() * exponent.intValueExact() / 64);
            int e = exponent.intValueExact();
            return of(new Rational(base.get().num().pow(e), base.get().den().pow(e)));
        }
        if (!small || !(num.isMonomial() && den.isMonomial()) && exponent.intValueExact() > MAX_EXPANSION) {
            return atom("#pow(" + this + "," + exponent + ")");
        }
        return quotient(atoms.power(num, exponent.intValueExact()), atoms.power(den, exponent.intValueExact()));
    }

    /** The k-th root; of an integer, as a product of roots of its prime factors, so that √12 and 2√3 are the same. */
    Fraction root(int k, Atoms atoms) {
        if (k < 2) {
            throw new MathSyntaxException("root of degree " + k);
        }
        Optional<Rational> number = number();
        if (number.isPresent()) {
            return rootOf(number.get().num(), k, atoms).over(rootOf(number.get().den(), k, atoms), atoms);
        }
        if (den.isConstant()) {
            String name = "#root" + k + "(" + num + ")";
            atoms.define(name, k, num);
            return atom(name);
        }
        return atom("#root" + k + "(" + this + ")");
    }

    private static Fraction rootOf(BigInteger n, int k, Atoms atoms) {
        if (n.signum() < 0) {
            Fraction positive = rootOf(n.negate(), k, atoms);
            if (k % 2 == 1) {
                return positive.negate();
            }
            if (k == 2) {
                return atom("i").times(positive, atoms);
            }
            throw new MathSyntaxException("even root of a negative number");
        }
        if (n.bitLength() > MAX_ROOT_BITS) {
            throw new MathSyntaxException("root of a huge number");
        }
        if (n.signum() == 0) {
            return of(Rational.ZERO);
        }
        Fraction result = ONE;
        BigInteger rest = n;
        for (int p = 2; p <= TRIAL_DIVISORS && rest.compareTo(BigInteger.ONE) > 0; p += p == 2 ? 1 : 2) {
            BigInteger prime = BigInteger.valueOf(p);
            int times = 0;
            for (BigInteger[] d = rest.divideAndRemainder(prime); d[1].signum() == 0; d = rest.divideAndRemainder(prime)) {
                rest = d[0];
                times++;
            }
            result = result.times(rootOfFactor(prime, times, k, atoms), atoms);
            if (prime.multiply(prime).compareTo(rest) > 0) {
                break;
            }
        }
        return result.times(rootOfFactor(rest, 1, k, atoms), atoms);
    }

    private static Fraction rootOfFactor(BigInteger factor, int times, int k, Atoms atoms) {
        if (times == 0 || factor.equals(BigInteger.ONE)) {
            return ONE;
        }
        BigInteger[] square = factor.sqrtAndRemainder();
        if (k == 2 && square[1].signum() == 0) {
            return of(Rational.of(square[0].pow(times)));
        }
        String name = "#root" + k + "(" + factor + ")";
        atoms.define(name, k, Polynomial.of(Rational.of(factor)));
        return atom(name).power(BigInteger.valueOf(times), atoms);
    }

    Fraction factorial(Atoms atoms) {
        Optional<BigInteger> n = integer();
        if (n.isEmpty() || n.get().signum() < 0 || n.get().compareTo(BigInteger.valueOf(MAX_FACTORIAL)) > 0) {
            return atom("#factorial(" + this + ")");
        }
        BigInteger product = BigInteger.ONE;
        for (int i = 2; i <= n.get().intValueExact(); i++) {
            product = product.multiply(BigInteger.valueOf(i));
        }
        atoms.spend(n.get().intValueExact());
        return of(Rational.of(product));
    }

    Fraction choose(Fraction k, Atoms atoms) {
        Optional<BigInteger> n = integer();
        Optional<BigInteger> r = k.integer();
        BigInteger most = BigInteger.valueOf(MAX_FACTORIAL);
        if (n.isEmpty() || r.isEmpty() || r.get().signum() < 0 || n.get().compareTo(r.get()) < 0 || n.get().compareTo(most) > 0) {
            return atom("#binomial(" + this + "," + k + ")");
        }
        return factorial(atoms).over(k.factorial(atoms), atoms)
                .over(of(Rational.of(n.get().subtract(r.get()))).factorial(atoms), atoms);
    }

    @Override
    public String toString() {
        return den.equals(Polynomial.ONE) ? num.toString() : "(" + num + ")/(" + den + ")";
    }
}
