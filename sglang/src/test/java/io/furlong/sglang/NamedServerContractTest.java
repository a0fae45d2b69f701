package io.furlong.sglang;

import io.furlong.sglang.testing.EngineContract;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** Any SGLang: {@code mvn test -pl sglang -am -Dfurlong.sglang.url=http://host:30000 -Dtest=NamedServerContractTest}. */
@EnabledIfSystemProperty(named = "furlong.sglang.url", matches = ".+", disabledReason = "no server is named by the system property furlong.sglang.url")
class NamedServerContractTest extends EngineContract {
    @Override
    protected Subject open() {
        return named().orElseThrow();
    }
}
