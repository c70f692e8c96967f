"""NumPy reads what we write, and we read what NumPy writes, bit for bit."""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

program = sys.argv[1]


def same(a, b):
    """Equal type, shape and bits."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def copy(source, target):
    subprocess.run([program, "copy", source, target], check=True)


def we_write(folder):
    subprocess.run([program, "write", folder], check=True)
    w = np.array([[0.5, -1, 1e-45], [3e38, 5, 6]], np.float32)
    with zipfile.ZipFile(folder / "ours.npz") as archive:
        assert archive.testzip() is None
    with np.load(folder / "ours.npz") as ours:
        assert list(ours) == ["W", "scalar", "none", "metadata", "flags"], list(ours)
        assert same(ours["W"], w)
        assert same(ours["scalar"], np.array(0.5, np.float32))
        assert same(ours["none"], np.zeros((0, 3), np.float32))
        assert ours["metadata"].tobytes() == b'{"a"}'
        assert same(ours["flags"], np.array([True, False]))
    assert same(np.load(folder / "ours.npy"), w)
    # Byte for byte what NumPy itself writes.
    np.save(folder / "theirs.npy", w)
    assert (folder / "ours.npy").read_bytes() == (folder / "theirs.npy").read_bytes()


def numpy_writes(folder):
    random = np.random.default_rng(1)
    arrays = {
        name: random.integers(0, 100, (4, 5, 6)).astype(name)
        for name in ["f2", "f4", "f8", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "?"]
    }
    arrays["scalar"] = np.float32(1.5)
    arrays["empty"] = np.zeros((3, 0), np.float64)
    arrays["fortran"] = np.asfortranarray(random.normal(size=(7, 3, 2)))
    arrays["transposed"] = random.normal(size=(300, 20)).astype("f4").T
    arrays["zeros"] = np.zeros((1000, 1000), np.float32)
    for save in (np.savez, np.savez_compressed):
        save(folder / "theirs.npz", **arrays)
        copy(folder / "theirs.npz", folder / "copy.npz")
        with np.load(folder / "copy.npz") as read:
            assert list(read) == list(arrays)
            for name, array in arrays.items():
                assert same(read[name], np.ascontiguousarray(array).reshape(np.shape(array))), name
    for name, array in arrays.items():
        np.save(folder / "theirs.npy", array)
        copy(folder / "theirs.npy", folder / "copy.npy")
        assert np.array_equal(np.load(folder / "copy.npy"), array), name


with tempfile.TemporaryDirectory() as name:
    we_write(Path(name))
    numpy_writes(Path(name))
