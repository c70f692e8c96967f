"""Arrays of every kind: what is taken, without a copy where that can be, and what is refused."""

import array
import subprocess
import sys

import numpy as np
import pytest

import grbm

PARAMETERS = dict(n_hidden=6, steps=5, epochs=2, random_state=1)


def fit(X):
    return grbm.GaussianBernoulliRBM(**PARAMETERS).fit(X)


class OnlyDLPack:
    """Offers its memory by DLPack and in no other way."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def test_all_of_these_are_the_same_rows(X, rbm):
    readonly = X.copy()
    readonly.setflags(write=False)
    wide = np.zeros((400, 10), np.float32)
    wide[:, ::2] = X
    for rows in (
        X.astype(np.float64), np.asfortranarray(X), wide[:, ::2], X[::-1][::-1], readonly, X.tolist(), memoryview(X),
        memoryview(array.array("f", X.ravel())).cast("B").cast("f", X.shape),
        OnlyDLPack(X), X.astype(">f4"), np.ma.masked_array(X),
    ):  # fmt: skip
        fitted = fit(rows)
        assert fitted.model_ == rbm.model_
        assert np.array_equal(fitted.transform(rows), rbm.transform(X))


def test_the_layers_below_take_dlpack_and_lists(X):
    model = grbm.Model.initial(5, 3)
    for rows in (OnlyDLPack(X), X.tolist(), memoryview(X)):
        assert np.array_equal(model.encode(rows), model.encode(X))
        assert np.array_equal(grbm.Dataset(rows).values, X)


def test_dlpack_is_taken_wherever_arrays_are(X, rbm):
    model = rbm.model_
    mask = X > 2
    h = model.sample_hidden(model.standardize(X))
    chain = np.random.default_rng(1).normal(size=(4, 100, 2))
    calls = {
        "energy": lambda a: model.energy(a(X), a(h)),
        "marginal_energy": lambda a: model.marginal_energy(a(X)),
        "hidden_probabilities": lambda a: model.hidden_probabilities(a(X)),
        "sample_hidden": lambda a: model.sample_hidden(a(X)),
        "sample_visible": lambda a: model.sample_visible(a(h)),
        "visible_mean": lambda a: model.visible_mean(a(h)),
        "standardize": lambda a: model.standardize(a(X)),
        "unstandardize": lambda a: model.unstandardize(a(X)),
        "encode_bits": lambda a: model.encode_bits(a(X)),
        "decode": lambda a: model.decode(a(h)),
        "reconstruct": lambda a: model.reconstruct(a(X)),
        "inpaint": lambda a: model.inpaint(a(X), a(mask.astype(np.uint8)), steps=3),
        "Model": lambda a: grbm.Model(a(model.W.copy()), a(model.b.copy()), a(model.mu.copy()), a(model.log_var.copy())).W,
        "row_log_likelihoods": lambda a: grbm.row_log_likelihoods(model, a(X), 0.0),
        "log_likelihood": lambda a: grbm.log_likelihood(model, a(X)).value,
        "frechet_distance": lambda a: grbm.frechet_distance(a(X[:200]), a(X[200:])),
        "kernel_distance": lambda a: grbm.kernel_distance(a(X[:200]), a(X[200:])),
        "quick_distance": lambda a: grbm.quick_distance(a(X[:200]), a(X[200:]))[0].value,
        "rhat": lambda a: grbm.rhat(a(chain)),
        "ess": lambda a: grbm.ess(a(chain)),
        "train": lambda a: grbm.train("gmm-iso", a(X), settings={"train.epochs": 1}, progress=False).model.W,
        "rbm.inverse_transform": lambda a: rbm.inverse_transform(a(h)),
        "rbm.inpaint": lambda a: rbm.inpaint(a(X), a(mask.astype(np.uint8)), 3),
        "rbm.score_samples": lambda a: rbm.score_samples(a(X)),
        "plot.samples": lambda a: grbm.plot.samples(a(X[:, :4]), image_shape=(2, 2)).images[0].get_array(),
    }
    for name, call in calls.items():
        assert np.array_equal(call(OnlyDLPack), call(np.asarray), equal_nan=True), name


# Seconds since 1970 within a minute: 32-bit floats have steps of 128 there.
@pytest.mark.parametrize("kind", [np.float64, np.int64])
def test_a_column_that_floats_cannot_tell_apart_is_named(kind):
    rows = np.random.default_rng(0).integers(0, 60, size=(200, 3)).astype(kind)
    rows[:, 1] += 1_700_000_000
    for train in (fit, lambda X: grbm.GaussianBernoulliRBM(**PARAMETERS).partial_fit(X)):
        with pytest.warns(RuntimeWarning, match="column 1 from 1700000000 to 17000000.. in steps of 128"):
            train(rows)
    with pytest.warns(RuntimeWarning, match="column 1"):
        grbm.train("gmm-iso", rows, settings={"train.epochs": 0.1}, progress=False)
    assert "column 1" in grbm.Dataset(rows).warning


@pytest.mark.filterwarnings("error")
def test_columns_that_floats_can_tell_apart_are_not(X):
    rows = X.astype(np.float64)
    rows[:, 0] = 1 + 1e-15 * rows[:, 0]  # a constant, but for rounding
    rows[:, 1] = 7
    rows[:, 2] = 1e5 + rows[:, 2]
    fit(rows)
    fit(rows.astype(np.float32))


def test_torch_tensors_are_taken(X, rbm):
    torch = pytest.importorskip("torch")
    assert fit(torch.from_numpy(X)).model_ == rbm.model_
    assert fit(torch.from_numpy(X).clone().requires_grad_()).model_ == rbm.model_


def test_bytes_are_taken_as_they_are(images):
    rows = images.values
    assert rows.dtype == np.uint8
    assert np.array_equal(fit(rows).model_.W, fit(rows.astype(np.float32)).model_.W)


@pytest.mark.parametrize(
    "rows, error, text",
    [
        (np.zeros(5, np.float32), ValueError, "1D array|2D"),
        (np.float32(3), ValueError, "0D array|2D|scalar"),
        (np.zeros((2, 3, 4), np.float32), ValueError, "dim"),
        (np.zeros((0, 5), np.float32), ValueError, "0 sample"),
        (np.zeros((5, 0), np.float32), ValueError, "0 feature"),
        (np.full((10, 3), np.nan), ValueError, "NaN"),
        (np.full((10, 3), np.inf, np.float32), ValueError, "infinity"),
        (np.full((10, 3), 1e300), ValueError, "infinity"),
        (np.full((10, 3), 1 + 2j), ValueError, "[Cc]omplex"),
        (np.array([["a", "b"]]), ValueError, "string|convert"),
        (np.array([[object(), 1]]), (TypeError, ValueError), "float|number|object"),
        (None, ValueError, "None|array|scalar"),
        ({"a": 1}, (TypeError, ValueError), "."),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_wrong_rows_are_refused(rows, error, text):
    with pytest.raises(error, match=text):
        fit(rows)


def test_sparse_rows_are_refused(X):
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match="[Ss]parse"):
        fit(sparse.csr_matrix(X))


def test_rows_that_do_not_fit_the_model(rbm, X):
    for call in (rbm.transform, rbm.reconstruct, rbm.score_samples):
        with pytest.raises(ValueError, match="4 features"):
            call(X[:, :4])
        with pytest.raises(ValueError, match="NaN"):
            call(np.where(X > 3, np.nan, X))


def test_the_layers_below_refuse_too(X):
    model = grbm.Model.initial(5, 3)
    with pytest.raises(ValueError, match="v:|visible"):
        model.hidden_probabilities(X[:, :4])
    with pytest.raises(ValueError, match="2D"):
        model.hidden_probabilities(X[0])
    with pytest.raises(ValueError):
        model.marginal_energy(np.full((1, 5), np.nan))
    with pytest.raises(ValueError):
        model.energy(X[:2], np.zeros((3, 3)))
    with pytest.raises(ValueError):
        model.visible_mean(np.zeros((1, 4)))
    with pytest.raises(TypeError):
        model.hidden_probabilities("rows")
    for shapes in (((5, 3), 4, 5, 5), ((5, 3), 3, 4, 5), ((0, 3), 3, 0, 0), ((5, 0), 0, 5, 5)):
        W, b, mu, log_var = (np.zeros(shape) for shape in shapes)
        with pytest.raises(ValueError):
            grbm.Model(W, b, mu, log_var)
    with pytest.raises(ValueError, match="W"):
        grbm.Model(np.full((5, 3), np.nan), np.zeros(3), np.zeros(5), np.zeros(5))
    with pytest.raises(ValueError):
        grbm.Dataset(np.zeros((3, 4)), image_shape=(2, 3))
    with pytest.raises(ValueError):
        model.sample(0)
    with pytest.raises(ValueError, match="did you mean 'steps'"):
        model.with_sampler(step=3)
    with pytest.raises(OSError):
        grbm.Model.load("no-such-file.safetensors")
    with pytest.raises(OSError):
        grbm.Dataset.load("no-such-file.npy")


def test_huge_requests_are_memory_errors_not_aborts():
    """In a process with little room, so that the system cannot promise what there is not."""
    code = """
import resource, numpy as np, grbm
model = grbm.Model.initial(100, 10)
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
for call in (lambda: model.sample(50_000_000, steps=1), lambda: grbm.Model.initial(10**7, 10**7),
             lambda: model.sample_chain(100_000, steps=1000)):
    try:
        call()
        raise SystemExit("no error")
    except (MemoryError, ValueError) as error:
        print(type(error).__name__)
print(model.sample(1, steps=1).shape)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.splitlines()[-1] == "(1, 100)"


def test_results_own_their_memory(X):
    model = grbm.Model.initial(5, 3)
    W, codes = model.W, model.encode(X)
    values = W.copy()
    del model
    [np.zeros(1000) for _ in range(1000)]
    assert np.array_equal(W, values) and codes.flags.writeable
    with pytest.raises(ValueError):
        W[0, 0] = 1


def test_floats_are_not_copied():
    """Rows that are changed under a data set are seen: it reads the array's own memory."""
    rows = np.zeros((10, 3), np.float32)
    data = grbm.Dataset(rows)
    rows[4] = 7
    assert (data.values[4] == 7).all()
    del rows
    assert (data.values[4] == 7).all()
    small = np.zeros((10, 3), np.uint8)
    data = grbm.Dataset(small)
    small[4] = 7
    assert (data.values[4] == 7).all()
