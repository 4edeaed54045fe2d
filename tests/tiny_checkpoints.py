#!/usr/bin/env python3
"""Writes tiny random checkpoints in the formats of other programs, with their answers.

    tiny_checkpoints.py FOLDER
    tiny_checkpoints.py --gguf FILE EXPECTED    reads a GGUF file that another program has written

Each becomes a folder FOLDER/NAME with the checkpoint and expected.json. The answers come from this
program alone: plain loops in double precision over the stored numbers, written from the equations
of each family. Only Python's own library is needed."""
import json
import math
import os
import random
import struct
import sys
import zipfile

D, HEADS, FF, LAYERS, VOCABULARY, PLACES = 8, 2, 12, 2, 19, 16


# -- files --

NUMBERS = {"F16": ("e", 2), "F32": ("f", 4), "F64": ("d", 8)}  # letter of struct, bytes


def packed(values, dtype):
    if dtype in NUMBERS:
        return struct.pack(f"<{len(values)}{NUMBERS[dtype][0]}", *values)
    return b"".join(struct.pack("<f", x)[2:] for x in values)  # BF16: the upper half


def unpacked(data, dtype):
    if dtype in NUMBERS:
        letter, size = NUMBERS[dtype]
        return list(struct.unpack(f"<{len(data) // size}{letter}", data))
    return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]


def safetensors(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (shape, dtype, raw) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


class Tensors:
    """Random tensors by name; a call gives the numbers as they are stored, in rows."""

    def __init__(self, seed, dtype="F32"):
        self.random, self.dtype, self.stored = random.Random(seed), dtype, {}

    def __call__(self, name, *shape, mean=0.0):
        if name not in self.stored:
            count = math.prod(shape)
            values = [self.random.gauss(mean, 0.4) for _ in range(count)]
            self.stored[name] = (list(shape), self.dtype, packed(values, self.dtype))
        values = unpacked(self.stored[name][2], self.dtype)
        if len(shape) == 1:
            return values
        return [values[i:i + shape[1]] for i in range(0, len(values), shape[1])]


# -- equations --

def transposed(w):
    return [list(column) for column in zip(*w)]


def linear(x, w, b=None):
    return [[sum(p * q for p, q in zip(row, out)) + (b[i] if b else 0.0) for i, out in enumerate(w)] for row in x]


def add(x, y):
    return [[p + q for p, q in zip(a, b)] for a, b in zip(x, y)]


def norm(x, g, b, eps):
    y = []
    for row in x:
        mean = sum(row) / len(row)
        deviation = math.sqrt(sum((p - mean) ** 2 for p in row) / len(row) + eps)
        y.append([(p - mean) / deviation * g[i] + b[i] for i, p in enumerate(row)])
    return y


def rms_norm(x, g, eps):
    return [[p / math.sqrt(sum(q * q for q in row) / len(row) + eps) * g[i] for i, p in enumerate(row)] for row in x]


def each(f, x):
    return [[f(p) for p in row] for row in x]


def gelu_tanh(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def gelu(x):
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


def silu(x):
    return x / (1 + math.exp(-x))


def attention(q, k, v, heads=HEADS, kv=HEADS, scale=None, sees=None, bias=None):
    c = len(q[0]) // heads
    scale = 1 / math.sqrt(c) if scale is None else scale
    out = []
    for i, row in enumerate(q):
        y = []
        for h in range(heads):
            of = h // (heads // kv) * c
            s = [sum(row[h * c + a] * key[of + a] for a in range(c)) * scale + (bias(h, i, j) if bias else 0.0)
                 if not sees or sees(i, j) else -math.inf for j, key in enumerate(k)]
            p = [math.exp(x - max(s)) for x in s]
            y += [sum(p[j] * v[j][of + a] for j in range(len(k))) / sum(p) for a in range(c)]
        out.append(y)
    return out


def rotated(x, c, base, pair=False):
    """Rotary positions: column j with j + c/2, or neighbours."""
    out = []
    for t, row in enumerate(x):
        y = list(row)
        for head in range(0, len(row), c):
            for j in range(c // 2):
                a, b = (head + 2 * j, head + 2 * j + 1) if pair else (head + j, head + j + c // 2)
                angle = t * base ** (-2 * j / c)
                y[a] = row[a] * math.cos(angle) - row[b] * math.sin(angle)
                y[b] = row[a] * math.sin(angle) + row[b] * math.cos(angle)
        out.append(y)
    return out


# -- families: each returns configuration, function of ids (or source and target) to logits --

def gpt2(t, tied=True):
    def logits(ids):
        wte = t("wte.weight", VOCABULARY, D)
        x = add([wte[i] for i in ids], t("wpe.weight", PLACES, D))
        for n in range(LAYERS):
            at = f"h.{n}."
            y = norm(x, t(at + "ln_1.weight", D, mean=1), t(at + "ln_1.bias", D), 1e-5)
            qkv = linear(y, transposed(t(at + "attn.c_attn.weight", D, 3 * D)), t(at + "attn.c_attn.bias", 3 * D))
            q, k, v = ([row[i * D:(i + 1) * D] for row in qkv] for i in range(3))
            y = attention(q, k, v, sees=lambda i, j: j <= i)
            x = add(x, linear(y, transposed(t(at + "attn.c_proj.weight", D, D)), t(at + "attn.c_proj.bias", D)))
            y = norm(x, t(at + "ln_2.weight", D, mean=1), t(at + "ln_2.bias", D), 1e-5)
            y = each(gelu_tanh, linear(y, transposed(t(at + "mlp.c_fc.weight", D, FF)), t(at + "mlp.c_fc.bias", FF)))
            x = add(x, linear(y, transposed(t(at + "mlp.c_proj.weight", FF, D)), t(at + "mlp.c_proj.bias", D)))
        x = norm(x, t("ln_f.weight", D, mean=1), t("ln_f.bias", D), 1e-5)
        return linear(x, wte if tied else t("lm_head.weight", VOCABULARY, D))
    return {"model_type": "gpt2", "n_embd": D, "n_head": HEADS, "n_layer": LAYERS, "n_inner": FF, "n_positions": PLACES,
            "vocab_size": VOCABULARY, "bos_token_id": 5, "eos_token_id": 5, "tie_word_embeddings": tied}, logits


def llama(t, kind="llama", kv=1, window=None, base=10000.0, pair=False):
    """Also gemma: embeddings times sqrt(d), norms by 1 + weight, heads of a width of their own, one table."""
    gemma = kind == "gemma"
    c = 6 if gemma else D // HEADS
    biased = kind == "qwen2"

    def normed(x, name):
        g = t(name, D, mean=0 if gemma else 1)
        return rms_norm(x, [1 + p for p in g] if gemma else g, 1e-5)

    def projected(y, at, name, rows):
        return linear(y, t(f"{at}{name}.weight", rows, D), t(f"{at}{name}.bias", rows) if biased else None)

    def logits(ids):
        table = t("model.embed_tokens.weight", VOCABULARY, D)
        x = each(lambda p: math.sqrt(D) * p if gemma else p, [table[i] for i in ids])
        for n in range(LAYERS):
            at = f"model.layers.{n}."
            y = normed(x, at + "input_layernorm.weight")
            q = rotated(projected(y, at + "self_attn.", "q_proj", HEADS * c), c, base, pair)
            k = rotated(projected(y, at + "self_attn.", "k_proj", kv * c), c, base, pair)
            v = projected(y, at + "self_attn.", "v_proj", kv * c)
            y = attention(q, k, v, kv=kv, sees=lambda i, j: j <= i and (not window or j > i - window))
            x = add(x, linear(y, t(at + "self_attn.o_proj.weight", D, HEADS * c)))
            y = normed(x, at + "post_attention_layernorm.weight")
            gate = each(gelu_tanh if gemma else silu, linear(y, t(at + "mlp.gate_proj.weight", FF, D)))
            up = linear(y, t(at + "mlp.up_proj.weight", FF, D))
            y = [[p * q for p, q in zip(a, b)] for a, b in zip(gate, up)]
            x = add(x, linear(y, t(at + "mlp.down_proj.weight", D, FF)))
        x = normed(x, "model.norm.weight")
        return linear(x, table if gemma else t("lm_head.weight", VOCABULARY, D))
    config = {"model_type": kind, "hidden_size": D, "intermediate_size": FF, "num_attention_heads": HEADS,
              "num_key_value_heads": kv, "num_hidden_layers": LAYERS, "rms_norm_eps": 1e-5, "rope_theta": base,
              "vocab_size": VOCABULARY, "max_position_embeddings": PLACES, "bos_token_id": 1, "eos_token_id": 2,
              "hidden_act": "silu", "rope_scaling": None, "tie_word_embeddings": False}
    if window:
        config["sliding_window"] = window
    if gemma:
        del config["rope_scaling"], config["tie_word_embeddings"]
        config.update({"head_dim": c, "hidden_act": "gelu", "hidden_activation": None})
    return config, logits


def t5_bucket(distance, both, buckets, most):
    """distance: place of the key minus place of the query."""
    first = 0
    if both:
        buckets //= 2
        first = buckets if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(-distance, 0)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    return first + min(buckets - 1, exact + int(math.log(distance / exact) / math.log(most / exact) *
                                                (buckets - exact)))


def t5(t, gated):
    buckets, most, c = 8, 20, 3
    shared = lambda: t("shared.weight", VOCABULARY, D)

    def attended(at, x, source, both, bias):
        q = linear(x, t(at + "q.weight", HEADS * c, D))
        k, v = (linear(source, t(at + f"{n}.weight", HEADS * c, D)) for n in "kv")
        y = attention(q, k, v, scale=1.0, sees=None if both else lambda i, j: j <= i, bias=bias)
        return linear(y, t(at + "o.weight", D, HEADS * c))

    def stack(side, x, source=None):
        both = source is None
        table = t(f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight", buckets, HEADS)
        bias = lambda h, i, j: table[t5_bucket(j - i, both, buckets, most)][h]
        for n in range(LAYERS):
            at = f"{side}.block.{n}.layer."
            y = rms_norm(x, t(at + "0.layer_norm.weight", D, mean=1), 1e-6)
            x = add(x, attended(at + "0.SelfAttention.", y, y, both, bias))
            if not both:
                y = rms_norm(x, t(at + "1.layer_norm.weight", D, mean=1), 1e-6)
                x = add(x, attended(at + "1.EncDecAttention.", y, source, True, None))
            ff = at + ("1" if both else "2")
            y = rms_norm(x, t(ff + ".layer_norm.weight", D, mean=1), 1e-6)
            if gated:
                gate = each(gelu_tanh, linear(y, t(ff + ".DenseReluDense.wi_0.weight", FF, D)))
                y = linear(y, t(ff + ".DenseReluDense.wi_1.weight", FF, D))
                y = [[p * q for p, q in zip(a, b)] for a, b in zip(gate, y)]
            else:
                y = each(lambda p: max(p, 0.0), linear(y, t(ff + ".DenseReluDense.wi.weight", FF, D)))
            x = add(x, linear(y, t(ff + ".DenseReluDense.wo.weight", D, FF)))
        return rms_norm(x, t(side + ".final_layer_norm.weight", D, mean=1), 1e-6)

    def logits(source, target):
        u = stack("encoder", [shared()[i] for i in source])
        z = stack("decoder", [shared()[i] for i in target], u)
        if gated:
            return linear(z, t("lm_head.weight", VOCABULARY, D))
        return linear([[p * D ** -0.5 for p in row] for row in z], shared())
    return {"model_type": "t5", "d_model": D, "d_kv": c, "d_ff": FF, "num_heads": HEADS, "num_layers": LAYERS,
            "relative_attention_num_buckets": buckets, "relative_attention_max_distance": most,
            "feed_forward_proj": "gated-gelu" if gated else "relu", "vocab_size": VOCABULARY, "pad_token_id": 0,
            "decoder_start_token_id": 0, "eos_token_id": 1, "layer_norm_epsilon": 1e-6, "is_encoder_decoder": True,
            "tie_word_embeddings": not gated}, logits


def marian(t, more={}):
    def embedded(ids):
        table = t("model.shared.weight", VOCABULARY, D)
        return [[p * math.sqrt(D) + (math.sin if j < D // 2 else math.cos)(i / 10000 ** (2 * (j % (D // 2)) / D))
                 for j, p in enumerate(table[k])] for i, k in enumerate(ids)]

    def attended(at, x, source, sees=None):
        q, k, v = (linear(y, t(f"{at}.{n}_proj.weight", D, D), t(f"{at}.{n}_proj.bias", D))
                   for n, y in (("q", x), ("k", source), ("v", source)))
        return linear(attention(q, k, v, sees=sees), t(at + ".out_proj.weight", D, D), t(at + ".out_proj.bias", D))

    def normed(at, x):
        return norm(x, t(at + ".weight", D, mean=1), t(at + ".bias", D), 1e-5)

    def stack(side, x, source=None):
        for n in range(LAYERS):
            at = f"model.{side}.layers.{n}."
            sees = None if source is None else lambda i, j: j <= i
            x = normed(at + "self_attn_layer_norm", add(x, attended(at + "self_attn", x, x, sees)))
            if source is not None:
                x = normed(at + "encoder_attn_layer_norm", add(x, attended(at + "encoder_attn", x, source)))
            y = each(silu, linear(x, t(at + "fc1.weight", FF, D), t(at + "fc1.bias", FF)))
            x = normed(at + "final_layer_norm", add(x, linear(y, t(at + "fc2.weight", D, FF), t(at + "fc2.bias", D))))
        return x

    def logits(source, target):
        z = stack("decoder", embedded(target), stack("encoder", embedded(source)))
        return linear(z, t("model.shared.weight", VOCABULARY, D), t("final_logits_bias", 1, VOCABULARY)[0])
    config = {"model_type": "marian", "d_model": D, "vocab_size": VOCABULARY, "pad_token_id": VOCABULARY - 1,
              "decoder_start_token_id": VOCABULARY - 1, "eos_token_id": 0, "bad_words_ids": [[VOCABULARY - 1]],
              "activation_function": "swish", "scale_embedding": True, "max_position_embeddings": PLACES}
    for side in ("encoder", "decoder"):
        config.update({f"{side}_layers": LAYERS, f"{side}_attention_heads": HEADS, f"{side}_ffn_dim": FF})
    config.update(more)
    return config, logits


def ct2(t, heads):
    """The Transformer of OpenNMT-tf in CTranslate2: norms in front, places from 1."""

    def embedded(side, ids):
        table, half = t(side + "/embeddings/weight", VOCABULARY, D), D // 2
        return [[p * math.sqrt(D) + (math.sin if j < half else math.cos)(
            (i + 1) * math.exp(-(j % half) * math.log(10000) / (half - 1))) for j, p in enumerate(table[k])]
            for i, k in enumerate(ids)]

    def dense(at, x, rows, width=D):
        return linear(x, t(at + "/weight", rows, width), t(at + "/bias", rows))

    def normed(at, x):
        return norm(x, t(at + "/gamma", D, mean=1), t(at + "/beta", D), 1e-5)

    def stack(side, x, source=None):
        for n in range(LAYERS):
            at = f"{side}/layer_{n}/self_attention"
            qkv = dense(at + "/linear_0", normed(at + "/layer_norm", x), 3 * D)
            q, k, v = ([row[i * D:(i + 1) * D] for row in qkv] for i in range(3))
            y = attention(q, k, v, heads, heads, sees=None if source is None else lambda i, j: j <= i)
            x = add(x, dense(at + "/linear_1", y, D))
            if source is not None:
                at = f"{side}/layer_{n}/attention"
                q = dense(at + "/linear_0", normed(at + "/layer_norm", x), D)
                both = dense(at + "/linear_1", source, 2 * D)
                y = attention(q, [row[:D] for row in both], [row[D:] for row in both], heads, heads)
                x = add(x, dense(at + "/linear_2", y, D))
            at = f"{side}/layer_{n}/ffn"
            y = each(lambda p: max(p, 0.0), dense(at + "/linear_0", normed(at + "/layer_norm", x), FF))
            x = add(x, dense(at + "/linear_1", y, D, FF))
        return normed(side + "/layer_norm", x)

    def logits(source, target):
        z = stack("decoder", embedded("decoder", target), stack("encoder", embedded("encoder", source)))
        return dense("decoder/projection", z, VOCABULARY)
    return {"eos_token_id": 2, "decoder_start_token_id": 1}, logits


def bert(t, kind="bert"):
    albert, roberta = kind == "albert", kind == "roberta"
    narrow = D // 2 if albert else D
    prefix = kind + "."
    layer = "encoder.albert_layer_groups.0.albert_layers.0." if albert else "encoder.layer.%d."
    names = (["attention.query", "attention.key", "attention.value", "attention.dense", "attention.LayerNorm", "ffn",
              "ffn_output", "full_layer_layer_norm", "predictions."] if albert else
             ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
              "attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm",
              "lm_head." if roberta else "cls.predictions.transform."])

    def dense(at, x, rows, width):
        return linear(x, t(at + ".weight", rows, width), t(at + ".bias", rows))

    def normed(at, x):
        old = ("gamma", "beta") if not albert and "embeddings" in at else ("weight", "bias")
        return norm(x, t(f"{at}.{old[0]}", len(x[0]), mean=1), t(f"{at}.{old[1]}", len(x[0])), 1e-12)

    def logits(ids, types):
        at = prefix + "embeddings."
        words = t(at + "word_embeddings.weight", VOCABULARY, narrow)
        kinds = t(at + "token_type_embeddings.weight", config["type_vocab_size"], narrow)
        x = add(add([words[i] for i in ids], [kinds[i] for i in types]),
                t(at + "position_embeddings.weight", PLACES, narrow)[roberta:])  # roberta's begin behind padding, 0
        x = normed(at + "LayerNorm", x)
        if albert:
            x = dense(prefix + "encoder.embedding_hidden_mapping_in", x, D, narrow)
        for n in range(LAYERS):
            at = prefix + (layer if albert else layer % n)
            q, k, v = (dense(at + names[i], x, D, D) for i in range(3))
            x = normed(at + names[4], add(x, dense(at + names[3], attention(q, k, v), D, D)))
            y = dense(at + names[6], each(gelu, dense(at + names[5], x, FF, D)), D, FF)
            x = normed(at + names[7], add(x, y))
        logits.hidden = x
        logits.pooler = each(math.tanh, dense(prefix + "pooler" + ("" if albert else ".dense"), x[:1], D, D))
        logits.follows = None if albert or roberta else dense("cls.seq_relationship", logits.pooler, 2, D)[0]
        y = each(gelu, dense(names[8] + "dense", x, narrow, D))
        y = normed(names[8] + ("layer_norm" if roberta else "LayerNorm"), y)
        bias = {"albert": "predictions", "bert": "cls.predictions", "roberta": "lm_head"}[kind]
        return linear(y, words, t(bias + ".bias", VOCABULARY))
    config = {"model_type": kind, "hidden_size": D, "num_attention_heads": HEADS,
              "num_hidden_layers": LAYERS, "intermediate_size": FF, "vocab_size": VOCABULARY, "hidden_act": "gelu",
              "max_position_embeddings": PLACES, "type_vocab_size": 1 if roberta else 2, "pad_token_id": 0, "layer_norm_eps": 1e-12}
    if albert:
        config["embedding_size"] = narrow
    return config, logits


# -- answers --

def loss(rows, labels):
    total = 0.0
    for row, label in zip(rows, labels):
        total += max(row) + math.log(sum(math.exp(p - max(row)) for p in row)) - row[label]
    return total / len(labels)


def greedy(logits, ids, end, never=(), most=5, forced=None):
    ids, new = list(ids), []
    while len(new) < most and (not new or new[-1] != end):
        row = logits(ids)[-1]
        best = max((i for i in range(len(row)) if i not in never), key=lambda i: row[i])
        new.append(best if forced is None or len(new) < most - 1 else forced)
        ids.append(new[-1])
    return new


def lm_answers(t, logits, config):
    inputs = []
    for size in (1, 4, 9) if D < 64 else (1, 3):
        ids = [t.random.randrange(3, VOCABULARY) for _ in range(size)]
        rows = logits(ids)
        inputs.append({"ids": ids, "logits": rows,
                       "greedy": greedy(logits, ids, config["eos_token_id"], most=5 if D < 64 else 1)})
        if size > 1:
            inputs[-1]["loss"] = loss(rows, ids[1:])
    return inputs


def gru(t):
    def logits(ids):
        table, h, out = t("emb", VOCABULARY, D), [0.0] * D, []
        sigma = lambda x: 1 / (1 + math.exp(-x))
        for i in ids:
            a = linear([table[i]], t("w_ih", 3 * D, D), t("b_ih", 3 * D))[0]
            b = linear([h], t("w_hh", 3 * D, D), t("b_hh", 3 * D))[0]
            r, z = ([sigma(a[k * D + j] + b[k * D + j]) for j in range(D)] for k in range(2))
            n = [math.tanh(a[2 * D + j] + r[j] * b[2 * D + j]) for j in range(D)]
            h = [(1 - z[j]) * n[j] + z[j] * h[j] for j in range(D)]
            out.append(h)
        return linear(out, t("fc_w", VOCABULARY, D), t("fc_b", VOCABULARY))
    return {"eos_token_id": 2}, logits


def npz(path, tensors, method):
    with zipfile.ZipFile(path, "w", method) as f:
        for name, (shape, dtype, raw) in tensors.items():
            text = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }" % ", ".join(map(str, shape))
            f.writestr(name + ".npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + raw)


def seq2seq_answers(t, logits, config):
    inputs, end, begin = [], config["eos_token_id"], config["decoder_start_token_id"]
    never, forced = (begin,) if "bad_words_ids" in config else (), config.get("forced_eos_token_id")
    for size in (2, 7):
        source = [t.random.randrange(2, VOCABULARY - 1) for _ in range(size)] + [end]
        labels = [t.random.randrange(2, VOCABULARY - 1) for _ in range(9 - size)] + [end]
        rows = logits(source, [begin] + labels[:-1])
        inputs.append({"source": source, "labels": labels, "decoder_input": [begin] + labels[:-1], "logits": rows,
                       "loss": loss(rows, labels),
                       "greedy": greedy(lambda ids: logits(source, ids), [begin], end, never,
                                        5 if forced is None else 12, forced)})
    return inputs


def tag_answers(t, logits, config):
    inputs = []
    for first, second in ((3, 0), (2, 5)):
        ids = [1] + [t.random.randrange(5, VOCABULARY) for _ in range(first)] + [2]
        types = [0] * len(ids)
        if second:
            ids += [t.random.randrange(5, VOCABULARY) for _ in range(second)] + [2]
            types += [config["type_vocab_size"] - 1] * (second + 1)
        inputs.append({"ids": ids, "token_types": types, "logits": logits(ids, types), "pooler": logits.pooler[0]})
        inputs[-1]["mean_pooled"] = [sum(column) / len(ids) for column in zip(*logits.hidden)]
        inputs[-1]["last_hidden_first_row"] = logits.hidden[0]
        if logits.follows:
            inputs[-1]["seq_relationship"] = logits.follows
    return inputs


def rounded(t, is_matrix):
    """Makes matrices of sixteenths of whole numbers from -127 to 127, which int8 holds exactly."""
    for name, (shape, dtype, raw) in t.stored.items():
        if is_matrix(name, shape):
            values = [max(-127, min(127, round(x * 16))) * 0.0625 for x in unpacked(raw, dtype)]
            t.stored[name] = (shape, dtype, packed(values, dtype))


def llama2c_file(folder, t, version):
    def raw(*names):
        return b"".join(t.stored["model." * (name[0] != "l" or name[1] == "a") + name + ".weight"][2] for name in names)

    def layers(name):
        return [f"layers.{n}.{name}" for n in range(LAYERS)]

    def int8(*names):
        out = b""
        for name in names:
            values = unpacked(raw(name), "F32")
            out += bytes(round(x * 16) & 255 for x in values) + struct.pack("<f", 0.0625) * (len(values) // 4)
        return out
    norms, more = layers("input_layernorm"), layers("post_attention_layernorm")
    first = sum((layers(f"self_attn.{n}_proj") for n in "qkvo"), [])
    last = sum((layers(f"mlp.{n}_proj") for n in ("gate", "down", "up")), [])
    header = struct.pack("<7i", D, FF, LAYERS, HEADS, 1, VOCABULARY if version else -VOCABULARY, PLACES)
    if version:
        header = struct.pack("<Ii", 0x616B3432, version) + header + b"\0"
        header += struct.pack("<i", 4) * (version == 2)
        header += b"\0" * (256 - len(header))
        body = raw(*norms, *more, "norm")
        body += (int8 if version == 2 else raw)("embed_tokens", *first, *last, "lm_head")
    else:
        body = raw("embed_tokens", *norms, *first, *more, *last, "norm") + b"\0" * (PLACES * D // HEADS * 4)
        body += raw("lm_head")
    with open(os.path.join(folder, "model.bin"), "wb") as f:
        f.write(header + body)


def ct2_files(folder, t, version):
    """Version 2 in float32; a later one in int8, with types, numbers and another name of a tensor."""
    def text(name):
        return struct.pack("<H", len(name) + 1) + name.encode() + b"\0"
    items = []
    for name, (shape, dtype, raw) in t.stored.items():
        if version > 2 and len(shape) == 2:
            values = bytes(round(x * 16) & 255 for x in unpacked(raw, dtype))
            items += [(name, shape, 1, values), (name + "_scale", shape[:1], 0, struct.pack("<f", 16) * shape[0])]
        elif not (version > 2 and name == "decoder/projection/bias"):
            items.append((name, shape, 0, raw))
    if version > 2:
        for side in ("encoder", "decoder"):
            items.append((f"{side}/num_heads", [], 2, struct.pack("<h", 2)))
            for key, value in (("multi_query_attention", 0), ("pre_norm", 1), ("activation", 0), ("scale_embeddings", 1)):
                items.append((f"{side}/{key}", [], 1, struct.pack("<b", value)))
        items.append(("encoder/embeddings_merge", [], 1, b"\0"))
        items += [(f"decoder/alignment_{key}", [], 2, struct.pack("<h", value)) for key, value in (("layer", -1), ("heads", 1))]
        items += [(f"decoder/{key}", [], 1, b"\0")
                  for key in ("alibi", "alibi_use_positive_positions", "scale_alibi", "start_from_zero_embedding")]
        items += [("bias", [VOCABULARY], 0, t.stored["decoder/projection/bias"][2])]
    data = struct.pack("<I", version) + text("TransformerSpec") + struct.pack("<II", 5, len(items))
    for name, shape, kind, raw in items:
        data += text(name) + struct.pack(f"<B{len(shape)}I", len(shape), *shape)
        data += struct.pack("<BI", kind, len(raw)) if version > 3 else struct.pack("<BI", 4, len(raw) // 4)
        data += raw
    if version > 2:
        data += struct.pack("<I", 1) + text("decoder/projection/bias") + text("bias")
    with open(os.path.join(folder, "model.bin"), "wb") as f:
        f.write(data)
    names = ["<blank>", "<s>", "</s>"] + [chr(97 + i) for i in range(VOCABULARY - 4)]
    for side in ("source", "target"):
        with open(os.path.join(folder, side + "_vocabulary.txt"), "w") as f:
            f.write("\n".join(names) + "\n")


# -- GGUF --

GGUF_TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q8_0": 8, "q4_K": 12, "q6_K": 14}


GGUF_LLAMA = (("token_embd", "model.embed_tokens"), ("output_norm", "model.norm"), ("output", "lm_head"),
              ("attn_norm", "input_layernorm"), ("attn_q", "self_attn.q_proj"), ("attn_k", "self_attn.k_proj"),
              ("attn_v", "self_attn.v_proj"), ("attn_output", "self_attn.o_proj"),
              ("ffn_norm", "post_attention_layernorm"), ("ffn_gate", "mlp.gate_proj"), ("ffn_up", "mlp.up_proj"),
              ("ffn_down", "mlp.down_proj"))
GGUF_GPT2 = (("token_embd", "wte"), ("position_embd", "wpe"), ("output_norm", "ln_f"), ("output", "lm_head"),
             ("attn_norm", "ln_1"), ("attn_qkv", "attn.c_attn"), ("attn_output", "attn.c_proj"), ("ffn_norm", "ln_2"),
             ("ffn_up", "mlp.c_fc"), ("ffn_down", "mlp.c_proj"))


def half(raw):
    return struct.unpack("<e", raw)[0]


def random_block(r, kind):
    """The bytes of a block, and its numbers by the definition of the format."""
    d, least = (struct.pack("<e", r.uniform(0.1, 1) / {"K": 2000, "0": 50}[kind[-1]]) for _ in range(2))
    byte = lambda n: bytes(r.randrange(256) for _ in range(n))
    if kind == "q8_0":
        q = byte(32)
        return d + q, [half(d) * (x - 256 * (x > 127)) for x in q]
    if kind == "q4_0":
        q = byte(16)
        return d + q, [half(d) * ((x & 15) - 8) for x in q] + [half(d) * ((x >> 4) - 8) for x in q]
    if kind == "q4_K":
        q, bits = byte(12), byte(128)
        six = [[q[j] & 63 for j in range(4)], [q[j + 4] & 63 for j in range(4)]]
        six[0] += [(q[j + 8] & 15) + 16 * (q[j] >> 6) for j in range(4)]
        six[1] += [(q[j + 8] >> 4) + 16 * (q[j + 4] >> 6) for j in range(4)]
        x = []
        for j in range(8):
            part = bits[j // 2 * 32:j // 2 * 32 + 32]
            x += [half(d) * six[0][j] * ((p >> 4) if j % 2 else p & 15) - half(least) * six[1][j] for p in part]
        return d + least + q + bits, x
    low, high, scale = byte(128), byte(64), bytes(r.randrange(20) for _ in range(16))
    x = []
    for n in range(2):
        for part in range(4):
            for l in range(32):
                a = low[64 * n + 32 * (part % 2) + l]
                q = (a >> 4 if part > 1 else a & 15) + 16 * (high[32 * n + l] >> 2 * part & 3)
                x.append(half(d) * scale[8 * n + 2 * part + l // 16] * (q - 32))
    return low + high + scale + d, x


def blocks(t, kind):
    """Makes the rows of matrices random blocks; the bytes of the blocks by name."""
    raw = {}
    size = 256 if kind[-1] == "K" else 32
    for name, (shape, dtype, data) in t.stored.items():
        if len(shape) == 2 and shape[1] % size == 0:
            made = [random_block(t.random, kind) for _ in range(math.prod(shape) // size)]
            raw[name] = b"".join(b for b, _ in made)
            t.stored[name] = (shape, "F32", packed([x for _, values in made for x in values], "F32"))
    return raw


# A byte-level tokenizer as Llama 3 has it: 12 and 13 are special, 18 cuts texts.
BYTE_PIECES = ["a", "b", "c", "ab", "abc", "\u0120", "\u0120a", "1", "2", "3", "12", "123", "<|begin_of_text|>",
               "<|end_of_text|>", "\u010a", "x", "y", "z", "<t x>"]
BYTE_MERGES = ["a b", "ab c", "\u0120 a", "1 2", "12 3"]


def gguf_file(path, t, family, kind, raw, eps, pre=None):
    def text(s):
        return struct.pack("<Q", len(s.encode())) + s.encode()

    def item(key, value):
        if isinstance(value, str):
            return text(key) + struct.pack("<I", 8) + text(value)
        if isinstance(value, float):
            return text(key) + struct.pack("<If", 6, value)
        if isinstance(value, list):
            of = {str: 8, int: 5, float: 6}[type(value[0])]
            body = b"".join(text(x) if of == 8 else struct.pack("<i" if of == 5 else "<f", x) for x in value)
            return text(key) + struct.pack("<IIQ", 9, of, len(value)) + body
        return text(key) + struct.pack("<II", 4, value)
    gpt2, gemma, a = family == "gpt2", family == "gemma", family + "."
    names = [(theirs, ours) for ours, theirs in (GGUF_GPT2 if gpt2 else GGUF_LLAMA)]
    names.append(("h." if gpt2 else "model.layers.", "blk."))
    items = {"general.architecture": a[:-1], a + "context_length": PLACES, a + "embedding_length": D,
             a + "block_count": LAYERS, a + "feed_forward_length": FF, a + "attention.head_count": HEADS,
             a + ("attention.layer_norm_epsilon" if gpt2 else "attention.layer_norm_rms_epsilon"): eps}
    if not gpt2:
        items[a + "attention.head_count_kv"] = 1
    if gemma:
        items.update({a + "attention.key_length": 6, a + "attention.value_length": 6})
    begin, end = (5, 5) if gpt2 else (12, 13) if pre else (1, 2)
    if pre:
        types = [3 if 11 < i < 14 else 4 if i == 18 else 1 for i in range(VOCABULARY)]
        items.update({"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": pre, "tokenizer.ggml.tokens": BYTE_PIECES,
                      "tokenizer.ggml.merges": BYTE_MERGES, "tokenizer.ggml.token_type": types})
    elif not gpt2:
        pieces = ["<unk>", "<s>", "</s>", "\u2581"] + [chr(97 + i) for i in range(VOCABULARY - 4)]
        items.update({"tokenizer.ggml.model": "llama",
                      "tokenizer.ggml.tokens": pieces, "tokenizer.ggml.scores": [-float(i) for i in range(VOCABULARY)],
                      "tokenizer.ggml.unknown_token_id": 0})
    items.update({"tokenizer.ggml.bos_token_id": begin, "tokenizer.ggml.eos_token_id": end})
    head = b"GGUF" + struct.pack("<IQQ", 3, len(t.stored), len(items)) + b"".join(item(*x) for x in items.items())
    data = b""
    for name, (shape, dtype, stored) in t.stored.items():
        if gpt2 and len(shape) == 2 and "wte" not in name and "wpe" not in name:  # [out,in] in this format
            values = unpacked(stored, dtype)
            rows = [values[i:i + shape[1]] for i in range(0, len(values), shape[1])]
            shape, stored = shape[::-1], packed([x for row in transposed(rows) for x in row], dtype)
        if gemma and "norm" in name:  # the 1 is in the file
            stored = packed([1 + x for x in unpacked(stored, dtype)], dtype)
        of, body = kind if name in raw else "f16" if dtype == "F16" else "f32", raw.get(name, stored)
        for old, new in names:
            name = name.replace(old, new)
        data += b"\0" * (-len(data) % 32)
        head += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape[::-1])
        head += struct.pack("<IQ", GGUF_TYPES[of], len(data))
        data += body
    with open(path, "wb") as f:
        f.write(head + b"\0" * (-len(head) % 32) + data)


def gguf_read(path):
    """Keys, and tensors as (shape from the outermost axis on, dtype, bytes), by the definition of the format."""
    with open(path, "rb") as f:
        data = f.read()
    at = 0

    def take(form):
        nonlocal at
        value = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize("<" + form)
        return value[0]

    def text():
        nonlocal at
        size = take("Q")
        at += size
        return data[at - size:at].decode()

    def value(kind):
        if kind == 9:
            kind, count = take("I"), take("Q")
            return [value(kind) for _ in range(count)]
        return text() if kind == 8 else take("BbHhIif?"[kind])
    assert take("4s") == b"GGUF" and take("I") == 3
    tensors, keys = take("Q"), take("Q")
    keys = {text(): value(take("I")) for _ in range(keys)}
    found = {}
    for _ in range(tensors):
        name = text()
        shape = [take("Q") for _ in range(take("I"))][::-1]
        found[name] = shape, take("I"), take("Q")
    start, end = at + -at % 32, 0
    for name, (shape, kind, place) in found.items():
        size = math.prod(shape) * (2 if kind else 4)
        assert kind in (0, 1) and place % 32 == 0 and place >= end and (kind == 0 or len(shape) == 2), name
        end = place + size
        found[name] = shape, "F16" if kind else "F32", data[start + place:start + end]
    assert start + end == len(data)
    return keys, found


def gguf_check(path, expected):
    """The logits of the file by the equations above, beside those of the checkpoint that it was made of."""
    global D, HEADS, FF, LAYERS, PLACES
    keys, tensors = gguf_read(path)
    a = keys["general.architecture"]
    key = lambda name, default=None: keys.get(f"{a}.{name}", default)
    D, HEADS, FF, LAYERS = (key(k) for k in ("embedding_length", "attention.head_count", "feed_forward_length",
                                             "block_count"))
    PLACES = key("context_length")
    t = Tensors(0)
    for name, (shape, dtype, data) in tensors.items():
        layer = name.split(".")[1] if name.startswith("blk.") else None
        part, end = name.split(".")[-2:]
        part = dict(GGUF_GPT2 if a == "gpt2" else GGUF_LLAMA)[part]
        values = unpacked(data, dtype)
        if a == "gpt2" and layer and len(shape) == 2:  # [in,out] in the equations
            rows = [values[i:i + shape[1]] for i in range(0, len(values), shape[1])]
            shape, values = shape[::-1], [x for row in transposed(rows) for x in row]
        at = "" if layer is None else f"h.{layer}." if a == "gpt2" else f"model.layers.{layer}."
        if a == "gemma" and "norm" in part:
            values = [x - 1 for x in values]
        t.stored[f"{at}{part}.{end}"] = shape, "F32", packed(values, "F32")
    names = set(t.stored)
    if a == "gpt2":
        logits = gpt2(t, "lm_head.weight" not in names)[1]
    else:
        assert abs(key("attention.layer_norm_rms_epsilon") - 1e-5) < 1e-9 and key("vocab_size") == VOCABULARY
        c = 6 if a == "gemma" else D // HEADS
        assert key("rope.dimension_count") == key("attention.key_length") == key("attention.value_length") == c
        logits = llama(t, a, key("attention.head_count_kv"), None, key("rope.freq_base"), a == "llama")[1]
    most = 0.0
    with open(expected) as f:
        for one in json.load(f)["inputs"]:
            for row, wanted in zip(logits(one["ids"]), one["logits"]):
                most = max([most] + [abs(x - y) for x, y in zip(row, wanted)])
    assert set(t.stored) == names, "tensors are missing"
    kinds = {dtype for _, dtype, _ in tensors.values()}
    tokens = {k[15:]: v for k, v in keys.items() if k.startswith("tokenizer.ggml.")}
    for name in ("token_type", "scores"):
        assert name not in tokens or len(tokens[name]) == len(tokens["tokens"]) == VOCABULARY, name
    assert tokens.get("precompiled_charsmap", [0]), "llama.cpp refuses an empty map"
    assert tokens["model"] == "no_vocab" or (tokens["add_bos_token"], tokens["add_eos_token"]) == (True, False)
    print(a, " ".join(sorted(kinds)), tokens["model"], tokens.get("pre"), "logits", "equal" if most < 1e-4 else most)


def write_gguf(folder, name, kind, gpt2_file, sizes, pre=None):
    global D, FF, LAYERS
    saved = D, FF, LAYERS
    D, FF, LAYERS = sizes
    t = Tensors(len(name), "F16" if gpt2_file else "F32")
    gemma = name == "gguf-gemma"
    config, logits = gpt2(t) if gpt2_file else llama(t, "gemma") if gemma else llama(t, pair=True)
    if pre:
        config["eos_token_id"] = 13
    logits([5])
    raw = {} if gpt2_file or gemma else blocks(t, kind)
    os.makedirs(os.path.join(folder, name), exist_ok=True)
    with open(os.path.join(folder, name, "expected.json"), "w") as f:
        json.dump({"inputs": lm_answers(t, logits, config)[:2]}, f)
    gguf_file(os.path.join(folder, name, "model.gguf"), t, config["model_type"], kind, raw, 1e-5, pre)
    D, FF, LAYERS = saved


def write(folder, name, t, family, answers):
    config, logits = family
    inputs = answers(t, logits, config)
    os.makedirs(os.path.join(folder, name), exist_ok=True)
    if name.startswith("llama2c") or name.startswith("ct2") or name == "npz":
        with open(os.path.join(folder, name, "expected.json"), "w") as f:
            json.dump({"inputs": inputs}, f)
        if name == "npz":
            for file, method in (("stored", zipfile.ZIP_STORED), ("packed", zipfile.ZIP_DEFLATED)):
                npz(os.path.join(folder, name, file + ".npz"), t.stored, method)
            return
        (llama2c_file if name[0] == "l" else ct2_files)(os.path.join(folder, name), t, int(name[-1]))
        return
    for file, text in (("config.json", config), ("expected.json", {"inputs": inputs})):
        with open(os.path.join(folder, name, file), "w") as f:
            json.dump(text, f)
    if name != "llama":
        safetensors(os.path.join(folder, name, "model.safetensors"), t.stored)
        return
    halves = [dict(list(t.stored.items())[i::2]) for i in range(2)]  # in two files with an index
    files = [f"model-0000{i + 1}-of-00002.safetensors" for i in range(2)]
    for file, half in zip(files, halves):
        safetensors(os.path.join(folder, name, file), half)
    with open(os.path.join(folder, name, "model.safetensors.index.json"), "w") as f:
        json.dump({"weight_map": {k: file for file, half in zip(files, halves) for k in half}}, f)


def main(folder):
    for seed, (name, dtype, family, answers) in enumerate((
            ("gpt2", "F16", gpt2, lm_answers),
            ("gpt2-untied", "F32", lambda t: gpt2(t, False), lm_answers),
            ("llama", "F32", llama, lm_answers),
            ("mistral", "BF16", lambda t: llama(t, "mistral", 2, 4), lm_answers),
            ("qwen2", "F32", lambda t: llama(t, "qwen2", 1, None, 1e6), lm_answers),
            ("t5-v1_0", "F32", lambda t: t5(t, False), seq2seq_answers),
            ("t5-v1_1", "F32", lambda t: t5(t, True), seq2seq_answers),
            ("marian", "F32", marian, seq2seq_answers),
            ("bert", "F32", bert, tag_answers),
            ("roberta", "F32", lambda t: bert(t, "roberta"), tag_answers),
            ("albert", "F32", lambda t: bert(t, "albert"), tag_answers),
            ("llama2c-0", "F32", lambda t: llama(t, pair=True), lm_answers),
            ("llama2c-1", "F32", lambda t: llama(t, pair=True), lm_answers),
            ("llama2c-2", "F32", lambda t: llama(t, pair=True), lm_answers),
            ("ct2-2", "F32", lambda t: ct2(t, 8), seq2seq_answers),
            ("npz", "F32", gru, lm_answers),
            ("ct2-6", "F32", lambda t: ct2(t, 2), seq2seq_answers),
            ("gemma", "F32", lambda t: llama(t, "gemma"), lm_answers),
            ("marian-forced", "F32", lambda t: marian(t, {"forced_eos_token_id": 0}), seq2seq_answers),
            ("gpt2-f64", "F64", gpt2, lm_answers))):
        t = Tensors(seed, dtype)
        if name in ("llama2c-2", "ct2-6"):
            made = family(t)[1]
            made([5, 6]) if name[0] == "l" else made([5, 6], [1, 7])
            rounded(t, lambda name, shape: len(shape) == 2)
        write(folder, name, t, family(t), answers)
    write_gguf(folder, "gguf-f16", "f16", True, (8, 12, 2))
    write_gguf(folder, "gguf-q8_0", "q8_0", False, (32, 32, 2))
    write_gguf(folder, "gguf-gemma", "f32", False, (8, 12, 2))
    for pre in ("llama-bpe", "qwen2", "smollm"):
        write_gguf(folder, "gguf-" + pre, "q8_0", False, (32, 32, 1), pre)
    write_gguf(folder, "gguf-q4_0", "q4_0", False, (32, 32, 1))
    write_gguf(folder, "gguf-q4_K", "q4_K", False, (256, 4, 1))
    write_gguf(folder, "gguf-q6_K", "q6_K", False, (256, 4, 1))


if __name__ == "__main__":
    if sys.argv[1] == "--gguf":
        gguf_check(*sys.argv[2:])
    else:
        main(sys.argv[1])
