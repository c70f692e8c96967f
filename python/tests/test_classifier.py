"""Models with labels: the classifier with the manners of scikit-learn, to the bits of the program."""

import copy
import pickle

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import grbm

SMALL = {"n_hidden": 12, "epochs": 20, "random_state": 3}


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_check_estimator():
    check_estimator(grbm.GRBMClassifier(n_hidden=32, random_state=1))


def test_it_tells_classes_apart(iris):
    assert cross_val_score(grbm.GRBMClassifier(n_hidden=32, random_state=1), *load_wine(return_X_y=True), cv=3).mean() > 0.95
    search = GridSearchCV(grbm.GRBMClassifier(**SMALL), {"n_hidden": [4, 16]}, cv=3, n_jobs=2).fit(*iris)
    assert search.best_score_ > 0.85
    assert make_pipeline(StandardScaler(), grbm.GRBMClassifier(**SMALL)).fit(*iris).score(*iris) > 0.85


def test_classes_may_be_anything_that_has_an_order(iris):
    X, y = iris
    plain = grbm.GRBMClassifier(**SMALL).fit(X, y)
    for classes in (np.array(["a", "b", "c"]), np.array([-3.0, 0.0, 7.0]), np.array([2, 10, 300])):
        fitted = grbm.GRBMClassifier(**SMALL).fit(X, classes[y])
        assert np.array_equal(fitted.classes_, classes) and fitted.classes_.dtype == classes.dtype
        assert np.array_equal(fitted.predict_proba(X), plain.predict_proba(X))
        assert np.array_equal(fitted.predict(X), classes[plain.predict(X)])
        assert np.array_equal(fitted.sample(5, label=classes[1]), plain.sample(5, label=1))
    assert np.allclose(plain.predict_proba(X).sum(axis=1), 1, atol=1e-12)


def test_names_that_look_like_numbers_are_texts(tmp_path):
    X, y = np.array([[0.0], [0.1], [1.0], [1.1]]), np.array(["--1", "--1", "7", "7"])
    fitted = grbm.GRBMClassifier(n_hidden=2, epochs=1).fit(X, y)
    fitted.save(tmp_path / "model.safetensors")
    assert np.array_equal(grbm.GRBMClassifier.load(tmp_path / "model.safetensors").classes_, ["--1", "7"])


def test_two_classes_of_one_name_are_refused():
    data = grbm.Dataset(np.array([[0.0], [1.0]]), labels=[0, 1], label_names=["ant", "ant"])
    with pytest.raises(ValueError, match="two classes are called 'ant'"):
        grbm.train("gmm-iso", data, settings={"model.labels": True, "train.epochs": 0.1}, progress=False)


def test_probabilities_are_those_of_the_joint_density(iris):
    """p(y | v) is p(v, y) / p(v), of which energies know p(v, y) but for one constant."""
    X, y = iris
    fitted = grbm.GRBMClassifier(**SMALL).fit(X, y)
    model = fitted.model_
    v = model.standardize(X)
    energies = np.stack([model.marginal_energy(np.hstack([v, np.tile(np.eye(3)[k], (len(v), 1))])) for k in range(3)], axis=1)
    weights = np.exp(energies.min(axis=1, keepdims=True) - energies)
    assert np.allclose(fitted.predict_proba(X), weights / weights.sum(axis=1, keepdims=True), atol=1e-5)
    codes = sum(fitted.predict_proba(X)[:, [k]] * model.given(label=str(k)).encode(X) for k in range(3))
    assert np.allclose(fitted.transform(X), codes, atol=1e-5)


def test_samples_are_of_their_class():
    X, y = load_wine(return_X_y=True)
    fitted = grbm.GRBMClassifier(n_hidden=32, random_state=1).fit(X, y)
    centres = np.array([X[y == k].mean(axis=0) for k in fitted.classes_])
    for label in fitted.classes_:
        drawn = fitted.sample(200, steps=200, label=label)
        assert np.mean(fitted.predict(drawn) == label) > 0.85
        assert np.argmin(np.abs((drawn.mean(axis=0) - centres) / X.std(axis=0)).sum(axis=1)) == label
    chain = fitted.sample(50, steps=20, return_chain=True)
    assert chain["v"].shape == (50, 20, 13) and chain["y"].shape == (50, 20) and set(np.unique(chain["y"])) <= {0, 1, 2}
    assert len(np.unique(chain["y"][:, 0])) == 3
    with pytest.raises(ValueError, match="classes are"):
        fitted.sample(5, label=3)


def test_files_pickles_and_copies(iris, tmp_path):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    for classes in (y, names):
        fitted = grbm.GRBMClassifier(**SMALL).fit(X, classes)
        fitted.save(tmp_path / "classifier.safetensors")
        fitted.save(tmp_path / "classifier.npz")
        again = grbm.GRBMClassifier.load(tmp_path / "classifier.safetensors")
        assert again.get_params() == fitted.get_params()
        others = (again, grbm.GRBMClassifier.load(tmp_path / "classifier.npz"), pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted))
        for other in others:
            assert other.model_ == fitted.model_ and np.array_equal(other.predict(X), fitted.predict(X))
    with pytest.raises(grbm.ConfigError, match="GRBMClassifier"):
        grbm.GaussianBernoulliRBM.load(tmp_path / "classifier.safetensors")
    grbm.GaussianBernoulliRBM.from_model(fitted.model_.given(label="virginica")).save(tmp_path / "given.safetensors")
    with pytest.raises(grbm.ConfigError, match="no labels"):
        grbm.GRBMClassifier.load(tmp_path / "given.safetensors")
    assert not hasattr(clone(fitted), "model_")
    assert grbm.GRBMClassifier.from_preset("mnist-labels").discriminative == 30
    assert grbm.GRBMClassifier.from_preset("digits").generate_keep_labels


def test_samples_keep_their_class(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    fitted = grbm.GRBMClassifier(**SMALL, generate_keep_labels=True).fit(X, names)
    kept = fitted.sample(30, steps=20, return_chain=True, random_state=1)["y"]
    assert (kept == kept[:, :1]).all() and len(np.unique(kept)) == 3
    drawn = grbm.GRBMClassifier(**SMALL).fit(X, names).sample(30, steps=20, return_chain=True, random_state=1)["y"]
    assert (drawn != drawn[:, :1]).any()
    given = grbm.GaussianBernoulliRBM.from_model(fitted.model_.given(label="setosa"))
    assert not given.generate_keep_labels and given.fit(X)
    with pytest.raises(grbm.ConfigError, match="the model has no labels"):
        grbm.GaussianBernoulliRBM(n_hidden=2, epochs=1, generate_keep_labels=True).fit(X)


def test_classes_are_learned_on_their_own(iris):
    X, y = iris
    plain = {**SMALL, "epochs": 300, "discriminative": 0}
    fitted = grbm.GRBMClassifier(**plain, keep_labels=True).fit(X, y)
    assert fitted.score(X, y) > 0.9 and fitted.model_ != grbm.GRBMClassifier(**plain).fit(X, y).model_
    given = grbm.GaussianBernoulliRBM.from_model(fitted.model_.given(label="1"))
    assert not given.keep_labels and given.fit(X)
    with pytest.raises(grbm.ConfigError, match="keep_labels = true: the model has no labels"):
        grbm.GaussianBernoulliRBM(n_hidden=2, epochs=1, keep_labels=True).fit(X)


def test_partial_fit_starts_chains_that_keep_their_class_anew(iris):
    X, y = iris

    def fitted(restart_fraction, keep):
        machine = grbm.GRBMClassifier(
            n_hidden=12, batch_size=150, random_state=3, discriminative=0, restart_fraction=restart_fraction, keep_labels=keep
        )
        for rows in (y < 2, y > 0):  # an update each, of other classes
            machine.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
        return machine.model_.W

    np.testing.assert_array_equal(fitted(0.01, True), fitted(1, True))
    assert not np.array_equal(fitted(0.01, False), fitted(1, False))


def test_partial_fit(iris):
    X, y = iris
    parameters = {**SMALL, "batch_size": 50, "learning_rate_schedule": "constant"}
    whole = grbm.GRBMClassifier(**{**parameters, "epochs": 2}).fit(X, y)
    pieces = grbm.GRBMClassifier(**parameters).partial_fit(X, y, classes=[0, 1, 2])
    pieces = pickle.loads(pickle.dumps(pieces)).partial_fit(X, y)
    assert np.array_equal(whole.model_.W, pieces.model_.W)
    # Rows of one class are enough, where all classes are named; others are refused.
    one = grbm.GRBMClassifier(**SMALL).partial_fit(X[:50], y[:50], classes=[2, 1, 0])
    assert one.predict_proba(X).shape == (150, 3)
    one.partial_fit(X[60:90], y[60:90])
    for arguments, words in (((X, y + 1), "has the class 3"), ((X, y, [0, 1]), "first call")):
        with pytest.raises(ValueError, match=words):
            one.partial_fit(*arguments)
    with pytest.raises(ValueError, match="classes must be passed"):
        grbm.GRBMClassifier(**SMALL).partial_fit(X, y)


def test_wrong_targets_are_refused(iris):
    X, y = iris
    classifier = grbm.GRBMClassifier(**SMALL)
    with pytest.raises(NotFittedError):
        classifier.predict(X)
    bad = [(y[:10], "inconsistent numbers"), (np.zeros(150), "one class"), (np.random.default_rng(0).normal(size=150), "continuous"), (None, "y")]
    for target, words in bad:
        with pytest.raises(ValueError, match=words):
            classifier.fit(X, target)
    assert not hasattr(classifier, "classes_")
    with pytest.raises(TypeError, match="no_such"):
        grbm.GRBMClassifier(no_such=1)
    with pytest.raises(grbm.ConfigError, match="discriminative"):
        grbm.GRBMClassifier(discriminative=-1).fit(X, y)
    with pytest.raises(grbm.ConfigError, match="written in Python"):
        grbm.GRBMClassifier(sampler=grbm.Gibbs()).fit(X, y)


def test_what_needs_one_class_says_so(iris):
    model = grbm.GRBMClassifier(**SMALL).fit(*iris).model_
    assert model.visible == 4 and model.classes == ["0", "1", "2"] and model.W.shape == (7, 12)
    for compute in (
        lambda: grbm.log_partition(model),
        lambda: grbm.row_log_likelihoods(model, iris[0], 0.0),
        lambda: model.inpaint(iris[0], [True, True, False, True]),
        lambda: model.sample(3, step=lambda *a: a),
    ):
        with pytest.raises(grbm.ConfigError, match="given\\(label="):
            compute()
    with pytest.raises(grbm.ConfigError, match="no such class"):
        model.given(label="9")
    with pytest.raises(grbm.DataError, match="3 values"):
        model.class_probabilities(np.zeros((2, 3)))


def test_names_of_features(iris):
    X, y = iris
    frame = pandas.DataFrame(X, columns=list("abcd"))
    fitted = grbm.GRBMClassifier(**SMALL).fit(frame, y)
    assert list(fitted.feature_names_in_) == list("abcd")
    assert fitted.set_output(transform="pandas").transform(frame).shape == (150, 12)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[["b", "a", "c", "d"]])


@pytest.mark.parametrize("discriminative", [0, 5])
def test_bits_of_the_program(program, tmp_path, discriminative):
    """Training, probabilities, codes, reconstructions and samples of a class: as `grbm train`, `classify`, ... make them."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, 7, size=1300)
    X = (rng.normal(size=(1300, 3)) + y[:, None] * [1, -1, 0]).astype(np.float32)
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    settings = {
        "data.source": str(tmp_path / "rows.npz"), "data.key": "X", "data.label": "y", "model.labels": True, "model.hidden": 9,
        "sampler.method": "gibbs-langevin", "sampler.steps": 4, "train.hidden": "probability", "train.epochs": 2,
        "train.discriminative": discriminative, "data.noise": 0.3,
    }  # fmt: skip
    config = grbm.Config()
    for name, value in settings.items():
        config[name] = value
    (tmp_path / "run.toml").write_text(config.text())
    program("train", tmp_path / "run.toml", "--out", tmp_path / "run", "--seed", 11)
    path, data, out = tmp_path / "run" / "model.safetensors", tmp_path / "rows.npz", tmp_path / "out.npy"

    fitted = grbm.GRBMClassifier.from_preset(config, random_state=11).fit(X, y)
    loaded = grbm.GRBMClassifier.load(path).set_params(random_state=11)
    for name in ("W", "b", "mu", "log_var", "mean", "deviation"):
        assert np.array_equal(getattr(fitted.model_, name), getattr(loaded.model_, name)), name
    assert np.array_equal(loaded.classes_, [4, 5, 6]) and np.array_equal(fitted.classes_, [4, 5, 6])
    assert grbm.train(tmp_path / "run.toml", seed=11, progress=False).model == loaded.model_

    of_data = ["--data", data, "--split", "all"]
    told = program("classify", path, *of_data, "-o", out)
    assert np.array_equal(fitted.predict_proba(X).astype(np.float32), np.load(out))
    assert fitted.score(X, y) == told["accuracy"]
    program("encode", path, *of_data, "--probabilities", "-o", out)
    assert np.array_equal(fitted.transform(X), np.load(out))
    program("encode", path, *of_data, "--seed", 11, "-o", out)
    assert np.array_equal(fitted.model_.encode_bits(X, 11), np.load(out))
    program("reconstruct", path, *of_data, "-n", len(X), "--seed", 11, "-o", out)
    assert np.array_equal(fitted.reconstruct(X), np.load(out))
    program("sample", path, "-n", 20, "--label", 5, "--seed", 11, "-o", out)
    assert np.array_equal(fitted.sample(20, label=5), np.load(out))
    program("sample", path, "-n", 20, "--seed", 11, "-o", out)
    assert np.array_equal(fitted.sample(20), np.load(out))
    program("convert", path, tmp_path / "given.safetensors", "--label", 5)
    assert fitted.model_.given(label="5").W.tobytes() == grbm.Model.load(tmp_path / "given.safetensors").W.tobytes()
    assert fitted.model_.given(label="5").b.tobytes() == grbm.Model.load(tmp_path / "given.safetensors").b.tobytes()
