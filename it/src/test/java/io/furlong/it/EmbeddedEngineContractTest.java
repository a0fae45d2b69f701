package io.furlong.it;

import io.furlong.engine.EngineOptions;
import io.furlong.engine.EngineServer;
import io.furlong.sglang.testing.EngineContract;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;

/** The embedded engine does what SGLang does. */
class EmbeddedEngineContractTest extends EngineContract {
    @Override
    protected Subject open() {
        EngineServer server = EngineServer.start(EngineOptions.builder(Fixtures.LLAMA).skipTokenizerInit(true).build());
        return new Subject() {
            @Override
            public URI url() {
                return URI.create("http://127.0.0.1:" + server.port());
            }

            @Override
            public List<Path> adapters() {
                return List.of(Fixtures.LLAMA_ALL_R4, Fixtures.LLAMA_QV_R2, Fixtures.LLAMA_PATTERNS);
            }

            @Override
            public int longRun() {
                return 500;
            }

            @Override
            public int context() {
                return 512;
            }

            @Override
            public void close() {
                server.close();
            }
        };
    }
}
