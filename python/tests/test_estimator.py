"""The manners of scikit-learn."""

import copy
import inspect
import pickle
import types

import numpy as np
import pandas
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import grbm
from grbm import _compat


def test_check_estimator():
    check_estimator(grbm.GaussianBernoulliRBM())


def test_check_estimator_with_a_seed():
    check_estimator(grbm.GaussianBernoulliRBM(n_hidden=9, epochs=1, steps=5, random_state=1))


def test_missing_values_are_learned_from_and_filled_in():
    generator = np.random.default_rng(3)
    X = 2 * generator.choice([-1.0, 1.0], size=(300, 1)) + 0.3 * generator.normal(size=(300, 3))
    holes = np.where(generator.random(X.shape) < 0.3, np.nan, X)
    holes[:, 0] = X[:, 0]
    rbm = grbm.GaussianBernoulliRBM(4, "gibbs", steps=5, epochs=100, learning_rate=0.05, standardize="pixel", random_state=1)
    with pytest.raises(ValueError, match="NaN"):
        rbm.fit(holes)
    rbm.set_params(gaps="sample").fit(holes)
    filled = rbm.inpaint(holes)
    known = ~np.isnan(holes)
    assert np.array_equal(filled[known], holes[known].astype(np.float32))
    assert np.mean((filled - X)[~known] ** 2) < 0.5 * np.mean(X[~known] ** 2)
    with pytest.raises(ValueError, match="NaN"):
        rbm.transform(holes)


def test_training_with_missing_values_goes_on_from_a_pickle():
    generator = np.random.default_rng(5)
    X = generator.normal(size=(40, 3)).astype(np.float32)
    X[::2, 1] = np.nan
    config = grbm.Config()
    for key, value in {"model.hidden": 5, "train.batch_size": 10, "train.gap_steps": 1, "sampler.steps": 3, "train.learning_rate": 0.1}.items():
        config[key] = value
    data = grbm.Dataset(X, gaps=True)
    whole, first, rest, anew = (grbm.Trainer(config, data, seed=3) for _ in range(4))
    whole.run(12)
    first.run(6)
    rest.restore(pickle.loads(pickle.dumps(first.state())))
    rest.run(6)
    assert np.array_equal(rest.model().W, whole.model().W)
    anew.restore(first.state().without_gaps())
    anew.run(6)
    assert not np.array_equal(anew.model().W, whole.model().W)
    rbm = grbm.GaussianBernoulliRBM(64, "gibbs", steps=2, epochs=1, gaps="sample", random_state=1).fit(np.repeat(X, 200, 0))
    assert len(pickle.dumps(rbm)) < 40_000  # 8,000 rows, none of whose states is in it
    assert rbm.partial_fit(X[:7]).n_updates_ > 0


def test_sample_weights_are_those_of_a_draw():
    X = np.random.default_rng(4).normal(size=(60, 2)).astype(np.float32)
    rbm = grbm.GaussianBernoulliRBM(4, "gibbs", steps=3, epochs=2, batch_size=10, random_state=1)
    plain = rbm.fit(X).components_
    assert np.array_equal(rbm.fit(X, sample_weight=np.full(60, 0.3)).components_, plain)
    weights = np.where(np.arange(60) < 30, 0.0, 2.0)
    seen = rbm.fit(X, sample_weight=weights).components_
    assert not np.array_equal(seen, plain)
    assert np.array_equal(rbm.fit(np.where(weights[:, None] == 0, 99, X), sample_weight=weights).components_, seen)
    for bad, words in ((np.ones(3), "shape"), (-weights, "at least 0"), (np.zeros(60), "add up to 0"), (weights * np.nan, "is nan")):
        with pytest.raises(ValueError, match=words):
            rbm.fit(X, sample_weight=bad)


def test_defaults_are_those_of_the_library():
    config = grbm.Config()
    parameters = inspect.signature(grbm.GaussianBernoulliRBM).parameters
    for name, key in grbm.GaussianBernoulliRBM._setting_names().items():
        if name != "n_hidden":
            default = parameters[name].default
            assert default == config[key] and type(default) is type(config[key]), name


def test_every_setting_of_training_is_a_parameter():
    settings = {name for name, _, _ in grbm.Config().help()}
    wanted = {name for name in settings if name.split(".")[0] in ("model", "sampler", "train", "generate")}
    of_others = {"model.labels", "train.discriminative", "train.stop_after", "train.stop_on"}  # of the classifier, and the program's alone
    of_others |= {f"train.{kind}_{name}" for kind in ("rate", "decay", "clip") for name in "AB"}
    wanted = wanted - of_others | {"data.gaps", "data.standardize", "data.margin", "data.noise"}
    assert wanted == set(grbm.GaussianBernoulliRBM._setting_names().values())
    assert wanted | {"train.discriminative"} == set(grbm.GRBMClassifier._setting_names().values())


def test_presets_and_files(tmp_path, rbm, X):
    assert grbm.GaussianBernoulliRBM.from_preset("mnist").config()["train.algorithm"] == "pcd"
    with pytest.raises(grbm.ConfigError, match="labels = true: .* grbm.GRBMClassifier"):
        grbm.GaussianBernoulliRBM.from_preset("mnist-labels")
    rbm.save(tmp_path / "rbm.safetensors")
    again = grbm.GaussianBernoulliRBM.load(tmp_path / "rbm.safetensors")
    assert again.get_params() == {**rbm.get_params(), "image_shape": None}
    assert again.model_ == rbm.model_ and np.array_equal(again.transform(X), rbm.transform(X))
    assert again.n_updates_ == rbm.n_updates_ == 8


def test_pickle_and_copies_go_on_alike(rbm, X):
    for other in (pickle.loads(pickle.dumps(rbm)), copy.deepcopy(rbm)):
        assert other.model_ == rbm.model_
        assert np.array_equal(other.score_samples(X), rbm.score_samples(X))
        assert other.partial_fit(X).model_ == copy.deepcopy(rbm).partial_fit(X).model_
    assert not hasattr(clone(rbm), "model_")


def test_partial_fit_of_one_pass_is_fit_at_a_constant_rate(X):
    parameters = {"n_hidden": 6, "steps": 5, "random_state": 4, "batch_size": 40}
    whole = grbm.GaussianBernoulliRBM(epochs=2, learning_rate_schedule="constant", **parameters).fit(X)
    pieces = grbm.GaussianBernoulliRBM(**parameters).partial_fit(X).partial_fit(X)
    assert np.array_equal(whole.model_.W, pieces.model_.W) and pieces.n_updates_ == 20
    # It goes on after fit(), and keeps what it took from the first rows.
    more = whole.partial_fit(X[:30] + 5)
    assert more.n_updates_ == 21 and np.array_equal(more.model_.mean, pieces.model_.mean)


@pytest.mark.parametrize("algorithm", ["noise-cd", "pcd"])
def test_partial_fit_keeps_the_state_of_training(X, algorithm):
    parameters = dict(n_hidden=4, steps=3, batch_size=50, algorithm=algorithm, optimizer="adam", centred=True, random_state=2)
    one = grbm.GaussianBernoulliRBM(**parameters, epochs=3, learning_rate_schedule="constant").fit(X)
    many = grbm.GaussianBernoulliRBM(**parameters)
    for _ in range(3):
        many = pickle.loads(pickle.dumps(many)).partial_fit(X)
    assert np.array_equal(one.model_.W, many.model_.W)


def test_random_state(X):
    def fit(random_state):
        return grbm.GaussianBernoulliRBM(n_hidden=3, steps=2, epochs=1, random_state=random_state).fit(X).model_.W

    assert np.array_equal(fit(7), fit(7)) and not np.array_equal(fit(7), fit(8))
    assert np.array_equal(fit(np.random.RandomState(7)), fit(np.random.RandomState(7)))
    assert np.array_equal(fit(np.random.default_rng(7)), fit(np.random.default_rng(7)))
    assert not np.array_equal(fit(None), fit(None))
    for wrong in (-1, 2**64):
        with pytest.raises(ValueError, match="random_state"):
            fit(wrong)


def test_feature_names_and_set_output(rbm, X):
    assert list(rbm.get_feature_names_out()[:2]) == ["gaussianbernoullirbm0", "gaussianbernoullirbm1"]
    frame = pandas.DataFrame(X, columns=list("abcde"))
    fitted = clone(rbm).set_output(transform="pandas").fit(frame)
    codes = fitted.transform(frame)
    assert list(codes.columns) == list(fitted.get_feature_names_out()) and len(codes) == 400
    assert list(fitted.feature_names_in_) == list("abcde")
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(frame[list("edcba")])
    bits = fitted.set_params(output="bits", n_hidden=6).transform(frame)
    assert bits.shape == (400, 1) and list(bits.columns) == list(fitted.get_feature_names_out())


def test_pipeline_grid_search_and_joblib(X):
    y = X[:, 0] > 2
    pipeline = make_pipeline(grbm.GaussianBernoulliRBM(n_hidden=8, steps=3, epochs=3, random_state=1), LogisticRegression())
    search = GridSearchCV(pipeline, {"gaussianbernoullirbm__n_hidden": [4, 8]}, cv=2, n_jobs=2, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.6
    by_likelihood = GridSearchCV(pipeline[0], {"learning_rate": [1e-9, 0.05]}, cv=2, error_score="raise").fit(X)
    assert by_likelihood.best_params_ == {"learning_rate": 0.05}
    models = Parallel(n_jobs=2, prefer="threads")(delayed(lambda: clone(pipeline[0]).fit(X).model_)() for _ in range(4))
    assert all(model == models[0] for model in models)


def test_scores_are_log_likelihoods(rbm, X):
    scores = rbm.score_samples(X)
    exact = grbm.log_likelihood(rbm.model_, X)
    assert exact.method == "exact, by enumeration" and exact.value == pytest.approx(scores.mean(), abs=1e-9)
    assert rbm.score(X) == scores.mean()
    plane = grbm.Dataset.load("gmm-iso").values
    model = grbm.GaussianBernoulliRBM(n_hidden=30, epochs=30, standardize="pixel", random_state=1).fit(plane)
    x = np.linspace(-40, 40, 600)
    grid = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    mass = np.exp(model.score_samples(grid)).sum() * (x[1] - x[0]) ** 2
    assert mass == pytest.approx(1, abs=1e-3)


def test_scores_of_large_models_have_bounds(X):
    model = grbm.GaussianBernoulliRBM(n_hidden=24, steps=5, epochs=2, random_state=1).fit(X)
    partition = model.log_partition()
    assert partition.method == "annealing" and partition.low < partition.value < partition.high
    assert np.isfinite(model.score_samples(X)).all()
    assert np.array_equal(model.score_samples(X)[::-1], model.score_samples(X[::-1]))


def test_inpaint(rbm, X):
    masks = np.random.default_rng(1).random(X.shape) < 0.5
    holes = np.where(masks, X, np.nan)
    filled = rbm.inpaint(holes, masks)
    assert np.isfinite(filled).all() and np.allclose(filled[masks], X[masks], atol=1e-5)
    same = np.array([True, False, True, False, True])
    assert np.array_equal(rbm.inpaint(X, same), rbm.inpaint(X, np.tile(same, (400, 1))))
    with pytest.raises(ValueError, match="mask"):
        rbm.inpaint(X, same[:3])
    with pytest.raises(ValueError, match="finite|NaN"):
        rbm.inpaint(holes, np.ones_like(masks))


def test_codes_and_back(X):
    rbm = grbm.GaussianBernoulliRBM(n_hidden=11, steps=3, epochs=2, random_state=1).fit(X)
    back = rbm.inverse_transform(rbm.transform(X))
    assert back.shape == X.shape and back.dtype == np.float32
    bits = rbm.set_params(output="bits")
    packed = bits.transform(X)
    assert packed.dtype == np.uint8 and packed.shape == (400, 2)
    unpacked = np.unpackbits(packed, axis=1)[:, :11]
    assert np.allclose(bits.inverse_transform(packed), rbm.model_.decode(unpacked), atol=1e-5)
    assert np.array_equal(rbm.reconstruct(X), bits.inverse_transform(packed))
    with pytest.raises(ValueError, match="codes"):
        bits.inverse_transform(unpacked)


def test_images_are_known_as_such(images):
    rbm = grbm.GaussianBernoulliRBM(n_hidden=8, steps=2, epochs=1, image_shape=(28, 28), random_state=1).fit(images.values)
    assert rbm.model_.image_shape == [28, 28, 1] and rbm.model_.provenance["bits"] == "8"
    with pytest.raises(ValueError, match="images of 784 values"):
        clone(rbm).fit(images.values[:, :10])


def test_unfitted_and_unknown_are_refused(X):
    rbm = grbm.GaussianBernoulliRBM()
    for call in (rbm.transform, rbm.score_samples, rbm.reconstruct, rbm.inverse_transform):
        with pytest.raises(NotFittedError):
            call(X)
    for parameters, text in (
        ({"n_hidden": 0}, "n_hidden"), ({"sampler": "gibs"}, "sampler"), ({"epochs": -1}, "epochs"), ({"steps": 1.5}, "steps"),
        ({"output": "codes"}, "output"), ({"n_jobs": 0}, "n_jobs"), ({"step_size": 3.0}, "step_size"), ({"burn_in": 200}, "burn_in"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=text):
            grbm.GaussianBernoulliRBM(**parameters).fit(X)


def test_divergence_is_an_arithmetic_error(X):
    with pytest.raises(ArithmeticError, match="diverged"), np.errstate(all="ignore"):
        grbm.GaussianBernoulliRBM(n_hidden=8, learning_rate=1e20, clip_norm=0, steps=3, random_state=1).fit(X)


def test_html(rbm, images):
    page = rbm._repr_html_()
    assert "6 hidden" in page and "<svg" in page
    assert "6 hidden" in rbm._repr_mimebundle_()["text/html"]
    of_images = grbm.GaussianBernoulliRBM(n_hidden=8, steps=2, epochs=1, image_shape=(28, 28), random_state=1).fit(images.values)
    assert "data:image/png;base64," in of_images._repr_html_()
    assert "<polyline" in page and "<polyline" not in grbm.GaussianBernoulliRBM()._repr_html_()


def test_the_interfaces_of_newer_scikit_learn(X, monkeypatch):
    """validate_data and __sklearn_tags__, which came with 1.6, as far as they can be had without it."""
    asked = []

    def validate_data(estimator, /, X, reset, **checks):
        asked.append(checks)
        renamed = {"force_all_finite" if name == "ensure_all_finite" else name: value for name, value in checks.items()}
        return estimator._validate_data(X, reset=reset, **renamed)

    class Tags:
        def __sklearn_tags__(self):
            return types.SimpleNamespace(
                transformer_tags=types.SimpleNamespace(preserves_dtype=["float64"]), input_tags=types.SimpleNamespace(allow_nan=False)
            )

    if _compat._validate_data is None:
        monkeypatch.setattr(_compat, "_validate_data", validate_data)
        monkeypatch.setattr(_compat, "_FINITE", "ensure_all_finite")
        rbm = grbm.GaussianBernoulliRBM(n_hidden=3, steps=2, epochs=1).fit(X)
        rbm.transform(X)
        assert [checks["ensure_all_finite"] for checks in asked] == [True, True]
    tags = type("Newer", (_compat.TagsMixin, Tags), {"gaps": "sample"})().__sklearn_tags__()
    assert tags.transformer_tags.preserves_dtype == ["float32"] and tags.input_tags.allow_nan
