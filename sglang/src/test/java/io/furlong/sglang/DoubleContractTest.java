package io.furlong.sglang;

import io.furlong.sglang.testing.AdapterFiles;
import io.furlong.sglang.testing.EngineContract;
import io.furlong.sglang.testing.Quirks;
import io.furlong.sglang.testing.SglangDouble;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;

/** The stand-in does what SGLang does. */
class DoubleContractTest extends EngineContract {
    @TempDir
    static Path root;

    @Override
    protected Subject open() throws Exception {
        List<Path> adapters = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            adapters.add(root.resolve("adapter" + i));
            AdapterFiles.write(adapters.get(i), 4, 0.3, "salt" + i);
        }
        SglangDouble engine = new SglangDouble(Quirks.RELEASED.withTokenTime(1_000_000));
        return new Subject() {
            @Override
            public URI url() {
                return engine.url();
            }

            @Override
            public List<Path> adapters() {
                return adapters;
            }

            @Override
            public int longRun() {
                return 2_000;
            }

            @Override
            public int context() {
                return Quirks.RELEASED.contextLength();
            }

            @Override
            public void close() {
                engine.close();
            }
        };
    }
}
