package io.furlong.core;

import java.time.Duration;
import java.util.Optional;

/**
 * @param rmType       a built-in reward by name
 * @param customRmPath an allow-listed {@link RewardFunction} by class or service name
 * @param timeout      a reward call past it is given up on and counted
 */
public record RewardConfig(Optional<String> rmType, Optional<String> customRmPath, Duration timeout) {
    public RewardConfig {
        Check.field("rm_type", rmType.or(() -> customRmPath).orElse("nothing"), rmType.isPresent() != customRmPath.isPresent(),
                "exactly one of rm_type and custom_rm_path");
    }

    /** The name the reward goes by in messages. */
    public String name() {
        return rmType.or(() -> customRmPath).orElseThrow();
    }
}
