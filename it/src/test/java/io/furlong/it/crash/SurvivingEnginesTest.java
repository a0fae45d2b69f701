package io.furlong.it.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.furlong.control.Store;
import io.furlong.control.VersionRow;
import io.furlong.control.store.Stores;
import io.furlong.core.PolicyStamp;
import io.furlong.it.crash.Front.Call;
import io.furlong.it.crash.Move.Point;
import io.furlong.sglang.Http;
import io.furlong.sglang.SglangClient;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The controller dies again and again while two engines live on, with all that they hold and all that they were asked. What the engines say
 * they served is what the trained samples are stamped with; no step is lost or doubled, no row trained twice; a version that was prepared
 * comes to them again as what it was.
 */
@Timeout(3600)
class SurvivingEnginesTest {
    private static final Map<String, Integer> STEPS = Map.of("sort", 5, "upper", 6);
    private static final int LINES = 90;

    @TempDir
    Path directory;

    /** How a controller ends. */
    private sealed interface Death {
        /** At the first move of this kind. */
        record At(String kind) implements Death {}

        /** With the first such call to an engine: before the engine hears of it, or before the controller hears that it is done. */
        record With(Call call, Side side) implements Death {}

        /** After so many lines of its output. */
        record After(int lines) implements Death {}

        record Never() implements Death {}
    }

    private enum Side { BEFORE, AFTER }

    @Test
    void whatSurvivingEnginesServeIsWhatIsTrainedWhereverTheControllerDies() throws Exception {
        Random random = new Random(3);
        List<Death> deaths = new ArrayList<>(List.of(new Death.At("COMMITTED step"), new Death.With(Call.LOAD, Side.AFTER), new Death.With(Call.CANARY, Side.AFTER),
                new Death.At("COMMITTED in force"), new Death.At("FLIPPED snapshot")));
        Stream.generate(() -> new Death.After(random.nextInt(LINES))).limit(8).forEach(deaths::add);
        survive("few", deaths);
    }

    @Test
    @Tag("slow")
    void whatSurvivingEnginesServeIsWhatIsTrainedWhereverAndHoweverOftenTheControllerDies() throws Exception {
        Random random = new Random(4);
        List<Death> deaths = new ArrayList<>();
        for (String kind : List.of("COMMITTING number", "COMMITTED number", "WRITTEN adapter_model.safetensors", "SYNCED directory", "RENAMING directory", "RENAMED directory",
                "SYNCED parent", "COMMITTING step", "COMMITTED step", "COMMITTING in force", "COMMITTED in force", "FLIPPED snapshot")) {
            deaths.add(new Death.At(kind));
        }
        for (Call call : List.of(Call.LOAD, Call.CANARY)) {
            for (Side side : Side.values()) {
                deaths.add(new Death.With(call, side));
            }
        }
        Stream.generate(() -> new Death.After(random.nextInt(LINES))).limit(24).forEach(deaths::add);
        for (int run = 0; !deaths.isEmpty(); run++) {
            int died = survive("run-" + run, deaths);
            deaths.subList(0, died).clear();
        }
    }

    /** One run until its end. @return how many of the deaths it died, in order */
    private int survive(String name, List<Death> deaths) throws Exception {
        Life[] now = {new Life()};
        try (Engines engines = Engines.start(Launcher.shared(), 2, new ByCall(now))) {
            SmallRun world = SmallRun.asynchronous(directory.resolve(name), STEPS, engines.url()).write();
            Lifetimes lives = new Lifetimes(world);
            List<List<String>> said = new ArrayList<>();
            List<String> names = new ArrayList<>();
            int died = 0;
            while (!lives.mayBeOver() || !world.isOver()) {
                Life life = new Life();
                life.death = died < deaths.size() ? deaths.get(died) : new Death.Never();
                now[0] = life;
                life.run(Launcher.shared(), world);
                died += life.killed ? 1 : 0;
                said.add(life.said);
                names.addAll(life.names);
                lives.add(Stream.concat(life.loads.stream(), life.moves.stream()).toList());
            }
            lives.check();
            eachVersionHasOneName(world, names);
            servedIsWhatIsTrained(world, said, engines.served());
            nothingPilesUp(engines.urls());
            return died;
        }
    }

    private static final class Life {
        private volatile Death death = new Death.Never();
        private volatile Optional<ChildProcess> process = Optional.empty();
        private final ConcurrentLinkedQueue<Move> loads = new ConcurrentLinkedQueue<>();
        private final ConcurrentLinkedQueue<String> names = new ConcurrentLinkedQueue<>();
        private List<String> said = List.of();
        private List<Move> moves = List.of();
        private boolean killed;

        void run(Launcher launcher, SmallRun world) throws IOException, InterruptedException {
            String file = world.file().toString();
            ChildProcess child = launcher.start(RunProcess.class, world.directory().getFileName().toString(), death instanceof Death.At(String kind) ? new String[] {file, kind} : new String[] {file});
            process = Optional.of(child);
            if (death instanceof Death.After(int lines)) {
                int left = lines;
                while (left > 0 && child.reads(line -> true)) {
                    left--;
                }
                if (left == 0) {
                    child.die();
                }
            }
            killed = !child.ends();
            said = child.said();
            moves = child.moves();
        }
    }

    /** Notes loads, and kills at a call where that is the death to die. */
    private record ByCall(Life[] now) implements Front.Watcher {
        @Override
        public void before(Call call, String name) throws IOException {
            if (call == Call.LOAD) {
                now[0].loads.add(loading(name));
                now[0].names.add(name);
            }
            die(call, Side.BEFORE);
        }

        @Override
        public void after(Call call, String name) throws IOException {
            die(call, Side.AFTER);
        }

        private void die(Call call, Side side) throws IOException {
            if (now[0].death.equals(new Death.With(call, side)) && now[0].process.isPresent()) {
                now[0].process.get().die();
                throw new IOException("the controller is dead");
            }
        }

        private static Move loading(String name) {
            return new Move(Point.LOADING, Moves.ENGINE, name.substring(0, name.indexOf('.')), Long.parseLong(name.replaceAll(".*@v(\\d+)-.*", "$1")), 0, "");
        }
    }

    /** However often it was pushed: the name says the version's number and the digest of its weights. */
    private static void eachVersionHasOneName(SmallRun world, List<String> pushed) {
        try (Store store = Stores.open(world.store().toString())) {
            for (String adapter : world.steps().keySet()) {
                for (VersionRow v : store.versions(store.latest(adapter).orElseThrow().id())) {
                    String name = v.commit().stamp().servedName();
                    String number = name.substring(0, name.indexOf('-') + 1);
                    assertThat(pushed).filteredOn(p -> p.startsWith(number)).allMatch(name::equals);
                }
            }
        }
    }

    private static void servedIsWhatIsTrained(SmallRun world, List<List<String>> said, List<Front.Served> served) {
        assertThat(served).filteredOn(s -> !s.name().isEmpty()).isNotEmpty().allMatch(s -> s.name().endsWith("-" + s.digest().substring(0, 12)));
        Map<String, Set<String>> digests = served.stream().collect(Collectors.groupingBy(Front.Served::content, Collectors.mapping(Front.Served::digest, Collectors.toSet())));
        try (Store store = Stores.open(world.store().toString())) {
            for (String adapter : world.steps().keySet()) {
                Map<String, Long> stepOf = new HashMap<>();
                for (VersionRow v : store.versions(store.latest(adapter).orElseThrow().id())) {
                    PolicyStamp stamp = v.commit().stamp();
                    stepOf.put(stamp.digest(), stamp.step());
                }
                Map<Long, List<Sampled>> trained = trained(adapter, said);
                assertThat(trained.keySet()).as("steps of " + adapter + " whose samples are known").hasSize(world.steps().get(adapter));
                trained.forEach((step, samples) -> {
                    assertThat(samples).as(adapter + ", step " + step).hasSize(SmallRun.GROUPS * 2).allSatisfy(s -> {
                        assertThat(digests.get(s.content())).as("what the engines say of " + s).contains(s.digest());
                        assertThat(step - 1 - stepOf.get(s.digest())).as("age of " + s).isBetween(0L, (long) SmallRun.STALENESS);
                    });
                });
                assertThat(trained.values().stream().flatMap(List::stream).map(s -> s.row() + " " + s.index())).as("rows of " + adapter).doesNotHaveDuplicates();
            }
        }
    }

    /** The samples of each committed step: those that were trained in the same life since the step before. A step whose commit was durable but not told of is found by its absence. */
    private static Map<Long, List<Sampled>> trained(String adapter, List<List<String>> said) {
        Map<Long, List<Sampled>> trained = new HashMap<>();
        for (List<String> life : said) {
            List<Sampled> since = new ArrayList<>();
            for (String line : life) {
                Sampled.parse(line).filter(s -> s.adapter().equals(adapter)).ifPresent(since::add);
                Optional<Move> step = Move.parse(line).filter(m -> m.adapter().equals(adapter) && m.to().equals(Moves.STEP) && m.step() > 0);
                if (step.isPresent()) {
                    // Told of before it is durable and after; a later life that makes the step again has the last word.
                    trained.put(step.get().step(), List.copyOf(since));
                    if (step.get().point() == Point.COMMITTED) {
                        since.clear();
                    }
                }
            }
        }
        return trained;
    }

    private static void nothingPilesUp(List<URI> engines) throws Exception {
        try (Http http = Http.open()) {
            for (URI engine : engines) {
                assertThat(new SglangClient(http, engine).adapters(Duration.ofSeconds(10))).as("adapters left on " + engine + ": at most the last version of each, which the end of a run may outpace").hasSizeLessThanOrEqualTo(STEPS.size());
            }
        }
    }
}
