"""What nobody should do, and somebody will: an exception each, never an end of the interpreter nor a silently wrong number."""

import io
import pathlib
import pickle
import subprocess
import sys
import threading
import zipfile

import numpy as np
import pytest

import grbm
from grbm import convert

MODEL = grbm.Model.initial(3, 2, seed=1).with_sampler(method="gibbs", steps=3)
V = np.zeros((4, 3), np.float32)


@pytest.mark.parametrize("wrong", [0.9, 2, -1, 256, np.nan, 1j, "a"])
def test_hidden_states_are_0_or_1(wrong):
    h = np.full((4, 2), wrong)
    for call in (lambda: MODEL.energy(V, h), lambda: MODEL.sample_visible(h)):
        with pytest.raises(grbm.DataError, match="whole numbers from 0 to 1"):
            call()


def test_hidden_states_may_be_of_any_type():
    bits = np.array([[0, 1]])
    expected = MODEL.energy(V[:1], bits)
    for kind in (bool, np.int64, np.float64, np.uint8):
        assert MODEL.energy(V[:1], bits.astype(kind)) == expected
    assert MODEL.energy(V[:1], [[False, True]]) == expected


def test_a_step_that_returns_probabilities_is_told_so():
    class Probabilities(grbm.Sampler):
        def step(self, model, v, h, rng):
            return v, model.hidden_probabilities(v)

    with pytest.raises(grbm.DataError, match="h of step"):
        MODEL.sample(2, steps=2, step=Probabilities().hook(1))


def test_a_step_of_a_wrong_shape_is_no_divergence():
    class Wide(grbm.Sampler):
        def step(self, model, v, h, rng):
            return np.zeros((len(v), 7), np.float32), h

    X = np.random.default_rng(1).normal(size=(50, 3))
    for call in (
        lambda: grbm.GaussianBernoulliRBM(2, Wide(), steps=2, epochs=1, random_state=1).fit(X),
        lambda: grbm.train("gmm-iso", X, sampler=Wide(), progress=False),
        lambda: MODEL.sample(2, steps=2, step=Wide().hook(1)),
    ):
        with pytest.raises(grbm.DataError, match="step.. returned states of [0-9]+ × 7"):
            call()


def test_a_fit_that_fails_leaves_the_features_of_the_one_before():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.random.default_rng(1).normal(size=(50, 3)), columns=["a", "b", "c"])
    rbm = grbm.GaussianBernoulliRBM(2, steps=2, epochs=1, random_state=1).fit(X)
    codes = rbm.transform(X)
    for wrong, rows in (({"burn_in": 5}, X[["a", "b"]]), ({"image_shape": (2, 2)}, X.to_numpy()), ({}, X.to_numpy()[:0])):
        with pytest.raises(ValueError):
            rbm.set_params(**wrong).fit(rows)
        assert rbm.n_features_in_ == 3 and list(rbm.feature_names_in_) == ["a", "b", "c"]
        assert np.array_equal(rbm.transform(X), codes)
        rbm.set_params(burn_in=0, image_shape=None)
    new = grbm.GaussianBernoulliRBM(2, steps=2, burn_in=5)
    with pytest.raises(ValueError):
        new.fit(X)
    assert not hasattr(new, "n_features_in_") and not hasattr(new, "feature_names_in_")


def test_what_is_known_comes_back_as_it_was():
    X = np.random.default_rng(1).normal(2, 3, size=(200, 3)).astype(np.float32)
    rbm = grbm.GaussianBernoulliRBM(4, steps=3, epochs=1, random_state=1).fit(X)
    known = np.random.default_rng(2).random(X.shape) < 0.5
    filled = rbm.inpaint(np.where(known, X, np.nan), known)
    assert np.array_equal(filled[known], X[known]) and not np.array_equal(filled, X)


@pytest.mark.parametrize("wrong", [[[256]], [[-1]], [[191.9]]])
def test_packed_codes_are_bytes(wrong):
    with pytest.raises(grbm.DataError, match="whole numbers from 0 to 255"):
        MODEL.decode(wrong, packed=True)


def test_masks_are_0_or_1():
    with pytest.raises(grbm.DataError, match="mask"):
        MODEL.inpaint(V, [0.5, 1, 0])
    assert np.array_equal(MODEL.inpaint(V, [1.0, 0.0, 1.0]), MODEL.inpaint(V, [True, False, True]))


def test_distances_need_numbers():
    empty = np.zeros((5, 0))
    for call in (grbm.frechet_distance, grbm.kernel_distance):
        with pytest.raises(grbm.DataError, match="no dimension"):
            call(empty, empty)
    A = np.random.default_rng(1).normal(size=(50, 4))
    broken = A.copy()
    broken[0, 0] = np.nan
    for first, second in ((broken, A), (A, broken), (empty, empty)):
        with pytest.raises(grbm.DataError):
            grbm.quick_distance(first, second)
    with pytest.raises(grbm.ConfigError, match="image_shape"):
        grbm.quick_distance(A[:, :1], A[:, :1], (274177, 67280421310721))


@pytest.mark.parametrize("shape", [(0, 10, 3), (2, 0, 3), (0, 0)])
def test_diagnostics_need_draws(shape):
    for call in (grbm.rhat, grbm.ess):
        with pytest.raises(grbm.DataError, match="at least one chain and one draw"):
            call(np.zeros(shape))


@pytest.mark.parametrize("temperature", [0, -1, np.nan, np.inf])
def test_temperatures_are_above_0(temperature):
    for call in (MODEL.hidden_probabilities, MODEL.sample_hidden):
        with pytest.raises(grbm.ConfigError, match="temperature"):
            call(V, temperature=temperature)


def test_what_is_no_array_of_numbers_is_refused_as_data():
    for rows in ([["a", "b", "c"]], [[1, 2], [3]], [[object()] * 3]):
        for call in (MODEL.encode, MODEL.decode):
            with pytest.raises((ValueError, TypeError)):
                call(rows)


def test_settings_take_numpys_numbers_and_refuse_what_is_none():
    X = np.random.default_rng(1).normal(size=(20, 2))
    grbm.GaussianBernoulliRBM(n_hidden=np.int32(2), epochs=np.float32(1), centred=np.bool_(True), steps=1, random_state=1).fit(X)
    for wrong in ({"n_hidden": 2**70}, {"learning_rate": 1j}, {"n_hidden": np.array([4, 5])}):
        with pytest.raises((ValueError, TypeError)):
            grbm.GaussianBernoulliRBM(**wrong).fit(X)


def test_files_may_be_paths_and_models_compared_with_anything(tmp_path):
    MODEL.save(pathlib.Path(tmp_path) / "a.safetensors")
    assert grbm.Model.load(pathlib.Path(tmp_path) / "a.safetensors") == MODEL
    assert MODEL != None and not MODEL == 1 and grbm.Config() != None  # noqa: E711


def test_modules_that_the_documentation_names_are_there():
    code = "import grbm; grbm.plot.samples; grbm.convert.from_torch"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError):
        grbm.nothing


def test_a_trainer_is_closed_to_other_threads_while_it_runs():
    config = grbm.Config()
    config["model.hidden"], config["sampler.steps"], config["train.epochs"] = 4, 2, 1e6
    trainer = grbm.Trainer(config, grbm.Dataset(np.random.default_rng(1).normal(size=(50, 2)).astype(np.float32)))
    running, stop = threading.Event(), threading.Event()

    def on_update(line):
        running.set()
        assert trainer.updates > 0  # its own thread may ask
        return stop.is_set()

    thread = threading.Thread(target=lambda: trainer.run(on_update=on_update))
    thread.start()
    running.wait()
    try:
        for ask in (trainer.state, trainer.model, lambda: trainer.lines, trainer.run):
            with pytest.raises(grbm.ConfigError, match="it runs"):
                ask()
    finally:
        stop.set()
        thread.join()
    assert trainer.state().updates == trainer.updates > 0


def test_pickles_of_other_versions_are_refused():
    with pytest.raises(grbm.DataError, match="another version"):
        grbm.Partition.__new__(grbm.Partition).__setstate__((77, 1.0, 1.0, False, 0.0, 0.0))


def test_damaged_pickles_are_refused_and_never_read_past_their_end():
    X = np.random.default_rng(1).normal(size=(60, 4)).astype(np.float32)
    settings = dict(steps=2, epochs=1, random_state=1, algorithm="pcd", centred=True, optimizer="adam", batch_size=10)
    rbm = grbm.GaussianBernoulliRBM(3, **settings).fit(X)

    def read(like, state):
        made = type(like).__new__(type(like))
        made.__setstate__(state)
        return made

    for like in (rbm.model_, rbm._state, rbm._statistics, rbm.log_partition()):
        state = like.__getstate__()
        for wrong in ((), state[:-1], ("x",) + state[1:], (None,) + state[1:]):
            with pytest.raises(grbm.DataError):
                read(like, wrong)

    updates, parameters, moments, chains, offsets, average, gaps = rbm._state.__getstate__()
    short = [(W, b[:1], mu, log_var) for W, b, mu, log_var in moments]
    with pytest.raises(grbm.DataError, match="b has 1 elements"):
        read(rbm._state, (updates, parameters, short, chains, offsets, average, gaps))
    wide, hidden = np.zeros((10, 7), np.float32), np.zeros((10, 9), np.uint8)
    for wrong in (
        (updates, parameters, moments, (0, wide, chains[2]), offsets, average, gaps),
        (updates, parameters, moments, (0, chains[1], hidden), offsets, average, gaps),
        (updates, parameters, moments, (0, chains[1], chains[2][:2]), offsets, average, gaps),
        (updates, parameters, moments, chains, ([0.0], [0.0]), average, gaps),
    ):
        damaged = pickle.loads(pickle.dumps(rbm))
        damaged._state = read(rbm._state, wrong)
        with pytest.raises(grbm.DataError, match="checkpoint"):
            damaged.partial_fit(X)
    for wrong in (np.zeros(3, np.uint64), [["x"]], 7):
        with pytest.raises(grbm.DataError):
            read(rbm._state, (updates, parameters, moments, chains, offsets, average, wrong))
    holes = X.copy()
    holes[::2, 0] = np.nan
    config = grbm.Config()
    config["model.hidden"] = 3
    trainer = grbm.Trainer(config, grbm.Dataset(holes, gaps=True))
    for wrong in (np.zeros((29, 1), np.uint64), np.zeros((30, 2), np.uint64), np.full((30, 1), 8, np.uint64)):
        state = trainer.state().__getstate__()
        with pytest.raises(grbm.DataError, match="checkpoint"):
            trainer.restore(read(rbm._state, (*state[:-1], wrong)))
    damaged = pickle.loads(pickle.dumps(rbm))
    damaged._statistics = read(rbm._statistics, ([0.0] * 9, [1.0] * 9, [], [], [], [], [], [], []))
    with pytest.raises(grbm.DataError, match="statistics"):
        damaged.partial_fit(X)


# Their product is 0, or small, modulo 2^64.
@pytest.mark.parametrize("count", [2**62, 2**63 - 1, 2**32])
def test_sizes_that_cannot_be_counted_are_refused(count):
    for call in (
        lambda: MODEL.sample(count, steps=1),
        lambda: MODEL.sample_chain(count, steps=1),
        lambda: grbm.Model.initial(count, count),
    ):
        with pytest.raises((ValueError, MemoryError)):
            call()


@pytest.mark.parametrize("rows", [np.full((2, 3), 1j), np.zeros((2, 3), "M8[s]"), np.zeros((2, 3), [("a", float)]), np.full((2, 3), "1")])
def test_what_is_no_number_is_not_made_one(rows):
    calls = (MODEL.encode, MODEL.marginal_energy, MODEL.reconstruct, grbm.Dataset, lambda X: grbm.frechet_distance(X, X), grbm.rhat)
    for call in (*calls, lambda X: MODEL.decode(X[:, :2])):
        with pytest.raises((ValueError, TypeError)):
            call(rows)


def test_masked_values_are_not_taken_for_numbers():
    X = np.ma.masked_greater(np.random.default_rng(1).normal(size=(60, 3)), 1)
    with pytest.raises(ValueError, match="masked"):
        grbm.GaussianBernoulliRBM(2).fit(X)


def _checkpoint(pickled: bytes, values: np.ndarray) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a/data.pkl", pickled)
        archive.writestr("a/data/0", values.tobytes())
    file.seek(0)
    return file


# In the language of pickles: FloatStorage "0" of `count` elements, and tensors of what is on the stack.
def _storage(count: int) -> bytes:
    return b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuJ" + count.to_bytes(4, "little") + b"tQ"


def _tensor(inner: bytes, offset: int, size: tuple, stride: tuple) -> bytes:
    def numbers(values):
        return b"(" + b"".join(b"J" + n.to_bytes(4, "little") for n in values) + b"t"

    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + inner + b"J" + offset.to_bytes(4, "little") + numbers(size) + numbers(stride) + b"tR"


def _read(pickled: bytes, values: np.ndarray, tmp_path: pathlib.Path):
    path = tmp_path / "a.pt"
    path.write_bytes(_checkpoint(b"\x80\x02" + pickled + b".", values).getvalue())
    return convert.read_checkpoint(str(path))


def test_tensors_of_checkpoints_stay_in_their_storage(tmp_path):
    values = np.arange(8, dtype="<f4")
    assert np.array_equal(_read(_tensor(_storage(8), 2, (2, 3), (3, 1)), values, tmp_path), values[2:].reshape(2, 3))
    nested = _tensor(_tensor(_storage(8), 0, (2, 4), (4, 1)), 1, (7,), (1,))
    with pytest.raises(grbm.DataError, match="no storage"):
        _read(nested, values, tmp_path)
    with pytest.raises(grbm.DataError, match="GiB"):
        _read(_tensor(_storage(8), 0, (60000, 60000), (0, 0)), values, tmp_path)


def test_one_checkpoint_does_not_change_how_others_are_read(tmp_path):
    poison = b"ctorch\nFloatStorage\n}X\x05\x00\x00\x00dtypeX\x03\x00\x00\x00<i4sb"
    values = np.arange(4, dtype="<f4")
    with pytest.raises(grbm.DataError):
        _read(poison, values, tmp_path)
    _read(b"ctorch._utils\n_rebuild_tensor_v2\n}X\x05\x00\x00\x00namesK\x01sb", values, tmp_path)
    assert np.array_equal(_read(_tensor(_storage(4), 0, (4,), (1,)), values, tmp_path), values)


def test_files_of_other_makers_with_labels_and_conditions(tmp_path):
    def write(metadata, **shapes):
        arrays = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
        np.savez(tmp_path / "model.npz", metadata=np.frombuffer(metadata, np.uint8), **arrays)
        return grbm.Model.load(tmp_path / "model.npz")

    shapes = {"W": (4, 3), "b": 3, "mu": 4, "log_var": 4}
    labelled = write(b'{"format": "grbm-model", "classes": "[\\"a\\", \\"b\\"]"}', **shapes)
    assert labelled.classes == ["a", "b"] and labelled.visible == 2
    assert np.allclose(labelled.class_probabilities(np.zeros((1, 2))), [[0.5, 0.5]], atol=1e-15)
    conditional = write(b'{"format": "grbm-model"}', **shapes, A=(4, 2), B=(3, 2))
    assert conditional.conditions == 2 and conditional.sample_given([[1, 2]]).shape == (1, 4)
    with pytest.raises(ValueError, match="twice"):
        write(b'{"format": "grbm-model", "classes": "[\\"a\\", \\"a\\"]"}', **shapes)
    with pytest.raises(ValueError, match="no labels"):
        grbm.train({}, np.zeros((9, 2)), settings={"model.labels": True}, progress=False)


def test_labels_are_kept_where_there_are_any():
    parameters = {"W": np.zeros((4, 3)), "b": np.zeros(3), "mu": np.zeros(4), "log_var": np.zeros(4)}
    grbm.Model(**parameters, classes=["a", "b"], generate={"keep_labels": True})
    with pytest.raises(grbm.ConfigError, match="keep_labels = true: the model has no labels"):
        grbm.Model(**parameters, generate={"keep_labels": True})
