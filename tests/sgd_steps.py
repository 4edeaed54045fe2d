#!/usr/bin/env python3
"""sgd_steps.py text FOLDER: writes vocab.txt, a token a line, and text, 20 of them, for a checkpoint of gpt2 or llama.
sgd_steps.py compare FOLDER TRAINED: two steps of SGD with momentum 0.9 and rate 0.05 on that text by PyTorch, from the
weights of FOLDER, and the distance of each tensor of TRAINED from the result. Written from the formulas of the papers."""
import json
import math
import os
import random
import struct
import sys

BEGIN, END, UNKNOWN, PAD = range(4)  # lines of vocab.txt
LENGTH, RATE, MOMENTUM, NEAR = 20, 0.05, 0.9, 2e-6


def config_of(folder):
    with open(os.path.join(folder, "config.json")) as f:
        return json.load(f)


def tokens_of(config):
    r = random.Random(config["vocab_size"])
    return [r.randrange(4, config["vocab_size"]) for _ in range(LENGTH)]


def write_text(config):
    names = ["[CLS]", "[SEP]", "[UNK]", "[PAD]"] + [f"t{i}" for i in range(4, config["vocab_size"])]
    with open("vocab.txt", "w") as f:
        f.write("".join(name + "\n" for name in names))
    with open("text", "w") as f:
        f.write(" ".join(names[i] for i in tokens_of(config)))


def tensors_of(folder):
    import torch
    with open(os.path.join(folder, "model.safetensors"), "rb") as f:
        size, = struct.unpack("<Q", f.read(8))
        head = json.loads(f.read(size))
        data = f.read()
    out = {}
    for name, t in head.items():
        if name != "__metadata__":
            begin, end = t["data_offsets"]
            name = name.replace("transformer.", "").replace("model.", "")
            out[name] = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float32).reshape(t["shape"]).double()
    return out


def attention(q, k, v):
    """q, k, v [heads,T,c]; causal"""
    import torch
    s = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    return torch.softmax(s + torch.full(s.shape[1:], -math.inf).triu(1), -1) @ v


def heads(x, n):
    return x.reshape(len(x), n, -1).transpose(0, 1)


def joined(x):
    return x.transpose(0, 1).reshape(x.shape[1], -1)


def gpt2(w, config, ids):
    import torch.nn.functional as F
    d, eps = config["n_embd"], config["layer_norm_epsilon"]
    x = w["wte.weight"][ids] + w["wpe.weight"][:len(ids)]

    def norm(x, name):
        return F.layer_norm(x, (d,), w[name + ".weight"], w[name + ".bias"], eps)

    def dense(x, name):
        return x @ w[name + ".weight"] + w[name + ".bias"]
    for i in range(config["n_layer"]):
        q, k, v = dense(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn").split(d, 1)
        y = attention(*(heads(z, config["n_head"]) for z in (q, k, v)))
        x = x + dense(joined(y), f"h.{i}.attn.c_proj")
        z = dense(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc")
        z = z / 2 * (1 + (math.sqrt(2 / math.pi) * (z + 0.044715 * z ** 3)).tanh())
        x = x + dense(z, f"h.{i}.mlp.c_proj")
    return norm(x, "ln_f") @ w.get("lm_head.weight", w["wte.weight"]).T


def llama(w, config, ids):
    import torch
    import torch.nn.functional as F
    n, kv = config["num_attention_heads"], config["num_key_value_heads"]
    x = w["embed_tokens.weight"][ids]

    def norm(x, name):
        return x / (x.pow(2).mean(-1, keepdim=True) + config["rms_norm_eps"]).sqrt() * w[name + ".weight"]

    def rotated(x):
        c = x.shape[-1]
        angle = torch.arange(x.shape[1])[:, None] * config["rope_theta"] ** (-2.0 * torch.arange(c // 2).double() / c)
        a, b = x[..., :c // 2], x[..., c // 2:]
        return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)
    for i in range(config["num_hidden_layers"]):
        at = f"layers.{i}."
        y = norm(x, at + "input_layernorm")
        q, k, v = (y @ w[f"{at}self_attn.{name}_proj.weight"].T for name in "qkv")
        k, v = (heads(z, kv).repeat_interleave(n // kv, 0) for z in (k, v))
        y = attention(rotated(heads(q, n)), rotated(k), v)
        x = x + joined(y) @ w[at + "self_attn.o_proj.weight"].T
        y = norm(x, at + "post_attention_layernorm")
        gate, up = (y @ w[f"{at}mlp.{name}_proj.weight"].T for name in ("gate", "up"))
        x = x + (F.silu(gate) * up) @ w[at + "mlp.down_proj.weight"].T
    return norm(x, "norm") @ w.get("lm_head.weight", w["embed_tokens.weight"]).T


def compare(folder, trained):
    import torch
    config, got, w = config_of(folder), tensors_of(trained), tensors_of(folder)
    ids = tokens_of(config)
    before = {name: x.clone() for name, x in w.items()}
    w = {name: x.requires_grad_() for name, x in w.items() if name in got}
    optimizer = torch.optim.SGD(w.values(), RATE, MOMENTUM)
    for _ in range(2):
        z = (gpt2 if config["model_type"] == "gpt2" else llama)(w, config, [BEGIN] + ids[:-1])
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(z, torch.tensor(ids)).backward()
        optimizer.step()
    worst, moved = max(((got[n].reshape(x.shape) - x).abs().max().item(), n) for n, x in w.items()), []
    for name, x in w.items():
        moved.append((x - before[name]).abs().max().item())
    print(f"{os.path.basename(folder)}: {len(w)} tensors, {sum(m > 0 for m in moved)} of them moved, by {max(moved):.2g} at "
          f"most; the farthest from PyTorch's: {worst[1]}, {worst[0]:.2g}, wanted {NEAR:g} at most")
    return len(w) != len(got) or worst[0] > NEAR or min(moved) < 1e-5


if sys.argv[1] == "text":
    write_text(config_of(sys.argv[2]))
else:
    sys.exit(compare(sys.argv[2], sys.argv[3]))
