package io.furlong.rollout.reward;

/**
 * Decides whether two answers are the same, by exact arithmetic and polynomial identity. Never throws, never evaluates code, does a
 * bounded amount of work, and says whether each side was understood.
 *
 * <p>Decisions where usage differs: decimals are exact, nothing is rounded; a decimal comma is none; units, degree, percent and
 * currency signs are dropped; an inequality is no interval; lists without brackets have no order, tuples have; adjacent boxes are
 * a list; {@code x = 5} answers what 5 answers.
 */
final class MathScorer {
    /** Whether a text was understood. */
    enum Side { PARSED, UNPARSED }

    /** What came out. */
    enum Answer { SAME, DIFFERENT }

    /** @param answer SAME only if both sides were understood */
    record Verdict(Side prediction, Side gold, Answer answer) {}

    private MathScorer() {}

    static Verdict compare(String prediction, String gold) {
        Atoms atoms = new Atoms();
        MathValue g;
        try {
            g = MathParser.parse(gold, atoms);
        } catch (RuntimeException e) { // whatever a text does to the parser, it isn't understood
            return new Verdict(Side.UNPARSED, Side.UNPARSED, Answer.DIFFERENT);
        }
        try {
            boolean same = MathParser.parse(prediction, atoms).sameAs(g, atoms);
            return new Verdict(Side.PARSED, Side.PARSED, same ? Answer.SAME : Answer.DIFFERENT);
        } catch (RuntimeException e) {
            return new Verdict(Side.UNPARSED, Side.PARSED, Answer.DIFFERENT);
        }
    }
}
