package io.furlong.wire;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The body of {@code POST /generate} in any of its forms, brought down to single requests as SGLang's normalising does
 * ({@code managers/io_struct.py}): lists of texts or of id lists, parameters broadcast or per item, and {@code n} copies of each prompt, adjacent.
 * Unknown top-level keys are skipped, as there.
 *
 * @param requests in the order of the reply; with {@code n} &gt; 1 each already has {@code n} 1
 * @param array    the reply is an array
 * @param stream   the reply is a stream of events
 */
public record GenerateBatch(List<GenerateRequest> requests, boolean array, boolean stream) {
    private static final int MOST_REQUESTS = 4096;
    private static final Set<String> MULTIMODAL = Set.of("image_data", "video_data", "audio_data", "input_embeds", "session_params",
            "custom_logit_processor", "positional_embed_overrides");

    public GenerateBatch {
        requests = List.copyOf(requests);
    }

    /** @throws RejectedRequest as SGLang answers a wrong body */
    public static GenerateBatch read(JsonNode body) throws RejectedRequest {
        return new Reader(body).read();
    }

    private static final class Reader {
        private final JsonNode body;
        private int prompts;
        private boolean batch;

        Reader(JsonNode body) {
            this.body = body;
        }

        GenerateBatch read() throws RejectedRequest {
            for (String field : MULTIMODAL) {
                if (body.hasNonNull(field)) {
                    throw badValue(field + " is not supported by this engine: it serves text models from token ids or text only.");
                }
            }
            countPrompts();
            List<GenerateRequest> items = new ArrayList<>();
            for (int i = 0; i < prompts; i++) {
                items.add(item(i));
            }
            int n = items.getFirst().samplingParams().n();
            for (GenerateRequest item : items) {
                if (item.samplingParams().n() != n) {
                    throw badValue("The parallel_sample_num should be the same for all samples in sample params.");
                }
            }
            if ((long) items.size() * n > MOST_REQUESTS) {
                throw badValue("The body asks for " + (long) items.size() * n + " responses, at most " + MOST_REQUESTS + " are answered at once.");
            }
            boolean stream = flag("stream");
            if (n == 1) {
                return new GenerateBatch(items, batch, stream);
            }
            if (body.path("return_logprob").isArray()) {
                throw badValue("Cannot use list return_logprob with parallel sampling (n > 1).");
            }
            return new GenerateBatch(copies(items, n), true, stream);
        }

        private void countPrompts() throws RejectedRequest {
            JsonNode text = body.path("text");
            JsonNode ids = body.path("input_ids");
            if (body.hasNonNull("text")) {
                if (!text.isTextual() && !text.isArray()) {
                    throw badField("text: a string or a list of strings is needed");
                }
                batch = text.isArray();
                prompts = batch ? text.size() : 1;
            } else if (body.hasNonNull("input_ids")) {
                if (!ids.isArray()) {
                    throw badField("input_ids: a list of integers, or a list of such lists, is needed");
                }
                batch = !ids.isEmpty() && ids.get(0).isArray();
                prompts = batch ? ids.size() : 1;
            } else {
                throw badValue("Either text, input_ids or input_embeds should be provided.");
            }
            if (prompts == 0) {
                throw badValue("text cannot be empty.");
            }
        }

        private GenerateRequest item(int i) throws RejectedRequest {
            boolean isText = body.hasNonNull("text");
            JsonNode prompt = isText ? body.get("text") : body.get("input_ids");
            if (batch) {
                prompt = prompt.get(i);
            }
            if (isText && !prompt.isTextual()) {
                throw badField("text." + i + ": a string is needed");
            }
            return new GenerateRequest(rid(i), isText ? Optional.of(prompt.textValue()) : Optional.empty(),
                    isText ? Optional.empty() : Optional.of(ids(prompt)), SamplingParams.read(sampling(i)),
                    flag("return_logprob", perItem("return_logprob", i)), integer("logprob_start_len", i, -1), integer("top_logprobs_num", i, 0),
                    tokenIdsLogprob(i), flag("return_text_in_logprobs"), flag("stream"), string("lora_path", i), string("extra_key", i));
        }

        private JsonNode sampling(int i) throws RejectedRequest {
            JsonNode params = body.path("sampling_params");
            if (!params.isArray()) {
                return params;
            }
            if (params.size() != prompts) {
                throw badValue("The length of sampling_params should be equal to the batch size.");
            }
            return params.get(i);
        }

        private Optional<String> rid(int i) throws RejectedRequest {
            JsonNode rid = body.path("rid");
            if (rid.isArray()) {
                if (rid.size() != prompts) {
                    throw badValue("The length of rids should be equal to the batch size.");
                }
                Set<String> seen = new HashSet<>();
                for (JsonNode one : rid) {
                    if (!one.isTextual()) {
                        throw badField("rid: a string or a list of strings is needed");
                    }
                    if (!seen.add(one.textValue())) {
                        throw badValue("Duplicate request IDs detected within the request: " + one.textValue());
                    }
                }
                return Optional.of(rid.get(i).textValue());
            }
            Optional<String> one = string("rid", i);
            return batch ? one.map(r -> r + "_" + i) : one;
        }

        private List<Integer> tokenIdsLogprob(int i) throws RejectedRequest {
            JsonNode ids = body.path("token_ids_logprob");
            if (batch && ids.isArray() && !ids.isEmpty() && !ids.get(0).isIntegralNumber()) {
                ids = perItem("token_ids_logprob", i);
            }
            if (ids.isMissingNode() || ids.isNull()) {
                return List.of();
            }
            if (!ids.isArray()) {
                throw badField("token_ids_logprob: a list of integers is needed");
            }
            List<Integer> all = new ArrayList<>();
            for (int id : ids(ids)) {
                all.add(id);
            }
            return all;
        }

        private static int[] ids(JsonNode list) throws RejectedRequest {
            int[] ids = new int[list.size()];
            for (int k = 0; k < ids.length; k++) {
                JsonNode id = list.get(k);
                if (!id.isIntegralNumber()) {
                    throw badField("input_ids." + k + ": an integer is needed");
                }
                if (!id.canConvertToInt()) {
                    throw badValue("The input_ids contain a value out of range: " + id.asText() + ".");
                }
                ids[k] = id.intValue();
            }
            return ids;
        }

        /** A field that may be one value for all or a list with one for each prompt. */
        private JsonNode perItem(String field, int i) throws RejectedRequest {
            JsonNode value = body.path(field);
            if (!value.isArray()) {
                return value;
            }
            if (value.size() != prompts) {
                // SGLang does not check the length of lora_path and fails with an IndexError there.
                throw field.equals("lora_path") && value.size() < prompts
                        ? new RejectedRequest(ErrorReply.uncaught("list lora_path is shorter than the batch"))
                        : badValue("The length of " + field + " should be equal to the batch size.");
            }
            return value.get(i);
        }

        private Optional<String> string(String field, int i) throws RejectedRequest {
            JsonNode value = perItem(field, i);
            if (value.isMissingNode() || value.isNull()) {
                return Optional.empty();
            }
            if (!value.isTextual()) {
                throw badField(field + ": a string is needed");
            }
            return value.textValue().isEmpty() ? Optional.empty() : Optional.of(value.textValue());
        }

        private int integer(String field, int i, int otherwise) throws RejectedRequest {
            JsonNode value = perItem(field, i);
            if (value.isMissingNode() || value.isNull()) {
                return otherwise;
            }
            if (!value.isIntegralNumber() || !value.canConvertToInt()) {
                throw badField(field + ": an integer is needed");
            }
            return value.intValue();
        }

        private boolean flag(String field) throws RejectedRequest {
            return flag(field, body.path(field));
        }

        private static boolean flag(String field, JsonNode value) throws RejectedRequest {
            if (value.isMissingNode() || value.isNull()) {
                return false;
            }
            if (!value.isBoolean()) {
                throw badField(field + ": true or false is needed");
            }
            return value.booleanValue();
        }

        /** Children have ids of the server's own: a client can't abort them by the rid it sent. */
        private static List<GenerateRequest> copies(List<GenerateRequest> items, int n) {
            List<GenerateRequest> all = new ArrayList<>();
            for (GenerateRequest item : items) {
                SamplingParams one = item.samplingParams().toBuilder().n(1).build();
                for (int k = 0; k < n; k++) {
                    all.add(new GenerateRequest(Optional.empty(), item.text(), item.inputIds(), one, item.returnLogprob(), item.logprobStartLen(),
                            item.topLogprobsNum(), item.tokenIdsLogprob(), item.returnTextInLogprobs(), item.stream(), item.loraPath(),
                            item.extraKey()));
                }
            }
            return all;
        }

        private static RejectedRequest badValue(String message) {
            return new RejectedRequest(ErrorReply.badValue(message));
        }

        private static RejectedRequest badField(String message) {
            return new RejectedRequest(ErrorReply.badField(message));
        }
    }
}
