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
