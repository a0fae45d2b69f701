package io.furlong.cli.run;

import java.io.IOException;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;

/** Copies the PEFT part of a version directory to where a person wants it; readers see the old file or the new one, never half of one. */
public final class Export {
    private static final List<String> FILES = List.of("adapter_config.json", "adapter_model.safetensors");

    private Export() {}

    /** @param version directory of a committed version */
    public static void peft(Path version, Path target) throws IOException {
        Files.createDirectories(target);
        for (String file : FILES) {
            Path part = target.resolve("." + file + ".part");
            Files.copy(version.resolve(file), part, StandardCopyOption.REPLACE_EXISTING);
            try {
                Files.move(part, target.resolve(file), StandardCopyOption.ATOMIC_MOVE);
            } catch (AtomicMoveNotSupportedException e) {
                Files.move(part, target.resolve(file), StandardCopyOption.REPLACE_EXISTING);
            }
        }
    }
}
