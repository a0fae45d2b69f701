package io.furlong.sglang;

import io.furlong.wire.GenerateResponse;
import java.time.Duration;

/** One {@code /generate}: sent when it is awaited, and cancelled, if need be, by any other thread. */
final class GenerateCall {
    private final SglangClient client;
    private final Http.Exchange exchange;

    GenerateCall(SglangClient client, Http.Exchange exchange) {
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
