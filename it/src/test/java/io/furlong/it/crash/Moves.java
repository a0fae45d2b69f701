package io.furlong.it.crash;

import io.furlong.cli.run.RunObserver;
import io.furlong.control.Change;
import io.furlong.control.Store;
import io.furlong.core.Adapter;
import io.furlong.core.PolicyStamp;
import io.furlong.core.RegistrationId;
import io.furlong.core.RegistrySnapshot;
import io.furlong.core.TrainBatch;
import io.furlong.it.crash.Move.Point;
import io.furlong.train.checkpoint.DiskObserver;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * All that a run does to disk, store, engine and snapshot, as one sequence.
 *
 * <p>The consumer is called by one thread at a time, and never while a transaction is half done.
 */
final class Moves implements RunObserver {
    /** What a registration's name on the engines is after. */
    static final String ENGINE = "engine";
    static final String STEP = "step";
    static final String NUMBER = "number";
    static final String IN_FORCE = "in force";
    private static final Pattern VERSION = Pattern.compile("(?:\\.unfinished-)?([^/.]+)\\.[0-9a-f]{12}@v(\\d+)-[0-9a-f]{12}(?:/(.*))?$");

    private final BiConsumer<Move, Path> consumer;
    private final Consumer<Sampled> samples;
    /** Guarded by this. */
    private final Map<RegistrationId, Long> shown = new HashMap<>();

    /** @param consumer gets each move with the path that it is about; the root where it is about none */
    Moves(BiConsumer<Move, Path> consumer) {
        this(consumer, sample -> { });
    }

    /** @param samples gets each sample that is about to be trained */
    Moves(BiConsumer<Move, Path> consumer, Consumer<Sampled> samples) {
        this.consumer = consumer;
        this.samples = samples;
    }

    private synchronized void tell(Move move, Path path) {
        consumer.accept(move, path);
    }

    private void tell(Move move) {
        tell(move, Path.of("/"));
    }

    @Override
    public DiskObserver disk() {
        return (move, path) -> {
            Matcher m = VERSION.matcher(path.toString());
            Point point = Point.valueOf(move.name());
            tell(m.find() ? new Move(point, m.group(3) == null ? "directory" : m.group(3), m.group(1), Long.parseLong(m.group(2)), 0, "")
                    : Move.about(point, "parent", ""), path);
        };
    }

    @Override
    public Store store(Store store) {
        return (Store) Proxy.newProxyInstance(Store.class.getClassLoader(), new Class<?>[] {Store.class}, (proxy, method, args) ->
                method.getName().equals("write") ? write(store, method, (Change) args[0]) : call(store, method, args));
    }

    private synchronized Object write(Store store, Method method, Change change) throws Throwable {
        long given = store.find(change.registration().id()).map(r -> r.progress().lastVersion()).orElse(0L);
        tell(inStore(Point.COMMITTING, change, given));
        Object result = call(store, method, change);
        tell(inStore(Point.COMMITTED, change, given));
        if (change instanceof Change.InForce f) {
            tell(at(Point.FLIPPING, "snapshot", f.registration().name(), f.stamp()));
        }
        return result;
    }

    private static Object call(Store store, Method method, Object... args) throws Throwable {
        try {
            return method.invoke(store, args);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private static Move inStore(Point point, Change change, long given) {
        String adapter = change.registration().name();
        return switch (change) {
            case Change.Committed c -> at(point, STEP, adapter, c.commit().stamp());
            case Change.InForce f -> at(point, IN_FORCE, adapter, f.stamp());
            case Change.Registered r -> Move.about(point, "registered", adapter);
            case Change.Removed r -> Move.about(point, "removed", adapter);
            case Change.Moved m when m.registration().progress().lastVersion() > given ->
                    new Move(point, NUMBER, adapter, m.registration().progress().lastVersion(), 0, "");
            case Change.Moved m -> Move.about(point, m.events().isEmpty() ? "rows" : m.registration().state().name().toLowerCase(Locale.ROOT), adapter);
        };
    }

    private static Move at(Point point, String to, String adapter, PolicyStamp stamp) {
        return new Move(point, to, adapter, stamp.version(), stamp.step(), stamp.digest());
    }

    @Override
    public void publishing(PublishMove move, PolicyStamp stamp) {
        String name = stamp.servedName();
        tell(at(Point.valueOf(move.name()), ENGINE, name.substring(0, name.indexOf('.')), stamp));
    }

    @Override
    public synchronized void training(TrainBatch batch) {
        batch.groups().forEach(g -> g.samples().forEach(s -> samples.accept(Sampled.of(g, s))));
    }

    /** To be subscribed to the registry. */
    synchronized void flipped(RegistrySnapshot snapshot) {
        for (Adapter a : snapshot.all()) {
            a.inForce().ifPresent(stamp -> {
                Long before = shown.put(stamp.registration(), stamp.version());
                if (before == null || before != stamp.version()) {
                    tell(at(Point.FLIPPED, "snapshot", a.name(), stamp));
                }
            });
        }
    }
}
