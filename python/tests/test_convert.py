"""Models of other programs. The checkpoints are written here, byte by byte as PyTorch lays them out."""

import collections
import io
import os
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from sklearn.neural_network import BernoulliRBM

import grbm
from grbm import convert


class Torch:
    """A stand-in for what PyTorch pickles by name."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class Tensor:
    def __init__(self, values, storage="FloatStorage", device="cuda:0", stride=None, parameter=False):
        self.values, self.storage, self.device, self.parameter = values, storage, device, parameter
        self.stride = stride or tuple(s // values.itemsize for s in values.strides)


class TorchPickler(pickle._Pickler):
    """Pickles Tensor and Torch as torch.save does: names as globals, storages as persistent ids."""

    def __init__(self, file):
        super().__init__(file, protocol=2)
        self.storages = {}

    def persistent_id(self, obj):
        if isinstance(obj, tuple) and len(obj) == 2 and obj[0] == "storage of":
            tensor = obj[1]
            key = str(len(self.storages))
            self.storages[key] = tensor.values.tobytes()
            return ("storage", Torch("torch", tensor.storage), key, tensor.device, tensor.values.size)
        return None

    def save_torch(self, obj):
        self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())

    def save_tensor(self, t):
        rebuild = Torch("torch._utils", "_rebuild_tensor_v2")
        arguments = (("storage of", t), 0, t.values.shape, t.stride, False, collections.OrderedDict())
        self.save(rebuild)
        self.save(arguments)
        self.write(pickle.REDUCE)

    def save_any_tensor(self, t):
        if not t.parameter:
            return self.save_tensor(t)
        self.save(Torch("torch._utils", "_rebuild_parameter"))
        self.write(pickle.MARK)
        self.save_tensor(t)
        self.save(True)
        self.save(collections.OrderedDict())
        self.write(pickle.TUPLE + pickle.REDUCE)

    dispatch = {**pickle._Pickler.dispatch, Torch: save_torch, Tensor: save_any_tensor}


def write_checkpoint(path, holds):
    stream = io.BytesIO()
    pickler = TorchPickler(stream)
    pickler.dump(holds)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model/data.pkl", stream.getvalue())
        for key, contents in pickler.storages.items():
            archive.writestr(f"model/data/{key}", contents)
        archive.writestr("model/version", "3\n")
    return str(path)


@pytest.fixture
def parameters():
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in (("W", (4, 3)), ("b", 3), ("mu", 4), ("log_var", 4))}


def checkpoint_of(parameters, **options):
    return {"epoch": 7, "model": collections.OrderedDict((name, Tensor(values, **options)) for name, values in parameters.items())}


@pytest.mark.parametrize("options", [{}, {"device": "cpu"}, {"parameter": True}])
def test_a_checkpoint_of_the_papers_code(tmp_path, parameters, options):
    path = write_checkpoint(tmp_path / "model.pt", checkpoint_of(parameters, **options))
    model = convert.from_torch(path, 512)
    for name, values in parameters.items():
        assert np.array_equal(getattr(model, name), values)
    assert model.sampler["temperature"] == 512 and model.sampler["step_size"] == 20 / 512
    assert model.sampler["method"] == "gibbs-langevin" and model.sampler["langevin_steps"] == 10


def test_other_element_types_and_strides(tmp_path, parameters):
    doubles = {name: values.astype(np.float64) for name, values in parameters.items()}
    path = write_checkpoint(tmp_path / "a.pt", checkpoint_of(doubles, storage="DoubleStorage"))
    assert np.array_equal(convert.from_torch(path, 64).W, parameters["W"])
    holds = checkpoint_of(parameters)
    by_columns = np.frombuffer(parameters["W"].tobytes(order="F"), np.float32).reshape(4, 3)
    holds["model"]["W"] = Tensor(by_columns, stride=(1, 4))
    path = write_checkpoint(tmp_path / "b.pt", holds)
    assert np.array_equal(convert.from_torch(path, 64).W, parameters["W"])


def test_the_command(tmp_path, parameters):
    path = write_checkpoint(tmp_path / "model.pt", checkpoint_of(parameters))
    rows = np.random.default_rng(1).normal(3, 2, (50, 4)).astype(np.float32)
    np.save(tmp_path / "rows.npy", rows)
    out = str(tmp_path / "model.safetensors")
    command = [sys.executable, "-m", "grbm.convert", path, "-o", out, "--batch-size", "100", "--step-size", "10", "--data", str(tmp_path / "rows.npy")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    model = grbm.Model.load(out)
    assert model.sampler["step_size"] == pytest.approx(0.1) and model.mean == pytest.approx(np.full(4, rows.mean()), rel=1e-4)
    assert model.deviation == pytest.approx(np.full(4, rows.std()), rel=1e-4)


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_nothing_of_a_file_is_run(tmp_path, parameters):
    for evil in (Evil(tmp_path / "fooled"), Torch("os", "system"), Torch("torch", "load"), Torch("builtins", "eval"), Torch("torch.storage", "UntypedStorage")):
        path = write_checkpoint(tmp_path / "evil.pt", {**checkpoint_of(parameters), "epoch": evil})
        with pytest.raises(grbm.DataError, match="refused"):
            convert.read_checkpoint(path)
    assert not (tmp_path / "fooled").exists()


def test_what_is_no_checkpoint(tmp_path, parameters):
    (tmp_path / "old.pt").write_bytes(b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.")
    with pytest.raises(grbm.DataError, match="before 1.6"):
        convert.read_checkpoint(str(tmp_path / "old.pt"))
    del parameters["mu"]
    path = write_checkpoint(tmp_path / "a.pt", checkpoint_of(parameters))
    with pytest.raises(grbm.DataError, match="no tensor mu"):
        convert.from_torch(path, 1)
    path = write_checkpoint(tmp_path / "b.pt", [1, 2])
    with pytest.raises(grbm.DataError, match="expected is"):
        convert.from_torch(path, 1)
    beyond = Tensor(np.zeros(3, np.float32), stride=(1000,))
    path = write_checkpoint(tmp_path / "c.pt", {"x": beyond})
    with pytest.raises(grbm.DataError, match="beyond its storage"):
        convert.read_checkpoint(path)


def test_damaged_files_are_data_errors(tmp_path, parameters):
    path = write_checkpoint(tmp_path / "a.pt", checkpoint_of(parameters))
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    rng = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(files["model/data.pkl"])
        for at in rng.integers(0, len(damaged), 3):
            damaged[at] = rng.integers(256)
        with zipfile.ZipFile(tmp_path / "b.pt", "w") as archive:
            for name, contents in files.items():
                archive.writestr(name, bytes(damaged) if name.endswith(".pkl") else contents)
        try:
            convert.from_torch(str(tmp_path / "b.pt"), 8)
        except ValueError:
            pass


def test_pytorchs_own_files(tmp_path, parameters):
    torch = pytest.importorskip("torch")
    state = {name: torch.nn.Parameter(torch.from_numpy(values)) for name, values in parameters.items()}
    torch.save({"epoch": 3, "model": torch.nn.ParameterDict(state).state_dict()}, tmp_path / "model.pt")
    model = convert.from_torch(str(tmp_path / "model.pt"), 64)
    for name, values in parameters.items():
        assert np.array_equal(getattr(model, name), values)


def test_bernoulli_rbm_has_the_same_energies_of_bits():
    X = np.random.default_rng(0).integers(0, 2, (200, 6)).astype(float)
    rbm = BernoulliRBM(n_components=3, n_iter=5, random_state=0, learning_rate=0.1).fit(X)
    model = convert.from_bernoulli_rbm(rbm)
    assert np.allclose(model.encode(X), rbm.transform(X), atol=1e-6)
    difference = model.marginal_energy(X) - rbm._free_energy(X)
    assert np.allclose(difference, difference[0], atol=1e-4)
