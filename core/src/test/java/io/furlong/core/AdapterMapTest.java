package io.furlong.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class AdapterMapTest {
    /** Random changes beside a LinkedHashMap: equal content and order, and no older map ever changes. */
    @Test
    void it_is_what_a_linked_map_is_and_every_older_one_stays_as_it_was() {
        for (int seed = 0; seed < 20; seed++) {
            Random random = new Random(seed);
            Map<String, Integer> model = new LinkedHashMap<>();
            AdapterMap<Integer> map = AdapterMap.copyOf(model);
            List<AdapterMap<Integer>> past = new ArrayList<>();
            List<Map<String, Integer>> pastModels = new ArrayList<>();
            for (int i = 0; i < 400; i++) {
                String name = "n" + random.nextInt(90);
                if (random.nextInt(5) == 0) {
                    model.remove(name);
                    map = map.without(name);
                } else {
                    model.put(name, i);
                    map = map.with(name, i);
                }
                assertThat(new ArrayList<>(map.entrySet())).isEqualTo(new ArrayList<>(model.entrySet()));
                assertThat(map.find(name).isPresent()).isEqualTo(model.containsKey(name));
                assertThat(map).hasSize(model.size()).isEqualTo(model);
                if (i % 40 == 0) {
                    past.add(map);
                    pastModels.add(new LinkedHashMap<>(model));
                }
            }
            assertThat(past).isEqualTo(pastModels);
        }
    }

    @Test
    void what_changed_since_an_older_one_is_told_whether_names_came_and_went_or_not() {
        Random random = new Random(1);
        AdapterMap<Integer> map = AdapterMap.copyOf(Map.of());
        for (int i = 0; i < 100; i++) {
            map = map.with("n" + i, 1000 + i);
        }
        for (int round = 0; round < 200; round++) {
            AdapterMap<Integer> before = map;
            for (int i = 0; i < random.nextInt(4); i++) {
                String name = "n" + random.nextInt(110);
                map = random.nextInt(10) == 0 ? map.without(name) : map.with(name, 10_000 + 10 * round + i);
            }
            List<Integer> expected = map.entrySet().stream().filter(e -> !e.getValue().equals(before.get(e.getKey()))).map(Map.Entry::getValue).toList();
            assertThat(map.changedSince(before)).isEqualTo(expected);
        }
    }

    @Test
    void nobody_can_change_it() {
        AdapterMap<Integer> map = AdapterMap.copyOf(Map.of("a", 1));
        assertThatThrownBy(() -> map.put("b", 2)).isInstanceOf(UnsupportedOperationException.class);
        assertThatThrownBy(() -> map.remove("a")).isInstanceOf(UnsupportedOperationException.class);
        assertThatThrownBy(map::clear).isInstanceOf(UnsupportedOperationException.class);
        assertThatThrownBy(() -> map.values().remove(1)).isInstanceOf(UnsupportedOperationException.class);
        assertThat(AdapterMap.copyOf(map)).isSameAs(map);
        assertThat(map.get("b")).isNull();
    }
}
