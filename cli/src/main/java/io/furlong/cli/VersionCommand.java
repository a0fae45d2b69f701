package io.furlong.cli;

import io.furlong.torch.Torch;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.util.Properties;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Which Furlong this is, and what it stands on. */
@Command(name = "version", mixinStandardHelpOptions = true, description = "Shows the versions of Furlong, Java and libtorch.",
        footer = {"", "Example:", "  furlong version"})
final class VersionCommand implements FurlongCommand {
    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        Torch.useThreads(Runtime.getRuntime().availableProcessors());
        PrintWriter out = spec.commandLine().getOut();
        out.println("furlong " + property("version"));
        out.println("java " + Runtime.version() + ", " + System.getProperty("java.vendor"));
        out.println("libtorch " + property("libtorch") + ", OpenBLAS " + property("openblas") + ", " + Torch.threads() + " threads");
        return OK;
    }

    private static String property(String name) {
        Properties properties = new Properties();
        try (InputStream in = VersionCommand.class.getResourceAsStream("version.properties")) {
            properties.load(in);
        } catch (IOException e) {
            throw new IllegalStateException("version.properties is missing beside " + VersionCommand.class, e);
        }
        return properties.getProperty(name);
    }

    /** For {@code --version}. */
    static final class Line implements IVersionProvider {
        @Override
        public String[] getVersion() {
            return new String[] {"furlong " + property("version")};
        }
    }
}
