package io.furlong.rollout.reward;

import java.math.BigInteger;

/** An exact fraction in lowest terms, denominator positive. */
record Rational(BigInteger num, BigInteger den) {
    static final Rational ZERO = of(0);
    static final Rational ONE = of(1);

    Rational {
        if (den.signum() == 0) {
            throw new MathSyntaxException("division by zero");
        }
        if (den.signum() < 0) {
            num = num.negate();
            den = den.negate();
        }
        BigInteger g = num.gcd(den);
        if (!g.equals(BigInteger.ONE)) {
            num = num.divide(g);
            den = den.divide(g);
        }
    }

    static Rational of(long n) {
        return new Rational(BigInteger.valueOf(n), BigInteger.ONE);
    }

    static Rational of(BigInteger n) {
        return new Rational(n, BigInteger.ONE);
    }

    /** Digits with at most one point: exact, never rounded. */
    static Rational parse(String digits) {
        int point = digits.indexOf('.');
        if (point < 0) {
            return of(new BigInteger(digits));
        }
        String fraction = digits.substring(point + 1);
        return new Rational(new BigInteger(digits.substring(0, point) + fraction), BigInteger.TEN.pow(fraction.length()));
    }

    Rational plus(Rational o) {
        return new Rational(num.multiply(o.den).add(o.num.multiply(den)), den.multiply(o.den));
    }

    Rational times(Rational o) {
        return new Rational(num.multiply(o.num), den.multiply(o.den));
    }

    Rational inverse() {
        return new Rational(den, num);
    }

    Rational negate() {
        return new Rational(num.negate(), den);
    }

    boolean isZero() {
        return num.signum() == 0;
    }

    boolean isInteger() {
        return den.equals(BigInteger.ONE);
    }

    int bits() {
        return Math.max(num.bitLength(), den.bitLength());
    }

    @Override
    public String toString() {
        return isInteger() ? num.toString() : num + "/" + den;
    }
}
