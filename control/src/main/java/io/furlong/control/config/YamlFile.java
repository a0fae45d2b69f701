package io.furlong.control.config;

import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.api.lowlevel.Compose;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;
import org.snakeyaml.engine.v2.nodes.Tag;
import org.snakeyaml.engine.v2.schema.CoreSchema;

/** A YAML 1.2 document (JSON is one too) as nodes that know their lines. A key given twice is an error. */
public final class YamlFile {
    private static final int MAX_BYTES = 1 << 20;
    private static final int MAX_DEPTH = 32;

    private final Source.File source;
    private final List<String> problems = new ArrayList<>();

    private YamlFile(Source.File source) {
        this.source = source;
    }

    /** @throws ConfigErrors when the file can't be read or is not a mapping */
    public static ConfigNode.Mapping read(Path path) {
        Source.File source = Source.File.of(path);
        String text;
        try {
            if (Files.isDirectory(path)) {
                throw new ConfigErrors(List.of(path + ": is a directory, must be a YAML file"));
            }
            if (Files.size(path) > MAX_BYTES) {
                throw new ConfigErrors(List.of(path + ": is larger than 1 MiB, must be a YAML file of settings"));
            }
            text = Files.readString(path);
        } catch (NoSuchFileException e) {
            throw new ConfigErrors(List.of(path + ": there is no such file"));
        } catch (CharacterCodingException e) {
            throw new ConfigErrors(List.of(path + ": is not valid UTF-8"));
        } catch (IOException e) {
            throw new ConfigErrors(List.of(path + ": can't be read: " + e.getMessage()));
        }
        return parse(text, source);
    }

    /** @throws ConfigErrors when the text is not a mapping */
    public static ConfigNode.Mapping parse(String text, Source.File source) {
        return new YamlFile(source).parse(text);
    }

    private ConfigNode.Mapping parse(String text) {
        LoadSettings settings = LoadSettings.builder().setLabel(source.shown()).setSchema(new CoreSchema()).build();
        Optional<Node> root;
        try {
            root = new Compose(settings).composeString(text);
        } catch (MarkedYamlEngineException e) {
            int line = e.getProblemMark().map(m -> m.getLine() + 1).orElse(0);
            throw new ConfigErrors(List.of(new Place(source, line).name("") + ": not valid YAML: " + e.getProblem()));
        } catch (YamlEngineException e) {
            throw new ConfigErrors(List.of(source.shown() + ": not valid YAML: " + firstLine(e.getMessage())));
        }
        if (root.isEmpty()) {
            throw new ConfigErrors(List.of(source.shown() + ": is empty"));
        }
        ConfigNode node = node(root.get(), new Place(source, 0), 0);
        if (!problems.isEmpty()) {
            throw new ConfigErrors(problems);
        }
        if (node instanceof ConfigNode.Mapping mapping) {
            return mapping;
        }
        throw new ConfigErrors(List.of(source.shown() + ": got " + node.shown() + ", must be a mapping of keys to values"));
    }

    private ConfigNode node(Node node, Place place, int depth) {
        if (depth > MAX_DEPTH) {
            problems.add(place.name("") + ": nested deeper than " + MAX_DEPTH + " levels");
            return new ConfigNode.Nothing(place);
        }
        return switch (node) {
            case ScalarNode scalar -> scalar(scalar, place);
            case SequenceNode sequence -> new ConfigNode.Items(place,
                    sequence.getValue().stream().map(n -> node(n, placeOf(n), depth + 1)).toList());
            case MappingNode mapping -> mapping(mapping, place, depth);
            default -> throw new IllegalStateException("a node of kind " + node.getNodeType());
        };
    }

    private ConfigNode.Mapping mapping(MappingNode mapping, Place place, int depth) {
        Map<String, ConfigNode> entries = new LinkedHashMap<>();
        for (NodeTuple entry : mapping.getValue()) {
            Place at = placeOf(entry.getKeyNode());
            if (!(entry.getKeyNode() instanceof ScalarNode key)) {
                problems.add(at.name("") + ": a key must be text");
            } else if (entries.put(key.getValue(), node(entry.getValueNode(), at, depth + 1)) != null) {
                problems.add(at.name(key.getValue()) + ": is given twice");
            }
        }
        return new ConfigNode.Mapping(place, entries);
    }

    private ConfigNode scalar(ScalarNode scalar, Place place) {
        String text = scalar.getValue();
        Tag tag = scalar.getTag();
        if (tag.equals(Tag.NULL)) {
            return new ConfigNode.Nothing(place);
        }
        if (tag.equals(Tag.BOOL)) {
            return new ConfigNode.Bool(place, Boolean.parseBoolean(text));
        }
        try {
            if (tag.equals(Tag.INT)) {
                return new ConfigNode.Num(place, integer(text));
            }
            if (tag.equals(Tag.FLOAT)) {
                return new ConfigNode.Num(place, real(text));
            }
        } catch (NumberFormatException e) {
            problems.add(place.name("") + ": '" + text + "' is not a number");
        }
        return new ConfigNode.Text(place, text);
    }

    private static Number integer(String text) {
        BigInteger value = text.startsWith("0x") ? new BigInteger(text.substring(2), 16)
                : text.startsWith("0o") ? new BigInteger(text.substring(2), 8) : new BigInteger(text);
        if (value.bitLength() < Long.SIZE) {
            return value.longValue();
        }
        return value;
    }

    private static double real(String text) {
        return switch (text.toLowerCase(java.util.Locale.ROOT)) {
            case ".nan" -> Double.NaN;
            case ".inf", "+.inf" -> Double.POSITIVE_INFINITY;
            case "-.inf" -> Double.NEGATIVE_INFINITY;
            default -> Double.parseDouble(text);
        };
    }

    private Place placeOf(Node node) {
        return new Place(source, node.getStartMark().map(m -> m.getLine() + 1).orElse(0));
    }

    private static String firstLine(String message) {
        return message.lines().findFirst().orElse("");
    }
}
