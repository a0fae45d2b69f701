package io.furlong.control;

import io.furlong.control.store.Stores;
import io.furlong.core.PolicyStamp;
import io.furlong.core.StepCommit;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.locks.LockSupport;

/**
 * A control plane in a process of its own, for tests of leadership. Arguments: store, its name. It waits to lead, then
 * commits steps of one adapter as fast as it is told by lines on its input, and says on its output what it does.
 */
final class Controller {
    private Controller() {}

    public static void main(String[] args) throws Exception {
        String me = args[1];
        try (Store store = Stores.open(args[0], () -> say("LOST"))) {
            AdapterRegistry registry = AdapterRegistry.open(Limits.of(4, () -> 100), List.of(), store, InstantSource.system(),
                    new VersionDirectories(List.of()));
            if (registry.live("a").isEmpty()) {
                registry.register(Fixtures.request("a"));
            }
            Registration a = registry.live("a").orElseThrow();
            say("LEADING");
            long step = a.progress().begun() ? a.progress().step() + 1 : 0;
            Scanner orders = new Scanner(System.in);
            while (orders.hasNextLine()) {
                String order = orders.nextLine();
                if (order.equals("quit")) {
                    return;
                }
                try {
                    PolicyStamp stamp = Fixtures.stamp("a", a.id(), registry.nextVersion(a.id()), step);
                    StepCommit commit = Fixtures.commit("a", stamp);
                    registry.commit(new StepCommit("a", stamp, Path.of("/by", me, Long.toString(step)), commit.checkpointDigest(), commit.ledger(),
                            commit.cursor(), commit.generatedTokens(), commit.trainedTokens()));
                    say("COMMITTED " + step);
                    step++;
                } catch (StoreException e) {
                    say("REFUSED " + e.getClass().getSimpleName());
                }
                say(store.mayAct() ? "LOAD" : "NO-LOAD");
            }
            LockSupport.park();
        }
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
