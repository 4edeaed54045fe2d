#!/usr/bin/env python3
"""Classifies with few rows, beside multinomial Naive Bayes on words: a table of accuracies.

    few_rows.py SYN FOLDER [--rows 4,8,16,40,100,200,400] [--seeds 5] [--minutes 0.2] [--sets NAME,...]

SYN is the built tools/syn.c. FOLDER has banking77, trec, ag_news, rt_polarity, each a folder of
train.tsv and another .tsv to test on, with a label, a TAB and a text in a line. They are no part of
this project: without FOLDER it is skipped (exit status 77). For each seed other rows are drawn,
as many of each class, of banking77 also other classes. It fails where the mean is below that of
Naive Bayes by more than 1."""
import argparse
import collections
import math
import os
import random
import re
import subprocess
import sys
import tempfile

SETS = {"banking77:2": 2, "banking77:4": 4, "banking77:10": 10, "trec": 0, "ag_news": 0,
        "rt_polarity": 0}


def read(path):
    with open(path, encoding="utf-8") as f:
        return [line.rstrip("\n").split("\t", 1) for line in f]


def load(folder):
    """The rows to train on, the rows to test on."""
    other = [name for name in sorted(os.listdir(folder)) if name not in ("train.tsv", "LICENSE")
             and name.endswith(".tsv")]
    return read(os.path.join(folder, "train.tsv")), read(os.path.join(folder, other[0]))


def draw(train, test, classes, count, seed, most=500):
    rng = random.Random(seed)
    labels = sorted({label for label, _ in train})
    labels = rng.sample(labels, classes) if classes else labels
    of = {label: [row for row in train if row[0] == label] for label in labels}
    for rows in of.values():
        rng.shuffle(rows)
    rows = [of[labels[i % len(labels)]].pop() for i in range(count) if of[labels[i % len(labels)]]]
    rng.shuffle(rows)
    test = [row for row in test if row[0] in of]
    return labels, rows, rng.sample(test, min(most, len(test)))


def words(text):
    return re.findall(r"\w+", text.lower())


def naive_bayes(rows, test):
    """The label of most log p(label) + sum of log p(word | label), one added to each count."""
    counts = collections.defaultdict(collections.Counter)
    labels = collections.Counter(label for label, _ in rows)
    for label, text in rows:
        counts[label].update(words(text))
    known = set().union(*counts.values())
    total = {label: sum(counts[label].values()) + len(known) for label in labels}

    def score(label, text):
        return math.log(labels[label]) + sum(math.log((counts[label][w] + 1) / total[label])
                                             for w in text if w in known)
    return [max(sorted(labels), key=lambda label: score(label, words(text))) for _, text in test]


def learned(syn, rows, test, minutes, seed):
    with tempfile.TemporaryDirectory() as folder:
        data, texts, model = (os.path.join(folder, n) for n in ("rows.tsv", "texts", "model"))
        with open(data, "w", encoding="utf-8") as f:
            f.writelines(f"{label}\t{text}\n" for label, text in rows)
        with open(texts, "w", encoding="utf-8") as f:
            f.writelines(f"{text}\n" for _, text in test)
        subprocess.run([syn, "train", "--task", "classify", "--data", data, "--minutes",
                        str(minutes), "--seed", str(seed), "-o", model], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        out = subprocess.run([syn, "run", "-m", model, texts], check=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL).stdout.decode()
        return out.split("\n")[:len(test)]


def accuracy(answers, test):
    return 100 * sum(a == label for a, (label, _) in zip(answers, test)) / len(test)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("syn")
    p.add_argument("folder", nargs="?")
    p.add_argument("--rows", default="4,8,16,40,100,200,400")
    p.add_argument("--seeds", type=int, default=5)
    p.add_argument("--minutes", type=float, default=0.2)
    p.add_argument("--sets", default=",".join(SETS))
    a = p.parse_args()
    if not a.folder or not os.path.isdir(a.folder):
        print("needs a folder of data sets")
        return 77
    failed = 0
    print("| data | rows | Naive Bayes: mean (least) | syn: mean (least) | difference |")
    print("| --- | ---: | ---: | ---: | ---: |", flush=True)
    for name in a.sets.split(","):
        train, test = load(os.path.join(a.folder, name.split(":")[0]))
        for count in map(int, a.rows.split(",")):
            bayes, syn = [], []
            for seed in range(1, a.seeds + 1):
                labels, rows, some = draw(train, test, SETS[name], count, seed)
                if count < len(labels):
                    continue
                bayes.append(accuracy(naive_bayes(rows, some), some))
                syn.append(accuracy(learned(a.syn, rows, some, a.minutes, seed), some))
            if not syn:
                continue
            mean = [sum(x) / len(x) for x in (bayes, syn)]
            failed += mean[1] < mean[0] - 1
            print(f"| {name} | {len(rows)} | {mean[0]:.1f} ({min(bayes):.1f}) | {mean[1]:.1f} "
                  f"({min(syn):.1f}) | {mean[1] - mean[0]:+.1f} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
