"""What cannot be, through the real program: one line each. bad_input_test.py PROGRAM."""

import json
import os
import resource
import signal
import subprocess
import time
import unittest

import numpy
from support import PROGRAM, TINY, ProgramTest, run, write_tensors


class BadInput(ProgramTest):
    def test_configurations(self):
        def config(text):
            path = self.folder / "c.toml"
            path.write_text(text)
            return path

        out = ["--out", self.folder / "run"]
        cases = [
            ("[sampler]\nstpes = 5\n", r"c\.toml:2: \[sampler\]: unknown key 'stpes': did you mean 'steps'"),
            ("[samplr]\nsteps = 5\n", "unknown section 'samplr': did you mean 'sampler'"),
            ("[sampler]\nsteps = \"five\"\n", r":2: \[sampler\]: steps = \"five\": allowed is a whole number"),
            ("[sampler]\nsteps = 0\n", "steps = 0: allowed is a whole number from 1"),
            ("[train]\nmomentum = 1.5\n", "momentum = 1.5: allowed is a number"),
            ("[train]\noptimizer = \"sdg\"\n", "allowed is one of \"sgd\", \"adam\""),
            ("steps = 5\n", "'steps' stands outside a section"),
            ("[sampler\n", r"c\.toml:1: not valid TOML"),
            ("[sampler]\nsteps = [1, 2]\n", "allowed is a number"),
        ]
        for text, pattern in cases:
            self.refuse(64, pattern, "train", config(text), *out)
        self.refuse(64, "--set sampler.stps=5: unknown key 'stps': did you mean 'steps'",
                    "train", "gmm-iso", "--set", "sampler.stps=5", *out)
        self.refuse(64, "allowed is section.key=value", "train", "gmm-iso", "--set", "steps", *out)
        self.refuse(64, "start_temperature = 20.*burn_in of 1 and more", "train", "gmm-iso", "--set", "train.burn_in=0", *out)
        self.refuse(64, "far_starts = 0.5: with algorithm = \"cd\" chains start from data", "train", "gmm-iso", "--set", "train.algorithm=cd",
                    "--set", "train.start_temperature=1", "--set", "train.far_starts=0.5", *out)
        self.refuse(64, "start_temperature = 20.*noise-cd", "train", "gmm-iso", "--set", "train.algorithm=pcd", *out)
        self.refuse(64, "burn_in = 50: allowed is below sampler.steps", "train", "gmm-iso", "--set", "train.burn_in=50", *out)
        self.refuse(64, "a step of 3 variances diverges", "train", "gmm-iso", "--set", "sampler.step_size=3", *out)
        self.refuse(74, "No such file", "train", self.folder / "none.toml", *out)
        self.assertFalse((self.folder / "run").exists(), "nothing was half made")

    def test_data(self):
        out = ["--out", self.folder / "run"]

        def refuse(name, content, pattern, code=65):
            path = self.folder / name
            path.write_bytes(content)
            self.refuse(code, pattern, "train", "gmm-iso", "--set", f"data.source={path}", *out)

        refuse("ragged.csv", b"1,2\n3\n", r"ragged\.csv")
        refuse("words.csv", b"1,2\n3,x\n", r"words\.csv.*2")
        refuse("nan.csv", b"1,2\n3,nan\n", "nan")
        refuse("cut.npy", b"\x93NUMPY\x01\x00", r"cut\.npy")
        refuse("cut-idx", b"\0\0\x08\x03\0\0\0\x05\0\0\0\x02\0\0\0\x02abc", "cut-idx")
        margin = ["train", "gmm-iso", "--set", "data.margin=0.3"]
        self.refuse(65, "gmm-iso.*: data.margin = 0.3 is of values of which the least is 0", *margin, *out)
        self.refuse(64, "data.standardize=none", *margin, "--set", "data.standardize=none", *out)
        self.refuse(64, "margin = -1: allowed is a number from 0", *margin[:2], "--set", "data.margin=-1", *out)
        self.refuse(74, "No such file", "train", "gmm-iso", "--set", "data.source=/none/such.csv", *out)
        missing = dict(os.environ, GRBM_DATA_DIR=str(self.folder / "cache"))
        self.refuse(74, "grbm data get mnist", "train", "mnist", *out, env=missing)
        self.refuse(64, "mnist", "data", "get", "mnits", env=missing)
        self.assertFalse((self.folder / "run").exists(), "nothing was half made")

    def test_rows_in_other_units(self):
        data, other, model = self.folder / "z.csv", self.folder / "other.csv", self.folder / "z"
        data.write_text("a,b\n" + "".join(f"{max(0, k % 7 - 3)},{k % 5 - 2}\n" for k in range(70)))
        self.succeed("train", data, "--set", "data.margin=1", "--set", "train.epochs=1", "--out", model)
        other.write_text("a,b\n0,-1\n-1,0\n")
        for command in ("score", "encode", "reconstruct", "inpaint"):
            self.refuse(65, r"other\.csv: row 1, column 0 \(counted from 0\): -1 is below 0", command, model, "--data", other,
                        "-o", self.folder / "x.csv")
        images = self.folder / "images.idx"
        images.write_bytes(b"\0\0\x08\x03\0\0\0\x20\0\0\0\x02\0\0\0\x02" + bytes(range(128)))
        given = self.folder / "given.csv"
        for scale, words in ((1, False), (0.004, True), (1e30, True)):
            given.write_text("".join(",".join(str(scale * (4 * r + c)) for c in range(4)) + "\n" for r in range(32)))
            told = self.succeed("evaluate", "--given", given, "--data", images, "--metrics", "background").stderr
            self.assertEqual("are they in other units?" in told, words, told)

    def test_models(self):
        model = self.train()
        out = ["-o", self.folder / "x.npy"]
        cut = self.folder / "cut.safetensors"
        cut.write_bytes(model.read_bytes()[:-10])
        self.refuse(65, r"cut\.safetensors", "sample", cut, *out)
        cut.write_bytes(b"hello")
        self.refuse(65, r"cut\.safetensors", "info", cut)
        self.refuse(74, "none.safetensors", "sample", self.folder / "none.safetensors", *out)
        self.refuse(64, "allowed are .png, .npy, .csv, .gif", "sample", model, "-o", self.folder / "x.jpg")
        self.refuse(64, "not images", "sample", model, "-o", self.folder / "x.png")
        self.refuse(64, "settings of the sampler only", "sample", model, *out, "--set", "train.epochs=5")
        self.refuse(64, "count", "sample", model, *out, "-n", "0")
        self.refuse(74, "x.npy", "sample", model, "-o", "/none/such/x.npy")
        wide = self.folder / "wide.csv"
        wide.write_text("1,2,3\n4,5,6\n")
        self.refuse(65, "3 columns, but the model has 2 visible units", "encode", model, "--data", wide, *out)
        self.refuse(65, "6 values, but the model has 2 visible units", "inpaint", model, "--data", "gmm-iso", "--split", "train", "--mask", wide, *out)
        checkpoint = next((model.parent / "checkpoints").iterdir())
        self.refuse(65, "checkpoint", "info", checkpoint)

    def absurd(self, name, **tensors):
        """A model of 2 visible and 3 hidden units."""
        whole = {"W": numpy.ones((2, 3), numpy.float32), "b": numpy.zeros(3, numpy.float32),
                 "mu": numpy.zeros(2, numpy.float32), "log_var": numpy.zeros(2, numpy.float32), **tensors}
        return write_tensors(self.folder / f"{name}.safetensors", whole)

    def test_parameters_of_models_are_floating_point(self):
        model = self.absurd("whole", W=numpy.ones((2, 3), numpy.int32))
        self.refuse(65, r"tensor 'W' has dtype I32: allowed are F32, F64, F16 and BF16", "info", model)

    def users(self, model):
        """Every command that computes with a model of the plane."""
        mask = self.folder / "mask.csv"
        mask.write_text("1,0\n")
        data, npy = ["--data", "gmm-iso", "--split", "train"], ["-o", self.folder / "x.npy"]
        return [["sample", model, *npy], ["reconstruct", model, *data, *npy], ["encode", model, *data, *npy],
                ["encode", model, "--probabilities", *data, *npy], ["inpaint", model, *data, "--mask", mask, *npy],
                ["density", model, "--data", "gmm-iso", "-o", self.folder / "x.png"],
                ["evaluate", model, "--data", "gmm-iso", "--metrics", "quick"],
                ["evaluate", model, "--data", "gmm-iso", "--metrics", "likelihood"],
                ["evaluate", model, "--data", "gmm-iso", "--metrics", "mixture"]]

    def test_parameters_beyond_all_floats_are_named(self):
        w = numpy.ones((2, 3), numpy.float32)
        w[1, 2] = 3e38
        for name, pattern, tensors in [("W", r"W\[1, 2\] = 3e\+38: the mean of visible unit 1", {"W": w}),
                                       ("mu", r"mu\[0\] = -2e\+38", {"mu": numpy.array([-2e38, 0], numpy.float32)}),
                                       ("square", r"W\[0, 0\] = 1e\+20 with a variance of 1 .* the logit of hidden unit",
                                        {"W": numpy.full((2, 3), 1e20, numpy.float32)})]:
            model = self.absurd(name, **tensors)
            for arguments in self.users(model):
                self.refuse(70, pattern, *arguments)
            self.assertIn("rms_weight", self.results("info", model))  # to look at it is allowed
        for left in ("x.npy", "x.png"):
            self.assertFalse((self.folder / left).exists())

    def test_weights_that_quadrature_cannot_bear_are_refused_at_once(self):
        for w in (1e9, 1e12):
            model = self.absurd("steep", W=numpy.array([[w, -w, w], [w, w, -w]], numpy.float32))
            start = time.monotonic()
            self.refuse(70, "quadrature: .*doubles", "density", model, "--data", "gmm-iso", "-o", self.folder / "x.png")
            self.refuse(70, "quadrature: .*doubles", "evaluate", model, "--data", "gmm-iso", "--metrics", "mixture")
            self.assertLess(time.monotonic() - start, 10)

    def test_steps_that_diverge_are_refused_everywhere(self):
        model = self.absurd("steep", log_var=numpy.array([0, -3], numpy.float32))
        for command in ["sample", "inpaint", "evaluate"]:
            arguments = next(each for each in self.users(model) if each[0] == command)
            self.refuse(64, "step_size = 50: a step of 50 variances diverges; allowed is below 2", *arguments, "--set",
                        "sampler.step_size=50")
            self.refuse(64, r"a step diverges for 1 of 2 visible units, worst unit 1", *arguments, "--set",
                        "sampler.step_size=1")
        file = self.absurd("file")
        tensors = {"W": numpy.ones((2, 3), numpy.float32), "b": numpy.zeros(3, numpy.float32),
                   "mu": numpy.zeros(2, numpy.float32), "log_var": numpy.zeros(2, numpy.float32)}
        write_tensors(file, tensors, {"sampler": '{"step_size": 50}'})
        self.refuse(65, "step_size = 50", "sample", file, "-o", self.folder / "x.npy")

    def test_pipes_and_devices_in_place_of_files(self):
        """None of them hangs or fills the memory; what the user names as a descriptor is read."""
        images = self.folder / "images"
        images.mkdir()
        os.mkfifo(images / "a.png")
        self.refuse(74, r"a\.png: cannot read: not a regular file", "data", "info", images)
        os.mkfifo(self.folder / "x.csv")
        self.refuse(74, "not a regular file", "data", "info", self.folder / "x.csv")
        self.refuse(74, "not a regular file", "info", "/dev/zero")
        os.mkfifo(self.folder / "x.toml")
        self.refuse(74, "not a regular file", "train", self.folder / "x.toml", "--out", self.folder / "new")
        model = self.train()
        with open(model, "rb") as file:
            self.assertEqual(json.loads(self.succeed("info", "/dev/stdin", "--json", stdin=file).stdout)["hidden"], 4)
        piped = subprocess.run(["bash", "-c", f"cat {model} | {PROGRAM} info /dev/stdin --json"], capture_output=True)
        self.assertEqual(json.loads(piped.stdout)["hidden"], 4)
        for name in ["manifest.json", "config.toml"]:
            path = model.parent / name
            kept = path.read_bytes()
            path.unlink()
            path.symlink_to("/dev/zero")
            self.refuse(74, f"{name}: cannot read: not a regular file", "train", "--resume", "--out", model.parent)
            path.unlink()
            path.write_bytes(kept)

    def test_unwritable_places(self):
        file = self.folder / "file"
        file.write_text("")
        self.refuse(74, "cannot make the folder", "train", "gmm-iso", "--out", file / "run")
        model = self.train()
        loop = self.folder / "loop"
        loop.symlink_to(loop)
        long = self.folder / ("x" * 300)
        for place, why in [(loop, "Too many levels of symbolic links"), (long, "File name too long")]:
            for arguments in (["train", "gmm-iso", "--out", place], ["train", "--resume", "--out", place],
                              ["sample", model, "-o", place / "x.npy"], ["convert", model, place / "x.npz"],
                              ["filters", model, "-o", place / "x.png"], ["reproduce", "gmm", "--out", place, "--dry-run"]):
                self.refuse(74, why, *arguments)
        for name in ["manifest.json", "metrics.jsonl"]:
            path = model.parent / name
            kept = path.read_bytes()
            path.unlink()
            path.symlink_to(path)
            self.refuse(74, f"{name}.*Too many levels of symbolic links", "train", "--resume", "--out", model.parent)
            path.unlink()
            path.write_bytes(kept)

    def test_names_of_any_bytes(self):
        """JSON is UTF-8, whatever a file is called; settings must be."""
        model = self.train()
        name = os.fsencode(self.folder) + b"/b\xff.npy"
        result = subprocess.run([PROGRAM, "sample", model, "-o", name, "--json"], capture_output=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["samples"], f"{self.folder}/b\N{REPLACEMENT CHARACTER}.npy")
        out = self.folder / "other"
        result = subprocess.run([PROGRAM, "train", "gmm-iso", "--out", out, "--set", b"data.source=" + name], capture_output=True)
        self.assertEqual(result.returncode, 64)
        self.assertRegex(result.stderr, rb"^grbm: data: source = .*: the name is not UTF-8.*\n$")
        self.assertFalse(out.exists())

    def test_control_characters_reach_no_terminal(self):
        out = self.folder / "run"
        data = self.folder / "a\x1b[31m\n.npy"
        numpy.save(data, numpy.random.default_rng(1).normal(size=(100, 2)).astype(numpy.float32))
        self.succeed("train", "gmm-iso", "--quiet", "--out", out, *TINY, "--set", f"data.source={data}", "--set", "data.subset=0")
        text = self.succeed("info", out / "model.safetensors").stdout
        self.assertIn(r"a\x1b[31m\x0a.npy", text)
        self.assertNotIn("\x1b", text)

    def test_a_full_disk_loses_nothing(self):
        """A limit on the size of files stands for the disk: metrics.jsonl runs into it, the checkpoint stays good."""
        folder = self.folder / "run"
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (30000, 30000))

        arguments = ["train", "gmm-iso", "--quiet", "--out", folder, *TINY, "--set", "checkpoint.every_steps=20"]
        self.refuse(74, r"metrics\.jsonl: cannot write: File too large; the last checkpoint is kept", *arguments,
                    preexec_fn=limit)
        self.succeed(*arguments, "--resume")
        self.assertEqual((folder / "model.safetensors").read_bytes(), self.train("whole", "--set", "checkpoint.every_steps=20").read_bytes())


if __name__ == "__main__":
    unittest.main()
