package io.furlong.it.crash;

import static io.furlong.it.crash.Move.Point.COMMITTED;
import static io.furlong.it.crash.Move.Point.COMMITTING;
import static io.furlong.it.crash.Move.Point.RENAMED;
import static io.furlong.it.crash.Move.Point.SYNCED;
import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.it.crash.Move.Point;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A step and its version, in the one order that a crash at any point leaves whole: files written, forced to disk, renamed; the transaction;
 * load and canary; the transaction that puts it in force; and only then does anybody see it.
 */
class OrderOfAStepTest {
    private static final long VERSION = 2;

    @TempDir
    Path directory;

    @Test
    void filesThenTheTransactionThenTheEngineThenInForceThenTheSnapshot() throws Exception {
        SmallRun world = SmallRun.deterministic(directory.resolve("world"), Map.of("sort", 1, "upper", 1)).write();
        List<String> seen = new ArrayList<>();
        List<Move> moves = world.go((move, path) -> { }, (move, inForce) -> {
            if (move.version() == VERSION) {
                seen.add(move.point() + " " + move.adapter() + " while " + inForce + " is in force");
            }
        });

        for (String adapter : List.of("sort", "upper")) {
            List<Move> own = moves.stream().filter(m -> m.adapter().equals(adapter) && m.version() == VERSION).toList();
            assertThat(own).extracting(Move::kind).containsExactly(
                    "COMMITTING number", "COMMITTED number",
                    "WRITING adapter_model.safetensors", "WRITTEN adapter_model.safetensors",
                    "WRITING training/optimizer.safetensors", "WRITTEN training/optimizer.safetensors",
                    "WRITING training/state.json", "WRITTEN training/state.json",
                    "WRITING manifest.json", "WRITTEN manifest.json",
                    "SYNCING training/state.json", "SYNCED training/state.json",
                    "SYNCING training/optimizer.safetensors", "SYNCED training/optimizer.safetensors",
                    "SYNCING training", "SYNCED training",
                    "SYNCING manifest.json", "SYNCED manifest.json",
                    "SYNCING adapter_model.safetensors", "SYNCED adapter_model.safetensors",
                    "SYNCING adapter_config.json", "SYNCED adapter_config.json",
                    "SYNCING directory", "SYNCED directory",
                    "RENAMING directory", "RENAMED directory",
                    "COMMITTING step", "COMMITTED step",
                    "LOADING engine", "LOADED engine",
                    "PROBING engine", "PROBED engine",
                    "COMMITTING in force", "COMMITTED in force",
                    "FLIPPING snapshot", "FLIPPED snapshot");
            assertThat(between(moves, one(own, RENAMED, "directory"), one(own, COMMITTING, Moves.STEP)))
                    .as("the directory's new name is forced to disk before the transaction").anyMatch(m -> m.is(SYNCED, "parent"));
            assertThat(one(own, COMMITTED, Moves.STEP).step()).isEqualTo(1);
            everyFileWasSynced(world, adapter, own);
            assertThat(seen).filteredOn(s -> s.contains(" " + adapter + " ")).allMatch(s -> s.startsWith("FLIPPED") == s.endsWith("while " + VERSION + " is in force"));
        }
    }

    private static void everyFileWasSynced(SmallRun world, String adapter, List<Move> own) throws Exception {
        Path version;
        try (var versions = Files.list(world.versions())) {
            version = versions.filter(p -> p.getFileName().toString().matches(adapter + "\\.[0-9a-f]+@v" + VERSION + "-.*")).findFirst().orElseThrow();
        }
        try (var files = Files.walk(version)) {
            assertThat(own).filteredOn(m -> m.point() == SYNCED).extracting(Move::to).containsExactlyInAnyOrderElementsOf(
                    files.map(f -> f.equals(version) ? "directory" : version.relativize(f).toString()).toList());
        }
    }

    private static Move one(List<Move> moves, Point point, String to) {
        return moves.stream().filter(m -> m.is(point, to)).findFirst().orElseThrow();
    }

    private static List<Move> between(List<Move> moves, Move from, Move to) {
        return moves.subList(moves.indexOf(from), moves.indexOf(to));
    }
}
