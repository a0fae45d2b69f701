package io.furlong.core;

import java.nio.file.Path;

/** Where the first weights come from; a fresh random A and zero B otherwise. */
public sealed interface InitFrom {
    /** A PEFT directory. */
    record Peft(Path directory) implements InitFrom {}

    /** Another adapter's committed version (a fork). */
    record Version(String adapter, RegistrationId registration, long version) implements InitFrom {}

    /** The last committed step of the previous registration of the same name: weights, optimizer, cursor. */
    record Resume() implements InitFrom {}
}
