"""What the tests share. They run from the build tree or from an installed package: whatever `import grbm` finds."""

import json
import os
import pathlib
import subprocess

import matplotlib
import numpy as np
import pytest

import grbm

matplotlib.use("Agg")

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def program():
    """Runs the program; its results as a dictionary. Skips where there is none (GRBM_PROGRAM)."""
    path = os.environ.get("GRBM_PROGRAM")
    if not path:
        pytest.skip("GRBM_PROGRAM names no program")

    def run(*arguments):
        result = subprocess.run([path, *map(str, arguments), "--json"], capture_output=True, text=True, timeout=300)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    return run


@pytest.fixture(scope="session")
def images():
    """Made images of 28 × 28 pixels."""
    return grbm.Dataset.load("strokes", subset=300)


@pytest.fixture(scope="session")
def X():
    return np.random.default_rng(0).normal(2, 3, size=(400, 5)).astype(np.float32)


@pytest.fixture
def rbm(X):
    return grbm.GaussianBernoulliRBM(n_hidden=6, steps=5, epochs=2, random_state=1).fit(X)
