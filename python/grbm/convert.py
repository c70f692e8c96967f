"""Models of other programs as files of this one.

    python -m grbm.convert model.pt -o model.safetensors --batch-size 512 --data mnist

reads a checkpoint of the PyTorch code that was published with "Gaussian-Bernoulli RBMs Without Tears": a .pt file that holds
{'epoch': ..., 'model': {'W', 'b', 'mu', 'log_var'}}. PyTorch is not needed, and nothing of the file is run: only what such files
hold is taken, everything else is refused.
"""

from __future__ import annotations

import argparse
import collections
import pickle
import sys
import zipfile
from typing import Any, BinaryIO, Sequence

import numpy as np

from . import _core

_LARGEST = 1 << 31  # bytes of all tensors together
_LARGEST_PICKLE = 1 << 24  # bytes of what describes them

# The element types of tensors, by the names of their storages. A brain float is the upper half of a float.
_DTYPES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "BFloat16Storage": "bf16",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "<i1",
    "ByteStorage": "<u1",
    "BoolStorage": "?",
}


def _view(storage: Any, offset: Any, size: Any, stride: Any) -> np.ndarray:
    """A tensor of a storage, which is an array of one dimension."""
    if not isinstance(storage, np.ndarray) or storage.ndim != 1:
        raise _core.DataError("checkpoint: a tensor of what is no storage")
    size, stride = tuple(int(n) for n in size), tuple(int(n) for n in stride)
    offset = int(offset)
    if offset < 0 or len(size) != len(stride) or any(n < 0 for n in (*size, *stride)):
        raise _core.DataError("checkpoint: a tensor of impossible sizes")
    last = offset + sum((n - 1) * step for n, step in zip(size, stride))
    if all(size) and last >= storage.size:
        raise _core.DataError("checkpoint: a tensor that reaches beyond its storage")
    strides = [step * storage.itemsize for step in stride]
    return np.lib.stride_tricks.as_strided(storage[offset:], size, strides)


class _Unpickler(pickle._Unpickler):  # the one in Python: a number in the file cannot make it allocate gigabytes
    """Takes what a checkpoint holds: numbers, texts, dictionaries and tensors. Anything else is refused by its name.

    A pickle may change what it is given, so it is given nothing that another one is given, too.
    """

    def __init__(self, file: BinaryIO, archive: zipfile.ZipFile, root: str):
        super().__init__(file)
        self.archive, self.root, self.storages, self.left = archive, root, {}, _LARGEST

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda storage, offset, size, stride, *_: self._copy(_view(storage, offset, size, stride))
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return lambda data, *_: data
        if module == "torch" and name in _DTYPES:
            return name
        raise _core.DataError(f"checkpoint: it holds {module}.{name}, which no checkpoint of a model needs: it is refused")

    def persistent_load(self, pid: Any) -> np.ndarray:
        if not isinstance(pid, tuple) or len(pid) < 5 or pid[0] != "storage" or pid[1] not in _DTYPES:
            raise _core.DataError("checkpoint: a storage that is not one")
        kind, key, count = _DTYPES[pid[1]], str(pid[2]), int(pid[4])  # pid[3] is the device, which does not matter
        if key not in self.storages:
            self.storages[key] = self._read(kind, key, count)
        return self.storages[key]

    def _charge(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise _core.DataError(f"checkpoint: tensors of more than {_LARGEST >> 30} GiB")

    def _copy(self, view: np.ndarray) -> np.ndarray:
        self._charge(view.nbytes)
        return view.copy()

    def _read(self, dtype: str, key: str, count: int) -> np.ndarray:
        try:
            info = self.archive.getinfo(f"{self.root}/data/{key}")
        except KeyError:
            raise _core.DataError(f"checkpoint: the storage {key} is missing") from None
        self._charge(info.file_size)
        contents = self.archive.read(info)
        if dtype == "bf16":
            halves = np.frombuffer(contents, "<u2")
            values = (halves.astype("<u4") << 16).view("<f4")
        else:
            values = np.frombuffer(contents, dtype)
        if count < 0 or values.size < count:
            raise _core.DataError(f"checkpoint: the storage {key} is shorter than it says")
        return values[:count]


def read_checkpoint(path: str) -> Any:
    """What a .pt file holds, with NumPy arrays for tensors, from a GPU or not.

    >>> from grbm import convert
    >>> convert.read_checkpoint("no-such-file.pt")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no-such-file.pt'
    """
    with open(path, "rb") as file:
        return _read_archive(file, path)


def _read_archive(opened: BinaryIO, path: str) -> Any:
    try:
        with zipfile.ZipFile(opened) as archive:
            pickles = [name for name in archive.namelist() if name.count("/") == 1 and name.endswith("/data.pkl")]
            if len(pickles) != 1:
                raise _core.DataError(f"{path}: no checkpoint of PyTorch 1.6 or later: it has no data.pkl")
            if archive.getinfo(pickles[0]).file_size > _LARGEST_PICKLE:
                raise _core.DataError(f"{path}: a data.pkl of more than {_LARGEST_PICKLE >> 20} MiB: that is no checkpoint of a model")
            with archive.open(pickles[0]) as file:
                return _Unpickler(file, archive, pickles[0].split("/")[0]).load()
    except zipfile.BadZipFile:
        raise _core.DataError(
            f"{path}: not a zip archive: checkpoints of PyTorch before 1.6 are not read: save it again with a newer one"
        ) from None
    except _core.Error:
        raise
    except Exception as error:  # what a damaged pickle may do is not listed anywhere
        raise _core.DataError(f"{path}: damaged: {type(error).__name__}: {error}") from None


def _parameters(holds: Any, path: str) -> dict[str, np.ndarray]:
    state = holds.get("model", holds) if isinstance(holds, dict) else None
    if not isinstance(state, dict):
        raise _core.DataError(f"{path}: expected is a dictionary with 'model': {{W, b, mu, log_var}}")
    found = {str(name).removeprefix("module."): value for name, value in state.items()}
    missing = [name for name in ("W", "b", "mu", "log_var") if not isinstance(found.get(name), np.ndarray)]
    if missing:
        raise _core.DataError(f"{path}: no tensor {', '.join(missing)}: it has {', '.join(found) or 'nothing'}")
    return {name: np.asarray(found[name], np.float32) for name in ("W", "b", "mu", "log_var")}


def from_torch(
    path: str,
    batch_size: int,
    *,
    step_size: float = 20.0,
    steps: int = 100,
    langevin_steps: int = 10,
    data: _core.Dataset | None = None,
) -> _core.Model:
    """The model of a checkpoint of the paper's code.

    That code divides the energy of a batch by its size, so that its chains run at the temperature batch_size with a step of
    step_size / batch_size: these become the model's sampler. data: what it was trained on; the model's own units are then
    those of one mean and deviation per channel, as in the paper.

    >>> from grbm import convert
    >>> convert.from_torch("no-such-file.pt", 512)
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no-such-file.pt'
    """
    if batch_size < 1:
        raise ValueError(f"batch_size = {batch_size}: allowed is a whole number of at least 1")
    p = _parameters(read_checkpoint(path), path)
    sampler = {
        "method": "gibbs-langevin",
        "steps": steps,
        "langevin_steps": langevin_steps,
        "step_size": step_size / batch_size,
        "temperature": float(batch_size),
    }
    provenance = {"converted": f"PyTorch, batch size {batch_size}"}
    rest: dict[str, Any] = {}
    if data is not None:
        if data.visible != p["mu"].size:
            raise _core.DataError(f"{data.source}: rows of {data.visible} values, but the model has {p['mu'].size} visible units")
        config = _core.Config()
        config["train.batch_size"] = 1
        like = _core.Trainer(config, data).model()
        rest = {"mean": like.mean, "deviation": like.deviation, "image_shape": like.image_shape}
        provenance.update(data=like.provenance["data"], bits=like.provenance["bits"])
    return _core.Model(p["W"], p["b"], p["mu"], p["log_var"], sampler=sampler, provenance=provenance, **rest)


def from_bernoulli_rbm(rbm: Any) -> _core.Model:
    """A model with the energies of a fitted sklearn.neural_network.BernoulliRBM on binary rows, but for a constant.

    v² = v for bits, so that unit variances and mu = intercept_visible_ + 1/2 give E(v, h) = -v'Wh - a'v - b'h. So
    p(h = 1 | v), transform and the ranking of binary rows by energy are the same. What is not: this model's visible units are
    real numbers. Its samples, its likelihoods and the means given hidden units are not those of the Bernoulli units, and rows
    in between 0 and 1, which BernoulliRBM takes for probabilities, have other energies. Where those matter, fit anew.

    >>> from grbm import convert
    >>> from sklearn.neural_network import BernoulliRBM
    >>> X = np.random.default_rng(0).integers(0, 2, (100, 6))
    >>> rbm = BernoulliRBM(n_components=3, n_iter=2, random_state=0).fit(X)
    >>> bool(np.allclose(convert.from_bernoulli_rbm(rbm).encode(X), rbm.transform(X), atol=1e-6))
    True
    """
    W = np.asarray(rbm.components_, np.float32).T
    mu = np.asarray(rbm.intercept_visible_, np.float32) + np.float32(0.5)
    return _core.Model(W, rbm.intercept_hidden_, mu, np.zeros_like(mu), sampler={"method": "gibbs"})


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code, of the same meaning as those of the program.

    >>> from grbm import convert
    >>> convert.main(["no-such-file.pt", "-o", "x.safetensors", "--batch-size", "512"])
    74
    """
    parser = argparse.ArgumentParser("python -m grbm.convert", description="A checkpoint of the paper's PyTorch code as a model file")
    parser.add_argument("checkpoint", help="a .pt file")
    parser.add_argument("-o", "--out", required=True, help="the model file: .safetensors or .npz")
    parser.add_argument("--batch-size", type=int, required=True, help="that it was trained with: its temperature")
    parser.add_argument("--step-size", type=float, default=20.0, help="the published code's initial step (default: 20; mixtures: 10)")
    parser.add_argument("--steps", type=int, default=100, help="contrastive-divergence steps (default: 100)")
    parser.add_argument("--langevin-steps", type=int, default=10, help="inner Langevin steps (default: 10)")
    parser.add_argument("--data", help="what it was trained on, for standardisation: mnist, a path")
    a = parser.parse_args(arguments)
    try:
        data = None if a.data is None else _core.Dataset.load(a.data)
        model = from_torch(
            a.checkpoint, a.batch_size, step_size=a.step_size, steps=a.steps, langevin_steps=a.langevin_steps, data=data
        )
        model.save(a.out)
    except (OSError, ValueError) as error:
        print(f"grbm.convert: {error}", file=sys.stderr)
        return 74 if isinstance(error, OSError) else 65 if isinstance(error, _core.DataError) else 64
    print(f"model  {a.out}: {model.visible} visible and {model.hidden} hidden units")
    return 0


if __name__ == "__main__":
    sys.exit(main())
