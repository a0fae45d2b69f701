package io.furlong.torch.tokenizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ChatTemplateTest {
    private static final List<Map<String, Object>> MESSAGES =
            List.of(Map.of("role", "system", "content", " Be brief. "), Map.of("role", "user", "content", "1 < 2?"));

    @Test
    void aChatMlTemplateRendersAsTransformersDoes() {
        String template = """
                {%- if messages[0]['role'] == 'system' -%}
                    {%- set system = messages[0]['content'] | trim -%}
                    {%- set rest = messages[1:] -%}
                {%- else -%}
                    {%- set system = '' -%}
                    {%- set rest = messages -%}
                {%- endif -%}
                {{- '<|im_start|>system\\n' + system + '<|im_end|>\\n' -}}
                {% for message in rest %}
                    {% if not message.content.startswith('/') and message['content'] is string %}
                        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' -}}
                    {% endif %}
                {% endfor %}
                {% if add_generation_prompt %}
                    {{- '<|im_start|>assistant\\n' -}}
                {% endif %}
                """;
        assertThat(render(template)).isEqualTo(
                "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n1 < 2?<|im_end|>\n<|im_start|>assistant\n");
    }

    @Test
    void blocksLeaveNoLinesBehind() {
        assertThat(render("{% for m in messages %}\n    {% if m.role == 'user' %}\n{{ m.content }}\n    {% endif %}\n{% endfor %}\nend"))
                .isEqualTo("1 < 2?\nend");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '§', quoteCharacter = '"', textBlock = """
            {{ 'abc'.startswith('ab') }}              § true
            {{ 'abc'.endswith('ab') }}                § false
            {{ ' a b '.strip() }}                     § a b
            {{ 'xxaxx'.strip('x') }}                  § a
            {{ 'xxa'.lstrip('x') }}                   § a
            {{ 'a\\n\\n'.rstrip('\\n') }}             § a
            {{ 'aB'.upper() }}{{ 'aB'.lower() }}      § ABab
            {{ 'the end'.title() }}                   § The End
            {{ 'a-b-c'.replace('-', '+') }}           § a+b+c
            {{ 'a</think>b'.split('</think>')[-1] }}  § b
            {{ 'a.b'.split('.')[0] }}                 § a
            {{ {'a': [1, 2], 'b': '<'} | tojson }}    § {"a": [1, 2], "b": "<"}
            {{ messages | length }}                   § 2
            {{ messages[-1].content }}                § 1 < 2?
            {% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }} § 2
            {% for m in messages %}{{ loop.index0 }}{{ ',' if not loop.last }}{% endfor %} § 0,1
            {% if tools is defined and tools %}t{% else %}none{% endif %} § none
            {% macro say(x) %}<{{ x }}>{% endmacro %}{{ say('a') }} § <a>
            """)
    void pythonAndJinjaInTemplatesWork(String template, String expected) {
        assertThat(render(template)).isEqualTo(expected);
    }

    @Test
    void whiteSpaceIsJinjas() {
        assertThat(render("a\n  {% if true %}\n  b\n  {% endif %}\nc")).isEqualTo("a\n  b\nc");
        assertThat(render("a\n  {%- if true -%}\n  b\n  {%- endif -%}\nc")).isEqualTo("abc");
        assertThat(render("  {% if true %}\n  {% if true %}\nb{% endif %}{% endif %}")).isEqualTo("b");
        assertThat(render("a {% if true %} b{% endif %} c")).isEqualTo("a  b c");
        assertThat(render("a {# note #} b\n  {# note #}\nc")).isEqualTo("a  b\nc");
        assertThat(render("{{ 'x' -}} \n {{- '%}' }}{{ \"}}\" }}")).isEqualTo("x%}}}");
        assertThat(render("a\n  {%+ if true %}b{% endif %}")).isEqualTo("a\n  b");
        assertThat(render("{{ 'a' }}\n b\n")).isEqualTo("a\n b");
        assertThat(render("{% raw %}{{- x -}}{% endraw %}")).isEqualTo("{{- x -}}");
        assertThat(render("{{ {'a': {'b': 1}}['a']['b'] }}")).isEqualTo("1");
    }

    @Test
    void jsonWithAnIndentIsPythons() {
        assertThat(render("{{ {'a': [1]} | tojson(indent=2) }}")).isEqualTo("{\n  \"a\": [\n    1\n  ]\n}");
    }

    @Test
    void textThatLooksLikeJinjaInAMessageIsNotRun() {
        String rendered = new ChatTemplate("t", "{{ messages[0].content }}", new SpecialTokens(Map.of()))
                .render(List.of(Map.of("role", "user", "content", "{{ 1 + 1 }}{% raw %}")));
        assertThat(rendered).isEqualTo("{{ 1 + 1 }}{% raw %}");
    }

    @Test
    void aTemplateThatRefusesIsOneLineWithItsReason() {
        assertThatThrownBy(() -> render("{% if messages[0].role == 'system' %}{{ raise_exception('no system messages') }}{% endif %}"))
                .isInstanceOf(TokenizerException.class).hasMessageContaining("models/x: chat_template")
                .hasMessageContaining("refuses these messages: no system messages").hasMessageNotContaining("\n");
    }

    @Test
    void aTemplateThatCannotBeRenderedIsOneLine() {
        assertThatThrownBy(() -> render("a\n{% for m in messages %}{{ m.content }}")).hasMessageContaining("models/x: chat_template")
                .hasMessageNotContaining("\n");
        assertThatThrownBy(() -> render("{{ messages[0].content.nosuchmethod() }}")).isInstanceOf(TokenizerException.class)
                .hasMessageNotContaining("\n");
        assertThatThrownBy(() -> render("{{ 'a' | nosuchfilter }}")).isInstanceOf(TokenizerException.class).hasMessageNotContaining("\n");
    }

    private static String render(String template) {
        return new ChatTemplate("models/x: chat_template", template, new SpecialTokens(Map.of("bos_token", "<s>"))).render(MESSAGES);
    }
}
