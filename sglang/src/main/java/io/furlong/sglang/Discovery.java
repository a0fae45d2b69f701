package io.furlong.sglang;

import java.net.URI;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Which engines there are, now. */
interface Discovery {
    Collection<URI> engines(Duration deadline) throws EngineException, InterruptedException;

    static Discovery fixed(List<URI> urls) {
        List<URI> distinct = urls.stream().map(u -> RouterClient.base(u.toString())).distinct().toList();
        return deadline -> distinct;
    }

    /** What the router lists; a router that lists none has just started, or lost its memory, and says nothing about the engines. */
    static Discovery router(RouterClient router) {
        return new Discovery() {
            private Collection<URI> last = List.of();

            @Override
            public synchronized Collection<URI> engines(Duration deadline) throws EngineException, InterruptedException {
                Collection<URI> now = listed(router, deadline);
                last = now.isEmpty() ? last : now;
                return last;
            }
        };
    }

    /** Those given, and all that the router ever listed: one that is not listed now may have been taken off by us, to be put back. */
    static Discovery managed(RouterClient router, List<URI> given) {
        return new Discovery() {
            private final Set<URI> known = new LinkedHashSet<>(given.stream().map(u -> RouterClient.base(u.toString())).toList());

            @Override
            public synchronized Collection<URI> engines(Duration deadline) throws EngineException, InterruptedException {
                known.addAll(listed(router, deadline));
                return List.copyOf(known);
            }
        };
    }

    private static Collection<URI> listed(RouterClient router, Duration deadline) throws EngineException, InterruptedException {
        return List.copyOf(router.workers(deadline).orElseThrow(() -> new EngineException(EngineException.Kind.NOT_FOUND, 404,
                router.base() + " lists no workers: neither /workers nor /list_workers is there")).keySet());
    }
}
