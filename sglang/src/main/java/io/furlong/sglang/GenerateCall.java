package io.furlong.sglang;

import io.furlong.wire.GenerateResponse;
import java.time.Duration;

/** One {@code /generate} that is out: awaited by the thread that sent it, and cancelled, if need be, by any other. */
final class GenerateCall {
    private final SglangClient client;
    private final Http.Exchange<byte[]> exchange;

    GenerateCall(SglangClient client, Http.Exchange<byte[]> exchange) {
        this.client = client;
        this.exchange = exchange;
    }

    GenerateResponse await(Duration deadline) throws EngineException, InterruptedException {
        return client.read(exchange.await(deadline), GenerateResponse.class);
    }

    /** Closes the connection; the waiting thread gets {@link EngineException.Kind#CANCELLED}. */
    void cancel() {
        exchange.cancel();
    }
}
