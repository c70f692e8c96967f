"""Inception distances from outside, on weights that are made here and serve the first tap: inception_test.py PROGRAM."""

import os
import struct
import unittest

import numpy
from support import ProgramTest, run


def write_weights(path):
    """Pseudo-random layers up to the tap 64, as safetensors."""
    random = numpy.random.default_rng(1)
    header, data = "", b""
    for layer, shape in (("1a", (32, 3, 3, 3)), ("2a", (32, 32, 3, 3)), ("2b", (64, 32, 3, 3))):
        fan = shape[1] * 9
        for kind, values in (("weight", random.normal(size=shape) * (2 / fan) ** 0.5), ("bias", random.normal(size=shape[0]))):
            body = values.astype("<f4").tobytes()
            header += (f'{"," if header else ""}"Conv2d_{layer}_3x3.{kind}":{{"dtype":"F32","shape":{list(values.shape)},'
                       f'"data_offsets":[{len(data)},{len(data) + len(body)}]}}')
            data += body
    header = f"{{{header}}}".encode()
    header += b" " * (-len(header) % 8)
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)


class Inception(ProgramTest):
    def setUp(self):
        super().setUp()
        os.environ.pop("GRBM_INCEPTION", None)
        os.environ["GRBM_DATA_DIR"] = str(self.folder / "cache")
        self.weights = self.folder / "weights.safetensors"
        write_weights(self.weights)
        images = numpy.random.default_rng(2).integers(0, 256, (30, 4, 4), dtype=numpy.uint8)
        self.data = self.folder / "images.npy"
        numpy.save(self.data, images)
        self.succeed("train", "small-mnist", "--quiet", "--out", self.folder / "run", "--set", f"data.source={self.data}", "--set",
                     "model.hidden=4", "--set", "train.epochs=1", "--set", "train.batch_size=10", "--set", "sampler.steps=3")
        self.model = self.folder / "run" / "model.safetensors"

    def command(self, *arguments):
        return ["evaluate", self.model, "--data", self.data, "--metrics", "fid,kid", "--samples", 20, *arguments]

    def test_distances_with_spread_floor_and_cache(self):
        asked = self.command("--inception", self.weights, "--tap", 64)
        first = self.results(*asked)
        self.assertGreater(first["fid"]["fid"]["value"], first["fid"]["fid_floor"]["value"])
        self.assertGreater(first["fid"]["fid_subset"]["value"], first["fid"]["fid"]["value"])
        self.assertIn("20 samples against 30 images of the data, tap 64; ", first["fid"]["fid"]["note"])
        self.assertIn("a covariance is singular", first["fid"]["fid"]["note"])
        self.assertIn("15 real images against 15 others", first["fid"]["fid_floor"]["note"])
        self.assertIn("value", first["kid"]["kid"])
        cached = list((self.folder / "cache" / "inception").iterdir())
        self.assertEqual(len(cached), 1)
        again = self.results(*asked)
        self.assertAlmostEqual(again["fid"]["fid"]["value"], first["fid"]["fid"]["value"], delta=1e-9)
        self.assertEqual(list((self.folder / "cache" / "inception").iterdir()), cached)
        # Any number of threads, and the variable in place of the option.
        one = run(*self.command("--tap", 64, "--threads", 1, "--json"), env={**os.environ, "GRBM_INCEPTION": str(self.weights)})
        self.assertEqual(one.stdout, run(*asked, "--threads", 3, "--json").stdout)
        # Not without being asked.
        self.assertNotIn("fid", self.results("evaluate", self.model, "--data", self.data, "--samples", 20,
                                             "--inception", self.weights))

    def test_progress_is_shown(self):
        result = self.succeed(*self.command("--inception", self.weights, "--tap", 64))
        self.assertIn("features of the data", result.stderr)
        self.assertIn("features of samples", result.stderr)

    def test_missing_and_damaged_weights(self):
        self.refuse(64, r"fid: the weights of the Inception network are needed: give --inception FILE or set GRBM_INCEPTION",
                    *self.command())
        self.refuse(74, "nowhere", *self.command("--inception", self.folder / "nowhere"))
        self.refuse(65, "cannot compute the tap 2048: 182 tensors are missing: .*: the taps that work are 64",
                    *self.command("--inception", self.weights))
        self.refuse(65, "has no tap 100", *self.command("--inception", self.weights, "--tap", 100))
        whole = self.weights.read_bytes()
        for damaged in (whole[:len(whole) // 2], whole[:100], b"", b"x" * len(whole)):
            self.weights.write_bytes(damaged)
            self.refuse(65, "weights.safetensors", *self.command("--inception", self.weights, "--tap", 64))
        self.refuse(65, "not weights of the Inception network", *self.command("--inception", self.model, "--tap", 64))

    def test_a_cache_that_cannot_be_made(self):
        (self.folder / "cache").write_text("a file")
        self.refuse(74, "cannot make the folder", *self.command("--inception", self.weights, "--tap", 64))

    def test_only_images(self):
        points = self.train("points")
        self.refuse(64, "fid: the data must be images of 8 or 16 bits", "evaluate", points, "--data", "gmm-iso", "--metrics", "fid",
                    "--inception", self.weights)


if __name__ == "__main__":
    unittest.main()
