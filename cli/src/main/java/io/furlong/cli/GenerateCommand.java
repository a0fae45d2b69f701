package io.furlong.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.torch.tokenizer.HfTokenizer;
import io.furlong.wire.GenerateRequest;
import io.furlong.wire.GenerateResponse;
import io.furlong.wire.SamplingParams;
import io.furlong.wire.TokenLogprob;
import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(name = "generate", mixinStandardHelpOptions = true, description = "Answers prompts with the base model or an adapter.",
        footer = {"", "Example:", "  furlong generate --adapter runs/quickstart/sort 'sort dbca='"})
final class GenerateCommand implements FurlongCommand {
    private static final ObjectMapper JSON = new ObjectMapper();

    @Mixin
    private Endpoint.Options endpoint = new Endpoint.Options();

    @Parameters(arity = "1..*", paramLabel = "PROMPT", description = "What to answer.")
    private List<String> prompts = List.of();

    @Option(names = "--temperature", defaultValue = "0", description = "0 is greedy (default: ${DEFAULT-VALUE}).")
    private double temperature;

    @Option(names = "--top-p", defaultValue = "1", description = "(default: ${DEFAULT-VALUE})")
    private double topP;

    @Option(names = "--max-new-tokens", defaultValue = "64", paramLabel = "N", description = "(default: ${DEFAULT-VALUE})")
    private int maxNewTokens;

    @Option(names = "-n", defaultValue = "1", paramLabel = "N", description = "Answers a prompt (default: ${DEFAULT-VALUE}).")
    private int samples;

    @Option(names = "--seed", paramLabel = "N", description = "The same seed gives the same answers.")
    private Optional<Long> seed = Optional.empty();

    @Option(names = "--chat", description = "Wrap each prompt as a user message of the model's chat template.")
    private boolean chat;

    @Option(names = "--json", description = "One JSON object an answer, with token ids and log-probs.")
    private boolean json;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        PrintWriter out = spec.commandLine().getOut();
        try (Endpoint engine = endpoint.open()) {
            for (String prompt : prompts) {
                String text = chat ? asMessage(prompt) : prompt;
                for (int i = 0; i < samples; i++) {
                    SamplingParams.Builder sampling = SamplingParams.builder().temperature(temperature).topP(topP).maxNewTokens(maxNewTokens);
                    int index = i;
                    seed.ifPresent(s -> sampling.samplingSeed(s + index));
                    GenerateResponse answer = engine.generate(GenerateRequest.ofText(text, sampling.build()).withLogprobs());
                    out.println(json ? line(prompt, answer) : prompt + answer.text().orElse(""));
                    out.flush();
                }
            }
        }
        return OK;
    }

    private String asMessage(String prompt) throws Exception {
        try (HfTokenizer tokenizer = HfTokenizer.load(endpoint.model())) {
            if (!tokenizer.hasChatTemplate()) {
                throw new Mistake("--chat: the model in " + endpoint.model() + " has no chat template");
            }
            return tokenizer.chat(List.of(Map.of("role", "user", "content", prompt)));
        }
    }

    private static String line(String prompt, GenerateResponse answer) {
        ObjectNode o = JSON.createObjectNode().put("prompt", prompt).put("text", answer.text().orElse(""));
        o.set("output_ids", JSON.valueToTree(answer.outputIds()));
        o.set("logprobs", JSON.valueToTree(answer.metaInfo().outputTokenLogprobs().orElse(List.of()).stream().map(TokenLogprob::logprob).toList()));
        return o.toString();
    }
}
