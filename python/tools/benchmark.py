#!/usr/bin/python3
"""The tables of docs/python.md: `make python-benchmark` runs all parts, PYTHON_BENCHMARK="speed" one of them.

codes   logistic regression on MNIST's test images, trained on 10,000 rows: on pixels, on PCA, on codes of scikit-learn's
        BernoulliRBM and of this package, of the same size. What each may choose is chosen on the last 2,000 of these rows.
speed   one pass over the rows: BernoulliRBM and this package in turns, at the same size, batch and number of Gibbs steps.
memory  what fitting 60,000 × 784 float32 takes beside the data, and what a thousand fits leave behind.
"""

import argparse
import glob
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

import grbm

HELD = 2000  # rows by which settings are chosen


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def chosen(candidates, score):
    return max(candidates, key=score)


def accuracy(train, y, test, y_test):
    """Of a logistic regression whose penalty is chosen on the held rows."""
    warnings.filterwarnings("ignore", message="lbfgs failed")

    def fit(c, rows, labels):
        return LogisticRegression(C=c, max_iter=200).fit(rows, labels)

    c = chosen((0.01, 0.1, 1.0), lambda c: fit(c, train[:-HELD], y[:-HELD]).score(train[-HELD:], y[-HELD:]))
    return fit(c, train, y).score(test, y_test)


def codes(size, only):
    training, test = grbm.Dataset.load("mnist", subset=10000), grbm.Dataset.load("mnist", split="test")
    X, y, X_test, y_test = training.values, training.labels, test.values, test.labels
    unit, unit_test = (X / 255).astype(np.float32), (X_test / 255).astype(np.float32)
    row("features", "size", "accuracy", "seconds to fit them")
    row("---", "---", "---", "---")
    if "pixels".startswith(only):
        row("pixels", 784, f"{accuracy(unit, y, unit_test, y_test):.4f}", "")

    def show(name, make, candidates, rows, rows_test):
        """The better of the candidates by the held rows, fitted to all."""
        if not name.startswith(only):
            return
        scores = {}
        for candidate in candidates if len(candidates) > 1 else ():
            features = make(candidate).fit(rows[:-HELD])
            half = features.transform(rows)
            scores[candidate] = LogisticRegression(C=0.1, max_iter=200).fit(half[:-HELD], y[:-HELD]).score(half[-HELD:], y[-HELD:])
        best = chosen(candidates, lambda candidate: scores.get(candidate, 0))
        start = time.monotonic()
        features = make(best).fit(rows)
        seconds = time.monotonic() - start
        result = accuracy(features.transform(rows), y, features.transform(rows_test), y_test)
        row(name, size, f"{result:.4f}", f"{seconds:.0f}")

    show("principal components", lambda _: PCA(size, random_state=0), [None], unit, unit_test)
    show(
        "BernoulliRBM, 20 passes",
        lambda rate: BernoulliRBM(size, learning_rate=rate, n_iter=20, random_state=0),
        [0.01, 0.05],
        unit,
        unit_test,
    )
    show(
        "GaussianBernoulliRBM, 20 passes",
        lambda rate: grbm.GaussianBernoulliRBM(
            size, "gibbs", steps=1, algorithm="cd", hidden="probability", variance_floor=1.0, optimizer="adam",
            learning_rate=rate, epochs=20, random_state=1,
        ),  # fmt: skip
        [0.001, 0.003],
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
    parser.add_argument("parts", nargs="*", default=["codes", "speed", "memory"], help="codes, speed, memory")
    parser.add_argument("--size", type=int, default=512, help="hidden units, components")
    parser.add_argument("--only", default="", help="of codes, those whose name begins so")
    a = parser.parse_args()
    parts = {"codes": lambda: codes(a.size, a.only), "speed": lambda: speeds(a.size), "speed-here": lambda: speed(a.size), "memory": memory}
    for part in a.parts:
        if part not in parts:
            parser.error(f"{part}: allowed are {', '.join(parts)}")
        parts[part]()
        if part != "speed-here":
            print(flush=True)


if __name__ == "__main__":
    main()
