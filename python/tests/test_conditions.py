"""Models with conditions and with a history: in the layers below, to the bits of the program."""

import pickle

import numpy as np
import pytest

import grbm

SETTINGS = {"model.hidden": 6, "sampler.steps": 4, "train.epochs": 2, "train.batch_size": 50, "train.learning_rate": 0.05, "data.standardize": "pixel"}


@pytest.fixture(scope="module")
def table():
    """Two values and two conditions, u, in columns 1 and 3."""
    rng = np.random.default_rng(1)
    u = rng.normal(3, 2, size=(1200, 2))
    v = np.stack([2 * u[:, 0] + rng.normal(size=1200), rng.normal(size=1200) - u[:, 1]], axis=1)
    return np.stack([v[:, 0], u[:, 0], v[:, 1], u[:, 1]], axis=1).astype(np.float32)


@pytest.fixture
def run(program, tmp_path):
    """Trains with the program and here, by the same settings; the files, and the model of here."""

    def train(rows, data, **settings):
        np.save(tmp_path / "rows.npy", rows)
        config = grbm.Config()
        for name, value in {**SETTINGS, "data.source": str(tmp_path / "rows.npy"), **settings}.items():
            config[name] = value
        (tmp_path / "run.toml").write_text(config.text())
        program("train", tmp_path / "run.toml", "--out", tmp_path / "run", "--seed", 7)
        path = tmp_path / "run" / "model.safetensors"
        model = grbm.train(config, data, seed=7, progress=False).model
        loaded = grbm.Model.load(path)
        assert grbm.train(config, seed=7, progress=False).model == loaded
        for name in ("W", "b", "mu", "log_var", "A", "B", "mean", "deviation", "condition_mean", "condition_deviation", "condition_margin"):
            assert np.array_equal(getattr(model, name), getattr(loaded, name)), name
        assert model.history == loaded.history and np.any(model.A) and np.any(model.B)
        return path, loaded

    return train


def test_bits_of_the_program_given_columns(run, program, tmp_path, table):
    data = grbm.Dataset(table, condition=[1, 3])
    path, model = run(table, data, **{"data.condition": "2,4"})
    v, u, out = table[:, [0, 2]], table[:, [1, 3]], tmp_path / "out.npy"
    assert np.array_equal(data.values, v) and np.array_equal(data.conditions, u)
    assert model.conditions == 2 and repr(model) == "Model(visible=2, hidden=6, conditions=2)"

    np.save(tmp_path / "u.npy", u[:30])
    program("sample", path, "--given", tmp_path / "u.npy", "-n", 3, "--seed", 5, "-o", out)
    assert np.array_equal(model.sample_given(u[:30], 3, seed=5), np.load(out))
    of_data = ["--data", tmp_path / "rows.npy", "--split", "all"]
    program("encode", path, *of_data, "--probabilities", "-o", out)
    assert np.array_equal(model.encode(v, conditions=u), np.load(out))
    program("encode", path, *of_data, "--seed", 5, "-o", out)
    assert np.array_equal(model.encode_bits(v, 5, conditions=u), np.load(out))
    program("reconstruct", path, *of_data, "-n", len(v), "--seed", 5, "-o", out)
    assert np.array_equal(model.reconstruct(v, 5, conditions=u), np.load(out))
    program("score", path, *of_data, "-o", out)
    likelihoods = grbm.row_log_likelihoods(model, v, conditions=u)
    assert np.array_equal(likelihoods.astype(np.float32), np.load(out)[:, -1])
    scores = program("evaluate", path, "--data", tmp_path / "rows.npy", "--metrics", "likelihood")
    assert grbm.evaluate(model, data, metrics=["likelihood"])["likelihood"] == scores["likelihood"]

    # Given one row's conditions it is a model without.
    for row in (0, 9):
        given = model.given(conditions=u[row])
        exact = grbm.row_log_likelihoods(given, v[row : row + 1], grbm.log_partition(given).value)
        assert np.allclose(exact, likelihoods[row], atol=1e-5)
        assert np.allclose(given.encode(v[row : row + 1]), model.encode(v, conditions=u)[row], atol=1e-6)
        codes = model.encode(v, conditions=u)
        assert np.allclose(given.decode(codes[row : row + 1]), model.decode(codes, conditions=u)[row], atol=1e-4)


def test_bits_of_the_program_given_a_history(run, program, tmp_path):
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(600, 2))
    for t in range(2, 600):
        rows[t] += 0.6 * rows[t - 1] - 0.3 * rows[t - 2, ::-1]
    rows = rows.astype(np.float32)
    data = grbm.Dataset(rows, history=2)
    path, model = run(rows, data, **{"data.history": 2})
    assert data.rows == 598 and data.history == model.history == 2
    assert np.array_equal(data.conditions[5], rows[5:7].ravel())
    program("sample", path, "--given", tmp_path / "rows.npy", "--frames", 9, "-n", 3, "--seed", 5, "-o", tmp_path / "out.npy")
    series = model.sample_series(rows, 9, 3, seed=5)
    assert series.shape == (3, 9, 2) and np.array_equal(series.reshape(27, 2), np.load(tmp_path / "out.npy"))
    assert np.array_equal(model.sample_series(rows[-2:], 9, 3, seed=5), series)
    program("score", path, "--data", tmp_path / "rows.npy", "-o", tmp_path / "out.npy")
    likelihoods = grbm.row_log_likelihoods(model, data.values, conditions=data.conditions)
    assert np.array_equal(likelihoods.astype(np.float32), np.load(tmp_path / "out.npy")[:, -1])


def test_models_pickle_and_go_on(table, tmp_path):
    config = grbm.Config()
    for name, value in SETTINGS.items():
        config[name] = value
    data = grbm.Dataset(table, condition=[1, 3])
    trainer = grbm.Trainer(config, data, seed=3)
    trainer.run(10)
    model = trainer.model()
    assert pickle.loads(pickle.dumps(model)) == model
    model.save(tmp_path / "model.npz")
    assert grbm.Model.load(tmp_path / "model.npz") == model
    state, statistics = pickle.loads(pickle.dumps((trainer.state(), trainer.statistics)))
    trainer.run(10)
    again = grbm.Trainer(config, data, seed=3, statistics=statistics)
    again.restore(state)
    again.run(10)
    assert again.model() == trainer.model()
    same = grbm.Model(
        model.W, model.b, model.mu, model.log_var, model.variance_floor, model.sampler, model.generate, model.mean, model.deviation,
        None, model.provenance, [], model.A, model.B, model.condition_mean, model.condition_deviation,
    )  # fmt: skip
    assert same == model


def test_what_is_wrong_is_said(table):
    model = grbm.train({}, grbm.Dataset(table, condition=[1, 3]), settings=SETTINGS, progress=False).model
    v, u = table[:, [0, 2]], table[:, [1, 3]]
    wrong = [
        (lambda: model.sample(3), "model has conditions"),
        (lambda: model.sample_chain(3), "model has conditions"),
        (lambda: model.encode(v), "give them: conditions, of 2 values"),
        (lambda: model.encode(v, conditions=u[:5]), "5 × 2: expected are 1200 × 2"),
        (lambda: model.sample_given(u[:, :1]), "1200 × 1: expected are 1200 × 2"),
        (lambda: model.sample_given(u * np.nan), "NaN"),
        (lambda: model.sample_given(u[0]), "Expected 2D array"),
        (lambda: model.sample_given(u, count=0), "count = 0"),
        (lambda: model.sample_series(v, 5), "no history"),
        (lambda: model.given(), "one of label and conditions"),
        (lambda: model.given(label="a"), "no labels"),
        (lambda: model.given(conditions=[1]), "1 × 1: expected are 1 × 2"),
        (lambda: model.class_probabilities(v), "no labels"),
        (lambda: grbm.log_partition(model), "model has conditions"),
        (lambda: grbm.row_log_likelihoods(model, v), "give them"),
        (lambda: grbm.row_log_likelihoods(model, v, 1.0, conditions=np.zeros((len(v), 2))), "log_partition: with conditions every row"),
        (lambda: grbm.GaussianBernoulliRBM.from_model(model), "model has conditions"),
        (lambda: model.hidden_probabilities(v), "condition"),
        (lambda: model.inpaint(v, [True, False]), "model has conditions"),
        (lambda: grbm.Dataset(table, condition=[4]), "columns from 0 to 3"),
        (lambda: grbm.Dataset(table, condition=[1, 1]), "each once"),
        (lambda: grbm.Dataset(table, condition=[0, 1, 2, 3]), "at least one"),
        (lambda: grbm.Dataset(table, history=1200), "none has so many"),
        (lambda: grbm.Dataset(table, history=-1), "history = -1"),
        (lambda: grbm.Dataset(table, history=1, condition=[1]), "history = 1"),
        (lambda: grbm.Dataset(table, labels=[1, 2]), "2 labels for 1200 rows"),
        (lambda: grbm.Dataset(table, labels=[2**40] * 1200), "32 bits"),
        (lambda: grbm.Dataset(table, labels=np.full(1200, 2**63, np.uint64)), "9223372036854775808: allowed are numbers of 32 bits"),
        (lambda: grbm.Dataset(table, labels=[np.nan] * 1200), "NaN is no class"),
        (lambda: grbm.Dataset(table, labels=["a"] * 1200, label_names=["b"]), "label_names"),
        (lambda: grbm.Model.initial(2, 2).encode(v, conditions=u), "the model has none"),
        (lambda: grbm.Model(np.zeros((1, 2)), [0, 0], [1], [0], A=[[2]]), "both are needed"),
        (lambda: grbm.Model(np.zeros((1, 2)), [0, 0], [1], [0], A=[[2]], B=np.zeros((2, 3))), "columns"),
        (lambda: grbm.Model(np.zeros((1, 2)), [0, 0], [1], [0], A=[[2]], B=np.zeros((2, 1)), history=2), "history = 2"),
        (lambda: grbm.Model(np.zeros((3, 2)), [0, 0], [1] * 3, [0] * 3, classes=["a", "a"]), "twice"),
    ]  # fmt: skip
    for compute, words in wrong:
        with pytest.raises(grbm.Error, match=words):
            compute()
    with pytest.raises(grbm.ConfigError, match="written in Python"):
        grbm.train({}, grbm.Dataset(table, condition=[1]), settings=SETTINGS, sampler=grbm.Gibbs(), progress=False)
