"""What the tests of the command line share. The program's path is the first argument of each."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
# How many times as slow the program may be: under a sanitizer more than once.
PATIENCE = int(os.environ.get("GRBM_PATIENCE", "1"))

# A run of seconds on the isotropic mixture.
TINY = ["--set", "train.epochs=20", "--set", "model.hidden=4", "--set", "sampler.steps=10", "--set", "train.burn_in=2"]


def write_tensors(path, tensors, metadata=None):
    """A safetensors file of {name: NumPy array}, written here."""
    names = {"float32": "F32", "float64": "F64", "int32": "I32"}
    header, payload = {"__metadata__": metadata} if metadata else {}, b""
    for name, array in tensors.items():
        end = len(payload) + array.nbytes
        header[name] = {"dtype": names[str(array.dtype)], "shape": array.shape, "data_offsets": [len(payload), end]}
        payload += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + payload)
    return path


def run(*arguments, **options):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120 * PATIENCE, **options)


class ProgramTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def succeed(self, *arguments, **options):
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, 0, f"{arguments}\n{result.stdout}{result.stderr}")
        return result

    def refuse(self, code, pattern, *arguments, **options):
        """One line on standard error that matches, the exit code, and nothing on standard output."""
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, code, f"{arguments}\n{result.stdout}{result.stderr}")
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, r"^grbm: [^\n]*\n$")
        self.assertRegex(result.stderr, pattern)

    def results(self, *arguments):
        return json.loads(self.succeed(*arguments, "--json").stdout)

    def train(self, name="run", *arguments):
        """A tiny trained model."""
        self.succeed("train", "gmm-iso", "--quiet", "--out", self.folder / name, *TINY, *arguments)
        return self.folder / name / "model.safetensors"
