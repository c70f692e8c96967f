"""The same file, settings and seed give the same bits as the program."""

import numpy as np
import pytest

import grbm

SETTINGS = {"train.epochs": 3, "train.batch_size": 50, "sampler.steps": 7, "model.hidden": 21, "train.momentum": 0.5}
PARAMETERS = {"epochs": 3, "batch_size": 50, "steps": 7, "n_hidden": 21, "momentum": 0.5}
VARIANTS = {
    "defaults": {},
    "digits": {  # what the preset mnist is made of
        "train.algorithm": "pcd", "sampler.method": "gibbs", "train.optimizer": "adam", "train.hidden": "probability",
        "train.visible": "mean", "train.unit_scale": "data", "data.noise": 1.0, "data.margin": 0.5, "model.variance_floor": 1.0,
        "generate.steps": 9, "sampler.final_steps": 2, "train.clip_norm": 0,
    },
    "adjusted": {"sampler.adjust": "conditional", "sampler.step_size": 0.5, "sampler.step_scale": "unit", "data.standardize": "pixel"},
    "langevin": {"sampler.method": "langevin", "sampler.adjust": "metropolis", "train.centred": True},
}  # fmt: skip


def assert_same_model(a, b):
    for name in ("W", "b", "mu", "log_var", "mean", "deviation", "margin"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert a.sampler == b.sampler


@pytest.fixture(params=list(VARIANTS))
def trained(request, program, tmp_path, images):
    """A run of the program on a float32 file, and the rows, the settings and the model of it."""
    rows = images.values.astype(np.float32)
    np.save(tmp_path / "rows.npy", rows)
    settings = {**SETTINGS, **VARIANTS[request.param]}
    config = grbm.Config()
    for name, value in settings.items():
        config[name] = value
    config["data.source"] = str(tmp_path / "rows.npy")
    (tmp_path / "run.toml").write_text(config.text())
    program("train", tmp_path / "run.toml", "--out", tmp_path / "run", "--seed", 11)
    return rows, settings, tmp_path / "run" / "model.safetensors"


def test_fit_is_train(trained):
    rows, settings, path = trained
    own = {"hidden": "n_hidden", "method": "sampler"}
    names = {"model.hidden": "n_hidden", "sampler.method": "sampler", "generate.steps": "generate_steps"}
    parameters = {names.get(key, key.split(".")[1]): value for key, value in settings.items()}
    assert not set(own) & set(parameters) or "train.hidden" in settings
    rbm = grbm.GaussianBernoulliRBM(random_state=11, **parameters).fit(rows)
    assert_same_model(rbm.model_, grbm.Model.load(str(path)))


def test_train_is_train_in_memory_and_in_a_folder(trained, tmp_path):
    rows, settings, path = trained
    assert_same_model(grbm.train({}, rows, settings=settings, seed=11, progress=False).model, grbm.Model.load(str(path)))
    run = grbm.train(tmp_path / "run.toml", seed=11, out=tmp_path / "again", progress=False)
    for name in ("metrics.jsonl", "model.safetensors"):
        assert (tmp_path / "again" / name).read_bytes() == (path.parent / name).read_bytes()
    assert run.finished and run.history["update"][-1] == 18


def test_what_is_made_of_a_model(trained, program, tmp_path):
    rows, _, path = trained
    rbm = grbm.GaussianBernoulliRBM.load(path).set_params(random_state=5)
    data, out = tmp_path / "rows.npy", tmp_path / "out.npy"

    program("sample", path, "-n", 20, "--seed", 5, "-o", out)
    assert np.array_equal(rbm.sample(20), np.load(out))
    program("sample", path, "-n", 4, "--steps", 6, "--seed", 5, "--set", "sampler.final=sample", "--every", 2, "-o", out)
    chain = rbm.sample(4, steps=6, return_chain=True, every=2)
    assert np.array_equal(np.moveaxis(chain["v"], 0, 1), np.load(out))

    many, all_rows = tmp_path / "many.npy", np.tile(rows, (4, 1))  # more than are taken at a time
    np.save(many, all_rows)
    program("encode", path, "--data", many, "--probabilities", "-o", out)
    assert np.array_equal(rbm.transform(all_rows), np.load(out))
    program("encode", path, "--data", many, "--seed", 5, "-o", out)
    packed = rbm.set_params(output="bits").transform(all_rows)
    assert np.array_equal(np.unpackbits(packed, axis=1)[:, : rbm.model_.hidden], np.load(out))

    program("reconstruct", path, "--data", many, "--split", "all", "-n", len(all_rows), "--seed", 5, "-o", out)
    assert np.array_equal(rbm.reconstruct(all_rows), np.load(out))

    if rbm.model_.sampler["method"] != "langevin":
        known = np.arange(784) < 400
        np.save(tmp_path / "mask.npy", known[None].astype(np.float32))
        program("inpaint", path, "--data", data, "--split", "all", "-n", 10, "--mask", tmp_path / "mask.npy", "--seed", 5, "-o", out)
        assert np.array_equal(rbm.inpaint(rows[:10], known), np.load(out))


def test_evaluate(program, tmp_path):
    program("train", "gmm-iso", "--out", tmp_path / "run", "--set", "train.epochs=20")
    path = tmp_path / "run" / "model.safetensors"
    scores = program("evaluate", path, "--data", "gmm-iso", "--metrics", "likelihood,quick,mixing")
    data = grbm.Dataset.of(grbm.Config.preset("gmm-iso"))
    held_out = grbm.Dataset.load("gmm-iso", subset=1000, subset_seed=1_000_001)
    ours = grbm.evaluate(grbm.Model.load(str(path)), data, held_out, ["likelihood", "quick", "mixing"])
    for metric in ours:
        assert ours[metric] == scores[metric]


def test_threads_leave_no_trace(images):
    rows = images.values
    models = [
        grbm.GaussianBernoulliRBM(n_hidden=40, steps=5, epochs=2, n_jobs=n, random_state=3).fit(rows).model_ for n in (1, 2, 3)
    ]
    assert models[0] == models[1] == models[2]
