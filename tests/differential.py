#!/usr/bin/env python3
"""differential.py   random networks: a program of NumPy against the library

    python3 differential.py --syn PATH --count 200 --seed 1    networks 0 to 199 of seed 1
    python3 differential.py --syn PATH --seed 1 --number 57    one of them, with its text

It draws a text of the language, sizes, weights and a batch with padding. It computes logits, loss
and gradients in float64 with its own reverse-mode differentiation, and greedy and beam outputs by
a full pass for each token. It shares no code with the library. Each network becomes an answer file
(golden/README.md), and `syn golden` compares with the tolerances of tools/golden.h. Then it damages
answers by twice their tolerance and wants "FAILED" for each. It ends with 1 after a difference, and
when 200 networks or more left out something of the language.

The network depends on seed and number alone. It is drawn again when its answers are ill-conditioned
in float32. That is decided without the library: see `conditioned`.
"""
import argparse
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

PAD, UNKNOWN, BEGIN, END = 0, 1, 2, 3
TRIES = 60            # draws of one network before it is an error
LAYERS_MOST = 50      # layers of one network, each copy and step counted
GAP = 1e-3            # no choice of the search may be closer (in log p or score)
KINK = 1e-5           # no input of a relu may be closer to 0, relative to the largest above 1
SAFE = 0.25           # of a tolerance: the most by which float32 may move an answer
ROUNDING = 2.0 ** -23  # relative, of every value of a noisy run
NOISY = 2             # noisy runs in float32
LOGITS_LIMITS, GRADIENT_LIMITS = (1e-4, 1.0), (2e-4, 1e-2)  # |x - y| <= [0] * max([1], max |y|)

# -- differentiation: a tape of values, each with the functions that hand its gradient on


class Var:
    """A value, its gradient, and pairs (input, function from this gradient to the input's)."""
    __slots__ = ("v", "g", "back")

    def __init__(self, v, *back):
        self.v, self.g, self.back = v, None, back


class Tape:
    """The precision of a pass, the values in the order in which they were made (None: nothing is
    recorded), the least distance of an input of relu from its kink, and the random numbers that
    round each value once more (None: they do not)."""
    dtype = np.float64
    values = None
    kink = math.inf
    noise = None


def rounded(x):
    if not Tape.noise:
        return x
    return np.asarray(x * (1 + ROUNDING * (2 * Tape.noise.random(x.shape) - 1)), Tape.dtype)


def make(v, *back):
    out = Var(rounded(v), *back)
    if Tape.values is not None:
        Tape.values.append(out)
    return out


def fit(g, shape):
    """Sums the axes along which the input was broadcast."""
    if g.shape == shape:
        return g
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    wide = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    return g.sum(axis=wide, keepdims=True) if wide else g


def backward(loss):
    loss.g = np.ones_like(loss.v)
    for x in reversed(Tape.values):
        if x.g is not None:
            for source, function in x.back:
                g = rounded(fit(function(x.g), source.v.shape))
                source.g = g if source.g is None else source.g + g


def constant(x):
    return np.asarray(x, dtype=Tape.dtype)


def add(a, *more):
    for b in more:
        a = make(a.v + b.v, (a, lambda g: g), (b, lambda g: g))
    return a


def plus(a, c):
    return make(a.v + constant(c), (a, lambda g: g))


def mul(a, b):
    return make(a.v * b.v, (a, lambda g: g * b.v), (b, lambda g: g * a.v))


def scale(a, c):
    c = constant(c)
    return make(a.v * c, (a, lambda g: g * c))


def dot(spec, a, b):
    """einsum of two; every letter stands in two of the three terms."""
    ins, out = spec.split("->")
    p, q = ins.split(",")
    return make(np.einsum(spec, a.v, b.v),
                (a, lambda g: np.einsum(f"{out},{q}->{p}", g, b.v)),
                (b, lambda g: np.einsum(f"{out},{p}->{q}", g, a.v)))


def reshape(a, *shape):
    return make(a.v.reshape(shape), (a, lambda g: g.reshape(a.v.shape)))


def pick(a, key):
    """a[key] for slices and arrays of indices"""
    def back(g):
        out = np.zeros_like(a.v)
        np.add.at(out, key, g)
        return out
    return make(a.v[key], (a, back))


def join(parts, axis):
    cuts = np.cumsum([p.v.shape[axis] for p in parts])
    back = [(p, lambda g, i=i: np.split(g, cuts[:-1], axis)[i]) for i, p in enumerate(parts)]
    return make(np.concatenate([p.v for p in parts], axis), *back)


def stack(parts, axis):
    back = [(p, lambda g, i=i: np.take(g, i, axis)) for i, p in enumerate(parts)]
    return make(np.stack([p.v for p in parts], axis), *back)


def total(a, axis):
    return make(a.v.sum(axis=axis, keepdims=True), (a, lambda g: np.broadcast_to(g, a.v.shape)))


def inverse_root(a):
    y = 1 / np.sqrt(a.v)
    return make(y, (a, lambda g: g * -0.5 * y ** 3))


def limited(a, most):
    return make(np.clip(a.v, -most, most), (a, lambda g: g * (np.abs(a.v) < most)))


def reorder(a, *axes):
    return make(a.v.transpose(axes), (a, lambda g: g.transpose(np.argsort(axes))))


def quotient(a, b):
    y = a.v / b.v
    return make(y, (a, lambda g: g / b.v), (b, lambda g: -g * y / b.v))


def softmax(a, mask=None):
    """Over the last axis, where mask is not 0; a row without any is 0."""
    mask = np.ones_like(a.v) if mask is None else np.broadcast_to(constant(mask), a.v.shape)
    top = np.where(mask > 0, a.v, -math.inf).max(axis=-1, keepdims=True)
    e = np.exp(np.where(mask > 0, a.v - np.where(np.isfinite(top), top, 0), 0)) * mask
    n = e.sum(axis=-1, keepdims=True)
    out = make(e / np.where(n > 0, n, 1),
               (a, lambda g: out.v * (g - (g * out.v).sum(axis=-1, keepdims=True))))
    return out


def log_softmax(a):
    x = a.v - a.v.max(axis=-1, keepdims=True)
    y = x - np.log(np.exp(x).sum(axis=-1, keepdims=True))
    out = make(y, (a, lambda g: g - np.exp(out.v) * g.sum(axis=-1, keepdims=True)))
    return out


ERFC = np.vectorize(math.erfc, otypes=[float])


def sigma(x):
    return 0.5 * (1 + np.tanh(0.5 * x))


def apply(name, a, valid=None):
    """An activation. valid [B,T] tells which inputs of relu count for its kink."""
    x = a.v
    if name == "relu":
        seen = np.abs(x if valid is None else x[valid > 0])
        if seen.size:
            Tape.kink = min(Tape.kink, seen.min() / max(1, seen.max()))
        y, dy = np.maximum(x, 0), (x > 0).astype(x.dtype)
    elif name == "elu_1":  # elu + 1, whose derivative is continuous
        y = np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))
        dy = np.minimum(y, 1)
    elif name == "tanh":
        y = np.tanh(x)
        dy = 1 - y * y
    elif name == "sigmoid":
        y = sigma(x)
        dy = y * (1 - y)
    elif name in ("swish", "quick_gelu"):
        k = 1.0 if name == "swish" else 1.702
        s = sigma(k * x)
        y, dy = x * s, s + k * x * s * (1 - s)
    elif name == "gelu_erf":
        p = constant(0.5 * ERFC(-x.astype(float) / math.sqrt(2)))
        y, dy = x * p, p + x * np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    else:
        root = math.sqrt(2 / math.pi)
        t = np.tanh(root * (x + 0.044715 * x ** 3))
        y = 0.5 * x * (1 + t)
        dy = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * 0.044715 * x * x)
    return make(y, (a, lambda g: g * dy))


GATES = {"glu": "sigmoid", "swiglu": "swish", "geglu": "gelu", "reglu": "relu"}


def glu(a, act="glu", valid=None):
    half = a.v.shape[-1] // 2
    return mul(pick(a, (..., slice(0, half))),
               apply(GATES[act], pick(a, (..., slice(half, None))), valid))


def gate(act, a, valid):
    return glu(a, act, valid) if act in GATES else apply(act, a, valid)


def shift(a, offset):
    """y[b,t] = a[b, t + offset], 0 outside"""
    def moved(x, by):
        y = np.zeros_like(x)
        n = x.shape[1]
        if abs(by) < n:
            y[:, max(0, -by):n - max(0, by)] = x[:, max(0, by):n - max(0, -by)]
        return y
    return make(moved(a.v, offset), (a, lambda g: moved(g, -offset)))


# -- the network: one function for each layer, after the formulas of the language


class Layer:
    """A layer of a text. `core` is what stands for it, when the name is an alias."""

    def __init__(self, name, args=None, chains=(), core=None):
        self.name, self.args, self.chains, self.core = name, args or {}, list(chains), core


def expanded(chain):
    return [x for layer in chain for x in (expanded(layer.core) if layer.core else [layer])]


class Side:
    """Where a chain runs: which positions are tokens [B,T], and the source that it reads."""

    def __init__(self, name, valid, source=None):
        self.name, self.valid, self.source = name, valid.astype(float), source
        self.causal = name == "decoder"
        self.bias = []     # [H,T,T] of each rel_pos that holds here
        self.rope = None   # the arguments of the rope that holds here
        self.first = 0     # 1: of classify the first row is read
        self.ids = None    # an encoder: its tokens [B,T]
        self.blocks = []   # an encoder: the outputs of the copies of its outermost repeat
        self.final = None  # its last output


def sinusoids(positions, d, layout="pair"):
    p = np.zeros((len(positions), d))
    for j in range(d):
        wave, cosine = (j // 2, j % 2) if layout == "pair" else (j % (d // 2), j >= d // 2)
        angle = np.asarray(positions) / 10000 ** (2 * wave / (d - 2 * (layout == "tensor2tensor")))
        p[:, j] = np.cos(angle) if cosine else np.sin(angle)
    return p


def scale_of(a, c):
    """The factor of q . k: `scale`, or 1/sqrt(s), s the width of a head unless given"""
    return a.get("scale", 1 / math.sqrt(a.get("s", c)))


def bucket(r, buckets, most, causal):
    """Of the distance r = i - j. The comparison of powers decides exactly where a logarithm is an
    integer: e + f is reached when (r/e)^(n-e) >= (most/e)^f."""
    if causal:
        base, n, r = 0, buckets, max(r, 0)
    else:
        n = buckets // 2
        base, r = (n if r < 0 else 0), abs(r)
    e = n // 2
    if r < e:
        return base + r
    f = 0
    while e + f + 1 <= n - 1 and r ** (n - e) * e ** (f + 1) >= most ** (f + 1) * e ** (n - e):
        f += 1
    return base + min(n - 1, e + f)


def patterns(lengths, t):
    """The seven fixed patterns [B,7,T,T] of fixed_att."""
    p = np.zeros((len(lengths), 7, t, t))
    for b, n in enumerate(lengths):
        for i in range(n):
            for j in range(n):
                left, right = (j + 1) ** 3, (n - j) ** 3
                p[b, :, i, j] = (j == i, j == i - 1, j == i + 1, left * (j <= i - 2),
                                 right * (j >= i + 2), left, right)
            empty = p[b, :, i].sum(axis=-1) == 0
            p[b, empty, i, i] = 1
    return p / np.maximum(p.sum(axis=-1, keepdims=True), 1e-300)


TAIL = ("norm", "rms_norm", "dropout", "id")  # what may follow a repeat whose copies are read


class Net:
    """The network of a drawn text; parameters are made when they are first used."""

    def __init__(self, draw):
        self.draw, self.rng = draw, draw.rng
        self.d, self.heads, self.n = draw.d, draw.heads, draw.n
        self.weights, self.vars, self.fixed = {}, {}, set()
        self.source_order = {}

    def param(self, name, shape, deviation=None, mean=0.0):
        """Random numbers that float32 holds; the default is 1/sqrt(inputs of an output)."""
        if name not in self.weights:
            if deviation is None:
                deviation = 1 / math.sqrt(shape[-1] * (shape[-2] if len(shape) == 4 else 1))
            drawn = mean + deviation * self.rng.standard_normal(shape)
            self.weights[name] = drawn.astype(np.float32)
        assert self.weights[name].shape == tuple(shape), name
        if name not in self.vars:
            self.vars[name] = Var(constant(self.weights[name]))
        return self.vars[name]

    def bias(self, name, shape):
        return self.param(name, shape, 0.3)

    def linear(self, x, path, n, w="w", b="b"):
        d = x.v.shape[-1]
        sharp = 1.7 if w in ("w_q", "w_k") else 1.2  # attention that is far from uniform
        y = dot("btd,nd->btn", x, self.param(f"{path}.{w}", (n, d), sharp / math.sqrt(d)))
        return add(y, self.bias(f"{path}.{b}", (n,))) if b else y

    def chain(self, chain, x, path, s):
        kept, rope = list(s.bias), s.rope
        for i, layer in enumerate(expanded(chain)):
            x = getattr(self, "layer_" + layer.name)(layer, x, f"{path}.{i}", s)
        s.bias, s.rope = kept, rope
        return x

    # layers of one token

    def layer_pos(self, l, x, path, s):
        d = x.v.shape[-1]
        by = math.sqrt(d) if l.args.get("scale", 1) else 1.0
        first = l.args.get("first", 0)
        places = range(first, first + x.v.shape[1])
        return plus(scale(x, by), sinusoids(places, d, l.args.get("layout", "pair")))

    def layer_learn_pos(self, l, x, path, s):
        w = self.param(f"{path}.w", (self.n, x.v.shape[-1]), 0.5)
        return add(x, pick(w, slice(0, x.v.shape[1])))

    def layer_types(self, l, x, path, s):
        n = l.args.get("n", 2)
        w = self.param(f"{path}.w", (n, x.v.shape[-1]), 0.5)
        ends = np.cumsum(s.ids == END, axis=1) - (s.ids == END)
        return add(x, pick(w, np.minimum(ends, n - 1)))

    def layer_dropout(self, l, x, path, s):
        return x

    layer_id = layer_dropout

    def layer_linear(self, l, x, path, s):
        return self.linear(x, path, l.args.get("n", self.d), b="b" * l.args.get("bias", 1))

    def layer_ff(self, l, x, path, s):
        n, act = l.args.get("n", self.d), l.args.get("act", "relu")
        rows = 2 * n if act in GATES else n
        return gate(act, self.linear(x, path, rows, b="b" * l.args.get("bias", 1)), s.valid)

    def layer_act(self, l, x, path, s):
        return apply(l.args.get("act", "relu"), x, s.valid)

    def layer_norm(self, l, x, path, s):
        d = x.v.shape[-1]
        x = add(x, scale(total(x, -1), -1 / d))
        y = self.layer_rms_norm(l, x, path, s)
        return add(y, self.bias(f"{path}.b", (d,))) if l.args.get("bias", 1) else y

    def layer_rms_norm(self, l, x, path, s):
        mean = scale(total(mul(x, x), -1), 1 / x.v.shape[-1])
        unit = mul(x, inverse_root(plus(mean, l.args.get("eps", 1e-6))))
        return mul(unit, self.param(f"{path}.g", (x.v.shape[-1],), 0.3, 1.0))

    def layer_aop(self, l, x, path, s):
        d = x.v.shape[-1]
        h = l.args.get("heads", self.heads)
        n = l.args.get("keys", 3 * d)
        ck, cv = l.args.get("c_k", d // h), l.args.get("c_v", d // h)
        q = self.split(self.linear(x, path, h * ck, "w_q", None), h)
        keys = self.param(f"{path}.keys", (h, n, ck), d ** -0.5)
        values = self.param(f"{path}.values", (h, n, cv), d ** -0.5)
        p = softmax(scale(dot("bihc,hnc->bhin", q, keys), math.sqrt(d) / math.sqrt(ck)))
        return self.merge(scale(dot("bhin,hnc->bihc", p, values), math.sqrt(d)), path, d)

    # layers of places

    def places(self, path, name, t):
        """The first rows and columns of a matrix of places [N,N]"""
        return pick(self.param(f"{path}.{name}", (self.n, self.n), 0.7), (slice(t), slice(t)))

    def layer_sgu(self, l, x, path, s):
        t, e = x.v.shape[1], x.v.shape[-1] // 2
        u, v = pick(x, (..., slice(0, e))), pick(x, (..., slice(e, None)))
        v = self.layer_norm(l, v, path, s)
        w = self.places(path, "w_s", t)
        w = mul(Var(constant(self.visible(s)[:, 0])), reshape(w, 1, t, t))
        bias = pick(self.param(f"{path}.b_s", (self.n,), 0.5, 1.0), slice(0, t))
        return mul(u, add(dot("bij,bjc->bic", w, v), reshape(bias, 1, t, 1)))

    def layer_aft(self, l, x, path, s):
        d, t = x.v.shape[-1], x.v.shape[1]
        q, k, v = (self.linear(x, path, d, name, None) for name in ("w_q", "w_k", "w_v"))
        w, k = limited(self.places(path, "w", t), 30), limited(k, 30)
        score = add(reshape(w, 1, t, t, 1), reshape(k, len(x.v), 1, t, d))
        score = reorder(score, 0, 3, 1, 2)  # [B,d,T,T]: each channel has weights of its own
        mean = dot("bcij,bjc->bic", softmax(score, self.visible(s)), v)
        return self.linear(mul(apply("sigmoid", q), mean), path, d, "w_o", None)

    def layer_lin_att(self, l, x, path, s):
        d, t, h = x.v.shape[-1], x.v.shape[1], l.args.get("heads", self.heads)
        q, k, v = (self.split(self.linear(x, path, d, name, None), h)
                   for name in ("w_q", "w_k", "w_v"))
        decay = l.args.get("decay", 5)
        gamma = np.array([1 - 2.0 ** (-decay - i) if decay else 1.0 for i in range(h)])
        apart = np.abs(np.arange(t)[:, None] - np.arange(t)[None])
        weight = gamma[:, None, None] ** apart * self.visible(s)
        score = scale(dot("bihc,bjhc->bhij", apply("elu_1", q), apply("elu_1", k)), weight)
        p = quotient(score, plus(total(score, -1), 1e-6))
        return self.merge(dot("bhij,bjhc->bihc", p, v), path, d)

    # layers of neighbours

    def taps(self, x, k, s, dilate=1, left=None):
        """[B,T,k,d]: the inputs around each position, 0 outside and at padding"""
        if left is None:
            left = k - 1 if s.causal else (k - 1) // 2
        x = scale(x, s.valid[:, :, None])
        return stack([shift(x, (tap - left) * dilate) for tap in range(k)], 2)

    def convolution(self, x, w, s, dilate=1):
        return dot("btkd,nkd->btn", self.taps(x, w.v.shape[1], s, dilate), w)

    def layer_cnn(self, l, x, path, s):
        n, k, act = l.args.get("n", self.d), l.args.get("k", 3), l.args.get("act", "glu")
        rows = 2 * n if act in GATES else n
        w = self.param(f"{path}.w", (rows, k, x.v.shape[-1]), (k * x.v.shape[-1]) ** -0.5)
        y = self.convolution(x, w, s, l.args.get("dilate", 1))
        return gate(act, add(y, self.bias(f"{path}.b", (rows,))), s.valid)

    def layer_light_conv(self, l, x, path, s):
        h, k = l.args.get("heads", self.heads), l.args.get("k", 7)
        w = softmax(self.param(f"{path}.w", (h, k), 1.0))
        return self.mix_taps(l, x, path, s, lambda u: dot("btkhc,hk->bthc", u, w))

    def layer_dyn_conv(self, l, x, path, s):
        h, k = l.args.get("heads", self.heads), l.args.get("k", 7)

        def mixed(u, inner):
            w = self.linear(inner, path, h * k, "w_k", None)
            return dot("btkhc,bthk->bthc", u, softmax(self.split(w, h)))
        return self.mix_taps(l, x, path, s, mixed)

    def mix_taps(self, l, x, path, s, mixed):
        """The gated input of light_conv and dyn_conv, what `mixed` makes of its taps, the output"""
        d, h, k = x.v.shape[-1], l.args.get("heads", self.heads), l.args.get("k", 7)
        u = glu(self.linear(x, path, 2 * d, "w_in", "b_in"))
        t = self.taps(u, k, s, left=k - 1 if s.causal else k // 2)
        t = reshape(t, *t.v.shape[:3], h, d // h)
        y = mixed(t) if l.name == "light_conv" else mixed(t, u)
        return self.linear(reshape(y, *x.v.shape), path, d, "w_out", "b_out")

    # recurrent layers

    def recurrent(self, x, path, n, cell, first=None):
        """The states [B,T,n] of a cell that starts from h = first [B,n], or from 0"""
        gates = 4 if cell == "lstm" else 3
        a = self.linear(x, path, gates * n, "w_i", "b_i")
        w = self.param(f"{path}.w_h", (gates * n, n))
        b = self.bias(f"{path}.b_h", (gates * n,))
        c = Var(np.zeros((x.v.shape[0], n), dtype=Tape.dtype))
        h = c if first is None else first
        states = []

        def part(y, i):
            return pick(y, (slice(None), slice(i * n, (i + 1) * n)))
        for t in range(x.v.shape[1]):
            at, back = pick(a, (slice(None), t)), add(dot("bn,mn->bm", h, w), b)
            if cell == "lstm":
                both = add(at, back)
                i, f, o = (apply("sigmoid", part(both, k)) for k in (0, 1, 3))
                c = add(mul(f, c), mul(i, apply("tanh", part(both, 2))))
                h = mul(o, apply("tanh", c))
            else:
                r, z = (apply("sigmoid", add(part(at, k), part(back, k))) for k in (0, 1))
                new = apply("tanh", add(part(at, 2), mul(r, part(back, 2))))
                h = add(new, mul(z, add(h, scale(new, -1.0))))
            states.append(h)
        return stack(states, 1)

    def layer_rnn(self, l, x, path, s):
        first = None
        if l.args.get("state") == "source":
            last = s.source.valid.sum(axis=1).astype(int) - 1
            first = pick(s.source.final, (np.arange(len(last)), last))
        return self.recurrent(x, path, l.args.get("n", self.d), l.args.get("cell", "lstm"), first)

    def layer_pool(self, l, x, path, s):
        """The mean is taken behind the chain; here only what it is taken of"""
        s.first = l.args.get("take") == "first"
        return x

    def layer_softcap(self, l, x, path, s):
        """Applied in output"""
        return x

    def layer_ssru(self, l, x, path, s):
        n = l.args.get("n", self.d)
        u = self.linear(x, path, n, "w", None)
        f = apply("sigmoid", self.linear(x, path, n, "w_f", "b_f"))
        c, states = Var(np.zeros((x.v.shape[0], n), dtype=Tape.dtype)), []
        for t in range(x.v.shape[1]):
            at = (slice(None), t)
            c = add(pick(u, at), mul(pick(f, at), add(c, scale(pick(u, at), -1.0))))
            states.append(c)
        return apply("relu", stack(states, 1), s.valid)

    def layer_birnn(self, l, x, path, s):
        n, cell = l.args.get("n", self.d) // 2, l.args.get("cell", "lstm")
        ends = s.valid.sum(axis=1).astype(int)[:, None]
        t = np.arange(x.v.shape[1])[None]
        reversed_rows = (np.arange(len(ends))[:, None], np.where(t < ends, ends - 1 - t, t))
        back = self.recurrent(pick(x, reversed_rows), path + ".bwd", n, cell)
        return join([self.recurrent(x, path + ".fwd", n, cell), pick(back, reversed_rows)], -1)

    # layers of chains

    def layer_res(self, l, x, path, s):
        return add(x, self.chain(l.chains[0], x, path, s))

    def layer_highway(self, l, x, path, s):
        g = apply("sigmoid", self.linear(x, path, x.v.shape[-1]))
        y = self.chain(l.chains[0], x, path, s)
        return add(y, mul(g, add(x, scale(y, -1.0))))

    def branches(self, l, x, path, s):
        return [self.chain(c, x, f"{path}.{i}", s) for i, c in enumerate(l.chains)]

    def layer_concat(self, l, x, path, s):
        return join(self.branches(l, x, path, s), -1)

    def layer_parallel_add(self, l, x, path, s):
        return add(*self.branches(l, x, path, s))

    def layer_repeat(self, l, x, path, s):
        for copy in range(l.args["n"]):
            x = self.chain(l.chains[0], x, f"{path}.{copy}", s)
            if path.count(".") == 1:
                s.blocks.append(x)
        return x

    def layer_universal(self, l, x, path, s):
        t, d = x.v.shape[1:]
        for step in range(l.args["n"]):
            x = plus(x, sinusoids(range(t), d) + sinusoids([step], d))
            x = self.chain(l.chains[0], x, path, s)
        return x

    def layer_share(self, l, x, path, s):
        for _ in range(l.args["n"]):
            x = self.chain(l.chains[0], x, path, s)
        return x

    def layer_scale(self, l, x, path, s):
        return scale(x, l.args["s"])

    def layer_input_feed(self, l, x, path, s):
        """s.fed: the final outputs of the positions before, [B,T,width]"""
        return join([s.fed, x], -1)

    # attention

    def split(self, x, h):
        return reshape(x, *x.v.shape[:2], h, x.v.shape[-1] // h)

    def merge(self, y, path, d, bias=0):
        b, t, h, c = y.v.shape
        return self.linear(reshape(y, b, t, h * c), path, d, "w_o", "b_o" * bias)

    def projected(self, a, x, path, name):
        """q, k or v [B,T,h,c]; where heads share k and v, the shared ones again and again"""
        h, c = a["heads"], a["c"]
        n = h if name == "q" else a.get("kv", h)
        y = self.linear(x, path, n * c, f"w_{name}", f"b_{name}" * a.get("bias", 0))
        y = self.split(y, n)
        every = (slice(None), slice(None), np.arange(h) // (h // n))
        return pick(y, every) if n < h else y

    def visible(self, s, window=0):
        """[B,1,T,T]: which keys a query may see"""
        t = s.valid.shape[1]
        mask = np.broadcast_to(s.valid[:, None, None, :], (len(s.valid), 1, t, t))
        apart = np.abs(np.arange(t)[:, None] - np.arange(t)[None])
        mask = mask * (apart < (window or t))
        return mask * np.tril(np.ones((t, t))) if s.causal else mask

    def layer_rel_pos(self, l, x, path, s):
        n, most, t = l.args.get("buckets", 32), l.args.get("max", 128), x.v.shape[1]
        w = self.param(f"{path}.w", (self.heads, n), 1.0)
        at = [[bucket(i - j, n, most, s.causal) for j in range(t)] for i in range(t)]
        s.bias = s.bias + [pick(w, (slice(None), np.array(at)))]
        return x

    def layer_rope(self, l, x, path, s):
        s.rope = l.args
        return x

    def rotated(self, y, s):
        """q or k [B,T,h,c] by the angles of its places"""
        if s.rope is None:
            return y
        n = s.rope.get("part", y.v.shape[-1])
        j = np.arange(n // 2)
        w = np.arange(y.v.shape[1])[:, None] * float(s.rope.get("base", 10000)) ** (-2 * j / n)
        cos, sin = np.cos(w)[None, :, None], np.sin(w)[None, :, None]
        pairs = s.rope.get("layout", "half") == "pair"
        at = (2 * j, 2 * j + 1) if pairs else (j, j + n // 2)
        a, b = (pick(y, (..., i)) for i in at)
        new = [add(scale(a, cos), scale(b, -sin)), add(scale(a, sin), scale(b, cos)),
               pick(y, (..., np.arange(n, y.v.shape[-1])))]
        order = np.argsort(np.concatenate([*at, np.arange(n, y.v.shape[-1])]))
        return pick(join(new, -1), (..., order))

    def layer_syn_att(self, l, x, path, s):
        a, d, t = dict(l.args), x.v.shape[-1], x.v.shape[1]
        h = a.setdefault("heads", self.heads)
        a.setdefault("c", d // h)
        kinds = a.get("kinds", ["V"])
        a["table"] = a.get("tile", 0) or self.n
        a["at"] = np.arange(t) % a["tile"] if a.get("tile", 0) else np.arange(t)
        a["shared_q"] = a.get("shared", 0) and "V" in kinds
        v = self.projected(a, x, path, "v")
        scores = [getattr(self, "kind_" + kind)(a, x, path, s) for kind in kinds]
        mix = a.get("mix", "alpha")
        if mix == "free" or len(kinds) > 1 and mix == "alpha":
            alpha = self.param(f"{path}.alpha", (h, len(kinds)), 1.0)
            alpha = alpha if mix == "free" else softmax(alpha)
            scores = [mul(score, reshape(pick(alpha, (slice(None), k)), 1, h, 1, 1))
                      for k, score in enumerate(scores)]
        score = add(*scores, *s.bias)
        score = add(score, Var(np.zeros((len(x.v), h, t, t), dtype=Tape.dtype)))
        mask = self.visible(s, a.get("window", 0))
        p = softmax(score, mask) if a.get("softmax", 1) else scale(score, mask)
        return self.merge(dot("bhij,bjhc->bihc", p, v), path, d, a.get("bias", 0))

    def kind_V(self, a, x, path, s):
        rotated = (lambda y, s: y) if a.get("fixed") else self.rotated
        q, k = (rotated(self.projected(a, x, path, name), s) for name in "qk")
        return scale(dot("bihc,bjhc->bhij", q, k), scale_of(a, a["c"]))

    def kind_R(self, a, x, path, s, name="r"):
        n = a["table"]
        w = self.param(f"{path}.{name}", (a["heads"], n, n), 1.0)
        return pick(w, (slice(None), a["at"][:, None], a["at"][None]))

    def kind_T(self, a, x, path, s):
        """A number for each distance, stored from the largest distance down to the least"""
        n, apart = a["table"], a["at"][:, None] - a["at"][None]
        if a.get("tile", 0):
            apart = apart % n
        elif s.causal:
            apart = np.maximum(apart, 0)
        both = not s.causal and not a.get("tile", 0)
        w = self.param(f"{path}.t", (a["heads"], 2 * n - 1 if both else n), 1.0)
        return pick(w, (slice(None), n - 1 - apart))

    def kind_Fix(self, a, x, path, s):
        self.fixed.add(f"{path}.fix")
        return self.kind_R(a, x, path, s, "fix")

    def kind_FR(self, a, x, path, s):
        k = a.get("k", 8)
        r = [pick(self.param(f"{path}.{name}", (a["heads"], a["table"], k), k ** -0.25),
                  (slice(None), a["at"])) for name in ("r1", "r2")]
        return dot("hik,hjk->hij", *r)

    def output_stage(self, a, hidden, path, w, b):
        """hidden [B,T,h,c] times w [H,N,c], plus b [H,N]"""
        key = (slice(None), a["at"])
        c, h = hidden.v.shape[-1], a["heads"]
        y = dot("bihc,hjc->bhij", hidden, pick(self.param(f"{path}.{w}", (h, a["table"], c)), key))
        bias = pick(self.bias(f"{path}.{b}", (h, a["table"])), key)
        return add(y, reshape(bias, h, 1, len(a["at"])))

    def kind_D(self, a, x, path, s):
        h, e = a["heads"], a["heads"] * a["c"]
        if not a.get("shared", 0):
            u = apply("relu", self.linear(x, path, e, "d_w1", "d_b1"), s.valid)
            return self.output_stage(a, self.split(u, h), path, "d_w2", "d_b2")
        bias = "b_q" * a.get("bias", 0) * (a["shared_q"] > 0)
        u = self.linear(x, path, e, "w_q" if a["shared_q"] else "d_w1", bias)
        u = self.split(apply("relu", u, s.valid), h)
        w = pick(self.param(f"{path}.d_w2", (a["table"], a["c"])), a["at"])
        return dot("bihc,jc->bhij", u, w)

    def kind_BD(self, a, x, path, s):
        u = self.linear(x, path, a["heads"] * a.get("m", 16), "bd_w1", "bd_b1")
        u = self.split(apply("relu", u, s.valid), a["heads"])
        return self.output_stage(a, u, path, "bd_w2", "bd_b2")

    def kind_FD(self, a, x, path, s):
        h, c, n = a["heads"], a["c"], a["table"]
        na = a.get("a", math.isqrt(n - 1) + 1)
        nb = a.get("b", -(-n // na))
        u = self.split(apply("relu", self.linear(x, path, h * c, "fd_w1", "fd_b1"), s.valid), h)
        parts = []
        for name, size, at in (("a", na, a["at"] // nb), ("b", nb, a["at"] % nb)):
            w = self.param(f"{path}.fd_w{name}", (h, size, c))
            bias = self.bias(f"{path}.fd_b{name}", (h, size))
            y = add(dot("bihc,hnc->bhin", u, w), reshape(bias, h, 1, size))
            parts.append(pick(y, (slice(None), slice(None), slice(None), at)))
        return mul(*parts)

    def kind_GLU(self, a, x, path, s):
        u = self.split(x, a["heads"])
        return mul(self.output_stage(a, u, path, "g_wa", "g_ba"),
                   apply("sigmoid", self.output_stage(a, u, path, "g_wb", "g_bb")))

    def output_taps(self, a, u, path, w, b, s):
        """hidden u [B,T,h*c], a convolution of width f within each head: w [H,N,f,c]"""
        h, n, f = a["heads"], a["table"], a["width"]
        t = self.taps(u, f, s)
        t = reshape(t, *t.v.shape[:3], h, t.v.shape[-1] // h)
        key = (slice(None), a["at"])
        filters = pick(self.param(f"{path}.{w}", (h, n, f, t.v.shape[-1])), key)
        bias = pick(self.bias(f"{path}.{b}", (h, n)), key)
        return add(dot("bifhc,hjfc->bhij", t, filters), reshape(bias, h, 1, len(a["at"])))

    def kind_Conv(self, a, x, path, s):
        a["width"] = a.get("f", 3)
        return self.output_taps(a, x, path, "c_w", "c_b", s)

    def two_convolutions(self, a, x, path, s, name, inner):
        f = a.get("f", 3)
        a["width"] = a.get("f2", f) if name == "crc" else f
        d = x.v.shape[-1]
        w = self.param(f"{path}.{name}_w1", (inner, f, d), (f * d) ** -0.5)
        u = add(self.convolution(x, w, s), self.bias(f"{path}.{name}_b1", (inner,)))
        return self.output_taps(a, apply("relu", u, s.valid), path, f"{name}_w2", f"{name}_b2", s)

    def kind_CRC(self, a, x, path, s):
        return self.two_convolutions(a, x, path, s, "crc", a["heads"] * a["c"])

    def kind_BCRC(self, a, x, path, s):
        return self.two_convolutions(a, x, path, s, "bcrc", a["heads"] * a.get("m", 16))

    def layer_linformer(self, l, x, path, s):
        d, h, k = x.v.shape[-1], l.args.get("heads", self.heads), l.args.get("k", 32)
        q, key, value = (self.linear(x, path, d, w, None) for w in ("w_q", "w_k", "w_v"))
        short = []
        for name, y in (("e", key), ("f", value)):
            w = pick(self.param(f"{path}.{name}", (k, self.n)), (slice(None), slice(x.v.shape[1])))
            short.append(self.split(dot("ks,bsd->bkd", w, scale(y, s.valid[:, :, None])), h))
        score = scale(dot("bihc,bkhc->bhik", self.split(q, h), short[0]), 1 / math.sqrt(d // h))
        return self.merge(dot("bhik,bkhc->bihc", softmax(score), short[1]), path, d)

    def layer_fixed_att(self, l, x, path, s):
        d, t, h = x.v.shape[-1], x.v.shape[1], l.args.get("heads", self.heads)
        v = self.split(self.linear(x, path, d, "w_v", None), h)
        fixed = patterns(s.valid.sum(axis=1).astype(int), t)[:, :min(h, 7)]
        p = Var(constant(fixed))
        if h > 7:
            a = {"heads": h - 7, "c": d // h, "fixed": 1}
            p = join([p, softmax(self.kind_V(a, x, path, s), self.visible(s))], 1)
        return self.merge(dot("bhij,bjhc->bihc", p, v), path, d)

    def layer_mh_dot_src_att(self, l, x, path, s):
        a, d = dict(l.args), x.v.shape[-1]
        a.setdefault("c", d // a.setdefault("heads", self.heads))
        u = self.source_of(a.get("source", "upper"), path, s)
        q = self.projected(a, x, path, "q")
        k, v = (self.projected(a, u, path, name) for name in "kv")
        score = scale(dot("bihc,bjhc->bhij", q, k), scale_of(a, a["c"]))
        p = softmax(score, s.source.valid[:, None, None, :])
        return self.merge(dot("bhij,bjhc->bihc", p, v), path, d, a.get("bias", 0))

    def source_of(self, which, path, s):
        if which == "upper":
            return s.source.final
        order = self.source_order.setdefault(which, {})
        i = order.setdefault(path, len(order))
        return s.source.blocks[i if which == "increasing" else -1 - i]

    def layer_mlp_src_att(self, l, x, path, s):
        n, u = l.args.get("n", self.d), s.source.final
        b, t, m = len(x.v), x.v.shape[1], u.v.shape[1]
        q = reshape(self.linear(x, path, n, "w_q", None), b, t, 1, n)
        k = reshape(self.linear(u, path, n, "w_k", None), b, 1, m, n)
        w = self.param(f"{path}.w_s", (n,), 1.0)
        score = dot("bijn,n->bij", apply("tanh", add(q, k)), w)
        return dot("bij,bjd->bid", softmax(score, s.source.valid[:, None, :]), u)

    # a whole model

    def embed(self, name, tokens, vocabulary):
        return pick(self.param(name, (vocabulary, self.d), 0.7), tokens)

    def encode(self, src):
        s = Side("encoder", src != PAD)
        s.ids = src
        name = "tgt.embed" if self.draw.tie == "all" else "src.embed"
        x = self.embed(name, src, self.draw.src_vocab)
        chain = expanded(self.draw.encoder)
        s.final = self.chain(self.draw.encoder, x, "encoder", s)
        repeats = [i for i, l in enumerate(chain) if l.name == "repeat"]
        if len(repeats) == 1 and all(l.name in TAIL for l in chain[repeats[0] + 1:]):
            s.blocks = [self.tail(chain, repeats[0], x, s) for x in s.blocks]
        return s

    def tail(self, chain, at, x, s):
        """What follows the encoder's repeat: a norm, or nothing that computes"""
        for i in range(at + 1, len(chain)):
            if chain[i].name in ("norm", "rms_norm"):
                x = getattr(self, "layer_" + chain[i].name)(chain[i], x, f"encoder.{i}", s)
        return x

    def decode(self, tgt, source=None):
        """The decoder's last output [B,T,width]; with input_feed one pass for each position"""
        s = Side("decoder", tgt != PAD, source)
        x = self.embed("tgt.embed", tgt, self.draw.tgt_vocab)
        if not any(l.name == "input_feed" for l in self.draw.decoder):
            return self.chain(self.draw.decoder, x, "decoder", s)
        rows = [Var(np.zeros((len(tgt), self.draw.out_width), dtype=Tape.dtype))]
        for t in range(tgt.shape[1]):
            s.valid = (tgt[:, :t + 1] != PAD).astype(float)
            s.fed = stack(rows, 1)
            y = self.chain(self.draw.decoder, pick(x, (slice(None), slice(0, t + 1))), "decoder", s)
            rows.append(pick(y, (slice(None), t)))
        return stack(rows[1:], 1)

    def output(self, x):
        n, d = self.draw.classes, x.v.shape[-1]
        w = self.vars["tgt.embed"] if self.draw.tie != "none" else self.param("out.w", (n, d))
        spec = "btd,nd->btn" if x.v.ndim == 3 else "bd,nd->bn"
        z = add(dot(spec, x, w), self.bias("out.b", (n,)))
        last = (self.draw.decoder or self.draw.encoder)[-1]
        if last.name != "softcap":
            return z
        return scale(apply("tanh", scale(z, 1 / last.args["s"])), last.args["s"])

    def logits(self, batch):
        task = self.draw.task
        if task in ("seq2seq", "lm"):
            source = self.encode(batch["src"]) if task == "seq2seq" else None
            return self.output(self.decode(batch["tgt"], source))
        s = self.encode(batch["src"])
        if task == "tag":
            return self.output(s.final)
        weights = s.valid / s.valid.sum(axis=1, keepdims=True)
        if s.first:
            weights = np.zeros_like(weights)
            weights[:, 0] = 1
        mean = total(scale(s.final, weights[:, :, None]), 1)
        return self.output(reshape(mean, len(s.valid), mean.v.shape[-1]))

    def loss(self, logits, labels):
        v, eps = self.draw.classes, self.draw.smoothing
        q = np.full(logits.v.shape, eps / (v - 1))
        np.put_along_axis(q, labels[..., None], 1 - eps, -1)
        asked = np.ones(labels.shape) if self.draw.task == "classify" else labels != PAD
        q *= asked[..., None] / asked.sum()
        y = scale(log_softmax(logits), -q)
        return make(np.asarray(y.v.sum()), (y, lambda g: np.broadcast_to(g, y.v.shape)))

    def answers(self, batch, dtype=np.float64):
        """Logits, loss and the gradient of each parameter, computed in this precision"""
        Tape.dtype, Tape.values, Tape.kink, self.vars = dtype, [], math.inf, {}
        logits = self.logits(batch)
        loss = self.loss(logits, batch["labels"])
        backward(loss)
        Tape.values = None
        out = {"logits": logits.v, "loss": loss.v.reshape(1)}
        for name, p in self.vars.items():
            if name not in self.fixed:
                out["grad." + name] = np.zeros_like(p.v) if p.g is None else p.g
        return out


# -- search: every hypothesis is computed anew from its first token


class Close(Exception):
    """Two choices of the search lie so close that rounding may change their order."""


class Search:
    def __init__(self, net, batch, limit):
        Tape.dtype, Tape.values, net.vars = np.float64, None, {}
        self.net, self.limit, self.count = net, limit, len(batch["labels"])
        self.source = net.encode(batch["src"]) if net.draw.task == "seq2seq" else None

    def log_p(self, sentence, prefixes):
        """log p [hypotheses,V] of the next token; -inf for those that are never chosen"""
        source = None
        if self.source:
            rows = [sentence] * len(prefixes)
            source = Side("encoder", self.source.valid[rows])
            source.final = pick(self.source.final, rows)
            source.blocks = [pick(x, rows) for x in self.source.blocks]
        tgt = np.array([[BEGIN] + list(p) for p in prefixes])
        z = self.net.decode(tgt, source)
        y = log_softmax(self.net.output(pick(z, (slice(None), slice(-1, None))))).v[:, 0]
        y[:, [PAD, BEGIN]] = -math.inf
        return y

    def greedy(self, sentence):
        out = []
        while len(out) < self.limit and END not in out:
            y = self.log_p(sentence, [out])[0]
            first, second = np.argsort(-y)[:2]
            if y[first] - y[second] < GAP:
                raise Close
            out.append(int(first))
        return out

    def beam(self, sentence, k=4):
        """The best hypothesis and its score"""
        live, finished = [((), 0.0)], []

        def score(log_p, size):
            return log_p / ((5 + size) / 6) ** 0.6
        for step in range(1, self.limit + 1):
            y = self.log_p(sentence, [tokens for tokens, _ in live])
            more = [(tokens + (v,), log_p + y[i, v]) for i, (tokens, log_p) in enumerate(live)
                    for v in range(y.shape[1]) if y[i, v] > -math.inf]
            more.sort(key=lambda m: -m[1])
            if any(a[1] - b[1] < GAP for a, b in zip(more[:2 * k], more[1:])):
                raise Close
            more = more[:2 * k]
            finished += [(t, score(p, step)) for t, p in more if t[-1] == END]
            live = [m for m in more if m[0][-1] != END][:k]
        best = finished or [(t, score(p, self.limit)) for t, p in live]
        best.sort(key=lambda m: -m[1])
        if len(best) > 1 and best[0][1] - best[1][1] < GAP:
            raise Close
        return best[0]

    def answers(self):
        out = {"greedy": np.zeros((self.count, self.limit), np.int32),
               "beam": np.zeros((self.count, self.limit), np.int32),
               "beam_score": np.zeros(self.count)}
        for b in range(self.count):
            tokens = self.greedy(b)
            out["greedy"][b, :len(tokens)] = tokens
            tokens, out["beam_score"][b] = self.beam(b)
            out["beam"][b, :len(tokens)] = tokens
        return out


# -- drawing: texts, sizes, batches

# Arguments in the order in which they bind; `dropout` is always a keyword.
ARGUMENTS = {
    "pos": ["scale", "layout", "first"], "scale": ["s"], "pool": ["take"], "softcap": ["s"], "learn_pos": [], "types": ["n"], "dropout": ["rate"], "id": [], "linear": ["n", "bias"],
    "ff": ["n", "act", "bias"], "act": ["act"], "norm": ["eps", "bias"],
    "rms_norm": ["eps"],
    "cnn": ["n", "k", "act", "dilate"], "rnn": ["n", "cell", "state"], "birnn": ["n", "cell"], "ssru": ["n"], "res": [],
    "highway": [], "concat": [], "parallel_add": [], "repeat": ["n"], "universal": ["n"], "share": ["n"],
    "syn_att": ["kinds", "heads", "c", "k", "a", "b", "f", "f2", "m", "tile", "softmax", "mix",
                "shared", "scale", "bias", "kv", "window"],
    "mh_dot_src_att": ["heads", "s", "scale", "source", "c", "bias", "kv"], "mlp_src_att": ["n"],
    "lin_att": ["heads", "decay"], "sgu": [], "aft": [],
    "light_conv": ["k", "heads"], "dyn_conv": ["k", "heads"], "linformer": ["k", "heads"],
    "aop": ["heads", "keys", "c_k", "c_v"], "rel_pos": ["buckets", "max"],
    "rope": ["base", "layout", "part"],
    "fixed_att": ["heads"], "input_feed": [],
    "ffl": ["n", "act", "bias"], "res_d": [], "res_nd": [],
    "mh_dot_self_att": ["heads", "s", "scale", "c", "bias", "kv", "window"],
    "mh_dot_att": ["heads", "s", "scale", "source", "c", "bias", "kv"], "dot_src_att": ["s"], "mlp_att": ["n"],
    "parallel": []}
# How many places are drawn where the next one is dropout, which is always a keyword here.
PLACES = {"ff": 2, "pos": 1, "syn_att": 13, "mh_dot_src_att": 5, "mh_dot_self_att": 4, "mh_dot_att": 5}
DROPPED = ("pos learn_pos linear ff cnn syn_att mh_dot_src_att mlp_src_att light_conv dyn_conv "
           "linformer lin_att aft aop fixed_att mh_dot_self_att mh_dot_att dot_src_att mlp_att").split()
KINDS = "V R Fix FR T D FD Conv CRC BD BCRC GLU".split()
RAW = ("R", "Fix", "FR", "T")
ACTS = "relu gelu tanh sigmoid swish gelu_erf quick_gelu".split()
ENCODER = ("types", "birnn", "linformer", "fixed_att")
DECODER = "mh_dot_src_att mh_dot_att dot_src_att mlp_src_att mlp_att input_feed".split()
OPTIONS = "tile tile_V softmax c mix shared shared_V increasing decreasing".split()
# Each network holds one of these for certain: a layer, a kind or an option of syn_att, a source.
FOCI = ([x for x in ARGUMENTS if x not in ("syn_att", "pool", "softcap")] + KINDS + OPTIONS +
        ["rel_pos_twice", "rel_pos_raw"])
SIMPLE = ("pos learn_pos scale dropout id linear ff act act norm rms_norm cnn rnn ssru syn_att syn_att "
          "syn_att light_conv dyn_conv lin_att sgu aft aop rel_pos rope ffl mh_dot_self_att").split()
NESTED = "res res_d res_nd highway concat parallel parallel_add repeat universal share".split()
WANTED = ([name for name in ARGUMENTS] +
          [f"{name}.{a}" for name, args in ARGUMENTS.items() for a in args] +
          [f"{name}.dropout" for name in DROPPED] + [f"syn_att {k}" for k in KINDS] +
          [f"ff {a}" for a in [*ACTS, *GATES]] + [f"act {a}" for a in ACTS] +
          [f"{n} {a}" for n in ("cnn", "ffl") for a in ("relu", "gelu", "swish", "glu")] + [f"{n} bias=0" for n in ("ff", "ffl", "norm")] +
          [f"{n} {c}" for n in ("rnn", "birnn") for c in ("lstm", "gru")] +
          ["rope layout=half", "rope layout=pair", "rope before V"] +
          [f"pos layout={n}" for n in ("pair", "half", "tensor2tensor")] +
          ["pool take=mean", "pool take=first", "rnn state=source", "linear bias=0", "pos scale=0", "syn_att softmax=0", "syn_att mix=sum",
           "syn_att mix=free",
           "syn_att shared=1", "syn_att shared=1 with V", "syn_att tile V alone",
           "syn_att T with tile", "fixed_att with V heads", "lin_att decay=0", "two rel_pos",
           "rel_pos with softmax=0", "even light_conv",
           "source=upper", "source=increasing", "source=decreasing", "source in universal",
           "place of an argument", "comment", "→", "label 0 inside", "longer than max_len",
           "one token", "smoothing", "greedy", "beam"] +
          ["task " + t for t in ("seq2seq", "lm", "classify", "tag")] +
          ["tie " + t for t in ("none", "out", "all")])


class Redraw(Exception):
    """What was drawn cannot be, or is ill-conditioned; the text says which."""


class Draw:
    """The text, sizes and batch of one network"""

    def __init__(self, seed, number, attempt):
        self.rng = np.random.default_rng([seed, number, attempt])
        self.focus, self.features = FOCI[number % len(FOCI)], set()
        self.side, self.biased, self.tables, self.likely = "encoder", 0, False, 0.35
        self.rope = None
        self.d = self.one([4, 6, 6, 8, 8, 9, 10, 12, 16, 20, 24, 35])
        self.heads = self.divisor(self.d)
        self.n = self.int(3, self.one([8, 8, 14, 24]))
        self.task = self.draw_task()
        self.feature("task " + self.task)
        self.draw_sides()
        if self.chance(0.2):
            (self.decoder or self.encoder).append(Layer("softcap", {"s": self.one([0.5, 3, 30])}))
            self.feature("softcap", "softcap.s")
        self.draw_model()
        if self.layers(self.encoder) + self.layers(self.decoder) > LAYERS_MOST:
            raise Redraw("too many layers")
        self.batch = self.draw_batch()
        wild = self.chance(0.4)
        self.texts = [self.text(chain, wild) for chain in (self.encoder, self.decoder)]

    def one(self, choices):
        return choices[int(self.rng.integers(len(choices)))]

    def int(self, least, most):
        return int(self.rng.integers(least, most + 1))

    def chance(self, p):
        return bool(self.rng.random() < p)

    def feature(self, *names):
        self.features.update(names)

    def divisor(self, d, most=4):
        return self.one([h for h in range(1, most + 1) if d % h == 0])

    def layers(self, chain):
        """Layers that a pass computes: each copy of a repeat, each step of a universal"""
        return sum(1 + l.args.get("n", 1) ** (l.name in ("repeat", "universal", "share")) *
                   sum(map(self.layers, l.chains)) for l in expanded(chain))

    def draw_task(self):
        if self.focus in ENCODER:
            return self.one(["seq2seq", "classify", "tag"])
        if self.focus == "input_feed":
            return self.one(["seq2seq", "lm"])
        if self.focus in DECODER or self.focus.endswith("creasing"):
            return "seq2seq"
        return self.one(["seq2seq", "lm", "classify", "tag"])

    def draw_sides(self):
        """Both chains; the focus stands in one where it may"""
        focus, self.encoder, self.decoder = self.focus, [], []
        both = self.task == "seq2seq"
        at = "decoder" if self.task == "lm" or focus in DECODER else "encoder"
        if both and focus not in ENCODER + tuple(DECODER):
            at = self.one(["encoder", "decoder"])
        self.out_width = self.d
        if focus.endswith("creasing"):
            return self.draw_crossing()
        if self.task != "lm":
            self.encoder, self.out_width = self.draw_chain(self.d, 0, focus if at == "encoder"
                                                           else None)
            self.source_width = self.out_width
        if self.task == "classify" and self.chance(0.5):
            take = self.one(["mean", "first"])
            self.encoder.append(Layer("pool", {"take": take}))
            self.feature("pool", "pool.take", "pool take=" + take)
        if self.task in ("seq2seq", "lm"):
            self.draw_decoder(focus if at == "decoder" else None)

    def draw_decoder(self, focus):
        self.side = "decoder"
        first, d = [], self.d
        if focus == "input_feed" or self.chance(0.08):
            self.feature("input_feed")
            size, d = self.sized(self.one(["linear", "ff", "cnn", "rnn"]), d)
            first, focus = [Layer("input_feed"), size], None if focus == "input_feed" else focus
        if self.task == "seq2seq" and self.chance(0.2):
            d = self.source_width
            cell = self.one(["lstm", "gru"])
            first.append(Layer("rnn", {"n": d, "cell": cell, "state": "source"}))
            self.feature("rnn", "rnn.n", "rnn.cell", "rnn " + cell, "rnn.state", "rnn state=source")
        self.decoder, self.out_width = self.draw_chain(d, 0, focus)
        self.decoder = first + self.decoder
        if self.task == "seq2seq" and not self.attends(self.decoder):
            layer, _ = self.draw_layer(self.one(["mh_dot_att", "mh_dot_src_att"]),
                                       self.out_width, 1)
            self.decoder.append(Layer("res", {}, [[layer]]))
            self.feature("res")

    def attends(self, chain):
        return any(l.name in ("mh_dot_src_att", "mlp_src_att") or any(map(self.attends, l.chains))
                   for l in expanded(chain))

    def draw_crossing(self):
        """An encoder of one repeat, and as many layers of the decoder that read its copies"""
        n = self.int(2, 3)
        block, d = self.draw_chain(self.d, 1, None) if self.chance(0.5) else ([], self.d)
        chain, d = self.draw_repeated(d, 1, 0)
        tail = self.one([[], ["norm"], ["rms_norm"], ["dropout"], ["id", "norm"],
                         ["dropout", "rms_norm"]])
        if any(l.name == "repeat" for l in expanded(block)):
            raise Redraw("two repeats")
        self.encoder = block + [Layer("repeat", {"n": n}, [chain])] + [Layer(t) for t in tail]
        self.feature("repeat", "repeat.n", *tail)
        self.side, self.source_width = "decoder", d
        kinds = [self.focus] + (["increasing", "decreasing"] if self.chance(0.4) else [])
        d = self.d
        for kind in dict.fromkeys(kinds):
            chains = []
            for i in range(1 if self.chance(0.5) else n):
                layer, _ = self.draw_layer("mh_dot_src_att", d, 1)
                layer.args["source"] = kind
                chains.append([Layer("norm"), layer])
            self.feature("source=" + kind, "mh_dot_src_att.source", "res", "norm")
            layers = [Layer("res", {}, [c]) for c in chains]
            if len(layers) == n:  # a layer in a universal reads the same copy in all its steps
                layers[0] = Layer("universal", {"n": self.int(2, 3)}, [[layers[0]]])
                self.feature("universal", "universal.n", "source in universal")
            more, _ = self.draw_chain(d, 1, None, d)
            self.decoder += more
            self.decoder += layers if len(layers) == n else [Layer("repeat", {"n": n}, [layers])]
        self.out_width = d

    def draw_chain(self, d, depth, focus, want=None):
        """Some layers, then, where the width is not `want`, one that makes it so"""
        layers, biased, rope = [], self.biased, self.rope
        count = self.int(1, 4) if depth == 0 else self.int(1, 2)
        at = self.int(0, count - 1)
        for i in range(count):
            name = focus if focus and i == at else self.choose(depth)
            layer, width = self.draw_layer(name, d, depth)
            if width == d and layer.name in DROPPED[2:] and self.chance(0.5):
                name = self.one(["res", "res", "res_nd", "highway"])  # what came before shows
                self.feature(name)
                layer = self.nest(name, [layer])
            if layer.name == "dropout" and layers and "dropout" in layers[-1].args:
                layer.args.pop("rate", None)  # two rates for one dropout are an error
            layers.append(layer)
            d = width
        if want and d != want:
            layer, d = self.sized(self.one(["linear", "ff", "cnn", "rnn"]), d, want)
            layers.append(layer)
        self.biased, self.rope = biased, rope
        return layers, d

    def choose(self, depth):
        if depth < 2 and self.chance(0.35):
            return self.one(NESTED)
        if self.side == "encoder" and self.chance(0.15):
            return self.one(ENCODER)
        if self.side == "decoder" and self.task == "seq2seq" and self.chance(0.3):
            return self.one(DECODER[:-1])
        return self.one(SIMPLE)

    # one layer: its arguments, its chains, the width behind it

    def draw_layer(self, name, d, depth):
        self.likely = 0.7 if name == self.focus else 0.35
        option = name if name in OPTIONS else None
        kind = name if name in KINDS else None
        if option or kind or name == "syn_att":
            return self.finish(self.draw_syn_att(d, kind, option), d, d)
        if name in NESTED:
            return self.draw_nested(name, d, depth)
        if self.focus == name and name[:7] == "rel_pos":
            return self.draw_biased(d, name)
        if self.focus == name == "rope":
            return self.draw_rotated(d)
        if name in ("linear", "ff", "cnn", "rnn", "birnn", "ssru"):
            return self.sized(name, d)
        if name == "sgu":
            return self.draw_sgu(d)
        layer = getattr(self, "draw_" + name)(d)
        return self.finish(layer, d, self.source_width if name in ("mlp_src_att", "mlp_att") else d)

    def finish(self, layer, d, width):
        """Notes the arguments; an alias gets its core"""
        a, name = layer.args, layer.name
        if name in DROPPED and self.chance(0.4):
            a["dropout"] = self.one([0, 0.1, 0.5])
        self.note(layer)
        if name == "ffl":
            bias = {"bias": a.get("bias", 1)}
            layer.core = [Layer("ff", {"n": a.get("n", 4 * d), "act": a.get("act", "relu"), **bias}),
                          Layer("linear", {"n": d, **bias})]
        elif name == "mh_dot_self_att":
            layer.core = [Layer("syn_att", {"kinds": ["V"], **a})]
        elif name == "dot_src_att":
            layer.core = [Layer("mh_dot_src_att", {"heads": 1, **a})]
        elif name == "mh_dot_att":
            layer.core = [Layer("mh_dot_src_att", a)]
        elif name == "mlp_att":
            layer.core = [Layer("mlp_src_att", a)]
        return layer, width

    def note(self, layer):
        name, a = layer.name, layer.args
        self.feature(name, *(f"{name}.{k}" for k in a))
        if name in ("ff", "cnn", "act", "ffl"):
            self.feature(f"{name} {a.get('act', 'glu' if name == 'cnn' else 'relu')}")
        if name in ("rnn", "birnn"):
            self.feature(f"{name} {a.get('cell', 'lstm')}")
        self.feature(*(f"{name} {k}={a[k]}" for k in ("layout", "state", "bias", "scale", "softmax", "mix", "shared")
                       if k in a))

    def some(self, a, name, value):
        """Gives an argument, or leaves its default"""
        if self.chance(self.likely):
            a[name] = value

    def some_heads(self, a, d):
        if d % self.heads or self.chance(self.likely):
            a["heads"] = self.divisor(d)
        return a

    def some_scale(self, a):
        """The scale of attention: as it is, or as s of 1/sqrt(s)"""
        if self.chance(0.5):
            self.some(a, "scale", self.one([0.3, 0.7, 1, 1.25]))
        else:
            self.some(a, "s", self.one([1, 2, 4, 5]))
        return a

    def sized(self, name, d, n=None):
        """A layer that makes its width, n when it is given"""
        a = {}
        given = n or (self.int(3, 10) if self.chance(self.likely) else None)
        if name == "birnn" and (given or self.d) % 2:
            given = 2 * self.int(2, 5)
        if given and (given != self.d or self.chance(0.5)):
            a["n"] = given
        if name in ("linear", "ff"):
            self.some(a, "bias", self.int(0, 1))
        if name in ("ff", "cnn") and self.chance(0.85):
            a["act"] = self.one([*ACTS, *GATES])
        if name in ("rnn", "birnn"):
            self.some(a, "cell", self.one(["lstm", "gru"]))
        if name == "cnn":
            self.some(a, "k", self.one([1, 3, 5]) if self.side == "encoder" else self.int(1, 5))
            self.some(a, "dilate", self.int(1, 3))
        return self.finish(Layer(name, a), d, given or self.d)

    def draw_nested(self, name, d, depth):
        self.feature(name)
        if name in ("concat", "parallel", "parallel_add"):
            want = None if name != "parallel_add" else self.one([d, self.int(3, 8)])
            drawn = [self.draw_chain(d, depth + 1, None, want) for _ in range(self.int(2, 3))]
            chains, widths = [c for c, _ in drawn], [w for _, w in drawn]
            width = want or sum(widths)
            core = [Layer("concat", {}, chains)] if name == "parallel" else None
            return Layer(name, {}, chains, core), width
        if name == "repeat":
            chain, width = self.draw_repeated(d, depth + 1)
            self.feature("repeat.n")
            return Layer(name, {"n": self.int(1, 3)}, [chain]), width
        chain, _ = self.draw_chain(d, depth + 1, None, d)
        if name in ("universal", "share"):
            self.feature(name + ".n")
            return Layer(name, {"n": self.int(1, 3)}, [chain]), d
        return self.nest(name, chain), d

    def nest(self, name, chain):
        """res, res_d, res_nd, highway of a chain that keeps the width"""
        front = [Layer("norm")] if name == "res_nd" else []
        core = [Layer("res", {}, [front + chain + [Layer("dropout")]])]
        return Layer(name, {}, [chain], core if name[:4] == "res_" else None)

    def draw_repeated(self, d, depth, keeps=0.6):
        """What repeat takes: it keeps the width, or its first layer makes another"""
        if self.chance(keeps):
            return self.draw_chain(d, depth, None, d)
        first, d = self.sized(self.one(["linear", "ff", "cnn", "rnn"]), d)
        chain, d = self.draw_chain(d, depth, None, d)
        return [first] + chain, d

    def draw_pos(self, d):
        a = {}
        self.some(a, "scale", self.int(0, 1))
        self.some(a, "layout", self.one(["pair"] + ["half", "tensor2tensor"] * (d % 2 == 0 and d > 3)))
        self.some(a, "first", self.int(0, 3))
        return Layer("pos", a)

    def draw_types(self, d):
        a = {}
        self.some(a, "n", self.int(1, 3))
        return Layer("types", a)

    def draw_scale(self, d):
        return Layer("scale", {"s": self.one([0.5, -1.25, 2])})

    def draw_learn_pos(self, d):
        self.tables = True
        return Layer("learn_pos")

    def draw_dropout(self, d):
        a = {}
        self.some(a, "rate", self.one([0, 0.1, 0.25, 0.9]))
        return Layer("dropout", a)

    def draw_id(self, d):
        return Layer("id")

    def draw_norm(self, d):
        a = {}
        self.some(a, "eps", self.one([1e-12, 1e-5, 0.01, 0.25]))
        self.some(a, "bias", self.int(0, 1))
        return Layer("norm", a)

    def draw_rms_norm(self, d):
        a = {}
        self.some(a, "eps", self.one([1e-12, 1e-5, 0.01, 0.25]))
        return Layer("rms_norm", a)

    def draw_act(self, d):
        a = {}
        if self.chance(0.7):
            a["act"] = self.one(ACTS)
        return Layer("act", a)

    def draw_ffl(self, d):
        a = {}
        self.some(a, "n", self.int(3, 10))
        if self.chance(0.7):
            a["act"] = self.one([*ACTS, *GATES])
        self.some(a, "bias", self.int(0, 1))
        return Layer("ffl", a)

    def draw_aop(self, d):
        a = self.some_heads({}, d)
        self.some(a, "keys", self.int(1, 8))
        self.some(a, "c_k", self.int(1, 5))
        self.some(a, "c_v", self.int(1, 5))
        if a.get("heads", self.heads) > 1 and self.chance(0.2) and "c_k" in a and "c_v" in a:
            a["heads"] = self.int(1, 4)
        return Layer("aop", a)

    def draw_light_conv(self, d, name="light_conv"):
        a = self.some_heads({}, d)
        self.some(a, "k", self.int(1, 7))
        if self.side == "encoder" and a.get("k", 7) % 2 == 0:
            self.feature("even light_conv")
        return Layer(name, a)

    def draw_dyn_conv(self, d):
        return self.draw_light_conv(d, "dyn_conv")

    def draw_lin_att(self, d):
        a = self.some_heads({}, d)
        self.some(a, "decay", self.one([0, 1, 3, 20]))
        if a.get("decay") == 0:
            self.feature("lin_att decay=0")
        return Layer("lin_att", a)

    def draw_aft(self, d):
        self.tables = True
        return Layer("aft")

    def draw_sgu(self, d):
        """It keeps half of the width, which must be even"""
        self.tables = True
        if d % 2 or d < 4:
            raise Redraw("a width that has no halves")
        return self.finish(Layer("sgu"), d, d // 2)

    def draw_linformer(self, d):
        a = self.some_heads({}, d)
        self.some(a, "k", self.int(1, 6))
        self.tables = True
        return Layer("linformer", a)

    def draw_fixed_att(self, d):
        a, divisors = {}, [h for h in range(1, 11) if d % h == 0]
        if d % self.heads or self.chance(0.7):
            a["heads"] = divisors[-1] if self.chance(0.5) else self.one(divisors)
        if a.get("heads", self.heads) > 7:
            self.feature("fixed_att with V heads")
        return Layer("fixed_att", a)

    def draw_rel_pos(self, d):
        a = {}
        self.some(a, "buckets", self.int(1, 5) * 2 if self.side == "encoder" else self.int(2, 9))
        e = a.get("buckets", 32) // (4 if self.side == "encoder" else 2)
        self.some(a, "max", self.one([e + self.int(1, 8), max(e, 1) * self.one([4, 8, 9])]))
        self.biased += 1
        if self.biased > 1:
            self.feature("two rel_pos")
        return Layer("rel_pos", a)

    def draw_biased(self, d, name):
        """res(rel_pos -> syn_att), with one bias or two"""
        biased = self.biased
        count = 1 + (name == "rel_pos_twice")
        chain = [self.finish(self.draw_rel_pos(d), d, d)[0] for _ in range(count)]
        option = "softmax" if name == "rel_pos_raw" else self.one([None, "mix"])
        chain.append(self.finish(self.draw_syn_att(d, None, option), d, d)[0])
        self.biased = biased
        self.feature("res")
        return Layer("res", {}, [chain]), d

    def draw_rotated(self, d):
        """res(rope -> syn_att), with V among its kinds"""
        rope = self.rope
        chain = [self.finish(self.draw_rope(d), d, d)[0]]
        chain.append(self.finish(self.draw_syn_att(d, "V", None), d, d)[0])
        self.rope = rope
        self.feature("res")
        return Layer("res", {}, [chain]), d

    def draw_mh_dot_self_att(self, d):
        a = {}
        if self.biased:
            if d % self.heads:
                a["c"] = self.int(1, 5)
        else:
            self.some_heads(a, d)
            self.some(a, "c", self.int(1, 5))
        self.fit_rope(a, d, ["V"])
        return Layer("mh_dot_self_att", self.some_window(self.some_shared(self.some_scale(a))))

    def draw_rope(self, d):
        a = {}
        self.some(a, "base", self.one([1, 30, 10000, 500000]))
        self.some(a, "layout", self.one(["half", "pair"]))
        self.some(a, "part", self.one([2, 2, 4]))
        self.rope = a
        return Layer("rope", a)

    def fit_rope(self, a, d, kinds):
        """Behind a rope the heads of V have an even width, from its part on, and are not shared"""
        if self.rope is None or "V" not in kinds:
            return
        c, least = a.get("c", d // a.get("heads", self.heads)), self.rope.get("part", 2)
        if "c" not in a and d % a.get("heads", self.heads) or c % 2 or c < least:
            if "Conv" in kinds or "GLU" in kinds:
                raise Redraw("slices of the input for the heads of rope")
            a["c"] = least + 2 * self.int(0, 2)
        a.pop("shared", None)
        self.feature("rope before V")

    def some_shared(self, a):
        """Biases, and fewer heads of keys and values"""
        h = a.get("heads", self.heads)
        self.some(a, "bias", self.int(0, 1))
        self.some(a, "kv", self.one([n for n in range(1, h + 1) if h % n == 0]))
        return a

    def some_window(self, a):
        self.some(a, "window", self.int(0, self.one([3, 6, self.n + 1])))
        return a

    def draw_mh_dot_src_att(self, d, name="mh_dot_src_att"):
        a = self.some_heads({}, d)
        self.some_scale(a)
        self.some(a, "c", self.int(1, 5))
        if self.chance(0.2):
            a["source"] = "upper"
            self.feature("source=upper")
        return Layer(name, self.some_shared(a))

    def draw_mh_dot_att(self, d):
        return self.draw_mh_dot_src_att(d, "mh_dot_att")

    def draw_dot_src_att(self, d):
        a = {}
        self.some(a, "s", self.one([1, 2, 4, 5]))
        return Layer("dot_src_att", a)

    def draw_mlp_src_att(self, d, name="mlp_src_att"):
        a = {}
        self.some(a, "n", self.int(2, 8))
        return Layer(name, a)

    def draw_mlp_att(self, d):
        return self.draw_mlp_src_att(d, "mlp_att")

    def draw_syn_att(self, d, kind, option):
        if option or kind:
            self.likely = 0.6
        if option == "tile_V":
            kinds = ["V"]
        elif option == "softmax":
            kinds = [k for k in RAW if self.chance(0.6)] or ["R"]
        else:
            fixed = {"shared": ["D"], "shared_V": ["D", "V"]}.get(option, [kind] if kind else [])
            more = self.one([0, 0, 0, 1, 1, 2]) + (option == "mix")
            remaining = [k for k in KINDS if k not in fixed]
            self.rng.shuffle(remaining)
            kinds = fixed + remaining[:max(more, 1 - len(fixed)) + (option == "mix")]
        self.rng.shuffle(kinds)
        a = {"kinds": kinds}
        self.feature(*("syn_att " + k for k in kinds))
        self.draw_heads(a, d, kinds, option)
        self.draw_sizes(a, kinds, option)
        if len(kinds) > 1 and (option == "mix" or self.chance(0.4)):
            a["mix"] = self.one(["free", "sum"] if option == "mix" else ["alpha", "sum"])
        elif self.chance(0.05):
            a["mix"] = "free"
        if "T" in kinds and a.get("tile"):
            self.feature("syn_att T with tile")
        if set(kinds) <= set(RAW) and (option == "softmax" or self.chance(0.3)):
            a["softmax"] = 0 if option == "softmax" else self.int(0, 1)
            if self.biased and not a["softmax"]:
                self.feature("rel_pos with softmax=0")
        if "D" in kinds and (str(option)[:6] == "shared" or self.chance(0.2)):
            a["shared"] = 1
            if "V" in kinds:
                self.feature("syn_att shared=1 with V")
        self.fit_rope(a, d, kinds)
        self.some_window(a)
        if "V" in kinds:
            self.some_shared(a)
            self.some(a, "scale", self.one([0.3, 0.7, 1, 1.25]))
        else:
            self.some(a, "bias", self.int(0, 1))
        if kinds == ["V"] and not a.get("softmax"):
            del a["kinds"]
            if a.get("tile"):
                self.feature("syn_att tile V alone")
            if a == {} or self.chance(0.5):
                a["kinds"] = kinds
        if kinds != ["V"] and not a.get("tile"):
            self.tables = True
        return Layer("syn_att", a)

    def draw_heads(self, a, d, kinds, option):
        slices = "Conv" in kinds or "GLU" in kinds  # of the input: heads times c is its width
        if self.biased:
            if d % self.heads and slices:
                raise Redraw("slices of the input for the heads of rel_pos")
            if self.chance(0.3):
                a["heads"] = self.heads
        elif d % self.heads or self.chance(self.likely):
            a["heads"] = self.divisor(d)
        h = a.get("heads", self.heads)
        if slices:
            self.some(a, "c", d // h)
        elif d % h or option == "c" or self.chance(0.2):
            a["c"] = self.int(1, 6)

    def draw_sizes(self, a, kinds, option):
        odd = self.side == "encoder"
        if str(option)[:4] == "tile" or self.chance(0.25):
            a["tile"] = self.int(1 if str(option)[:4] == "tile" else 0, self.n + 1)
        table = a.get("tile") or self.n
        if "FR" in kinds:
            self.some(a, "k", self.int(1, 9))
        if "FD" in kinds:
            if self.chance(self.likely):
                a["a"] = self.int(1, table)
            least = -(-table // a.get("a", math.isqrt(table - 1) + 1))
            self.some(a, "b", least + self.int(0, 2))
        if {"Conv", "CRC", "BCRC"} & set(kinds):
            self.some(a, "f", self.one([1, 3, 5]) if odd else self.int(1, 4))
        if "CRC" in kinds:
            self.some(a, "f2", self.one([1, 3, 5]) if odd else self.int(1, 4))
        if {"BD", "BCRC"} & set(kinds):
            self.some(a, "m", self.int(1, 5))

    # sizes of the model, the batch

    def draw_model(self):
        most = self.one([10, 10, 40])
        self.src_vocab, self.tgt_vocab = self.int(5, most), self.int(5, most)
        self.tie, width = "none", self.out_width
        if self.task in ("seq2seq", "lm") and width == self.d:
            self.tie = self.one(["none", "out", "all"])
        if self.tie == "all":
            self.src_vocab = self.tgt_vocab
        self.classes = self.tgt_vocab if self.task in ("seq2seq", "lm") else self.int(2, 6)
        self.smoothing = self.one([0, 0, 0.1, 0.25])
        if self.task == "lm" and self.tie == "all":
            self.feature("tie all")
        self.feature("tie " + self.tie, *["smoothing"] * (self.smoothing > 0))

    def lengths(self, count):
        most = self.n if self.tables or self.chance(0.5) else self.n + 2
        out = [self.int(1, most) for _ in range(count)]
        if self.chance(0.5):
            out[self.int(0, count - 1)] = most
        self.feature(*["longer than max_len"] * (max(out) > self.n), *["one token"] * (1 in out))
        return out

    def rows(self, lengths, first, last):
        """Tokens of sentences; first and last are given tokens or None"""
        out = np.zeros((len(lengths), max(lengths)), np.int32)
        for b, n in enumerate(lengths):
            out[b, :n] = self.words(self.classes if first else self.src_vocab, n)
            if first:
                out[b, 0] = first
            if last:
                out[b, n - 1] = last
        return out

    def words(self, vocabulary, n):
        return [UNKNOWN if self.chance(0.1) else self.int(4, vocabulary - 1) for _ in range(n)]

    def draw_batch(self):
        count, batch = self.int(1, 4), {}
        if self.task != "lm":
            batch["src"] = self.rows(self.lengths(count), None, None if self.task == "tag" else END)
        if self.task == "classify":
            batch["labels"] = np.array([self.int(0, self.classes - 1) for _ in range(count)],
                                       np.int32)
        elif self.task == "tag":
            batch["labels"] = self.tags(batch["src"])
        else:
            tgt = self.rows(self.lengths(count), BEGIN, None)
            labels = np.zeros_like(tgt)
            labels[:, :-1] = tgt[:, 1:]
            labels[np.arange(count), (tgt != PAD).sum(axis=1) - 1] = END
            batch.update(tgt=tgt, labels=self.unasked(tgt, labels, 0.2))
        return batch

    def tags(self, src):
        labels = self.rng.integers(1, self.classes, src.shape).astype(np.int32)
        labels[src == PAD] = PAD
        return self.unasked(src, labels, 0.5)

    def unasked(self, tokens, labels, p):
        """Sometimes some labels, never the first, become 0: nothing is asked there"""
        if self.chance(p):
            labels[:, 1:][self.rng.random(labels[:, 1:].shape) < 0.3] = PAD
            if ((labels == PAD) & (tokens != PAD)).any():
                self.feature("label 0 inside", "label 0 inside " + self.task)
        return labels

    # texts

    def text(self, chain, wild):
        arrows = ["->", " -> ", "→", " → ", " ->\n", "  # -> norm\n-> "] if wild else [" -> "]
        out = self.layer_text(chain[0], wild) if chain else ""
        for layer in chain[1:]:
            arrow = self.one(arrows)
            self.feature(*["comment"] * ("#" in arrow), *["→"] * ("→" in arrow))
            out += arrow + self.layer_text(layer, wild)
        return out

    def value_text(self, value, wild):
        if isinstance(value, list):
            return self.one(["+", " + "] if wild else ["+"]).join(value)
        return str(value)

    def layer_text(self, layer, wild):
        names, a = ARGUMENTS[layer.name], layer.args
        given = 0
        while given < len(names) and names[given] in a:
            given += 1
        places = given if layer.chains else self.int(0, min(given, PLACES.get(layer.name, 99)))
        if layer.name == "syn_att" and given and self.chance(0.7):
            places = max(places, 1)
        parts = [self.value_text(a[k], wild) for k in names[:places]]
        remaining = [k for k in a if k not in names[:places]]
        self.feature(*["place of an argument"] * (places > 0))
        self.rng.shuffle(remaining)
        equals = " = " if wild else "="
        parts += [k + equals + self.value_text(a[k], wild) for k in remaining]
        parts += [self.text(chain, wild) for chain in layer.chains]
        if not parts:
            return layer.name + ("()" if wild and self.chance(0.2) else "")
        between = self.one([", ", ",", " | ", "|"]) if wild else ", "
        if not wild and len(layer.chains) > 1:
            between = " | "
        return f"{layer.name}({between.join(parts)})"


# -- answer files


def write(path, draw, net, answers):
    k = {"format": "synthesizer", "version": "1", "task": draw.task, "d_model": draw.d,
         "heads": draw.heads, "max_len": draw.n, "tie": draw.tie, "dropout": draw.one([0, 0.1]),
         "label_smoothing": draw.smoothing, "seed": 1}
    if draw.encoder:
        k.update(encoder=draw.texts[0], src_vocab=draw.src_vocab)
    if draw.decoder:
        k.update(decoder=draw.texts[1], tgt_vocab=draw.tgt_vocab)
    else:
        k["classes"] = draw.classes
    tensors = dict(net.weights)
    tensors.update({"test." + name: x for name, x in {**draw.batch, **answers}.items()})
    header, data, at = {"__metadata__": {name: str(x) for name, x in k.items()}}, [], 0
    for name, x in tensors.items():
        kind = "I32" if x.dtype == np.int32 else "F32"
        data.append(np.ascontiguousarray(x, "<i4" if kind == "I32" else "<f4").tobytes())
        header[name] = {"dtype": kind, "shape": x.shape, "data_offsets": [at, at + len(data[-1])]}
        at += len(data[-1])
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-(len(text) + 8) % 64)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(data))


def conditioned(net, batch):
    """The answers in float64, and the most that one is moved, in tolerances, by float32 where each
    value is off by a random rounding. It must be below SAFE, and no relu may lie at its kink."""
    wide = net.answers(batch)
    asked = 1
    if net.draw.task != "classify":
        asked = (batch["labels"] != PAD)[..., None]
        wide["logits"] = wide["logits"] * asked
    if not all(np.isfinite(y).all() for y in wide.values()):
        raise Redraw("an answer that is not finite")
    if Tape.kink < KINK:
        raise Redraw("a relu at its kink")
    worst, Tape.noise = 0.0, net.rng
    for _ in range(NOISY):
        narrow = net.answers(batch, np.float32)
        for name, y in wide.items():
            limits = GRADIENT_LIMITS if name[:5] == "grad." else LOGITS_LIMITS
            moves = (narrow[name] - y) * asked if name == "logits" else narrow[name] - y
            worst = max(worst, np.abs(moves).max() / (limits[0] * max(limits[1], np.abs(y).max())))
    Tape.noise = None
    if not worst < SAFE:
        raise Redraw("float32 moves an answer")
    return wide, worst


class Case:
    """One drawn network with its answers"""

    def __init__(self, seed, number):
        self.number, self.refused = number, Counter()
        for attempt in range(TRIES):
            try:
                self.draw = Draw(seed, number, attempt)
                self.net = Net(self.draw)
                with np.errstate(all="ignore"):
                    self.answers, self.worst = conditioned(self.net, self.draw.batch)
                break
            except Redraw as reason:
                self.refused[str(reason)] += 1
        else:
            raise SystemExit(f"network {number}: no draw in {TRIES}: {dict(self.refused)}")
        self.search()

    def search(self):
        draw = self.draw
        if draw.task not in ("seq2seq", "lm") or draw.chance(0.3):
            return
        if draw.task == "seq2seq" and draw.batch["src"].shape[1] > draw.n:
            return  # syn golden decodes sources of max_len at most
        try:
            limit = draw.int(3, min(draw.n, draw.one([9, 9, 20])))
            self.answers.update(Search(self.net, draw.batch, limit).answers())
            draw.feature("greedy", "beam")
        except Close:
            self.refused["close choices: no search"] += 1

    def show(self):
        d = self.draw
        print(f"network {self.number}: {d.task}, focus {d.focus}, d_model {d.d}, heads {d.heads}, "
              f"max_len {d.n}, tie {d.tie}, smoothing {d.smoothing}")
        for side, text in zip(("encoder", "decoder"), d.texts):
            if text:
                print(f"{side}: {text}")
        for name, x in d.batch.items():
            print(f"{name}: {x.tolist()}")


def golden(syn, paths):
    """The verdict of `syn golden` on each file"""
    out = {}
    for i in range(0, len(paths), 100):
        part = paths[i:i + 100]
        done = subprocess.run([syn, "golden"] + part, stdout=subprocess.PIPE, text=True)
        for line in done.stdout.splitlines():
            path, _, verdict = line.partition(": ")
            if path in part:
                out[path] = verdict
    return [out.get(path, "no verdict") for path in paths]


def damaged(case, name):
    """The answers with one number of `name` wrong by twice the tolerance (a token by 1)"""
    answers = {k: np.array(x, order="C") for k, x in case.answers.items()}
    x, flat = answers[name], answers[name].reshape(-1)
    if x.dtype == np.int32:
        flat[0] = 3 if flat[0] != 3 else 4
        return answers
    limits = GRADIENT_LIMITS if name.startswith("grad.") else LOGITS_LIMITS
    at = np.abs(flat).argmax()  # of logits: a row that is asked, the others are 0
    flat[at] += math.copysign(2 * limits[0] * max(limits[1], abs(flat[at])), flat[at])
    return answers


def damages(cases, most=3):
    """(case, answer): the first few cases of each kind of answer, the first of each layer's
    parameters"""
    seen, out = Counter(), []
    for case in cases:
        for name in case.answers:
            last = name.rsplit(".", 1)[-1]
            kind = ("grad." + last) if name.startswith("grad.") else name
            if seen[kind] < (1 if kind != name else most):
                seen[kind] += 1
                out.append((case, name))
    return out


def check(cases, syn, folder):
    """Writes the files, compares, prints each difference; returns their number"""
    paths = []
    for case in cases:
        paths.append(os.path.join(folder, f"{case.number}.safetensors"))
        write(paths[-1], case.draw, case.net, case.answers)
    bad = [(c, v) for c, v in zip(cases, golden(syn, paths)) if v != "ok"]
    for case, verdict in bad:
        case.show()
        print(f"DIFFERENCE, network {case.number}: {verdict}\n")
    return len(bad)


def check_damages(cases, syn, folder):
    """Each damaged answer must be found; returns how many were not"""
    chosen, paths = damages(cases), []
    for i, (case, name) in enumerate(chosen):
        paths.append(os.path.join(folder, f"damaged{i}.safetensors"))
        write(paths[-1], case.draw, case.net, damaged(case, name))
    lost = 0
    for (case, name), path, verdict in zip(chosen, paths, golden(syn, paths)):
        wanted = f"FAILED: {'test.' if name in ('greedy', 'beam') else ''}{name}: element "
        if not verdict.startswith(wanted):
            print(f"network {case.number}, {name} damaged: '{verdict}', wanted '{wanted}...'")
            lost += 1
        os.remove(path)
    print(f"damaged answers: {len(chosen)}, found {len(chosen) - lost}")
    return lost


def coverage(cases):
    """Prints how many networks held what; returns what none held"""
    held = Counter(feature for case in cases for feature in case.draw.features)
    line = ""
    for name in sorted(set(WANTED) | set(held), key=str.lower):
        item = f"{name} {held[name]}; "
        if len(line) + len(item) > 110:
            print(line.rstrip())
            line = ""
        line += item
    print(line.rstrip())
    return [name for name in WANTED if not held[name]]


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--syn", required=True, help="the built tools/syn.c")
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--first", type=int, default=0, help="the number of the first network")
    p.add_argument("--number", type=int, help="only this network, and its text")
    p.add_argument("--seed", type=int, default=2)
    p.add_argument("--folder", help="keeps the answer files")
    a = p.parse_args()
    if a.number is not None:
        a.first, a.count = a.number, 1
    with tempfile.TemporaryDirectory() as temporary:
        folder = a.folder or temporary
        os.makedirs(folder, exist_ok=True)
        started, bad, lost, refused, kept = time.process_time(), 0, 0, Counter(), []
        for first in range(a.first, a.first + a.count, 200):
            cases = [Case(a.seed, n) for n in range(first, min(first + 200, a.first + a.count))]
            bad += check(cases, a.syn, folder)
            refused += sum((c.refused for c in cases), Counter())
            if a.number is not None:
                cases[0].show()
            elif first == a.first:
                lost = check_damages(cases, a.syn, folder)
            kept += cases
            for c in cases:
                c.net = c.answers = None
    missing = coverage(kept) if a.number is None else []
    print(f"drawn again: {dict(refused)}")
    worst = max(c.worst for c in kept)
    print(f"worst move by float32 of an accepted answer: {worst:.3f} tolerances")
    if missing and a.count >= 200:
        print("in no network:", ", ".join(missing))
    print(f"differential: seed {a.seed}, {len(kept)} networks, {bad} differences, "
          f"{time.process_time() - started:.1f} s of this program")
    return 1 if bad or lost or (missing and a.count >= 200) else 0


if __name__ == "__main__":
    sys.exit(main())
