package io.furlong.server;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.furlong.control.AdapterRegistry;
import io.furlong.control.AdapterRegistry.Request;
import io.furlong.control.Desired;
import io.furlong.control.Names;
import io.furlong.control.RefusedException;
import io.furlong.control.Registration;
import io.furlong.control.Retirement;
import io.furlong.control.VersionRow;
import io.furlong.control.config.AdapterConfigJson;
import io.furlong.control.config.Fields;
import io.furlong.control.config.JsonBody;
import io.furlong.control.config.Source;
import io.furlong.core.AdapterConfig;
import io.furlong.core.LedgerSnapshot;
import io.furlong.server.Access.Caller;
import io.helidon.http.HeaderNames;
import io.helidon.webserver.http.HttpRules;
import io.helidon.webserver.http.HttpService;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** Everything under {@code /adapter_runs}: list, look at, register, change, roll back, fork, end. */
final class AdapterRoutes implements HttpService {
    private static final int LIST_LIMIT = 1000;

    private final AdapterRegistry registry;
    private final ServerOptions options;
    private final Access access;
    private final EntityTags tags;

    AdapterRoutes(AdapterRegistry registry, ServerOptions options, Access access, EntityTags tags) {
        this.registry = registry;
        this.options = options;
        this.access = access;
        this.tags = tags;
    }

    @Override
    public void routing(HttpRules rules) {
        rules.get("/", this::list)
                .post("/", this::register)
                .get("/state", this::states)
                .get("/{name}", this::show)
                .patch("/{name}", this::patch)
                .delete("/{name}", this::retire)
                .post("/{name}/rollback", this::rollback)
                .post("/{name}/fork", this::fork)
                .get("/{name}/checkpoints", this::checkpoints)
                .get("/{name}/metrics", this::metrics);
    }

    private void list(ServerRequest request, ServerResponse response) {
        Caller caller = access.caller(request.headers());
        Query query = new Query(request, "limit", "before", "phase", "state", "tenant", "ended");
        int limit = (int) query.number("limit", LIST_LIMIT, 1, 10_000);
        long before = query.number("before", Long.MAX_VALUE, 1, Long.MAX_VALUE);
        String ended = query.choice("ended", "include", "include", "exclude", "only");
        Optional<String> tenant = caller.only().or(() -> query.text("tenant"));
        if (tags.unchanged(request, response)) {
            return;
        }
        List<Registration> page = new ArrayList<>();
        if (!ended.equals("only") && before == Long.MAX_VALUE) {
            registry.live().stream().filter(r -> tenant.map(r.tenant()::equals).orElse(true)).limit(limit).forEach(page::add);
        }
        OptionalLong next = OptionalLong.empty();
        int room = limit - page.size();
        if (!ended.equals("exclude") && room > 0) {
            List<Registration> past = registry.store().ended(tenant, before, room);
            past.reversed().forEach(page::add);
            if (past.size() == room) {
                next = OptionalLong.of(past.getLast().ordinal());
            }
        }
        page.sort(java.util.Comparator.comparingLong(Registration::ordinal));
        List<ObjectNode> shown = page.stream()
                .filter(r -> query.text("phase").map(r.state().name()::equalsIgnoreCase).orElse(true))
                .filter(r -> query.text("state").map(AdapterJson.state(r.state())::equalsIgnoreCase).orElse(true))
                .map(AdapterJson::status).toList();
        ObjectNode answer = Json.object();
        answer.set("adapters", AdapterJson.array(shown));
        next.ifPresent(n -> answer.put("next_before", n));
        Json.send(response, 200, answer);
    }

    private void states(ServerRequest request, ServerResponse response) {
        Caller caller = access.caller(request.headers());
        Query query = new Query(request, "names");
        if (tags.unchanged(request, response)) {
            return;
        }
        ObjectNode answer = Json.object();
        ObjectNode states = answer.putObject("states");
        for (String name : query.all("names")) {
            Optional<Registration> found = registry.find(name).filter(caller::sees);
            states.put(name, found.map(r -> AdapterJson.state(r.state())).orElse(null));
        }
        Json.send(response, 200, answer);
    }

    private void show(ServerRequest request, ServerResponse response) {
        Registration r = named(request, access.caller(request.headers()));
        if (!tags.unchanged(request, response)) {
            Json.send(response, 200, AdapterJson.whole(r));
        }
    }

    private void register(ServerRequest request, ServerResponse response) throws RefusedException {
        Caller caller = access.caller(request.headers());
        boolean validateOnly = new Query(request, "validate_only").choice("validate_only", "false", "false", "true").equals("true");
        ObjectNode body = Json.body(request, options.maxBody());
        Fields f = fields(body);
        Optional<String> name = f.text("name");
        if (!f.has("name")) {
            f.problem("name", "is missing, must be the adapter's name");
        }
        Optional<String> yaml = f.text("yaml_path");
        boolean config = f.node("config").isPresent();
        if (config == f.has("yaml_path")) {
            f.problem("config", "exactly one of config and yaml_path must be given");
        }
        Request.WhenFull whenFull = f.choice("when_full", Request.WhenFull.REFUSE);
        f.finish();
        String wanted = named(name);
        AdapterConfig read = config ? options.reader().readBody(wanted, body.get("config"), options.base())
                : options.reader().readFile(wanted, yamlPath(yaml.orElseThrow(() -> new ApiException(400, "yaml_path: must be text"))));
        register(caller, request, body, new Request(caller.tenant(), wanted, read, whenFull), validateOnly, response);
    }

    private void register(Caller caller, ServerRequest request, JsonNode body, Request wanted, boolean validateOnly, ServerResponse response)
            throws RefusedException {
        if (validateOnly) {
            registry.validate(wanted);
            ObjectNode valid = Json.object().put("valid", true).put("name", wanted.name());
            valid.set("config", AdapterConfigJson.write(wanted.config()));
            Json.send(response, 200, valid);
            return;
        }
        Optional<String> key = request.headers().first(HeaderNames.create("Idempotency-Key")).filter(k -> !k.isBlank());
        if (key.filter(k -> k.length() > 200).isPresent()) {
            throw new ApiException(400, "Idempotency-Key: must be at most 200 characters");
        }
        String digest = Access.sha256(request.path().path() + "\n" + body);
        Request once = new Request(caller.tenant(), wanted.name(), wanted.config(), wanted.whenFull(), key.map(k -> new Request.OnceKey(k, digest)));
        Registration made = registry.register(once);
        Json.send(response, 200, AdapterJson.registered(made));
    }

    /** A name that an adapter can have, before anything is derived from it. */
    private static String named(Optional<String> name) {
        String given = name.orElseThrow(() -> new ApiException(400, "name: must be text"));
        Names.problem(given).ifPresent(problem -> {
            throw new ApiException(400, problem);
        });
        return given;
    }

    private Path yamlPath(String text) {
        Path path = path("yaml_path", text);
        options.roots().refusal(path).ifPresent(accepted -> {
            throw new ApiException(400, "yaml_path: got '" + text + "', must be " + accepted);
        });
        return path;
    }

    private Path path(String key, String text) {
        try {
            return options.base().resolve(text);
        } catch (java.nio.file.InvalidPathException e) {
            throw new ApiException(400, key + ": is not a path: " + e.getReason());
        }
    }

    private void patch(ServerRequest request, ServerResponse response) throws RefusedException {
        Registration r = named(request, access.caller(request.headers()));
        Fields f = fields(Json.body(request, options.maxBody()));
        Optional<Desired.Patch.Run> run = f.node("paused").isEmpty() ? Optional.empty()
                : Optional.of(f.flag("paused", Desired.Patch.Run.PAUSED, Desired.Patch.Run.RUNNING, Desired.Patch.Run.RUNNING));
        Desired.Patch patch = new Desired.Patch(f.number("lr"), f.integer("num_step"),
                f.number("weight"), f.integer("max_staleness"), run);
        f.finish();
        Json.send(response, 200, AdapterJson.whole(registry.patch(r.name(), patch, () -> tags.matches(request))));
    }

    private void retire(ServerRequest request, ServerResponse response) throws RefusedException {
        Registration r = named(request, access.caller(request.headers()));
        String mode = new Query(request, "mode").choice("mode", "drain", "drain", "now");
        Registration after = r.state().terminal() ? r
                : registry.retire(r.name(), mode.equals("now") ? Retirement.Mode.NOW : Retirement.Mode.DRAIN, Retirement.Cause.USER, "");
        ObjectNode answer = Json.object().put("status", "ok").put("name", r.name()).put("phase", after.state().name());
        answer.put("registration_id", after.id().hex()).put("changed", !after.equals(r));
        Json.send(response, 200, answer);
    }

    private void rollback(ServerRequest request, ServerResponse response) throws RefusedException {
        Registration r = named(request, access.caller(request.headers()));
        Fields f = fields(Json.body(request, options.maxBody()));
        OptionalLong version = version(f, r);
        f.finish();
        long wanted = version.orElseThrow(() -> new ApiException(400, "version: exactly one of version and step must be given"));
        Json.send(response, 200, AdapterJson.whole(registry.rollback(r.name(), wanted)));
    }

    /** The version meant by {@code version} or {@code step}; empty when neither is given. */
    private OptionalLong version(Fields f, Registration r) {
        OptionalLong version = f.integer64("version");
        OptionalLong step = f.integer64("step");
        if (f.has("version") && f.has("step")) {
            f.problem("step", "is given beside version, must be one of the two");
            return OptionalLong.empty();
        }
        if (step.isEmpty()) {
            return version;
        }
        Optional<VersionRow> found = registry.store().versions(r.id()).reversed().stream()
                .filter(v -> v.commit().stamp().step() == step.getAsLong() && v.state() != VersionRow.State.REMOVED).findFirst();
        if (found.isEmpty()) {
            f.problem("step", "adapter '" + r.name() + "' has no committed version of step " + step.getAsLong());
            return OptionalLong.empty();
        }
        return OptionalLong.of(found.get().commit().stamp().version());
    }

    private void fork(ServerRequest request, ServerResponse response) throws RefusedException {
        Caller caller = access.caller(request.headers());
        Registration source = named(request, caller);
        ObjectNode body = Json.body(request, options.maxBody());
        Fields f = fields(body);
        Optional<String> name = f.text("name");
        if (!f.has("name")) {
            f.problem("name", "is missing, must be the new adapter's name");
        }
        OptionalLong version = version(f, source);
        Request.WhenFull whenFull = f.choice("when_full", Request.WhenFull.REFUSE);
        boolean overridden = f.node("config").isPresent();
        f.finish();
        VersionRow from = (version.isPresent() ? registry.store().version(source.id(), version.getAsLong()) : registry.store().lastVersion(source.id()))
                .filter(v -> v.state() != VersionRow.State.REMOVED)
                .orElseThrow(() -> new ApiException(400, "version: adapter '" + source.name() + "' has no such committed version to start from"));
        ObjectNode config = AdapterConfigJson.write(source.config());
        config.remove("save");
        config.remove("init_from");
        if (overridden) {
            if (!(body.get("config") instanceof ObjectNode own)) {
                throw new ApiException(400, "config: must be an object");
            }
            config.setAll(own);
        }
        config.set("init_from", Json.object().put("adapter", source.name()).put("registration", source.id().hex())
                .put("version", from.commit().stamp().version()));
        String wanted = named(name);
        AdapterConfig read = options.reader().readBody(wanted, config, options.base());
        register(caller, request, body, new Request(caller.tenant(), wanted, read, whenFull), false, response);
    }

    private void checkpoints(ServerRequest request, ServerResponse response) {
        Registration r = named(request, access.caller(request.headers()));
        if (tags.unchanged(request, response)) {
            return;
        }
        ObjectNode answer = Json.object().put("name", r.name()).put("registration_id", r.id().hex());
        answer.set("checkpoints", AdapterJson.array(registry.store().versions(r.id()).stream().map(AdapterJson::version).toList()));
        Json.send(response, 200, answer);
    }

    private void metrics(ServerRequest request, ServerResponse response) {
        Registration r = named(request, access.caller(request.headers()));
        long after = new Query(request, "after_step").number("after_step", Long.MIN_VALUE, Long.MIN_VALUE, Long.MAX_VALUE);
        ObjectNode answer = Json.object().put("name", r.name()).put("registration_id", r.id().hex()).put("step", r.progress().step());
        LedgerSnapshot ledger = options.ledgers().ledger(r.id())
                .or(() -> registry.last(r.id()).map(io.furlong.core.StepCommit::ledger)).orElse(LedgerSnapshot.EMPTY);
        answer.set("groups", AdapterJson.ledger(ledger));
        answer.set("latest", Json.tree(finite(options.figures().newest(r.name()))));
        answer.set("rows", AdapterJson.array(options.figures().rows(r.name(), after).stream().map(row -> {
            ObjectNode o = Json.object().put("step", row.step());
            o.set("values", Json.tree(finite(row.values())));
            return o;
        }).toList()));
        Json.send(response, 200, answer);
    }

    /** JSON has no NaN: such figures are left out. */
    private static Map<String, Double> finite(Map<String, Double> values) {
        Map<String, Double> m = new HashMap<>(values);
        m.values().removeIf(v -> !Double.isFinite(v));
        return m;
    }

    private Fields fields(JsonNode body) {
        return Fields.of(JsonBody.of(body, new Source.Body("", options.base())));
    }

    private Registration named(ServerRequest request, Caller caller) {
        String name = request.path().pathParameters().get("name");
        return registry.find(name).filter(caller::sees).orElseThrow(() -> new ApiException(404, "Adapter '" + name + "' not registered"));
    }
}
