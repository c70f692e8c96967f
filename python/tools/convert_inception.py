#!/usr/bin/python3
"""Makes the weights that grbm reads from pytorch-fid's: a .pth file becomes a safetensors file.

    convert_inception.py pt_inception-2015-12-05-6726825d.pth inception.safetensors

Needs NumPy and no PyTorch. Batch normalisation (epsilon 0.001) is folded into the convolutions, in double. Nothing in
the file is run: its pickles may name the few classes that weights need, and no others.
"""
import argparse
import collections
import hashlib
import io
import json
import os
import pickle
import struct
import sys
import tempfile
import zipfile

import numpy

EPSILON = 1e-3
PUBLISHED = "6726825d"  # the first digits of the SHA-256 of pytorch-fid's file
LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
DTYPES = {"FloatStorage": "<f4", "DoubleStorage": "<f8", "HalfStorage": "<f2", "LongStorage": "<i8",
          "IntStorage": "<i4", "ShortStorage": "<i2", "CharStorage": "i1", "ByteStorage": "u1", "BoolStorage": "?"}


class BadFile(Exception):
    """The file is not what it should be."""


class Storage:
    """Numbers that tensors share; of a file in the old format they are read after the tensors that refer to them."""

    def __init__(self, dtype):
        self.dtype = numpy.dtype(dtype)
        self.values = None

    def fill(self, data, count):
        if count < 0 or len(data) != count * self.dtype.itemsize:
            raise BadFile(f"a storage of {count} numbers has {len(data)} bytes")
        self.values = numpy.frombuffer(data, self.dtype)


class Tensor:
    def __init__(self, storage, offset, size, stride, *_):
        self.storage, self.offset, self.size, self.stride = storage, offset, tuple(size), tuple(stride)

    def array(self):
        values = self.storage.values
        if values is None:
            raise BadFile("a tensor's numbers are missing")
        last = self.offset + sum((n - 1) * s for n, s in zip(self.size, self.stride))
        if 0 in self.size or len(self.size) != len(self.stride) or min((self.offset, *self.stride)) < 0 or last >= len(values):
            raise BadFile(f"a tensor of size {self.size} leaves its storage of {len(values)} numbers")
        strides = [s * values.itemsize for s in self.stride]
        return numpy.lib.stride_tricks.as_strided(values[self.offset:], self.size, strides)


class Unpickler(pickle.Unpickler):
    CLASSES = {("collections", "OrderedDict"): collections.OrderedDict,
               ("torch._utils", "_rebuild_tensor"): Tensor,
               ("torch._utils", "_rebuild_tensor_v2"): Tensor,
               ("torch._utils", "_rebuild_parameter"): lambda tensor, *_: tensor,
               **{("torch", name): dtype for name, dtype in DTYPES.items()}}

    def __init__(self, stream, load_storage):
        super().__init__(stream)
        self.load_storage = load_storage

    def find_class(self, module, name):
        try:
            return self.CLASSES[module, name]
        except KeyError:
            raise BadFile(f"its pickle asks for {module}.{name}, which weights do not need: refused") from None

    def persistent_load(self, pid):
        kind, dtype, key, _location, count = pid[:5]
        if kind != "storage":
            raise BadFile(f"a reference to a {kind}")
        return self.load_storage(dtype, key, count)


def read_zip(stream):
    """The format since PyTorch 1.6: <folder>/data.pkl, and <folder>/data/<key> for each storage."""
    with zipfile.ZipFile(stream) as archive:
        pickles = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise BadFile("a zip archive without one data.pkl")
        folder = pickles[0][:-len("data.pkl")]
        if folder + "byteorder" in archive.namelist() and archive.read(folder + "byteorder") != b"little":
            raise BadFile("its numbers are big-endian")
        storages = {}

        def load(dtype, key, count):
            if key not in storages:
                storages[key] = Storage(dtype)
                storages[key].fill(archive.read(f"{folder}data/{key}"), count)
            return storages[key]

        return Unpickler(io.BytesIO(archive.read(pickles[0])), load).load()


def read_legacy(stream):
    """The format before: pickles of a magic number, a version, the system, the tensors and the keys; then storages."""
    storages = {}

    def load(dtype, key, _count):
        return storages.setdefault(key, Storage(dtype))

    def unpickle():
        return Unpickler(stream, load).load()

    if unpickle() != LEGACY_MAGIC:
        raise BadFile("neither a zip archive nor PyTorch's older format")
    unpickle()  # version
    if not unpickle().get("little_endian", True):
        raise BadFile("its numbers are big-endian")
    tensors = unpickle()
    for key in unpickle():
        (count,) = struct.unpack("<q", stream.read(8))
        storages[key].fill(stream.read(max(0, count) * storages[key].dtype.itemsize), count)
    return tensors


def read_pth(path):
    """The tensors of a .pth file by name."""
    with open(path, "rb") as stream:
        is_zip = stream.read(4) == b"PK\x03\x04"
        stream.seek(0)
        try:
            tensors = read_zip(stream) if is_zip else read_legacy(stream)
            return {name: tensor.array() for name, tensor in tensors.items()}
        except (pickle.UnpicklingError, zipfile.BadZipFile, struct.error, EOFError, KeyError, ValueError, IndexError,
                AttributeError, TypeError, ImportError, OverflowError, MemoryError) as error:
            raise BadFile(f"not a PyTorch file of weights, or damaged ({type(error).__name__}: {error})") from error


def fold(tensors):
    """<layer>.conv.weight and <layer>.bn.* become <layer>.weight and <layer>.bias."""
    folded = {}
    for name, weight in tensors.items():
        if not name.endswith(".conv.weight"):
            continue
        layer = name[:-len(".conv.weight")]
        norm = {}
        for part in ("weight", "bias", "running_mean", "running_var"):
            try:
                norm[part] = tensors[f"{layer}.bn.{part}"].astype(numpy.float64)
            except KeyError:
                raise BadFile(f"{layer}.bn.{part} is missing") from None
            if norm[part].shape != weight.shape[:1]:
                raise BadFile(f"{layer}.bn.{part} has the shape {norm[part].shape}: {weight.shape[:1]} is needed")
        scale = norm["weight"] / numpy.sqrt(norm["running_var"] + EPSILON)
        folded[f"{layer}.weight"] = (weight * scale[:, None, None, None]).astype("<f4")
        folded[f"{layer}.bias"] = (norm["bias"] - norm["running_mean"] * scale).astype("<f4")
    if not folded:
        raise BadFile("no tensor's name ends in .conv.weight: these are not pytorch-fid's weights")
    return folded


def write_safetensors(path, tensors, metadata):
    header = {"__metadata__": metadata}
    at = 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    folder = os.path.dirname(os.path.abspath(path))
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as out:
        try:
            out.write(struct.pack("<Q", len(text)) + text)
            for values in tensors.values():
                out.write(values.tobytes())
            out.flush()
            os.fsync(out.fileno())
            os.chmod(out.name, 0o644)
            os.replace(out.name, path)
        except BaseException:
            os.unlink(out.name)
            raise


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("pth", help="pytorch-fid's weights")
    parser.add_argument("out", help="the safetensors file to write")
    arguments = parser.parse_args()
    try:
        with open(arguments.pth, "rb") as stream:
            digest = hashlib.sha256(stream.read()).hexdigest()
        tensors = fold(read_pth(arguments.pth))
        write_safetensors(arguments.out, tensors, {"network": "Inception 2015-12-05, batch normalisation folded in",
                                                   "source_sha256": digest})
    except (BadFile, OSError) as error:
        sys.exit(f"convert_inception: {arguments.pth}: {error}")
    print(f"{arguments.out}: {len(tensors) // 2} layers")
    if not digest.startswith(PUBLISHED):
        print(f"note: the SHA-256 is {digest}; that of the published file begins with {PUBLISHED}")


if __name__ == "__main__":
    main()
