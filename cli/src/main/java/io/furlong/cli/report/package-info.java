/**
 * What a run shows and leaves behind: the live view, {@code metrics.jsonl}, {@code summary.json} and {@code report.html}.
 * Everything is made from two inputs: figures as they are recorded (a metric sink) and one {@code RunSummary} at the end.
 * Start reading at {@link io.furlong.cli.report.RunRecord}.
 */
@NullMarked
package io.furlong.cli.report;

import org.jspecify.annotations.NullMarked;
