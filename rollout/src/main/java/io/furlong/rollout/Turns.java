package io.furlong.rollout;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/**
 * Whose turn it is: weighted round robin by stride scheduling (Waldspurger and Weihl, 1995). Every member has a pass; the
 * smallest is next, and being served raises it by cost ÷ weight. With equal costs and weights this is plain round robin.
 * A member that was absent comes back at the present pass, so that it has no credit for its absence; one that stays keeps its
 * place for as long as it likes, so the order survives batches. A turn costs O(log members).
 */
final class Turns<T> {
    private static final class Seat<T> {
        final T member;
        double pass;
        long served;
        boolean waiting;

        Seat(T member) {
            this.member = member;
        }
    }

    private final Map<T, Seat<T>> seats = new HashMap<>();
    private final TreeSet<Seat<T>> waiting = new TreeSet<>(
            Comparator.<Seat<T>>comparingDouble(s -> s.pass).thenComparingLong(s -> s.served));
    private double pass;
    private long turns;

    /** Takes part from now on; nothing changes if it does already. */
    void join(T member) {
        Seat<T> s = seats.get(member);
        if (s == null) {
            s = new Seat<>(member);
            s.served = ++turns;
            seats.put(member, s);
        }
        if (!s.waiting) {
            s.pass = Math.max(s.pass, pass);
            s.waiting = true;
            waiting.add(s);
        }
    }

    /** Takes no part until it joins again. */
    void pause(T member) {
        Seat<T> s = seats.get(member);
        if (s != null && s.waiting) {
            waiting.remove(s);
            s.waiting = false;
        }
    }

    /** Gone for good. */
    void leave(T member) {
        pause(member);
        seats.remove(member);
    }

    Optional<T> next() {
        return waiting.isEmpty() ? Optional.empty() : Optional.of(waiting.first().member);
    }

    /** {@code member} had a turn worth {@code cost}, its share in mind: requests, say, over its weight. */
    void served(T member, double cost) {
        Seat<T> s = seats.get(member);
        if (s == null) {
            return;
        }
        boolean again = s.waiting;
        pause(member);
        pass = Math.max(pass, s.pass);
        s.pass += cost;
        s.served = ++turns;
        if (again) {
            s.waiting = true;
            waiting.add(s);
        }
    }
}
