"""Files as other programs write them, through the real program: formats_test.py PROGRAM."""

import unittest

import numpy
from PIL import Image
from support import ProgramTest, run

try:
    import h5py
except ImportError:
    h5py = None


def rows(count=40, columns=3, seed=1):
    return numpy.random.default_rng(seed).normal(size=(count, columns))


@unittest.skipIf(h5py is None, "h5py is not installed")
class Hdf5(ProgramTest):
    def setUp(self):
        super().setUp()
        if "does not read them" in run("data", "info", self.put("probe.h5", x=rows())).stderr:
            self.skipTest("the program was built without HDF5")

    def put(self, name, **arrays):
        """A file of arrays; two underscores stand for a slash."""
        path = self.folder / name
        with h5py.File(path, "w") as file:
            for key, array in arrays.items():
                file[key.replace("__", "/")] = array
        return path

    def labels(self, path, name):
        info = self.results("data", "info", path, "--label", name)
        return {key.removeprefix("label_"): count for key, count in info.items() if key.startswith("label_")}

    def test_labels_are_whole_numbers_or_named_by_their_text(self):
        ten, codes = numpy.ones(10), numpy.repeat([0, 1, 2, 1], 10)
        path = self.put("a.h5ad", X=rows(), obs__whole=numpy.concatenate([ten, -2 * ten, 0 * ten, 3 * ten]),
                        obs__fraction=numpy.concatenate([ten, 0.9 * ten, -0.9 * ten, ten]),
                        obs__gap=numpy.concatenate([ten, ten, ten, ten * numpy.nan]),
                        obs__large=numpy.uint64(2**63) + codes.astype(numpy.uint64), obs__on=codes > 0,
                        obs__dose__codes=codes.astype(numpy.int8), obs__dose__categories=numpy.array([0.1, 0.5, 0.9]),
                        obs__short__codes=codes.astype(numpy.int8), obs__short__categories=numpy.array([0.1, 1, 2], numpy.float32),
                        obs__round__codes=codes.astype(numpy.int8), obs__round__categories=numpy.array([1.0, 5.0, 7.0]),
                        obs__hole__codes=codes.astype(numpy.int8), obs__hole__categories=numpy.array([1.0, 5.0, numpy.nan]))
        self.assertEqual(self.labels(path, "whole"), {"-2": 10, "0": 10, "1": 10, "3": 10})
        self.assertEqual(self.labels(path, "large"), {str(2**63 + k): n for k, n in enumerate([10, 20, 10])})
        self.assertEqual(self.labels(path, "on"), {"0": 10, "1": 30})
        self.assertEqual(self.labels(path, "dose"), {"0.1": 10, "0.5": 20, "0.9": 10})
        self.assertEqual(self.labels(path, "short"), {"0.1": 10, "1": 20, "2": 10})
        self.assertEqual(self.labels(path, "round"), {"1": 10, "5": 20, "7": 10})
        self.refuse(65, "obs/fraction: 0.9 is no label: allowed are whole numbers", "data", "info", path, "--label", "fraction")
        self.refuse(65, "obs/gap: nan is no label", "data", "info", path, "--label", "gap")
        self.refuse(65, "obs/hole/categories: nan is no label", "data", "info", path, "--label", "hole")

    def test_columns_that_floats_cannot_tell_apart_are_named(self):
        small = numpy.arange(40, dtype=numpy.int64)[:, None] + [0, 0]
        warn = "32-bit floats lose differences between the values of column 1 from {} to {} in steps of"
        for name, values in [("f64", rows(40, 2) * 0 + small + [0, 1e12]), ("i64", small + [0, 2**40]),
                             ("big", (small + [0, 2**40]).astype(">i8")), ("i32", (small + [0, 2**30]).astype(numpy.int32)),
                             ("u64", small.astype(numpy.uint64) + numpy.array([0, 2**63], numpy.uint64))]:
            info = self.results("data", "info", self.put(name + ".h5", x=values))
            self.assertIn(warn.format(int(values[0, 1]), int(values[-1, 1])), info["warning"], name)
            self.assertEqual(info["max"], numpy.float32(values.max()))
        for name, values in [("f32", small.astype(numpy.float32)), ("i16", small.astype(numpy.int16)), ("small", small + 0.5)]:
            info = self.results("data", "info", self.put(name + ".h5", x=values))
            self.assertNotIn("warning", info)
            self.assertEqual((info["min"], info["max"]), (values.min(), values.max()))

    def test_arrays_are_looked_for_in_groups(self):
        one = self.put("one.h5", train__deep__x=rows(), train__y=numpy.arange(40), names=numpy.array([[b"a", b"b"]] * 40))
        self.assertEqual(self.results("data", "info", one)["rows"], 40)
        two = self.put("two.h5", g__x=rows(), z=rows(40, 2), y=numpy.arange(40))
        self.refuse(64, "2 arrays of rows and values: say which by data.key: there are g/x, z$", "data", "info", two)
        self.assertEqual(self.results("data", "info", two, "--key", "g/x")["visible"], 3)
        self.refuse(65, "g: a group: name an array of it: there are g/x$", "data", "info", two, "--key", "g")
        self.refuse(64, "data.key = x: no such array: there are g/x, y, z$", "data", "info", two, "--key", "x")
        many = self.put("many.h5", **{f"x{k:02}": rows() for k in range(20)})
        self.refuse(64, "20 arrays.*there are x00, .*x11 and 8 more$", "data", "info", many)
        flat = self.put("flat.h5", g__y=numpy.arange(40))
        self.refuse(65, "no array of numbers whose rank is 2 to 4: there are g/y$", "data", "info", flat)
        self.refuse(65, "there are none$", "data", "info", self.put("empty.h5"))
        with h5py.File(self.folder / "self.h5", "w") as file:
            group = file.create_group("g")
            for k in range(10):
                group[f"again{k}"] = h5py.SoftLink("/g")
        self.refuse(64, "more arrays and groups than are looked through", "data", "info", self.folder / "self.h5")
        with h5py.File(self.folder / "sparse.h5", "w") as file:
            group = file.create_group("counts/raw")
            group.attrs.update({"encoding-type": "csr_matrix", "shape": (2, 3)})
            group["data"], group["indices"], group["indptr"] = [1.0, 2.0], [0, 2], [0, 1, 2]
        self.assertEqual(self.results("data", "info", self.folder / "sparse.h5")["visible"], 3)


class Archives(ProgramTest):
    def test_labels_may_be_text(self):
        words = numpy.array(["a", "é", "水🌊", "b c"])
        path = self.folder / "a.npz"
        numpy.savez(path, x=rows(), y=numpy.repeat(words, 10), z=numpy.repeat(numpy.array([b"p", b"qr"]), 20),
                    n=numpy.array(["3", "5"] * 20), w=numpy.array([["a"], ["b"]]))
        for label, counts in [("y", dict.fromkeys(words, 10)), ("z", {"p": 20, "qr": 20}), ("n", {"3": 20, "5": 20})]:
            info = self.results("data", "info", path, "--label", label)
            self.assertEqual({key: info["label_" + key] for key in counts}, counts)
        self.refuse(65, "w: an array of rank 2: labels are of rank 1", "data", "info", path, "--label", "w")
        self.refuse(65, "w: text: rows are of numbers", "data", "info", path, "--key", "w")
        self.refuse(65, "y: text: weights are numbers", "train", path, "--set", "data.weight=y")
        numpy.savez(path, x=rows(), y=numpy.array([None, "a"] * 20))
        self.refuse(65, r"'y.npy': element type '\|O': allowed are .*, and text: .* or text with .astype\('U'\)", "data", "info", path)
        bad = numpy.array(["a"] * 40).view(numpy.uint32)
        bad[7] = 0x110000
        numpy.savez(path, x=rows(), y=bad.view("<U1"))
        self.refuse(65, "y: element 7 .counted from 0. has 1114112, which is no character", "data", "info", path, "--label", "y")
        numpy.save(self.folder / "s.npy", words[:, None])
        self.refuse(65, r"element type '<U3': allowed are little-endian numbers and booleans: convert it, for example with "
                    r".astype\('<f4'\)$", "data", "info", self.folder / "s.npy")


class Pictures(ProgramTest):
    def test_values_of_16_bits_are_grey_levels_of_255(self):
        for name, kind, factor in [("eight", numpy.uint8, 1), ("sixteen", numpy.uint16, 257)]:
            (self.folder / name).mkdir()
            for k in (0, 200):
                Image.fromarray(numpy.full((2, 2), k * factor, kind)).save(self.folder / name / f"{k}.png")
            self.assertEqual(self.results("data", "info", self.folder / name)["max"], 200)
        self.assertRegex(self.succeed("data", "info", self.folder / "sixteen").stdout, r"max +200 grey levels of 255\n")
        self.assertRegex(self.succeed("data", "info", self.folder / "eight").stdout, r"max +200 grey levels\n")


if __name__ == "__main__":
    unittest.main()
