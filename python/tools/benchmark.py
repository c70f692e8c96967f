#!/usr/bin/python3
"""The tables of docs/python.md: `make python-benchmark` runs all parts, PYTHON_BENCHMARK="speed" one of them.

codes   logistic regression on MNIST's test images, trained on 10,000 rows: on pixels, on PCA, on codes of scikit-learn's
        BernoulliRBM and of this package, of the same size. Each chooses its settings by the log-probability of the classes of the
        last 2,000 of these rows, and is then fitted to all of them, by three seeds.
speed   one pass over the rows: BernoulliRBM and this package in turns, at the same size, batch and number of Gibbs steps.
update  processor time of one update on one thread.
memory  what fitting 60,000 × 784 float32 takes beside the data, and what a thousand fits leave behind.
"""

import argparse
import glob
import itertools
import os
import statistics
import subprocess
import sys
import time
import warnings

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import BernoulliRBM
from sklearn.preprocessing import FunctionTransformer

import grbm

HELD = 2000  # of the training rows, the last: settings are chosen by them
PENALTIES = (0.1, 1.0, 10.0)  # of the regression: C
SEEDS = (1, 2, 3)  # of the codes that are judged


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def grid(**values):
    """Every combination."""
    return [dict(zip(values, combination)) for combination in itertools.product(*values.values())]


def codes(size, only):
    """Each method chooses by the held rows, among its settings and penalties of the regression. The test rows are seen once."""
    warnings.filterwarnings("ignore", message="lbfgs failed")
    training, test = grbm.Dataset.load("mnist", subset=10000), grbm.Dataset.load("mnist", split="test")
    X, y, X_test, y_test = training.values, training.labels, test.values, test.labels
    unit, unit_test = (X / 255).astype(np.float32), (X_test / 255).astype(np.float32)
    row("features", "size", "chosen", "held rows, nats", "test rows", "mean", "CPU seconds to fit")
    row(*["---"] * 7)

    def logistic(c, features, labels):
        return LogisticRegression(C=c, max_iter=200).fit(features, labels)

    def show(name, width, make, candidates, rows, rows_test, seeds=SEEDS):
        if not name.startswith(only):
            return
        scores = {}
        for settings in candidates:
            features = make(random_state=SEEDS[0], **settings).fit(rows[:-HELD]).transform(rows)
            for c in PENALTIES:
                fitted = logistic(c, features[:-HELD], y[:-HELD])
                nats = fitted.predict_log_proba(features[-HELD:])[np.arange(HELD), y[-HELD:]].mean()
                scores[(*settings.items(), ("C", c))] = nats
                right = fitted.score(features[-HELD:], y[-HELD:])
                print(f"{name}: {settings}, C {c}: {nats:.4f}, {right:.4f}", file=sys.stderr, flush=True)
        best = dict(max(scores, key=scores.get))
        c = best.pop("C")
        seconds, right = [], []
        for seed in seeds:
            start = time.process_time()
            fitted = make(random_state=seed, **best).fit(rows)
            seconds.append(time.process_time() - start)
            right.append(logistic(c, fitted.transform(rows), y).score(fitted.transform(rows_test), y_test))
        text = ", ".join(f"{key} {value}" for key, value in {**best, "C": c}.items())
        tests = ", ".join(f"{r:.4f}" for r in right)
        row(name, width, text, f"{max(scores.values()):.4f}", tests, f"{np.mean(right):.4f}", f"{min(seconds):.0f}")

    show("pixels", 784, lambda random_state: FunctionTransformer(), [{}], unit, unit_test, SEEDS[:1])
    show("principal components", size, lambda random_state: PCA(size, random_state=random_state), [{}], unit, unit_test, SEEDS[:1])
    show(
        "BernoulliRBM",
        size,
        lambda **settings: BernoulliRBM(size, **settings),
        grid(learning_rate=[0.01, 0.03, 0.06], n_iter=[20, 40]),
        unit,
        unit_test,
    )
    show(
        "GaussianBernoulliRBM",
        size,
        lambda **settings: grbm.GaussianBernoulliRBM(
            size, "gibbs", steps=1, algorithm="cd", hidden="probability", optimizer="adam", learning_rate=0.01, clip_norm=0.0,
            variance_floor=1.0, **settings
        ),
        grid(weight_decay=[0.0, 0.1, 1.0], epochs=[20, 40]),
        X,
        X_test,
    )


def timed(fit):
    """Seconds on the clock, and of all processors."""
    clock, processor = time.monotonic(), time.process_time()
    fit()
    return time.monotonic() - clock, time.process_time() - processor


def speed(size):
    """Prints a row for each batch size: medians of three turns."""
    X = (grbm.Dataset.load("mnist", subset=10000).values / 255).astype(np.float32)
    for batch in (10, 100):
        theirs = BernoulliRBM(size, n_iter=1, batch_size=batch, random_state=0)
        ours = grbm.GaussianBernoulliRBM(
            size, "gibbs", steps=1, algorithm="pcd", restart_fraction=0.0, epochs=1, batch_size=batch, random_state=0
        )
        turns = [(*timed(lambda: theirs.fit(X)), *timed(lambda: ours.fit(X))) for _ in range(3)]
        a, a_cpu, b, b_cpu = (statistics.median(column) for column in zip(*turns))
        row(os.environ.get("GRBM_BLAS", "as it is"), batch, f"{a:.2f} ({a_cpu:.2f})", f"{b:.2f} ({b_cpu:.2f})", f"{a / b:.1f} ({a_cpu / b_cpu:.1f})")


def speeds(size):
    """BernoulliRBM is as fast as its BLAS: with the one that Debian's NumPy brings along, and with the one that is in use."""
    print("Seconds per pass on the clock, in parentheses of all processors together:\n")
    row("BLAS of NumPy", "batch", "BernoulliRBM", "GaussianBernoulliRBM", "ratio")
    row(*["---"] * 5)
    sys.stdout.flush()
    command = [sys.executable, __file__, "speed-here", "--size", str(size)]
    for folder in glob.glob("/usr/lib/*/blas"):
        subprocess.run(command, env={**os.environ, "LD_LIBRARY_PATH": folder, "GRBM_BLAS": "reference (libblas3)"}, check=True)
    target = os.path.realpath(next(iter(glob.glob("/usr/lib/*/libblas.so.3")), ""))
    name = os.path.basename(os.path.dirname(target)) or "as it is"
    subprocess.run(command, env={**os.environ, "GRBM_BLAS": name}, check=True)


def update(size):
    """Least processor time of one update on one thread: of two versions, in turns, it compares them on a busy machine, too."""
    X = np.random.default_rng(0).random((2000, 784)).astype(np.float32)
    for batch, updates in ((10, 60), (100, 25)):
        ours = grbm.GaussianBernoulliRBM(
            size, "gibbs", steps=1, algorithm="pcd", restart_fraction=0.0, epochs=updates * batch / len(X), batch_size=batch,
            random_state=0, n_jobs=1,
        )  # fmt: skip
        least = min(timed(lambda: ours.fit(X))[1] for _ in range(12))
        print(f"one update of {batch} rows: {1000 * least / updates:.2f} ms")


def memory_mb(name):
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return int(lines[name].split()[0]) / 1024


def memory():
    rng = np.random.default_rng(0)
    small = rng.normal(size=(200, 20)).astype(np.float32)

    def fit_small():
        grbm.GaussianBernoulliRBM(n_hidden=30, steps=2, epochs=1, random_state=1).fit(small).transform(small)

    for _ in range(100):
        fit_small()
    before = memory_mb("VmRSS")
    for _ in range(1000):
        fit_small()
    print(f"a thousand fits of a small model: {memory_mb('VmRSS') - before:+.1f} MiB")

    X = np.empty((60000, 784), np.float32)
    for block in X.reshape(60, 1000, 784):
        block[:] = rng.random(block.shape, np.float32)
    grbm.GaussianBernoulliRBM(epochs=0.01, steps=2).fit(X[:1000])
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    before = memory_mb("VmRSS")
    grbm.GaussianBernoulliRBM(epochs=0.05, steps=2).fit(X)
    print(f"fitting 60,000 × 784 float32, {X.nbytes / 2**20:.0f} MiB: {memory_mb('VmHWM') - before:+.1f} MiB at its peak")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["codes", "speed", "memory"], help="codes, speed, update, memory")
    parser.add_argument("--size", type=int, default=512, help="hidden units, components")
    parser.add_argument("--only", default="", help="of codes, those whose name begins so")
    a = parser.parse_args()
    parts = {"codes": lambda: codes(a.size, a.only), "speed": lambda: speeds(a.size), "speed-here": lambda: speed(a.size), "update": lambda: update(a.size), "memory": memory}
    for part in a.parts:
        if part not in parts:
            parser.error(f"{part}: allowed are {', '.join(parts)}")
        parts[part]()
        if part != "speed-here":
            print(flush=True)


if __name__ == "__main__":
    main()
