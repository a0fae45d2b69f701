package io.furlong.sglang;

import java.net.URI;
import java.time.Duration;
import java.util.Collection;
import java.util.List;

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
                Collection<URI> now = List.copyOf(router.workers(deadline).orElseThrow(() -> new EngineException(EngineException.Kind.NOT_FOUND, 404,
                        router.base() + " lists no workers: neither /workers nor /list_workers is there")).keySet());
                last = now.isEmpty() ? last : now;
                return last;
            }
        };
    }
}
