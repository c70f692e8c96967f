"""The wheel, installed into an environment of its own, away from the source tree. GRBM_BUILD names the build folder."""

import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

from conftest import ROOT


def test_a_wheel_carries_the_library(tmp_path):
    build = os.environ.get("GRBM_BUILD")
    if not build:
        pytest.skip("GRBM_BUILD names no build folder")
    environment = {**os.environ, "GRBM_BUILD": build}
    for name in ("PYTHONPATH", "LD_LIBRARY_PATH"):
        environment.pop(name, None)

    def run(*command, **options):
        result = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=environment, timeout=300, **options)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    pip = ["-m", "pip", "--disable-pip-version-check"]
    offline = ["--no-index", "--no-deps"]
    run(sys.executable, *pip, "wheel", "--no-build-isolation", *offline, "--wheel-dir", tmp_path / "dist", ROOT)
    (wheel,) = (tmp_path / "dist").glob("grbm-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"grbm/__init__.py", "grbm/py.typed", "grbm/_core.pyi"} <= set(names)
    assert sum(name.endswith(".so") for name in names) == 1

    run(sys.executable, "-m", "venv", "--system-site-packages", tmp_path / "bare")
    python = tmp_path / "bare" / "bin" / "python"
    run(python, *pip, "install", *offline, wheel)
    code = (
        "import grbm, numpy as np; X = np.random.default_rng(0).normal(size=(100, 3));"
        "print(grbm.__file__); print(grbm.GaussianBernoulliRBM(n_hidden=4, epochs=1).fit(X).transform(X).shape)"
    )
    where, shape = run(python, "-c", code, cwd=tmp_path).split("\n")[:2]
    assert pathlib.Path(where).is_relative_to(tmp_path / "bare") and shape == "(100, 4)"
    library = next((tmp_path / "bare").rglob("_core*.so"))
    linked = run("ldd", library)
    assert "libgrbm" not in linked and str(ROOT) not in linked
