package io.furlong.core;

import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * @param path            the dataset file
 * @param inputKey        column with the prompt: text, or a list of chat messages
 * @param labelKey        column with the reference answer
 * @param metadataKey     column with a map handed to the reward
 * @param template        whether text prompts go through the tokenizer's chat template
 * @param order           in which order rows are taken within an epoch
 * @param maxPromptTokens rows with longer prompts are left out; default: what the context leaves
 */
public record DataConfig(Path path, String inputKey, Optional<String> labelKey, Optional<String> metadataKey,
                         Template template, Order order, OptionalInt maxPromptTokens) {
    /** Whether a text prompt is wrapped as a user message of the chat template. */
    public enum Template { AS_IS, CHAT }

    /** Row order within an epoch; SHUFFLED depends on the run seed, the adapter and the epoch alone. */
    public enum Order { AS_WRITTEN, SHUFFLED }
}
