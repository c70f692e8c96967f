"""convert_inception.py on files in both of PyTorch's formats, which are written here without PyTorch."""
import collections
import importlib.util
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import tempfile
import types
import unittest
import zipfile

import numpy

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "convert_inception.py")
spec = importlib.util.spec_from_file_location("convert_inception", TOOL)
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)


# What pickles of PyTorch name, so that the pickler can write the names.
class FloatStorage:
    __module__ = "torch"


class LongStorage:
    __module__ = "torch"


def _rebuild_tensor_v2():
    pass


_rebuild_tensor_v2.__module__ = "torch._utils"
torch = types.ModuleType("torch")
torch.FloatStorage, torch.LongStorage = FloatStorage, LongStorage
utils = types.ModuleType("torch._utils")
utils._rebuild_tensor_v2 = _rebuild_tensor_v2
sys.modules.update({"torch": torch, "torch._utils": utils})


class FakeStorage:
    def __init__(self, key, values):
        self.key, self.values = key, values
        self.kind = LongStorage if values.dtype.kind == "i" else FloatStorage


class FakeTensor:
    """`values` as a view of a storage from `offset` on, with `stride`."""

    def __init__(self, storage, offset, size, stride):
        self.arguments = (storage, offset, size, stride, False, collections.OrderedDict())

    def __reduce__(self):
        return _rebuild_tensor_v2, self.arguments


class Pickler(pickle.Pickler):
    legacy = False

    def persistent_id(self, obj):
        if not isinstance(obj, FakeStorage):
            return None
        pid = ("storage", obj.kind, obj.key, "cpu", obj.values.size)
        return (*pid, None) if self.legacy else pid


class LegacyPickler(Pickler):
    legacy = True


def dump(obj, pickler):
    out = io.BytesIO()
    pickler(out, protocol=2).dump(obj)
    return out.getvalue()


class ConvertTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        random = numpy.random.default_rng(1)
        self.arrays = {}
        for layer, shape in (("Conv2d_1a_3x3", (4, 3, 3, 3)), ("Mixed_5b.branch1x1", (2, 4, 1, 1))):
            self.arrays[f"{layer}.conv.weight"] = random.normal(size=shape).astype("f4")
            for part in ("weight", "bias", "running_mean"):
                self.arrays[f"{layer}.bn.{part}"] = random.normal(size=shape[0]).astype("f4")
            self.arrays[f"{layer}.bn.running_var"] = random.uniform(0, 0.01, size=shape[0]).astype("f4")
            self.arrays[f"{layer}.bn.num_batches_tracked"] = numpy.array([7])
        self.arrays["fc.weight"] = random.normal(size=(5, 3)).astype("f4")

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def state(self):
        """A state dict and its storages. The first weight is not contiguous and starts within its storage."""
        storages, tensors = [], collections.OrderedDict()
        for i, (name, values) in enumerate(self.arrays.items()):
            flat, offset = values.ravel(), 0
            stride = tuple(s // values.itemsize for s in values.strides)
            if i == 0:
                flat = numpy.concatenate([numpy.zeros(5, "f4"), values.T.ravel()])
                offset = 5
                stride = tuple(s // 4 for s in numpy.ascontiguousarray(values.T).strides[::-1])
            storages.append(FakeStorage(str(i), flat))
            tensors[name] = FakeTensor(storages[-1], offset, values.shape, stride)
        tensors._metadata = collections.OrderedDict(version=1)
        return tensors, storages

    def write_zip(self, name, state=None):
        tensors, storages = self.state()
        with zipfile.ZipFile(self.path(name), "w", zipfile.ZIP_STORED) as archive:
            archive.writestr("archive/data.pkl", dump(state or tensors, Pickler))
            archive.writestr("archive/version", "3\n")
            for storage in storages:
                archive.writestr(f"archive/data/{storage.key}", storage.values.tobytes())
        return self.path(name)

    def write_legacy(self, name):
        tensors, storages = self.state()
        with open(self.path(name), "wb") as out:
            for obj in (tool.LEGACY_MAGIC, 1001, {"protocol_version": 1001, "little_endian": True}, tensors):
                out.write(dump(obj, LegacyPickler))
            out.write(dump([s.key for s in reversed(storages)], LegacyPickler))
            for storage in reversed(storages):
                out.write(struct.pack("<q", storage.values.size) + storage.values.tobytes())
        return self.path(name)

    def run_tool(self, source):
        return subprocess.run([sys.executable, TOOL, source, self.path("out")], capture_output=True, text=True, check=False)

    def check(self, source):
        result = self.run_tool(source)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.path("out"), "rb") as stream:
            data = stream.read()
        (size,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + size])
        header.pop("__metadata__")
        self.assertEqual(sorted(header), ["Conv2d_1a_3x3.bias", "Conv2d_1a_3x3.weight", "Mixed_5b.branch1x1.bias",
                                          "Mixed_5b.branch1x1.weight"])
        for name, entry in header.items():
            layer, kind = name.rsplit(".", 1)
            first, last = entry["data_offsets"]
            values = numpy.frombuffer(data[8 + size:][first:last], "<f4").reshape(entry["shape"])
            norm = {part: self.arrays[f"{layer}.bn.{part}"].astype("f8")
                    for part in ("weight", "bias", "running_mean", "running_var")}
            # What batch normalisation makes of the convolution's answers 0 and 1.
            zero, one = ((x - norm["running_mean"]) / (norm["running_var"] + 0.001) ** 0.5 * norm["weight"] + norm["bias"]
                         for x in (0.0, 1.0))
            weight = self.arrays[f"{layer}.conv.weight"]
            expected = zero if kind == "bias" else weight * (one - zero).reshape(-1, 1, 1, 1)
            numpy.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-6)

    def test_zip(self):
        self.check(self.write_zip("w.pth"))

    def test_legacy(self):
        self.check(self.write_legacy("w.pth"))

    def expect_error(self, source, text):
        result = self.run_tool(source)
        self.assertEqual(result.returncode, 1)
        self.assertIn(text, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertEqual([n for n in os.listdir(self.folder.name) if n != os.path.basename(source)], [])

    def test_refuses_to_run_code(self):
        command = "touch " + self.path("evil")

        class Evil:
            def __reduce__(self):
                return os.system, (command,)

        self.expect_error(self.write_zip("w.pth", {"x": Evil()}), "posix.system, which weights do not need: refused")

    def test_missing_norm(self):
        del self.arrays["Mixed_5b.branch1x1.bn.running_var"]
        self.expect_error(self.write_zip("w.pth"), "Mixed_5b.branch1x1.bn.running_var is missing")

    def test_other_weights(self):
        self.arrays = {"fc.weight": self.arrays["fc.weight"]}
        self.expect_error(self.write_zip("w.pth"), "not pytorch-fid's weights")

    def test_damaged(self):
        for write in (self.write_zip, self.write_legacy):
            with open(write("w.pth"), "rb") as stream:
                data = stream.read()
            for size in (0, 3, 40, len(data) // 2, len(data) - 5):
                with open(self.path("w.pth"), "wb") as out:
                    out.write(data[:size])
                self.expect_error(self.path("w.pth"), "convert_inception: ")

    def test_no_such_file(self):
        self.expect_error(self.path("none"), "No such file")


if __name__ == "__main__":
    unittest.main()
