package io.furlong.server;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** Request bodies that are nearly right, wrong in one or a few places, or no JSON at all; the same for the same seed. */
final class Bodies {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String CONFIG = """
            {"data":"/data/x.jsonl","input_key":"prompt","label_key":"answer","metadata_key":"m","rm_type":"exact","rollout_batch_size":4,
             "n_samples_per_prompt":2,"rank":8,"alpha":16.0,"target_modules":["q_proj","v_proj"],"sampling":{"temperature":1.0,"max_new_tokens":16,
             "stop":["x"],"stop_token_ids":[3]},"loss":{"type":"grpo","clip_low":0.2,"clip_high":0.28,"kl":0.0},"optimizer":{"type":"adamw",
             "lr":0.001,"schedule":"constant","warmup_steps":1},"max_staleness":1,"stragglers":"wait","weight":1.5,"num_step":5,"num_epoch":2,
             "stop":{"reward_target":0.9,"target_evals":2,"wall_clock":"1h","token_budget":1000},"filters":[{"type":"zero_variance","limit_per_step":3}],
             "eval":{"data":"/data/e.jsonl","every":2,"max_rows":10,"samples":1},"init_from":"resume","save":"/save/x","metadata":{"k":[1,{"a":null}]},
             "shuffle":true,"apply_chat_template":false,"max_prompt_tokens":100,"reward_timeout":"5s"}""";

    private final Random random;

    Bodies(long seed) {
        this.random = new Random(seed);
    }

    int below(int bound) {
        return random.nextInt(bound);
    }

    byte[] next(String template) throws Exception {
        JsonNode tree = JSON.readTree(template.replace("$CONFIG", CONFIG));
        for (int i = random.nextInt(4); i > 0; i--) {
            mutate(tree);
        }
        byte[] bytes = JSON.writeValueAsBytes(tree);
        return switch (random.nextInt(10)) {
            case 0 -> Arrays.copyOf(bytes, random.nextInt(bytes.length + 1));
            case 1 -> flipped(bytes);
            case 2 -> noJson();
            default -> bytes;
        };
    }

    private void mutate(JsonNode root) {
        List<ObjectNode> objects = new ArrayList<>();
        collect(root, objects);
        ObjectNode at = objects.get(random.nextInt(objects.size()));
        List<String> keys = new ArrayList<>();
        at.fieldNames().forEachRemaining(keys::add);
        String key = keys.isEmpty() ? "k" : keys.get(random.nextInt(keys.size()));
        switch (random.nextInt(6)) {
            case 0 -> at.remove(key);
            case 1 -> at.set(key + (random.nextBoolean() ? "s" : ""), value(0));
            case 2 -> at.set(text(), value(0));
            default -> at.set(key, value(0));
        }
    }

    private void collect(JsonNode node, List<ObjectNode> into) {
        if (node instanceof ObjectNode o) {
            into.add(o);
        }
        node.forEach(child -> collect(child, into));
    }

    private JsonNode value(int depth) {
        return switch (random.nextInt(depth > 3 ? 11 : 13)) {
            case 0 -> JSON.nullNode();
            case 1 -> JSON.getNodeFactory().booleanNode(random.nextBoolean());
            case 2 -> JSON.getNodeFactory().numberNode(random.nextInt(20) - 10);
            case 3 -> JSON.getNodeFactory().numberNode(random.nextLong());
            case 4 -> JSON.getNodeFactory().numberNode(new java.math.BigInteger(200, random));
            case 5 -> JSON.getNodeFactory().numberNode(random.nextDouble() * 4 - 2);
            case 6 -> JSON.getNodeFactory().numberNode(new double[] {1e308, -1e308, 5e-324, 1e18, 0.0, -0.0}[random.nextInt(6)]);
            case 7 -> JSON.getNodeFactory().textNode("");
            case 8 -> JSON.getNodeFactory().textNode("NaN");
            case 9, 10 -> JSON.getNodeFactory().textNode(text());
            case 11 -> {
                ArrayNode a = JSON.createArrayNode();
                for (int i = random.nextInt(4); i > 0; i--) {
                    a.add(value(depth + 1));
                }
                yield a;
            }
            default -> {
                ObjectNode o = JSON.createObjectNode();
                for (int i = random.nextInt(4); i > 0; i--) {
                    o.set(text(), value(depth + 1));
                }
                yield o;
            }
        };
    }

    private String text() {
        return switch (random.nextInt(9)) {
            case 0 -> "x".repeat(random.nextInt(2000));
            case 1 -> "a\nb";
            case 2 -> "\u0000";
            case 3 -> "../../etc/passwd";
            case 4 -> "\ud83d\ude00 ü";
            case 5 -> "~/x";
            case 6 -> "1e999h";
            case 7 -> "/" + "d/".repeat(random.nextInt(300));
            default -> Integer.toString(random.nextInt(), 36);
        };
    }

    private byte[] flipped(byte[] bytes) {
        byte[] b = bytes.clone();
        for (int i = 1 + random.nextInt(4); i > 0; i--) {
            b[random.nextInt(b.length)] = (byte) random.nextInt(256);
        }
        return b;
    }

    private byte[] noJson() {
        return switch (random.nextInt(8)) {
            case 0 -> "[".repeat(5000).getBytes(StandardCharsets.UTF_8);
            case 1 -> "{\"a\":".repeat(3000).getBytes(StandardCharsets.UTF_8);
            case 2 -> "{\"name\":\"a\",\"name\":\"b\"}".getBytes(StandardCharsets.UTF_8);
            case 3 -> "{} {}".getBytes(StandardCharsets.UTF_8);
            case 4 -> ("{\"rank\":" + "9".repeat(5000) + "}").getBytes(StandardCharsets.UTF_8);
            case 5 -> "name=a&config=b".getBytes(StandardCharsets.UTF_8);
            case 6 -> "null".getBytes(StandardCharsets.UTF_8);
            default -> {
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                for (int i = random.nextInt(200); i > 0; i--) {
                    out.write(random.nextInt(256));
                }
                yield out.toByteArray();
            }
        };
    }
}
