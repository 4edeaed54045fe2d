"""Writes tests/golden_kinds/*.safetensors: small models of the layers and scores that tests/golden lacks, with the
answers of this program, which shares no code with the library. NumPy, float64; gradients by central differences.
Each layer is computed by the sums of its definition, token by token; the library has other orders.

    python3 tests/golden_src/kinds.py tests/golden_kinds
"""
import json
import struct
import sys

import numpy as np

D, HEADS, N, VOCABULARY, CLASSES = 6, 2, 7, 9, 5
LENGTHS, LONG = [5, 1, 7], [97, 1, 110]  # LONG: of several chunks of lin_att


def softmax(z):
    e = np.exp(z - z.max())
    return e / e.sum()


def attention(p, x, causal, score):
    """softmax of score(h, i, j) over the visible j, times v"""
    n, c = len(x), D // HEADS
    v, y = x @ p('w_v', D, D).T, np.zeros((n, D))
    for h in range(HEADS):
        for i in range(n):
            seen = range(i + 1 if causal else n)
            weights = softmax(np.array([score(h, i, j) for j in seen]))
            y[i, h * c:(h + 1) * c] = sum(w * v[j, h * c:(h + 1) * c] for w, j in zip(weights, seen))
    return y @ p('w_o', D, D).T


def toeplitz(p, causal, tile=0):
    """The score of T: a number for each distance i - j, stored from the largest distance down."""
    size = tile or N
    t = p('t', HEADS, size if tile or causal else 2 * N - 1)
    return lambda h, i, j: t[h, size - 1 - ((i - j) % tile if tile else i - j)]


def t_alone(p, x, causal):
    p('w_v', D, D), p('w_o', D, D)
    return attention(p, x, causal, toeplitz(p, causal))


def t_tiled(p, x, causal):
    p('w_v', D, D), p('w_o', D, D)
    return attention(p, x, causal, toeplitz(p, causal, 3))


def t_and_v(p, x, causal):
    p('w_v', D, D), p('w_o', D, D)
    t, c = toeplitz(p, causal), D // HEADS
    q, k = x @ p('w_q', D, D).T, x @ p('w_k', D, D).T
    alpha = [softmax(a) for a in p('alpha', HEADS, 2)]

    def score(h, i, j):
        part = slice(h * c, (h + 1) * c)
        return alpha[h][0] * t(h, i, j) + alpha[h][1] * (q[i, part] @ k[j, part]) / np.sqrt(c)
    return attention(p, x, causal, score)


def linear(p, x, causal, decay=5):
    n, c = len(x), D // HEADS
    q, k, v = [x @ p(name, D, D).T for name in ('w_q', 'w_k', 'w_v')]
    q, k = [np.where(a > 0, a + 1, np.exp(a)) for a in (q, k)]
    y = np.zeros((n, D))
    for h in range(HEADS):
        part, gamma = slice(h * c, (h + 1) * c), 1 - 2.0 ** (-decay - h) if decay else 1.0
        for i in range(n):
            j = np.arange(i + 1 if causal else n)
            scores = gamma ** abs(i - j) * (k[j, part] @ q[i, part])
            y[i, part] = scores @ v[j, part] / (scores.sum() + 1e-6)
    return y @ p('w_o', D, D).T


def gating(p, x, causal):
    n, e = len(x), D // 2
    u, v, out = x[:, :e], x[:, e:], np.zeros((n, e))
    g, b = p('g', e), p('b', e)
    v = [(r - r.mean()) / np.sqrt(r.var() + 1e-6) * g + b for r in v]
    w, bias = p('w_s', N, N), p('b_s', N)
    for i in range(n):
        out[i] = u[i] * (sum(w[i, j] * v[j] for j in range(i + 1 if causal else n)) + bias[i])
    return out


def attention_free(p, x, causal):
    n = len(x)
    q, k, v = [x @ p(name, D, D).T for name in ('w_q', 'w_k', 'w_v')]
    w_o, w, y = p('w_o', D, D), p('w', N, N), np.zeros((n, D))
    for i in range(n):
        for channel in range(D):
            weights = softmax(np.array([w[i, j] + k[j, channel] for j in range(i + 1 if causal else n)]))
            mean = sum(a * v[j, channel] for j, a in enumerate(weights))
            y[i, channel] = mean / (1.0 + np.exp(-q[i, channel]))
    return y @ w_o.T


CASES = {
    'tag_T': ('tag', 'syn_att(T)', t_alone, D),
    'lm_T': ('lm', 'syn_att(T)', t_alone, D),
    'lm_T_tile': ('lm', 'syn_att(T, tile=3)', t_tiled, D),
    'tag_T_V': ('tag', 'syn_att(T+V)', t_and_v, D),
    'lm_lin_att': ('lm', 'lin_att', linear, D),
    'tag_lin_att': ('tag', 'lin_att(decay=1)', lambda p, x, causal: linear(p, x, causal, 1), D),
    'lm_sgu': ('lm', 'sgu', gating, D // 2),
    'tag_sgu': ('tag', 'sgu', gating, D // 2),
    'lm_aft': ('lm', 'aft', attention_free, D),
    'tag_aft': ('tag', 'aft', attention_free, D),
    'tag_lin_att_0': ('tag', 'lin_att(2, 0)', lambda p, x, causal: linear(p, x, causal, 0), D),
    'lm_lin_att_long': ('lm', 'lin_att', linear, D),
    'tag_lin_att_long': ('tag', 'lin_att(decay=1)', lambda p, x, causal: linear(p, x, causal, 1), D),
    'lm_softcap': ('lm', 'id -> softcap(0.5)', lambda p, x, causal: x, D),
    'tag_softcap': ('tag', 'id -> softcap(0.5)', lambda p, x, causal: x, D),
}


def lengths(case):
    return LONG if case.endswith('_long') else LENGTHS


class Parameters:
    """Float32 numbers by name, drawn when the layer first requests them, in the order of the library."""

    def __init__(self, seed):
        self.rng, self.values = np.random.default_rng(seed), {}

    def __call__(self, name, *shape):
        if name not in self.values:
            self.values[name] = self.rng.normal(0.0, 0.7, shape).astype(np.float32).astype(np.float64)
        assert self.values[name].shape == shape
        return self.values[name]


def answers(case, p, tokens, labels):
    """The logits of each sentence, [rows,width], and the mean loss over the labels that are not 0."""
    task, _, layer, width = CASES[case]
    side, causal = ('src', False) if task == 'tag' else ('tgt', True)
    outs, logits, losses = CLASSES if task == 'tag' else VOCABULARY, [], []
    prefix = 'encoder.0.' if task == 'tag' else 'decoder.0.'
    for n, sentence, wanted in zip(lengths(case), tokens, labels):
        x = p(side + '.embed', VOCABULARY, D)[sentence[:n]]
        y = layer(lambda name, *shape: p(prefix + name, *shape), x, causal)
        z = y @ p('out.w', outs, width).T + p('out.b', outs)
        if case.endswith('softcap'):
            z = 0.5 * np.tanh(z / 0.5)
        losses += [-np.log(softmax(z[t])[wanted[t]]) for t in range(n) if wanted[t]]
        logits.append(z)
    return logits, np.mean(losses)


def gradient(case, p, tokens, labels, name):
    flat, out = p.values[name].reshape(-1), []
    for k in range(flat.size):
        kept, loss = flat[k], []
        for step in (1e-5, -1e-5):
            flat[k] = kept + step
            loss.append(answers(case, p, tokens, labels)[1])
        flat[k] = kept
        out.append((loss[0] - loss[1]) / 2e-5)
    return np.array(out).reshape(p.values[name].shape)


def write(path, metadata, tensors):
    head, data = {'__metadata__': metadata}, b''
    for name, numbers in tensors.items():
        whole = numbers.dtype.kind == 'i'
        part = numbers.astype('<i4' if whole else '<f4').tobytes()
        head[name] = {'dtype': 'I32' if whole else 'F32', 'shape': list(numbers.shape),
                      'data_offsets': [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(head, separators=(',', ':')).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as out:
        out.write(struct.pack('<Q', len(text)) + text + data)


def make(folder, case, seed):
    task, text, _, _ = CASES[case]
    tag, p = task == 'tag', Parameters(seed)
    longest = max(lengths(case))
    tokens, labels = np.zeros((len(LENGTHS), longest), int), np.zeros((len(LENGTHS), longest), int)
    for row, wanted, n in zip(tokens, labels, lengths(case)):
        row[:n] = p.rng.integers(4, VOCABULARY, n)
        if not tag:
            row[0] = 2
        wanted[:n] = p.rng.integers(1, CLASSES if tag else VOCABULARY, n)
    logits, loss = answers(case, p, tokens, labels)
    tensors = dict(p.values)
    tensors['test.src' if tag else 'test.tgt'] = tokens
    tensors['test.labels'] = labels
    tensors['test.logits'] = np.array([np.vstack([z, np.zeros((longest - len(z), z.shape[1]))]) for z in logits])
    tensors['test.loss'] = np.array([loss])
    for name in p.values:
        tensors['test.grad.' + name] = gradient(case, p, tokens, labels, name)
    metadata = {'format': 'synthesizer', 'version': '1', 'task': task, 'encoder' if tag else 'decoder': text,
                'd_model': str(D), 'heads': str(HEADS), 'max_len': str(longest), 'tie': 'none', 'dropout': '0',
                'label_smoothing': '0', 'seed': '1', 'src_vocab' if tag else 'tgt_vocab': str(VOCABULARY)}
    if tag:
        metadata['classes'] = str(CLASSES)
    write('%s/%s.safetensors' % (folder, case), metadata, tensors)


for at, each in enumerate(CASES):
    make(sys.argv[1], each, at)
