"""The layers below the estimator."""

import json
import pickle

import numpy as np
import pytest

import grbm
from conftest import ROOT


def test_models_are_their_equations():
    rng = np.random.default_rng(0)
    W, b, mu, log_var = rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=4), rng.normal(size=4)
    model = grbm.Model(W, b, mu, log_var)
    W, b, mu, var = model.W, model.b, model.mu, model.variance
    v, h = rng.normal(size=(6, 4)), rng.integers(0, 2, (6, 3))
    logits = b + (v / var) @ W
    energy = ((v - mu) ** 2 / (2 * var)).sum(1) - (logits * h).sum(1)
    assert np.allclose(model.energy(v, h), energy, atol=1e-5)
    assert np.allclose(model.marginal_energy(v), ((v - mu) ** 2 / (2 * var)).sum(1) - np.log1p(np.exp(logits)).sum(1), atol=1e-5)
    assert np.allclose(model.hidden_probabilities(v), 1 / (1 + np.exp(-logits)), atol=1e-5)
    assert np.allclose(model.visible_mean(h), mu + h @ W.T, atol=1e-5)
    assert pickle.loads(pickle.dumps(model)) == model
    assert model.tempered(2).variance == pytest.approx(2 * var)


def test_files_are_the_programs(program, tmp_path):
    model = grbm.Model.initial(4, 3, seed=2).with_sampler(steps=7)
    model.save(str(tmp_path / "a.safetensors"))
    assert program("info", tmp_path / "a.safetensors")["sampler.steps"] == 7
    program("convert", tmp_path / "a.safetensors", tmp_path / "b.npz")
    assert grbm.Model.load(str(tmp_path / "b.npz")) == model


def test_zeros_may_lie_below_by_a_margin(tmp_path):
    X = np.maximum(np.random.default_rng(3).normal(size=(200, 3)), 0).astype(np.float32)
    rbm = grbm.GaussianBernoulliRBM(4, "gibbs", steps=3, epochs=2, margin=0.5, random_state=1).fit(X)
    model = rbm.model_
    assert np.allclose(model.margin, 0.5 * X.std()) and model.margin.shape == (3,)
    units = model.standardize(X)
    assert np.allclose(units.mean(), 0, atol=1e-5) and np.allclose(units.std(), 1, atol=1e-5)
    assert np.allclose(model.unstandardize(units), X, atol=1e-6)
    assert model.unstandardize([units.min() + 0.9 * model.margin / model.deviation]) == pytest.approx(np.zeros((1, 3)))
    assert pickle.loads(pickle.dumps(model)) == model
    model.save(str(tmp_path / "a.safetensors"))
    assert grbm.Model.load(str(tmp_path / "a.safetensors")) == model
    same = grbm.Model(model.W, model.b, model.mu, model.log_var, mean=model.mean, deviation=model.deviation)
    assert not np.array_equal(same.unstandardize(units), model.unstandardize(units))
    assert np.all(rbm.sample(50) >= 0)
    X[0, 0] = -1
    with pytest.raises(grbm.DataError, match="least is 0"):
        rbm.fit(X)
    rbm = grbm.GaussianBernoulliRBM(4, "gibbs", steps=3, margin=0.5, random_state=1).partial_fit(np.abs(X) - np.abs(X).min())
    before = rbm.model_
    with pytest.raises(grbm.DataError, match="row 0, column 0 .counted from 0.: -1 is below 0.*margin=0"):
        rbm.partial_fit(X)
    assert rbm.model_ == before and np.all(rbm.partial_fit(np.maximum(X, 0)).sample(50) >= 0)
    rbm.partial_fit(X, sample_weight=np.arange(200))  # the first row counts for nothing


def test_chains_are_read_as_they_are(tmp_path):
    model = grbm.Model.initial(3, 2).with_sampler(method="gibbs")
    chain = model.sample_chain(4, steps=100)
    assert {name: values.shape[:2] for name, values in chain.items()} == dict.fromkeys(("v", "h", "energy", "accepted"), (4, 100))
    assert np.array_equal(chain["v"][:, -1], model.sample(4, steps=100))
    assert np.allclose(chain["energy"], model.marginal_energy(chain["v"].reshape(-1, 3)).reshape(4, 100))
    summary = grbm.summarize(chain)
    assert summary["v"]["rhat"].shape == (3,) and summary["energy"]["ess_bulk"] > 100
    assert "h" not in model.with_sampler(method="langevin").sample_chain(2, steps=3)
    arviz = pytest.importorskip("arviz", reason="ArviZ is not in Debian")
    assert arviz.from_dict(posterior=chain).posterior.sizes["draw"] == 100


def test_netcdf(tmp_path):
    xarray = pytest.importorskip("xarray")
    chain = grbm.Model.initial(3, 2).sample_chain(4, steps=10)
    grbm.to_netcdf(chain, tmp_path / "chain.nc")
    group = None
    try:
        import netCDF4  # noqa: F401

        group = "posterior"
    except ImportError:
        pass
    with xarray.open_dataset(tmp_path / "chain.nc", group=group) as read:
        assert dict(read.sizes)["chain"] == 4 and np.allclose(read["v"], chain["v"])


def test_diagnostics_are_posteriors():
    """R's `posterior` computed the expected numbers."""
    golden = json.loads((ROOT / "tests/golden/diagnostics/golden.json").read_text())
    checked = 0
    for case in golden["cases"]:
        draws, expected = case["draws"], case["expected"]
        if not all(isinstance(x, (int, float)) for chain in draws for x in chain):
            continue
        for ours, theirs in ((grbm.rhat(draws), "rhat"), (grbm.ess(draws), "ess_bulk"), (grbm.ess(draws, "tail"), "ess_tail")):
            if isinstance(expected[theirs], float):
                assert ours == pytest.approx(expected[theirs], rel=1e-9)
                checked += 1
    assert checked > 50
    with pytest.raises(ValueError, match="chain, draw"):
        grbm.rhat(np.zeros(5))
    with pytest.raises(ValueError, match="kind"):
        grbm.ess(np.zeros((4, 10)), "all")


def test_distances():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(500, 3)), rng.normal(1, 2, size=(500, 3))
    difference = a.mean(0) - b.mean(0)
    values = np.linalg.eigvals(np.cov(a.T) @ np.cov(b.T))
    expected = difference @ difference + np.trace(np.cov(a.T) + np.cov(b.T)) - 2 * np.sqrt(values).real.sum()
    assert grbm.frechet_distance(a, b) == pytest.approx(expected, rel=1e-4)
    with pytest.warns(UserWarning, match="few rows"):
        grbm.frechet_distance(a[:3], b[:3])
    near, far = grbm.kernel_distance(a[:250], a[250:], 100), grbm.kernel_distance(a, b, 100)
    assert near[0] < far[0] and far[1] > 0
    with pytest.raises(ValueError):
        grbm.frechet_distance(a, b[:, :2])


class PartialGibbs(grbm.Sampler):
    def step(self, model, v, h, rng):
        mean = model.visible_mean(h)
        v = mean + 0.5 * (v - mean) + np.sqrt(0.75 * model.variance) * rng.normal(size=v.shape)
        return v, rng.random(h.shape) < model.hidden_probabilities(v)


@pytest.mark.parametrize("sampler", [grbm.Gibbs(), PartialGibbs()])
def test_samplers_in_python_keep_the_law(sampler):
    """Means of 20,000 chains against those that enumeration gives, 4 standard errors each: 3 + 2 numbers."""
    rng = np.random.default_rng(1)
    model = grbm.Model(rng.normal(size=(3, 2)), rng.normal(size=2), rng.normal(size=3), np.zeros(3))
    chain = model.sample_chain(20000, steps=30, every=30, step=sampler.hook(seed=1))
    states = np.array([[i & 1, i >> 1] for i in range(4)])
    means = model.visible_mean(states)
    # p(h) of a model of unit variances: exp(b'h + |mu + W h|²/2 - |mu|²/2) up to a constant.
    log_p = states @ model.b + (means**2).sum(1) / 2
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    for got, expected in ((chain["v"][:, 0], p @ means), (chain["h"][:, 0], p @ states)):
        error = got.std(0) / np.sqrt(len(got))
        assert (np.abs(got.mean(0) - expected) < 4 * error + 1e-6).all()


def test_a_sampler_in_python_trains(X):
    ours = grbm.train({"model": {"hidden": 4}, "sampler": {"steps": 5}, "train": {"epochs": 2}}, X, sampler=grbm.Gibbs(), progress=False)
    again = grbm.train({"model": {"hidden": 4}, "sampler": {"steps": 5}, "train": {"epochs": 2}}, X, sampler=grbm.Gibbs(), progress=False)
    assert ours.model == again.model and ours.finished

    class Wrong(grbm.Sampler):
        def step(self, model, v, h, rng):
            return v[:1], h

    with pytest.raises((ValueError, ArithmeticError), match="expected are"):
        grbm.train({"model": {"hidden": 4}}, X, sampler=Wrong(), progress=False)

    class Raises(grbm.Sampler):
        def step(self, model, v, h, rng):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        grbm.train({"model": {"hidden": 4}}, X, sampler=Raises(), progress=False)


def test_callbacks_see_every_update_and_may_stop(X):
    seen = []

    def stop(metrics):
        seen.append(metrics["update"])
        return len(seen) == 3

    run = grbm.train({"model": {"hidden": 4}, "sampler": {"steps": 3}}, X, callbacks=[stop], progress=False)
    assert seen == [1, 2, 3] and not run.finished and run.model.provenance["updates"] == "3"

    def fail(metrics):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        grbm.GaussianBernoulliRBM(n_hidden=3, steps=2, callbacks=[fail]).fit(X)


def test_runs_in_folders_are_resumed_to_the_same_bits(tmp_path):
    settings = {"train.epochs": 5}
    whole = grbm.train("gmm-iso", settings=settings, out=tmp_path / "whole", progress=False)
    updates = []
    part = grbm.train(
        "gmm-iso", settings=settings, out=tmp_path / "part", progress=False, callbacks=[lambda m: updates.append(m) or len(updates) == 20]
    )
    assert not part.finished
    with pytest.raises(grbm.ConfigError, match="there is a run already"):
        grbm.train("gmm-iso", settings=settings, out=tmp_path / "part", progress=False)
    rest = grbm.train("gmm-iso", settings=settings, out=tmp_path / "part", resume=True, progress=False)
    assert rest.finished and rest.model == whole.model
    assert "50 updates" in rest._repr_html_()


def test_config():
    config = grbm.Config.preset("gmm-iso")
    assert pickle.loads(pickle.dumps(config)) == config == grbm.Config.parse(config.text())
    config["train.epochs"] = np.float32(2)
    config["model.hidden"] = np.int64(9)
    assert config.to_dict()["model"]["hidden"] == 9
    for name, value in (("train.epochs", "many"), ("train.epochs", -1), ("model.hidden", 1.5), ("nothing.at_all", 1), ("train", 1), ("train.epochs", None)):
        with pytest.raises(grbm.ConfigError):
            config[name] = value
    assert issubclass(grbm.ConfigError, (ValueError, grbm.Error)) and issubclass(grbm.IoError, OSError)
    assert "mnist" in grbm.presets() and "likelihood" in grbm.metrics()


def test_progress(capsys, X):
    grbm.GaussianBernoulliRBM(n_hidden=3, steps=2, epochs=10, verbose=True).fit(X)
    lines = capsys.readouterr().err.splitlines()
    assert 1 <= len(lines) <= 12 and lines[-1].startswith("update 40/40")
    grbm.GaussianBernoulliRBM(n_hidden=3, steps=2, epochs=1).fit(X)
    assert capsys.readouterr().err == ""
