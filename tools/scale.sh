#!/bin/sh
# scale.sh   how training and decoding scale with threads, beside PyTorch, in at most eight minutes
#
# Build, here or on another machine of the same processor family:
#   cc -O2 -fopenmp -static tools/bench.c -o bench -lm
# Run on the machine to be measured, which needs no compiler:
#   sh scale.sh ./bench
#
# Prints a line a measurement as it comes, so that a run that is cut still tells: first the most
# threads and one, then those between. With python3 and its torch, a line of PyTorch follows each
# training. Times are milliseconds of a step, medians; decoding: tokens a second.
bench=${1:-./bench}
seconds=${SECONDS_IN_ALL:-470}
[ -x "$bench" ] || { echo "usage: sh scale.sh BENCH, a program of tools/bench.c" >&2; exit 2; }
begin=$(date +%s)
cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
torch=
python3 -c 'import torch' 2>/dev/null && torch=1

# limited COMMAND...: not longer than the time that is left; empty where it was cut
limited() {
  left=$((begin + seconds - $(date +%s)))
  [ "$left" -gt 0 ] || { echo "the time is over" >&2; exit 0; }
  timeout "$left" "$@"
}
# field NAME: of a line of JSON
field() { sed -n "s/.*\"$1\":\\([0-9.]*\\).*/\\1/p"; }

torch_step() { # CONFIG THREADS
  limited python3 - "$1" "$2" <<'PYTHON'
import sys, time, torch
from torch import nn
config, threads = sys.argv[1], int(sys.argv[2])
d, ff, heads, layers, vocab, batch, length, causal = {
    "tiny": (128, 512, 4, 2, 4000, 32, 32, 0), "small": (256, 1024, 8, 3, 8000, 64, 32, 0),
    "base": (512, 2048, 8, 6, 32000, 16, 64, 0), "gpt384": (384, 1536, 6, 6, 4000, 8, 256, 1)}[config]
torch.set_num_threads(threads)
embed = nn.Embedding(vocab, d)
layer = dict(d_model=d, nhead=heads, dim_feedforward=ff, norm_first=True, batch_first=True)
if causal:
    one = nn.TransformerEncoderLayer(dropout=0.0, activation="gelu", **layer)
    net = nn.TransformerEncoder(one, layers, nn.LayerNorm(d), enable_nested_tensor=False)
else:
    net = nn.Transformer(num_encoder_layers=layers, num_decoder_layers=layers, dropout=0.1, **layer)
mask = nn.Transformer.generate_square_subsequent_mask(length)
x, y, labels = (torch.randint(4, vocab, (batch, length)) for _ in range(3))
parameters = list(net.parameters()) + list(embed.parameters())
rule = torch.optim.AdamW(parameters, 1e-4) if causal else torch.optim.Adam(parameters, 1e-4)
times = []
for step in range(5):
    begin = time.perf_counter()
    z = net(embed(y), mask=mask, is_causal=True) if causal else net(embed(x), embed(y), tgt_mask=mask)
    logits = z @ embed.weight.t()
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(),
                                       label_smoothing=0.0 if causal else 0.1)
    rule.zero_grad()
    loss.backward()
    rule.step()
    times.append((time.perf_counter() - begin) * 1e3)
print("%.1f" % sorted(times[2:])[1])
PYTHON
}

echo "cores $cores, PyTorch $([ "$torch" ] && python3 -c 'import torch; print(torch.__version__)' || echo none)"
for threads in 16 1 8 4 2; do
  [ "$threads" -le "$cores" ] || continue
  for config in small gpt384 base; do
    ms=$(limited "$bench" train --config $config --threads $threads --steps 3 --warmup 1 --json | field ms)
    echo "train $config, $threads threads: ${ms:-cut} ms"
    [ "$torch" ] || continue
    ms=$(torch_step $config $threads)
    echo "train $config, $threads threads, PyTorch: ${ms:-cut} ms"
  done
  for config in small base; do
    rate=$(limited "$bench" decode --config $config --batch 32 --threads $threads --reps 3 --json | field tok_s)
    echo "decode $config, 32 sentences, $threads threads: ${rate:-cut} tokens/s"
  done
done
