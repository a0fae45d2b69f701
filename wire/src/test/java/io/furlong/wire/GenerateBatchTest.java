package io.furlong.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GenerateBatchTest {
    @Test
    void aSinglePromptOfIdsIsOneRequestWithDefaults() throws Exception {
        GenerateBatch batch = read("{'input_ids':[1,2,3],'rid':'a','lora_path':'','extra_key':'k','unknown':1}");
        assertThat(batch.array()).isFalse();
        assertThat(batch.requests()).singleElement().satisfies(r -> {
            assertThat(r.inputIds().orElseThrow()).containsExactly(1, 2, 3);
            assertThat(r.rid()).contains("a");
            assertThat(r.loraPath()).isEmpty();
            assertThat(r.extraKey()).contains("k");
            assertThat(r.samplingParams()).isEqualTo(SamplingParams.DEFAULT);
        });
    }

    @Test
    void whatAClientWritesIsWhatTheServerReads() throws Exception {
        SamplingParams params = SamplingParams.builder().temperature(0.7).maxNewTokens(5).samplingSeed(9).stop(List.of("x")).build();
        GenerateRequest sent = GenerateRequest.ofText("hi", params).withRid("r").withAdapter("a").withExtraKey("e").withLogprobs(0, 2, List.of(4));
        GenerateBatch batch = GenerateBatch.read(WireJson.mapper().readTree(WireJson.write(sent)));
        assertThat(batch.requests()).containsExactly(sent);
    }

    @Test
    void textWinsOverIdsAndAListIsABatchWithNumberedRids() throws Exception {
        GenerateBatch batch = read("{'text':['a','b'],'input_ids':[1],'rid':'r','lora_path':['x',null],'sampling_params':{'max_new_tokens':null}}");
        assertThat(batch.array()).isTrue();
        assertThat(batch.requests()).extracting(r -> r.rid().orElseThrow()).containsExactly("r_0", "r_1");
        assertThat(batch.requests()).extracting(GenerateRequest::loraPath).containsExactly(Optional.of("x"), Optional.empty());
        assertThat(batch.requests()).allSatisfy(r -> assertThat(r.samplingParams().maxNewTokens()).isEmpty());
    }

    @Test
    void severalSamplesAreAdjacentCopiesWithoutTheClientsRid() throws Exception {
        GenerateBatch batch = read("{'input_ids':[[1],[2]],'rid':'r','sampling_params':{'n':2}}");
        assertThat(batch.array()).isTrue();
        assertThat(batch.requests()).extracting(r -> r.inputIds().orElseThrow()[0]).containsExactly(1, 1, 2, 2);
        assertThat(batch.requests()).allSatisfy(r -> assertThat(r.rid()).isEmpty());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            {}                                                          | 400 | Either text, input_ids or input_embeds should be provided.
            {'input_ids':[1,'x']}                                       | 400 | an integer is needed
            {'input_ids':[1],'stream':'yes'}                            | 400 | stream: true or false is needed
            {'input_ids':[1],'return_logprob':'yes'}                    | 400 | return_logprob: true or false is needed
            {'input_ids':[[1],[2]],'rid':['a','a']}                     | 400 | Duplicate request IDs detected within the request
            {'input_ids':[[1],[2]],'lora_path':['a']}                   | 500 | shorter than the batch
            {'input_ids':[[1],[2]],'extra_key':['a']}                   | 400 | equal to the batch size
            {'input_ids':[1],'sampling_params':{'temprature':1}}        | 500 | temprature
            {'input_ids':[1],'sampling_params':{'top_k':'1'}}           | 500 | top_k
            {'input_ids':[1],'sampling_params':{'top_k':0}}             | 400 | top_k must be
            {'input_ids':[1],'sampling_params':{'temperature':-1}}      | 400 | temperature must be
            {'input_ids':[1],'sampling_params':{'top_p':0}}             | 400 | top_p must be
            {'input_ids':[1],'sampling_params':{'min_p':1.5}}           | 400 | min_p must be
            {'input_ids':[1],'sampling_params':{'repetition_penalty':0}}| 400 | repetition_penalty must be
            {'input_ids':[1],'sampling_params':{'presence_penalty':3}}  | 400 | presence_penalty must be
            {'input_ids':[1],'sampling_params':{'min_new_tokens':200}}  | 400 | min_new_tokens must be in [0, max_new_tokens(128)]
            {'input_ids':[1],'sampling_params':{'regex':'a*'}}          | 400 | regex is not supported
            {'input_ids':[1],'sampling_params':{'json_schema':'{}'}}    | 400 | json_schema is not supported
            {'input_ids':[1],'sampling_params':{'n':2000000000}}        | 400 | at most 4096
            {'input_ids':[1],'image_data':'x'}                          | 400 | image_data is not supported
            {'input_ids':[[1],[2]],'sampling_params':[{'n':1},{'n':2}]} | 400 | should be the same
            """)
    void aWrongBodyIsAnsweredAsSglangDoes(String body, int status, String message) {
        RejectedRequest e = catchThrowableOfType(RejectedRequest.class, () -> read(body));
        assertThat(e.reply().status()).isEqualTo(status);
        assertThat(e.reply().message()).contains(message);
        assertThat(e.reply().body().equals(ErrorReply.UNCAUGHT)).isEqualTo(status == 500);
    }

    @Test
    void literalsThatAreNoJsonAreRefused() {
        assertThat(catchThrowableOfType(RejectedRequest.class, () -> read("{'input_ids':[1],'sampling_params':{'temperature':NaN}}")).reply().status())
                .isEqualTo(400);
    }

    private static GenerateBatch read(String json) throws RejectedRequest {
        return GenerateBatch.read(WireJson.readBody(json.replace('\'', '"').getBytes(StandardCharsets.UTF_8)));
    }
}
