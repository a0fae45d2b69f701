package io.furlong.rollout.reward;

import io.furlong.core.ConfigException;
import io.furlong.core.RewardConfig;
import io.furlong.core.RewardFunction;
import java.util.List;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;

/**
 * Finds rewards. {@code rm_type} names one by its {@link RewardFunction#name()}, found through {@code ServiceLoader};
 * {@code custom_rm_path} names one so, or by the name of a class that the operator has allowed. Nothing else is ever loaded from
 * what a request says. Every call makes a new instance, so that adapters share none.
 */
public final class Rewards {
    private final Set<String> allowedClasses;

    /** @param allowedClasses names of {@link RewardFunction} classes that {@code custom_rm_path} may name */
    public Rewards(Set<String> allowedClasses) {
        this.allowedClasses = Set.copyOf(allowedClasses);
    }

    /** @throws ConfigException one line with the name asked for and those there are */
    public RewardFunction find(RewardConfig config) {
        String name = config.name();
        String field = config.rmType().isPresent() ? "rm_type" : "custom_rm_path";
        List<RewardFunction> found = ServiceLoader.load(RewardFunction.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(r -> r.name().equals(name))
                .toList();
        if (!found.isEmpty()) {
            return found.getFirst();
        }
        if (config.customRmPath().isPresent() && allowedClasses.contains(name)) {
            return byClass(name);
        }
        throw new ConfigException(field, name, config.rmType().isPresent() ? "one of " + names()
                : "the name of a reward (" + names() + ") or an allowed class" + (allowedClasses.isEmpty() ? "; none is allowed here"
                        : " (" + String.join(", ", new TreeSet<>(allowedClasses)) + ")"));
    }

    /** Names that {@code rm_type} may have, in alphabetical order. */
    public static String names() {
        TreeSet<String> names = new TreeSet<>();
        ServiceLoader.load(RewardFunction.class).forEach(r -> names.add(r.name()));
        return String.join(", ", names);
    }

    private static RewardFunction byClass(String name) {
        try {
            Class<?> c = Class.forName(name, false, Thread.currentThread().getContextClassLoader());
            return c.asSubclass(RewardFunction.class).getDeclaredConstructor().newInstance();
        } catch (ClassNotFoundException e) {
            throw new ConfigException("custom_rm_path", name, "a class on the class path; this one isn't");
        } catch (ClassCastException e) {
            throw new ConfigException("custom_rm_path", name, "a class that implements " + RewardFunction.class.getName());
        } catch (ReflectiveOperationException | LinkageError e) {
            throw new ConfigException("custom_rm_path", name, "a class with a public constructor without arguments that works (" + e + ")");
        }
    }
}
