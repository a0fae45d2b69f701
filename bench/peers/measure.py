"""Measures on this machine what transformers, PEFT and PyTorch do with the shapes that `furlong bench` uses.

    pip install torch transformers peft          # CPU builds are enough
    python bench/peers/measure.py [--threads 1] [--model tiny|135m] [--repeat 5] [--json]

Prints decode tokens/s at batch 64 (context 64 to 128, greedy, key-value cache), without an adapter and with one, and
training tokens/s at 16 x 64 (forward, backward, clip, AdamW on the LoRA weights). Median of five repetitions.
"""
import argparse, json, platform, statistics, time
import torch, transformers, peft
from transformers import LlamaConfig, LlamaForCausalLM, DynamicCache
from peft import LoraConfig, get_peft_model

SHAPES = {
    "tiny": dict(hidden_size=128, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, head_dim=32,
                 intermediate_size=384, vocab_size=80),
    "135m": dict(hidden_size=576, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3, head_dim=64,
                 intermediate_size=1536, vocab_size=49152),
}
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def build(shape):
    torch.manual_seed(1)
    return LlamaForCausalLM(LlamaConfig(max_position_embeddings=2048, tie_word_embeddings=True, bos_token_id=None,
                                        eos_token_id=None, pad_token_id=None, **SHAPES[shape])).eval()


def with_adapter(model):
    return get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", r=8, lora_alpha=16, target_modules=TARGETS))


@torch.inference_mode()
def decode(model, batch, steps=64, context=64):
    """Tokens/s of `steps` decode steps from a filled context."""
    vocab = model.config.vocab_size
    ids = torch.randint(0, vocab, (batch, context))
    cache = DynamicCache()
    last = model(ids, past_key_values=cache, logits_to_keep=1).logits[:, -1].argmax(-1, keepdim=True)
    start = time.perf_counter()
    for _ in range(steps):
        last = model(last, past_key_values=cache).logits[:, -1].argmax(-1, keepdim=True)
    return batch * steps / (time.perf_counter() - start)


def train(model, batch=16, length=64):
    """Tokens/s of one optimizer step on a batch of random tokens with random advantages."""
    params = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(params, lr=1e-4)
    ids = torch.randint(0, model.config.vocab_size, (batch, length))
    adv = torch.randn(batch, 1)
    start = time.perf_counter()
    logits = model(ids[:, :-1]).logits
    logp = -torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
    (-(logp * adv).mean()).backward()
    torch.nn.utils.clip_grad_norm_(params, 1.0)
    opt.step(); opt.zero_grad()
    return batch * length / (time.perf_counter() - start)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--model", choices=SHAPES, default="tiny")
    ap.add_argument("--repeat", type=int, default=5)
    ap.add_argument("--json", action="store_true")
    a = ap.parse_args()
    torch.set_num_threads(a.threads)
    base = build(a.model)
    steps = 64 if a.model == "tiny" else 8
    figures = {}
    for batch in (1, 8, 32, 64):
        figures[f"decode_{batch}"] = [decode(base, batch, steps) for _ in range(a.repeat + 1)][1:]
    adapted = with_adapter(base)
    figures["decode_64_one_adapter"] = [decode(adapted, 64, steps) for _ in range(a.repeat + 1)][1:]
    adapted.train()
    figures["train_16x64_one_adapter"] = [train(adapted) for _ in range(a.repeat + 1)][1:]
    out = dict(model=a.model, threads=a.threads, processor=platform.processor() or platform.machine(), torch=torch.__version__,
               transformers=transformers.__version__, peft=peft.__version__,
               tokens_per_second={k: round(statistics.median(v), 1) for k, v in figures.items()})
    print(json.dumps(out) if a.json else "\n".join(f"{k:28} {v}" for k, v in [*out.items()][:-1] + [*out["tokens_per_second"].items()]))


if __name__ == "__main__":
    main()
