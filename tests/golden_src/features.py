"""Writes tests/golden_features/*.safetensors: small models whose sources are rows of numbers, with the answers of
this program, which shares no code with the library. Plain Python, float64; gradients by central differences.

    python3 tests/golden_src/features.py tests/golden_features

Tensors beside those of tests/golden: test.features F32 [rows,f], the rows of all sources one behind the other;
test.lengths I32 [B]; of regress test.targets F32 [B,k], of regress_rows [rows,k], instead of test.labels.
"""
import json
import math
import random
import struct
import sys

LENGTHS = [4, 1, 6, 3]


def single(x):
    return struct.unpack('<f', struct.pack('<f', x))[0]


def product(x, w, b):  # y = x W^T + b of one row
    return [sum(p * q for p, q in zip(x, row)) + c for row, c in zip(w, b)]


def sigma(x):
    return 1.0 / (1.0 + math.exp(-x))


ACT = {'tanh': math.tanh, 'relu': lambda x: max(x, 0.0), 'id': lambda x: x}


def linear(p, name, rows, act='id'):
    return [[ACT[act](v) for v in product(x, p[name + '.w'], p[name + '.b'])] for x in rows]


def cnn(p, name, rows, act):  # kernel size 3; rows outside of the sentence are 0
    w, none = p[name + '.w'], [0.0] * len(rows[0])
    flat = [[v for tap in unit for v in tap] for unit in w]
    padded = [none] + rows + [none]
    return [[ACT[act](v) for v in product(sum(padded[t:t + 3], []), flat, p[name + '.b'])] for t in range(len(rows))]


def rnn(p, name, rows, cell):
    n = len(p[name + '.w_h'][0])
    h, c, out = [0.0] * n, [0.0] * n, []
    for x in rows:
        a, r = product(x, p[name + '.w_i'], p[name + '.b_i']), product(h, p[name + '.w_h'], p[name + '.b_h'])
        gate = [[a[g * n + i] for i in range(n)] for g in range(len(a) // n)]
        back = [[r[g * n + i] for i in range(n)] for g in range(len(a) // n)]
        if cell == 'gru':
            reset = [sigma(u + v) for u, v in zip(gate[0], back[0])]
            z = [sigma(u + v) for u, v in zip(gate[1], back[1])]
            new = [math.tanh(u + s * v) for u, s, v in zip(gate[2], reset, back[2])]
            h = [(1.0 - k) * m + k * old for k, m, old in zip(z, new, h)]
        else:
            i, f, o = [[sigma(u + v) for u, v in zip(gate[g], back[g])] for g in (0, 1, 3)]
            g = [math.tanh(u + v) for u, v in zip(gate[2], back[2])]
            c = [k * old + u * v for k, old, u, v in zip(f, c, i, g)]
            h = [k * math.tanh(v) for k, v in zip(o, c)]
        out.append(h)
    return out


CASES = {
    'tag_linear': ('tag', 3, 4, 'linear(6) -> act(tanh) -> linear(5)',
                   lambda p, x: linear(p, 'encoder.2', linear(p, 'encoder.0', x, 'tanh'))),
    'classify_cnn': ('classify', 2, 3, 'cnn(5, 3, tanh) -> linear(4)',
                     lambda p, x: linear(p, 'encoder.1', cnn(p, 'encoder.0', x, 'tanh'))),
    'regress_gru': ('regress', 3, 2, 'rnn(5, gru)', lambda p, x: rnn(p, 'encoder.0', x, 'gru')),
    'regress_rows_lstm': ('regress_rows', 2, 2, 'cnn(4, 3, relu) -> rnn(5)',
                          lambda p, x: rnn(p, 'encoder.1', cnn(p, 'encoder.0', x, 'relu'), 'lstm')),
}
SHAPES = {
    'tag_linear': {'encoder.0.w': [6, 3], 'encoder.0.b': [6], 'encoder.2.w': [5, 6], 'encoder.2.b': [5]},
    'classify_cnn': {'encoder.0.w': [5, 3, 2], 'encoder.0.b': [5], 'encoder.1.w': [4, 5], 'encoder.1.b': [4]},
    'regress_gru': {'encoder.0.w_i': [15, 3], 'encoder.0.w_h': [15, 5], 'encoder.0.b_i': [15], 'encoder.0.b_h': [15]},
    'regress_rows_lstm': {'encoder.0.w': [4, 3, 2], 'encoder.0.b': [4], 'encoder.1.w_i': [20, 4],
                          'encoder.1.w_h': [20, 5], 'encoder.1.b_i': [20], 'encoder.1.b_h': [20]},
}
WIDTH = {'tag_linear': 5, 'classify_cnn': 4, 'regress_gru': 5, 'regress_rows_lstm': 5}


def values(rng, shape, scale=0.7):
    if not shape:
        return single(rng.gauss(0.0, scale))
    return [values(rng, shape[1:], scale) for _ in range(shape[0])]


def flatten(x):
    return [v for part in x for v in flatten(part)] if isinstance(x, list) else [x]


def answers(case, p, x, labels):
    """The outputs of each sentence, [rows][width], and the mean loss."""
    task, f, _, _, network = CASES[case]
    outputs, losses, first = [], [], 0
    for i, n in enumerate(LENGTHS):
        rows = [[(v - m) * s for v, m, s in zip(row, p['src.mean'], p['src.scale'])] for row in x[first:first + n]]
        y = network(p, rows)
        if task in ('classify', 'regress'):
            y = [[sum(column) / n for column in zip(*y)]]
        z = [product(row, p['out.w'], p['out.b']) for row in y]
        outputs.append(z)
        for t, row in enumerate(z):
            if task.startswith('regress'):
                wanted = labels[i] if task == 'regress' else labels[first + t]
                losses += [(u - v) ** 2 for u, v in zip(row, wanted)]
                continue
            label = labels[i] if task == 'classify' else labels[i][t]
            if task == 'classify' or label:
                losses.append(math.log(sum(math.exp(v) for v in row)) - row[label])
        first += n
    return outputs, sum(losses) / len(losses)


def gradient(case, p, x, labels, name):
    grad, flat = [], flatten(p[name])

    def nested(shape, at):
        if not shape:
            return at.pop(0)
        return [nested(shape[1:], at) for _ in range(shape[0])]

    shape, part = [], p[name]
    while isinstance(part, list):
        shape.append(len(part))
        part = part[0]
    for k in range(len(flat)):
        loss = []
        for step in (1e-5, -1e-5):
            moved = list(flat)
            moved[k] += step
            loss.append(answers(case, dict(p, **{name: nested(shape, moved)}), x, labels)[1])
        grad.append((loss[0] - loss[1]) / 2e-5)
    return shape, grad


def write(path, metadata, tensors):
    head, data = {'__metadata__': metadata}, b''
    for name, (kind, shape, numbers) in tensors.items():
        begin = len(data)
        data += struct.pack('<%d%s' % (len(numbers), 'f' if kind == 'F32' else 'i'), *numbers)
        head[name] = {'dtype': kind, 'shape': shape, 'data_offsets': [begin, len(data)]}
    text = json.dumps(head, separators=(',', ':')).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as out:
        out.write(struct.pack('<Q', len(text)) + text + data)


def make(folder, case):
    task, f, width, encoder, _ = CASES[case]
    rng = random.Random(case)
    rows, longest = sum(LENGTHS), max(LENGTHS)
    shapes = dict({'src.mean': [f], 'src.scale': [f]}, **SHAPES[case])
    shapes.update({'out.w': [width, WIDTH[case]], 'out.b': [width]})
    p = {name: values(rng, shape) for name, shape in shapes.items()}
    p['src.mean'] = [single(20.0 * v) for v in p['src.mean']]
    p['src.scale'] = [single(abs(v) + 0.1) for v in p['src.scale']]
    x = [[single(m + rng.gauss(0.0, 1.0) / s) for m, s in zip(p['src.mean'], p['src.scale'])] for _ in range(rows)]
    tensors = {name: ('F32', shapes[name], flatten(p[name])) for name in p}
    tensors['test.features'] = ('F32', [rows, f], flatten(x))
    tensors['test.lengths'] = ('I32', [len(LENGTHS)], LENGTHS)
    if task == 'tag':  # 0: nothing is asked
        labels = [[rng.randrange(width) for _ in range(n)] + [0] * (longest - n) for n in LENGTHS]
        tensors['test.labels'] = ('I32', [len(LENGTHS), longest], flatten(labels))
    elif task == 'classify':
        labels = [rng.randrange(width) for _ in LENGTHS]
        tensors['test.labels'] = ('I32', [len(LENGTHS)], labels)
    else:
        labels = values(rng, [len(LENGTHS) if task == 'regress' else rows, width], 1.0)
        tensors['test.targets'] = ('F32', [len(labels), width], flatten(labels))
    outputs, loss = answers(case, p, x, labels)
    if task in ('classify', 'regress'):
        tensors['test.logits'] = ('F32', [len(LENGTHS), width], flatten(outputs))
    else:
        none = [0.0] * width
        padded = [[z if task != 'tag' or labels[i][t] else none for t, z in enumerate(y)] + [none] * (longest - len(y))
                  for i, y in enumerate(outputs)]
        tensors['test.logits'] = ('F32', [len(LENGTHS), longest, width], flatten(padded))
    tensors['test.loss'] = ('F32', [1], [loss])
    for name in p:
        if not name.startswith('src.'):
            shape, grad = gradient(case, p, x, labels, name)
            tensors['test.grad.' + name] = ('F32', shape, grad)
    metadata = {'format': 'synthesizer', 'version': '1', 'task': task, 'encoder': encoder, 'd_model': '8', 'heads': '2',
                'max_len': '7', 'src_features': str(f), 'tie': 'none', 'dropout': '0', 'label_smoothing': '0', 'seed': '1',
                'outputs' if task.startswith('regress') else 'classes': str(width)}
    write('%s/%s.safetensors' % (folder, case), metadata, tensors)


for each in CASES:
    make(sys.argv[1], each)
