"""A series whose law is known, and a model of it beside that law (docs/conditions.md).

series.py make OUT.csv [--frames N]        writes the series
series.py compare GRBM RUN SERIES ROLLED OUT.png   a run on it, and a series rolled forward by its model, against the law

Frame x follows frame a by p(x | a) = q(a) N(x; 1 + f(a), s²) + (1 − q(a)) N(x; −1 + f(a), s²): two regimes, of which the next one is
more likely that of the last frame, and which both bend with it.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import tempfile

import numpy as np

DEVIATION = 0.5
GRID = np.linspace(-4, 4, 801)
STEP = GRID[1] - GRID[0]


def share(a):
    return 1 / (1 + np.exp(-2 * a))


def bend(a):
    return 0.4 * np.sin(2 * a)


def density(a, x):
    """p(x | a)"""
    def normal(mean):
        return np.exp(-0.5 * ((x - mean) / DEVIATION) ** 2) / (DEVIATION * np.sqrt(2 * np.pi))

    return share(a) * normal(1 + bend(a)) + (1 - share(a)) * normal(-1 + bend(a))


def make(frames: int, seed: int = 1) -> np.ndarray:
    generator = np.random.default_rng(seed)
    x, series = 0.0, []
    for _ in range(100 + frames):
        regime = 1 if generator.random() < share(x) else -1
        x = regime + bend(x) + DEVIATION * generator.standard_normal()
        series.append(x)
    return np.array(series[100:])


def law():
    """p(x | a) on the grid, the law of one frame, and the entropy rate, by quadrature."""
    given = density(GRID[:, None], GRID[None])
    one = np.full(len(GRID), 1 / (STEP * len(GRID)))
    for _ in range(500):
        one = one @ given * STEP
        one /= one.sum() * STEP
    rate = -(one[:, None] * given * np.log(given + 1e-300)).sum() * STEP**2
    return given, one, rate


def learned(grbm: str, run: str, grid: np.ndarray) -> np.ndarray:
    """p(x | a) of the model for pairs of the grid, as `grbm score` has it: rows a, x, of which every second is looked at."""
    with tempfile.TemporaryDirectory() as folder:
        pairs, scores = pathlib.Path(folder, "pairs.csv"), pathlib.Path(folder, "scores.csv")
        a, x = np.meshgrid(grid, grid, indexing="ij")
        np.savetxt(pairs, np.stack([a.ravel(), x.ravel()], 1).ravel(), header="x", comments="")
        subprocess.run([grbm, "score", run, "--data", str(pairs), "-o", str(scores), "--quiet"], check=True)
        values = np.genfromtxt(scores, delimiter=",", names=True)["log_likelihood"]
    return np.exp(values[0::2]).reshape(len(grid), len(grid))


def compare(grbm: str, run: str, series: str, rolled: str, out: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    x, drawn = np.loadtxt(series, skiprows=1), np.loadtxt(rolled)
    given, one, rate = law()
    held_out = round(0.1 * (len(x) - 1))
    truth = np.log(density(x[:-1], x[1:]))
    slope, level = np.polyfit(x[:-1][:-held_out], x[1:][:-held_out], 1)
    rest = x[1:] - slope * x[:-1] - level
    spread = rest[:-held_out].std()
    linear = -0.5 * (np.log(2 * np.pi * spread**2) + (rest / spread) ** 2)
    print(f"entropy rate of the law      {rate:.4f} nats a frame")
    print(f"held-out frames, by the law  {truth[-held_out:].mean():.4f} nats a frame; by a linear autoregression {linear[-held_out:].mean():.4f}")

    coarse = np.linspace(-3, 3, 121)
    model = learned(grbm, run, coarse)
    exact = density(coarse[:, None], coarse[None])
    weights = np.interp(coarse, GRID, one)
    weights /= weights.sum()
    apart = 0.5 * np.abs(model - exact).sum(1) * (coarse[1] - coarse[0])
    print(f"p(x | a) of model and law    total variation {weights @ apart:.4f} in the mean over a")

    edges = np.linspace(-3, 3, 49)
    middle = 0.5 * (edges[1:] + edges[:-1])
    of_law = np.interp(middle, GRID, one)
    rows = [("frames", x), ("rolled forward", drawn)]
    for name, values in rows:
        counts = np.histogram(values, edges, density=True)[0]
        print(f"law of one frame, {name:15} total variation {0.5 * np.abs(counts - of_law).sum() * (edges[1] - edges[0]):.4f}; "
              f"changes of sign {np.mean(np.sign(values[1:]) != np.sign(values[:-1])):.4f}; "
              f"correlation of neighbours {np.corrcoef(values[1:], values[:-1])[0, 1]:.4f}")

    figure, axes = plt.subplots(1, 4, figsize=(15, 3.8), constrained_layout=True)
    for axis, values, title in [(axes[0], exact, "p(x | a), the law"), (axes[1], model, "p(x | a), learned")]:
        axis.imshow(values.T, origin="lower", extent=[-3, 3, -3, 3], cmap="viridis", vmin=0, vmax=exact.max())
        axis.set(title=title, xlabel="a, the frame before", ylabel="x")
    axes[2].plot(GRID, one, "k", label="law")
    for (name, values), color in zip(rows, ["tab:blue", "tab:orange"]):
        axes[2].stairs(np.histogram(values, edges, density=True)[0], edges, color=color, label=name)
    axes[2].set(title="one frame", xlabel="x", ylabel="density", xlim=(-3, 3))
    axes[2].legend()
    axes[3].plot(x[-150:], color="tab:blue", label="frames")
    axes[3].plot(np.arange(150, 300), drawn[:150], color="tab:orange", label="rolled forward")
    axes[3].set(title="series", xlabel="t")
    axes[3].legend(loc="lower left")
    figure.savefig(out, dpi=80)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("out")
    making.add_argument("--frames", type=int, default=20000)
    comparing = commands.add_parser("compare")
    for name in ("grbm", "run", "series", "rolled", "out"):
        comparing.add_argument(name)
    arguments = vars(parser.parse_args())
    if arguments.pop("command") == "make":
        np.savetxt(arguments["out"], make(arguments["frames"]), header="x", comments="", fmt="%.6g")
    else:
        compare(**arguments)


if __name__ == "__main__":
    main()
