package io.furlong.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

class FurlongTest {
    private final TestConsole console = new TestConsole();

    @Test
    void everyCommandHasHelpWithAnExample() {
        for (CommandLine command : leaves(Furlong.commandLine())) {
            String name = command.getCommandSpec().qualifiedName();
            String usage = command.getUsageMessage(CommandLine.Help.Ansi.OFF);
            assertThat(usage).as(name).contains("Example:", "\n  " + name);
            assertThat(command.getCommandSpec().usageMessage().description()).as(name).isNotEmpty();
        }
    }

    @Test
    void aMisspeltCommandIsOneLineThatNamesTheNearest() {
        assertThat(console.furlong("verison")).isEqualTo(FurlongCommand.MISTAKE);
        assertThat(console.err()).isEqualTo("furlong: Unmatched argument at index 0: 'verison' (did you mean version?); see 'furlong --help'\n");
        assertThat(console.out()).isEmpty();
    }

    @Test
    void aMisspeltOptionIsOneLine() {
        assertThat(console.furlong("version", "--long")).isEqualTo(FurlongCommand.MISTAKE);
        assertThat(console.err()).isEqualTo("furlong: Unknown option: '--long'; see 'furlong version --help'\n");
    }

    @Test
    void withoutACommandTheCommandsAreNamed() {
        assertThat(console.furlong()).isEqualTo(FurlongCommand.MISTAKE);
        assertThat(console.err()).startsWith("furlong: Say what to do: one of ").hasLineCount(1);
    }

    @Test
    void theVersionIsThatOfTheBuild() {
        assertThat(console.furlong("--version")).isEqualTo(FurlongCommand.OK);
        assertThat(console.out()).matches("furlong \\d+\\.\\d+\\.\\d+(-SNAPSHOT)?\n");
    }

    private static List<CommandLine> leaves(CommandLine command) {
        List<CommandLine> leaves = new ArrayList<>();
        for (CommandLine sub : command.getSubcommands().values()) {
            if (sub.getSubcommands().isEmpty() && !sub.getCommandName().equals("help")) {
                leaves.add(sub);
            }
            leaves.addAll(leaves(sub));
        }
        return leaves;
    }
}
