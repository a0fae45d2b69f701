/**
 * libtorch for Furlong: a decoder-only transformer that trains and serves LoRA adapters over one frozen base.
 * Reads and writes Hugging Face model directories and PEFT adapter directories; float32 on CPU.
 * All work runs on dedicated platform threads ({@link io.furlong.torch.TorchThread}); every native tensor belongs to a {@link io.furlong.torch.Scope} or an owner.
 */
@NullMarked
package io.furlong.torch;

import org.jspecify.annotations.NullMarked;
