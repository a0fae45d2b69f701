package io.furlong.cli;

import io.furlong.control.RefusedException;
import io.furlong.control.StoreException;
import io.furlong.control.config.ConfigErrors;
import io.furlong.core.ConfigException;
import io.furlong.rollout.data.DatasetException;
import io.furlong.sglang.EngineException;
import io.furlong.sglang.FleetException;
import io.furlong.torch.CheckpointException;
import io.furlong.torch.tokenizer.TokenizerException;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.util.List;
import picocli.CommandLine;

/**
 * What a command says when it can't go on: one line a mistake for what people can put right; for anything else one line and,
 * with {@code FURLONG_TRACE=1}, the stack trace.
 */
final class Complaint {
    private Complaint() {}

    static int about(Exception e, CommandLine command, CommandLine.ParseResult parsed) {
        PrintWriter err = command.getErr();
        List<String> lines = lines(e);
        if (lines.isEmpty()) {
            err.println("furlong: internal error: " + e + (trace() ? "" : " (FURLONG_TRACE=1 shows where)"));
        }
        lines.forEach(line -> err.println("furlong: " + line));
        if (trace()) {
            e.printStackTrace(err);
        }
        return lines.isEmpty() ? FurlongCommand.FAILED : FurlongCommand.MISTAKE;
    }

    static int about(CommandLine.ParameterException e, String[] args) {
        CommandLine command = e.getCommandLine();
        String line = e.getMessage().lines().findFirst().orElse("");
        List<String> meant = e instanceof CommandLine.UnmatchedArgumentException unmatched ? unmatched.getSuggestions() : List.of();
        command.getErr().println("furlong: " + line + (meant.isEmpty() ? "" : " (did you mean " + meant.getFirst() + "?)")
                + "; see '" + command.getCommandSpec().qualifiedName() + " --help'");
        return FurlongCommand.MISTAKE;
    }

    /** What to tell the user; empty when it is not the user's to put right. */
    private static List<String> lines(Exception e) {
        return switch (e) {
            case ConfigErrors errors -> errors.lines();
            case Mistake mistake -> mistake.getMessage().lines().toList();
            case ConfigException mistake -> List.of(mistake.getMessage());
            case RefusedException refused -> refused.problems();
            case StoreException store -> List.of(store.getMessage());
            case TokenizerException tokenizer -> List.of(tokenizer.getMessage());
            case DatasetException data -> List.of(data.getMessage());
            case EngineException engine -> List.of(engine.getMessage());
            case FleetException fleet -> List.of(fleet.getMessage());
            case CheckpointException checkpoint -> List.of(checkpoint.getMessage());
            case NoSuchFileException file -> List.of(file.getFile() + ": there is no such file");
            case AccessDeniedException file -> List.of(file.getFile() + ": access denied");
            case FileSystemException file -> List.of(file.getMessage());
            case IOException io -> List.of(String.valueOf(io.getMessage()));
            default -> List.of();
        };
    }

    private static boolean trace() {
        return "1".equals(System.getenv("FURLONG_TRACE"));
    }
}
