package io.furlong.engine;

import com.fasterxml.jackson.databind.JsonNode;
import io.furlong.wire.AbortRequest;
import io.furlong.wire.PauseRequest;
import io.furlong.wire.RejectedRequest;
import io.furlong.wire.ErrorReply;
import io.furlong.wire.StatusReply;
import io.furlong.wire.WeightVersionRequest;
import io.furlong.wire.WireJson;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What steers a running engine: aborting, pausing, flushing, relabelling. */
final class ControlRoutes {
    private static final Logger LOG = LoggerFactory.getLogger(ControlRoutes.class);
    private static final double LONGEST_PATIENCE_SECONDS = 3600;

    private final Engine engine;
    private final AtomicReference<String> weightVersion;

    ControlRoutes(Engine engine, AtomicReference<String> weightVersion) {
        this.engine = engine;
        this.weightVersion = weightVersion;
    }

    /** Always 200, whatever it matched. */
    void abort(ServerRequest request, ServerResponse response) throws RejectedRequest {
        AbortRequest ask = WireJson.readBody(EngineServer.body(request), AbortRequest.class);
        if (ask.abortAll()) {
            engine.abortAll();
        } else if (ask.rid().isEmpty()) {
            LOG.warn("abort_request without rid and without abort_all is ignored");
        } else if (ask.prefix()) {
            engine.abortStartingWith(ask.rid());
        } else {
            engine.abort(ask.rid());
        }
        response.send();
    }

    void pause(ServerRequest request, ServerResponse response) throws RejectedRequest {
        engine.pause(WireJson.readBody(EngineServer.body(request), PauseRequest.class).mode());
        EngineServer.json(response, 200, WireJson.write(new StatusReply("Generation paused successfully.", "ok")));
    }

    void resume(ServerRequest request, ServerResponse response) throws RejectedRequest {
        JsonNode ignored = WireJson.readBody(EngineServer.body(request));
        engine.resume();
        EngineServer.json(response, 200, WireJson.write(new StatusReply("Generation continued successfully.", "ok")));
    }

    void flush(ServerRequest request, ServerResponse response) throws RejectedRequest, InterruptedException {
        double seconds = seconds(request.query().first("timeout").orElse("0"));
        boolean flushed = engine.flushCache(Duration.ofNanos((long) (seconds * 1e9)));
        EngineServer.text(response, flushed ? 200 : 400, flushed
                ? "Cache flushed.\nPlease check backend logs for more details. (When there are running or waiting requests, the operation will not be performed.)\n"
                : seconds > 0 ? "Timed out waiting for idle state.\n" : "Flush cache failed.\n");
    }

    void relabel(ServerRequest request, ServerResponse response) throws RejectedRequest {
        WeightVersionRequest ask = WireJson.readBody(EngineServer.body(request), WeightVersionRequest.class);
        if (ask.abortAllRequests().orElse(true)) {
            engine.abortAll();
        }
        weightVersion.set(ask.newVersion());
        EngineServer.json(response, 200, WireJson.write(new WeightVersionRequest.Reply(true, "Weight version updated to " + ask.newVersion(), ask.newVersion())));
    }

    private static double seconds(String text) throws RejectedRequest {
        try {
            double seconds = Double.parseDouble(text);
            if (seconds >= 0 && seconds <= LONGEST_PATIENCE_SECONDS) {
                return seconds;
            }
        } catch (NumberFormatException e) {
            // Answered below, as a number out of range is.
        }
        throw new RejectedRequest(ErrorReply.badField("timeout: seconds from 0 to " + (int) LONGEST_PATIENCE_SECONDS + " are needed, got '" + text + "'"));
    }
}
