"""Examples of docstrings and notebooks run; every public name has an example; the stubs are current; pictures are drawn."""

import doctest
import inspect
import json
import os
import pathlib
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

import grbm
from conftest import ROOT
from grbm import convert, plot

FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE
# Errors and small carriers of numbers, which others make.
NO_EXAMPLE = {"__version__", "Estimate", "TrainState", "DataStatistics"}


def documented():
    """(name, docstring) of everything public, of the C++ side, too."""
    yield "grbm", grbm.__doc__
    public = [(name, getattr(grbm, name)) for name in grbm.__all__ if name not in NO_EXAMPLE]
    for module in (plot, convert):
        public += [(n, f) for n, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == module.__name__ and n[0] != "_"]
    for name, value in public:
        if inspect.isclass(value) and issubclass(value, Exception):
            continue
        yield name, value.__doc__
        owners = [owner for owner in value.__mro__ if owner.__module__.startswith("grbm.")] if inspect.isclass(value) else []
        for member, method in ((member, method) for owner in owners for member, method in vars(owner).items()):
            function = getattr(method, "__func__", method)
            if member[0] != "_" and inspect.isroutine(function):
                yield f"{name}.{member}", function.__doc__


WITHOUT = {"Trainer.model", "Trainer.state", "Trainer.restore", "Sampler.step", "Gibbs.step"}


@pytest.mark.parametrize("name, text", list(documented()), ids=[name for name, _ in documented()])
def test_examples(name, text, tmp_path, monkeypatch):
    if name not in WITHOUT and not name.startswith("LogLikelihood."):
        assert text and ">>>" in text, f"{name} has no example"
    monkeypatch.chdir(tmp_path)
    names = {"grbm": grbm, "np": np, "os": os, "folder": str(tmp_path)}
    test = doctest.DocTestParser().get_doctest(text or "", names, name, None, 0)
    output = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=output.append)
    plt.close("all")
    assert not output, "".join(output)


@pytest.mark.parametrize("tool, path", [("make_stubs.py", "python/grbm/_core.pyi"), ("make_reference.py", "docs/python-reference.md")])
def test_what_is_made_from_the_binding_is_current(tool, path, tmp_path):
    subprocess.run([sys.executable, ROOT / "python/tools" / tool, tmp_path / "made"], check=True)
    made, kept = (tmp_path / "made").read_text(), (ROOT / path).read_text()
    assert made == kept, f"docstrings or signatures have changed: build/venv/bin/python python/tools/{tool} {path}"


def test_stubs_can_be_read():
    compile((ROOT / "python/grbm/_core.pyi").read_text(), "_core.pyi", "exec")


@pytest.mark.parametrize("path", sorted((ROOT / "python/notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks(path, tmp_path, monkeypatch):
    """The code cells, one after the other, in one namespace; training is shortened by GRBM_SHORT."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRBM_SHORT", "1")
    namespace = {"__name__": "notebook"}
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 4
    for number, cell in enumerate(cells):
        code = "".join(cell["source"])
        exec(compile(code, f"{path.name}[{number}]", "exec"), namespace)
    plt.close("all")


def test_plots(tmp_path, images):
    rows = images.values
    rbm = grbm.GaussianBernoulliRBM(n_hidden=16, steps=2, epochs=2, image_shape=(28, 28), random_state=1).fit(rows)
    run = grbm.train("gmm-iso", settings={"train.epochs": 20}, progress=False)
    drawn = [
        plot.samples(rows[:20], (28, 28)), plot.samples(rbm.sample(9), model=rbm), plot.samples(run.model.sample(100)),
        plot.filters(rbm), plot.curves(rbm), plot.curves(run, ["reconstruction"]), plot.variances(rbm), plot.variances(run.model),
        plot.densities(run.model, grbm.Dataset.load("gmm-iso").values),
    ]  # fmt: skip
    for number, axes in enumerate(drawn):
        figure = np.ravel(np.asarray(axes, object))[0].figure
        figure.savefig(tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").stat().st_size > 3000
    # Densities that are compared have one range and one scale of colours.
    laws = [run.model, run.model.tempered(4)]
    for log in (False, True):
        panels = plot.densities(laws, [law.sample(50) for law in laws], log=log, resolution=20)
        assert len({(ax.get_xlim(), ax.get_ylim(), ax.images[0].get_clim()) for ax in panels}) == 1
        assert panels[0].images[0].get_array().max() > panels[1].images[0].get_array().max()
        low, high = panels[0].images[0].get_clim()
        assert low == (pytest.approx(1e-6 * high) if log else 0)
    with pytest.raises(ValueError, match="1 arrays of rows for 2 models"):
        plot.densities(laws, [rows])
    plt.close("all")
    with pytest.raises(ValueError, match="image_shape"):
        plot.filters(run.model)
    with pytest.raises(ValueError, match="2 to draw"):
        plot.densities(rbm)
    with pytest.raises(ValueError, match="known are"):
        plot.curves(run, ["nothing"])


def test_matplotlib_is_optional():
    code = "import sys; sys.modules['matplotlib'] = None; sys.modules['pandas'] = None; import grbm, grbm.plot, grbm.convert"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_typed():
    assert (pathlib.Path(grbm.__file__).parent / "py.typed").exists()
