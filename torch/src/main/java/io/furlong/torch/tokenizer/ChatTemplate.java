package io.furlong.torch.tokenizer;

import com.fasterxml.jackson.databind.JsonNode;
import com.hubspot.jinjava.Jinjava;
import com.hubspot.jinjava.JinjavaConfig;
import com.hubspot.jinjava.interpret.RenderResult;
import com.hubspot.jinjava.interpret.TemplateError;
import com.hubspot.jinjava.lib.fn.ELFunctionDefinition;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A model's chat template, rendered as transformers does it: Jinja with blocks trimmed, {@code add_generation_prompt} set, the
 * special tokens by name, {@code raise_exception} and {@code strftime_now}, and Python's string methods ({@link PythonStrings}).
 * What can't be rendered is one line that names the file and the reason; a wrong prompt is never handed on.
 */
public final class ChatTemplate {
    private static final String JINJA_FILE = "chat_template.jinja";

    private static final Pattern STRINGS = Pattern.compile("'(?:\\\\.|[^'\\\\{}])*'|\"(?:\\\\.|[^\"\\\\{}])*\"");
    private static final Pattern ELEMENTS = Pattern.compile("\\{[{%].*?[%}]}", Pattern.DOTALL);
    private static final Pattern FILTER = Pattern.compile("\\|\\s*(\\w+)");
    private static final Pattern TEST = Pattern.compile("\\bis\\s+(?:not\\s+)?(\\w+)");

    private final String source;
    private final String template;
    private final SpecialTokens special;
    private final Jinjava jinja;

    /**
     * @param source   where it comes from, for messages
     * @param template the Jinja text
     * @param special  named special tokens
     */
    ChatTemplate(String source, String template, SpecialTokens special) {
        this.source = source;
        this.template = JinjaWhitespace.apply(template);
        this.special = special;
        this.jinja = new Jinjava(JinjavaConfig.newBuilder().withNestedInterpretationEnabled(false).withKeepTrailingNewline(true)
                .withElResolver(new PythonStrings()).withMaxMacroRecursionDepth(16).withEnableRecursiveMacroCalls(true).build());
        jinja.getGlobalContext().registerFunction(
                new ELFunctionDefinition("", "raise_exception", ChatTemplate.class, "raiseException", Object.class));
        jinja.getGlobalContext().registerFunction(
                new ELFunctionDefinition("", "strftime_now", ChatTemplate.class, "strftimeNow", String.class));
        jinja.getGlobalContext().registerFilter(new PythonJson());
    }

    /** The template of a model directory: {@code chat_template.jinja}, else {@code chat_template} of {@code tokenizer_config.json}. */
    static Optional<ChatTemplate> load(Path directory) {
        SpecialTokens special = SpecialTokens.load(directory);
        Path jinjaFile = directory.resolve(JINJA_FILE);
        if (Files.isRegularFile(jinjaFile)) {
            try {
                return Optional.of(new ChatTemplate(jinjaFile.toString(), Files.readString(jinjaFile), special));
            } catch (IOException e) {
                throw new TokenizerException(jinjaFile + ": can't be read: " + e.getMessage(), e);
            }
        }
        Path config = directory.resolve(SpecialTokens.CONFIG);
        if (!Files.isRegularFile(config)) {
            return Optional.empty();
        }
        JsonNode node = HfTokenizer.read(config).path("chat_template");
        if (node.isArray()) {
            for (JsonNode named : node) {
                if (named.path("name").asText().equals("default")) {
                    node = named.path("template");
                }
            }
        }
        return node.isTextual() ? Optional.of(new ChatTemplate(config + ": chat_template", node.textValue(), special)) : Optional.empty();
    }

    /** @param messages each with {@code role} and {@code content} */
    String render(List<Map<String, Object>> messages) {
        Map<String, Object> context = new HashMap<>(special.byName());
        context.put("messages", messages);
        context.put("add_generation_prompt", true);
        unknownName().ifPresent(problem -> {
            throw new TokenizerException(source + ": can't be rendered: " + problem);
        });
        RenderResult result;
        try {
            result = jinja.renderForResult(template, context);
        } catch (RuntimeException e) {
            throw new TokenizerException(source + ": can't be rendered: " + e.getMessage(), e);
        }
        for (TemplateError error : result.getErrors()) {
            throw new TokenizerException(source + ": can't be rendered: " + reason(error));
        }
        return result.getOutput();
    }

    /** A filter or test that Jinja doesn't have here; it would render as nothing. */
    private Optional<String> unknownName() {
        return ELEMENTS.matcher(STRINGS.matcher(template).replaceAll("''")).results().flatMap(element -> Stream.concat(
                FILTER.matcher(element.group()).results().map(use -> use.group(1))
                        .filter(name -> jinja.getGlobalContext().getFilter(name) == null).map(name -> "no filter is called '" + name + "'"),
                TEST.matcher(element.group()).results().map(use -> use.group(1))
                        .filter(name -> jinja.getGlobalContext().getExpTest(name) == null).map(name -> "no test is called '" + name + "'")))
                .findFirst();
    }

    private static String reason(TemplateError error) {
        for (Throwable e = error.getException(); e != null; e = e.getCause()) {
            if (e instanceof TemplateRefusal refusal) {
                return "the template refuses these messages: " + refusal.getMessage();
            }
        }
        return String.valueOf(error.getMessage()).lines().findFirst().orElse("unknown reason");
    }

    /** The template's own {@code raise_exception(message)}; called by Jinja, by name. */
    public static Object raiseException(Object message) {
        throw new TemplateRefusal(String.valueOf(message));
    }

    /** The template's {@code strftime_now(format)}; called by Jinja, by name. Knows the date formats that published templates use. */
    public static String strftimeNow(String format) {
        LocalDateTime now = LocalDateTime.now();
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < format.length(); i++) {
            if (format.charAt(i) != '%' || i + 1 == format.length()) {
                text.append(format.charAt(i));
                continue;
            }
            i++;
            String pattern = switch (format.charAt(i)) {
                case 'Y' -> "yyyy";
                case 'y' -> "yy";
                case 'm' -> "MM";
                case 'd' -> "dd";
                case 'b' -> "MMM";
                case 'B' -> "MMMM";
                case 'a' -> "EEE";
                case 'A' -> "EEEE";
                case 'H' -> "HH";
                case 'M' -> "mm";
                case 'S' -> "ss";
                case '%' -> "'%'";
                default -> throw new TemplateRefusal("strftime_now: %" + format.charAt(i) + " is not known here");
            };
            text.append(DateTimeFormatter.ofPattern(pattern, Locale.ENGLISH).format(now));
        }
        return text.toString();
    }

    /** What a template says with {@code raise_exception}. */
    private static final class TemplateRefusal extends RuntimeException {
        private static final long serialVersionUID = 1L;

        TemplateRefusal(String message) {
            super(message);
        }
    }
}
