package io.furlong.torch.tokenizer;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import com.fasterxml.jackson.core.util.Separators;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.hubspot.jinjava.interpret.JinjavaInterpreter;
import com.hubspot.jinjava.lib.filter.AdvancedFilter;
import java.util.Map;

/** Jinja's {@code tojson} as transformers defines it: Python's {@code json.dumps} with its spaces, nothing escaped for HTML, {@code indent}. */
final class PythonJson implements AdvancedFilter {
    private static final ObjectMapper JSON = new ObjectMapper();

    @Override
    public String getName() {
        return "tojson";
    }

    @Override
    public Object filter(Object value, JinjavaInterpreter interpreter, Object[] args, Map<String, Object> named) {
        Object indent = named.getOrDefault("indent", args.length > 0 ? args[0] : 0);
        int spaces = indent instanceof Number number ? number.intValue() : 0;
        try {
            return writer(spaces).writeValueAsString(value);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("tojson: " + e.getOriginalMessage(), e);
        }
    }

    private static ObjectWriter writer(int spaces) {
        Separators separators = Separators.createDefaultInstance().withObjectFieldValueSpacing(Separators.Spacing.AFTER)
                .withObjectEntrySpacing(spaces > 0 ? Separators.Spacing.NONE : Separators.Spacing.AFTER)
                .withArrayValueSpacing(spaces > 0 ? Separators.Spacing.NONE : Separators.Spacing.AFTER)
                .withObjectEmptySeparator("").withArrayEmptySeparator("");
        DefaultPrettyPrinter printer = new DefaultPrettyPrinter().withSeparators(separators);
        DefaultPrettyPrinter.Indenter indenter =
                spaces > 0 ? new DefaultIndenter(" ".repeat(spaces), "\n") : new DefaultPrettyPrinter.NopIndenter();
        printer.indentArraysWith(indenter);
        printer.indentObjectsWith(indenter);
        return JSON.writer(printer);
    }
}
