package io.furlong.sglang;

import java.net.URI;
import java.util.List;

/**
 * What {@link Doctor} found.
 *
 * @param facts    what the server is, a line each
 * @param plan     what Furlong would use: publish mode and routing
 * @param findings what is wrong or worth knowing, worst first
 */
public record Diagnosis(URI url, List<String> facts, String plan, List<Finding> findings) {
    public Diagnosis {
        facts = List.copyOf(facts);
        findings = findings.stream().sorted(java.util.Comparator.comparing(Finding::severity)).toList();
    }

    /** How bad it is. */
    public enum Severity {
        /** Training won't work. */
        PROBLEM,
        /** It works until something else happens. */
        WARNING,
        /** Good to know. */
        NOTE
    }

    /**
     * @param what   one line: what was seen
     * @param remedy one line: what to do about it; empty for a note
     */
    public record Finding(Severity severity, String what, String remedy) {}

    /** Whether nothing stands in the way of training. */
    public boolean fit() {
        return findings.stream().noneMatch(f -> f.severity() == Severity.PROBLEM);
    }
}
