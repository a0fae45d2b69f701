package io.furlong.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class OpenApiTest {
    @Test
    void the_document_says_what_the_server_does() throws Exception {
        try (Api api = new Api(2)) {
            JsonNode doc = api.get("/openapi.json").json();
            api.post("/adapter_runs", Api.body("a"));
            api.step("a", 0);
            JsonNode status = api.get("/adapter_runs/a").json();
            List<String> documented = names(doc.path("components").path("schemas").path("Status").path("properties"));
            assertThat(documented).containsAll(names(status));
            for (String path : names(doc.path("paths"))) {
                for (String method : names(doc.path("paths").path(path))) {
                    if (!method.equals("parameters") && !path.endsWith("/events")) {
                        Api.Answer answer = api.call(method.toUpperCase(java.util.Locale.ROOT), path.replace("{name}", "a"), new byte[0]);
                        assertThat(answer.text()).as(method + " " + path).doesNotContain("there is no such route");
                    }
                }
            }
        }
    }

    private static List<String> names(JsonNode object) {
        List<String> names = new ArrayList<>();
        object.fieldNames().forEachRemaining(names::add);
        return names;
    }
}
