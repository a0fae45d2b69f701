package io.furlong.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.furlong.torch.CheckpointException;
import io.furlong.torch.LoraSpec;
import io.furlong.torch.LoraWeights;
import io.furlong.torch.ModelConfig;
import io.furlong.train.checkpoint.DiskObserver.Move;
import io.furlong.train.optim.AdamW;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DurableCheckpointTest {
    private static final String NAME = "sums.0123456789ab@v3-ba9876543210";
    private static final TrainingState STATE = new TrainingState("sums", "0".repeat(32), 3, 2, 2, 0, 0, 7, "a".repeat(64), NAME);

    @TempDir
    private Path directory;

    private record Event(Move move, String path) {}

    /** What a power cut looks like from inside. */
    private static final class PowerCut extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    @Test
    void everyFileIsForcedBeforeTheNameAppearsAndTheParentAfter() throws IOException {
        List<Event> events = new ArrayList<>();
        write((move, path) -> events.add(new Event(move, path.getFileName().toString())));
        int renaming = events.indexOf(new Event(Move.RENAMING, NAME));
        for (String file : List.of("adapter_config.json", "adapter_model.safetensors", "optimizer.safetensors", "state.json", "manifest.json", "training",
                ".unfinished-" + NAME)) {
            assertThat(events.indexOf(new Event(Move.SYNCED, file))).as(file).isBetween(0, renaming);
        }
        assertThat(events.subList(renaming, events.size())).containsExactly(new Event(Move.RENAMING, NAME), new Event(Move.RENAMED, NAME),
                new Event(Move.SYNCING, directory.getFileName().toString()), new Event(Move.SYNCED, directory.getFileName().toString()));
    }

    @Test
    void aPowerCutAnywhereLeavesTheWholeVersionOrNone() throws IOException {
        List<Event> all = new ArrayList<>();
        write((move, path) -> all.add(new Event(move, path.getFileName().toString())));
        DurableDirectory.delete(directory.resolve(NAME));
        for (int cut = 0; cut < all.size(); cut++) {
            int at = cut;
            int[] seen = {0};
            assertThatThrownBy(() -> write((_, _) -> {
                if (seen[0]++ == at) {
                    throw new PowerCut();
                }
            })).isInstanceOf(PowerCut.class);
            if (Files.exists(directory.resolve(NAME))) {
                assertThat(Checkpoint.open(directory.resolve(NAME)).state()).isEqualTo(STATE);
                assertThat(at).isGreaterThan(all.indexOf(new Event(Move.RENAMING, NAME)));
            } else {
                // The next writer of the version finds the way clear.
                write(DiskObserver.NONE);
            }
            DurableDirectory.delete(directory.resolve(NAME));
        }
    }

    @Test
    void aChangedFileIsNoticed() throws IOException {
        for (String name : List.of("adapter_config.json", "adapter_model.safetensors", "training/optimizer.safetensors", "training/state.json")) {
            write(DiskObserver.NONE);
            Path file = directory.resolve(NAME).resolve(name);
            byte[] bytes = Files.readAllBytes(file);
            bytes[bytes.length / 2] ^= 1;
            Files.write(file, bytes);
            assertThatThrownBy(() -> Checkpoint.open(directory.resolve(NAME))).isInstanceOf(CheckpointException.class)
                    .hasMessageContaining(file.getFileName().toString()).hasMessageContaining("has changed").message().doesNotContain("\n");
            DurableDirectory.delete(directory.resolve(NAME));
        }
    }

    @Test
    void aDirectoryThatCannotBeWrittenIsAnIOExceptionThatNamesIt() throws IOException {
        Path file = Files.createFile(directory.resolve("file"));
        assertThatThrownBy(() -> write(file, DiskObserver.NONE)).isInstanceOf(IOException.class).hasMessageContaining("file");
    }

    @Test
    void theNewestAndThePinnedStay() throws IOException {
        for (int version : new int[] {2, 9, 10, 11}) {
            Files.createDirectories(directory.resolve("sums.0123456789ab@v" + version + "-x").resolve("training"));
        }
        Path unfinished = Files.createDirectory(directory.resolve(".unfinished-sums.0123456789ab@v12-x"));
        Path others = Files.createDirectory(directory.resolve("sums.ffffffffffff@v1-x"));
        Path mine = Files.createFile(directory.resolve("notes.txt"));
        Path pinned = directory.resolve("sums.0123456789ab@v2-x");
        List<Path> removed = Retention.prune(directory, "sums.0123456789ab@v", 2, Set.of(pinned));
        assertThat(removed).containsExactlyInAnyOrder(directory.resolve("sums.0123456789ab@v9-x"), unfinished);
        try (Stream<Path> left = Files.list(directory)) {
            assertThat(left).containsExactlyInAnyOrder(pinned, directory.resolve("sums.0123456789ab@v10-x"), directory.resolve("sums.0123456789ab@v11-x"),
                    others, mine);
        }
    }

    private void write(DiskObserver observer) throws IOException {
        write(directory, observer);
    }

    private static void write(Path parent, DiskObserver observer) throws IOException {
        try (LoraWeights weights = LoraWeights.init(model(), LoraSpec.allLinear(2, 4), 7); AdamW optimizer = new AdamW(weights)) {
            Checkpoint.write(parent.resolve(NAME), STATE, weights, optimizer, "llama-gqa", observer);
        }
    }

    private static ModelConfig model() {
        try {
            return ModelConfig.read(Path.of(DurableCheckpointTest.class.getResource("/fixtures/models/llama-gqa").toURI()));
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }
}
