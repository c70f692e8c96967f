"""What is printed, and numbers on the command line: output_test.py PROGRAM."""

import json
import os
import re
import signal
import subprocess
import unittest

from support import PROGRAM, TINY, ProgramTest, run

HUGE = 2**64
FULL = r"^grbm: standard output: cannot write: No space left on device\n$"


class Results(ProgramTest):
    def commands(self):
        """Every command that prints, with arguments that make it do so."""
        model = self.train()
        mask = self.folder / "mask.csv"
        mask.write_text("1,0\n")
        images = self.folder / "images"
        self.succeed("train", "gmm-iso", "--quiet", "--out", images, *TINY, "--set", "data.source=strokes", "--set",
                     "train.epochs=1", "--set", "data.subset=100")
        out = self.folder / "out"
        out.mkdir()
        data = ["--data", "gmm-iso", "--split", "train"]
        yield from [[], ["--help"], ["--version"], ["completion", "zsh"]]
        for name in ["train", "sample", "classify", "reconstruct", "inpaint", "encode", "filters", "density", "evaluate", "info", "data",
                     "presets", "convert", "bench", "reproduce", "search", "report", "dashboard", "completion"]:
            yield [name, "--help"]
        yield from [["data", "get", "--help"], ["data", "info", "--help"]]
        yield from [["reproduce", "--list"], ["reproduce", "gmm", "--render", "--out", out / "pages"]]
        search = self.folder / "search.toml"
        search.write_text('preset = "gmm-iso"\nupdates = 20\nsamples = 50\nrows = 200\n[vary]\n"model.hidden" = [2, 3]\n')
        for k, extra in enumerate([[], ["--json"]]):
            yield ["train", "gmm-iso", *TINY, "--out", out / f"run{k}", *extra]
            yield from [["presets", *extra], ["presets", "mnist", *extra], ["settings", "train", *extra],
                        ["completion", "bash", *extra], ["completion", "words", *extra]]
            yield from [["info", model, *extra], ["data", "info", "gmm-iso", *extra]]
            yield ["bench", "--seconds", "0", "--no-scaling", "--shape", "3x5x7x2", "--sampler", "gibbs", *extra]
            yield ["reproduce", "gmm", "--dry-run", "--out", out, *extra]
            yield ["search", search, "--out", out / f"search{k}", *extra]
            yield ["score", model, *data, "-n", 5, "-o", out / "x.npy", *extra]
            yield ["couplings", model, *data, "-o", out / "x.npy", *extra]
            yield ["distance", "gmm-iso", "gmm-aniso", *extra]
            yield ["sample", model, "-n", 5, "-o", out / "x.npy", *extra]
            yield ["reconstruct", model, *data, "-n", 5, "-o", out / "x.npy", *extra]
            yield ["inpaint", model, *data, "-n", 5, "--mask", mask, "-o", out / "x.npy", *extra]
            yield ["encode", model, *data, "-o", out / "x.npy", *extra]
            yield ["filters", images / "model.safetensors", "-o", out / "x.png", *extra]
            yield ["density", model, "--data", "gmm-iso", "-o", out / "x.png", *extra]
            yield ["evaluate", model, "--data", "gmm-iso", "--metrics", "quick", "--samples", 50, *extra]
            yield ["convert", model, out / "x.npz", *extra]
            yield ["report", model.parent, "--fast", "-o", out / "x.html", *extra]
            yield ["dashboard", self.folder, "--port", 0, *extra]

    def test_json_is_one_value_with_numbers_as_numbers(self):
        """Of every command; of settings an example is what stands after --set, which is text."""
        def numbers_in_text(value, key=""):
            if isinstance(value, dict):
                for name, inner in value.items():
                    yield from numbers_in_text(inner, name)
            elif isinstance(value, list):
                for inner in value:
                    yield from numbers_in_text(inner, key)
            elif isinstance(value, str) and key != "example" and re.fullmatch(r"[-+]?\d+(\.\d*)?(e[-+]?\d+)?", value):
                yield key, value

        for command in self.commands():
            if "--json" in command and command[0] != "dashboard":
                with self.subTest(command=command):
                    self.assertEqual(list(numbers_in_text(json.loads(self.succeed(*command).stdout))), [])

    def test_a_result_that_cannot_be_written_is_a_failure(self):
        with open("/dev/full", "w") as full:
            for arguments in self.commands():
                result = subprocess.run([PROGRAM, *map(str, arguments)], stdout=full, stderr=subprocess.PIPE, text=True,
                                        timeout=120)
                self.assertEqual(result.returncode, 74, arguments)
                last = result.stderr.splitlines(keepends=True)[-1]
                self.assertRegex(last, FULL, arguments)

    def test_a_closed_output_is_a_failure_and_no_file_takes_its_place(self):
        model = self.train()
        script = 'exec "$0" "$@" >&-'
        out = self.folder / "again"
        result = subprocess.run(["sh", "-c", script, PROGRAM, "info", model], stderr=subprocess.PIPE, text=True)
        self.assertEqual((result.returncode, result.stderr),
                         (74, "grbm: standard output: cannot write: Bad file descriptor\n"))
        result = subprocess.run(["sh", "-c", script, PROGRAM, "train", "gmm-iso", *TINY, "--out", str(out)],
                                stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 74)
        for name in ["model.safetensors", "metrics.jsonl", "config.toml"]:
            self.assertEqual((out / name).read_bytes(), (model.parent / name).read_bytes(), name)
        result = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&- 2>&-', PROGRAM, "info", model])
        self.assertEqual(result.returncode, 74)

    def test_what_is_said_beside_results_stops_nothing(self):
        out = self.folder / "run"
        with open("/dev/full", "w") as full:
            result = subprocess.run([PROGRAM, "train", "gmm-iso", *TINY, "--out", out], stderr=full, stdout=subprocess.PIPE)
            self.assertEqual(result.returncode, 0)
            result = subprocess.run([PROGRAM, "info", self.folder / "none"], stderr=full, stdout=subprocess.PIPE)
            self.assertEqual(result.returncode, 74)

    def test_a_reader_that_has_enough_ends_the_program(self):
        result = subprocess.run(["bash", "-c", f"set -o pipefail; '{PROGRAM}' presets paper-mnist | head -0; echo $?"],
                                capture_output=True, text=True)
        self.assertIn(result.stdout.strip(), (str(128 + signal.SIGPIPE), "0"))
        self.assertEqual(result.stderr, "")
        read, write = os.pipe()
        os.close(read)
        process = subprocess.Popen([PROGRAM, "presets"], stdout=write, stderr=subprocess.PIPE, text=True)
        os.close(write)
        _, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, errors), (-signal.SIGPIPE, ""))
        # Where the signal is ignored, it is an output error like any other.
        read, write = os.pipe()
        os.close(read)
        process = subprocess.Popen(["sh", "-c", f"trap '' PIPE; exec '{PROGRAM}' presets"], stdout=write,
                                   stderr=subprocess.PIPE, text=True)
        os.close(write)
        _, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, errors), (74, "grbm: standard output: cannot write: Broken pipe\n"))


class Numbers(ProgramTest):
    BAD = ["-1", str(HUGE), "99999999999999999999999", "1e3", "0x10", "5x", "5 ", " 5", "+5", "", "1.5", "nan", "inf"]

    def test_seeds_are_taken_as_they_are_or_refused(self):
        model = self.train()
        out = ["-o", self.folder / "x.npy"]
        data = ["--data", "gmm-iso", "--split", "train"]
        commands = [["train", "gmm-iso", *TINY, "--out", self.folder / "new"], ["sample", model, *out],
                    ["reconstruct", model, *data, *out], ["inpaint", model, *data, "--mask", self.folder / "m.csv", *out],
                    ["encode", model, *data, *out], ["density", model, "--data", "gmm-iso", "-o", self.folder / "x.png"],
                    ["evaluate", model, "--data", "gmm-iso"], ["reproduce", "gmm", "--dry-run"],
                    ["report", model.parent, "-o", self.folder / "x.html"]]
        for command in commands:
            for seed in self.BAD:
                self.refuse(64, f"--seed {seed.replace('+', '.')}: allowed is a whole number from 0 to {HUGE - 1}\n", *command,
                            "--seed", seed)
        self.assertFalse((self.folder / "new").exists())
        self.succeed("train", "gmm-iso", "--quiet", *TINY, "--out", self.folder / "new", "--seed", HUGE - 1)
        self.assertIn(f'"seed": {HUGE - 1},', (self.folder / "new" / "manifest.json").read_text())
        self.succeed("train", "--quiet", "--resume", "--out", self.folder / "new")

    def test_so_are_all_other_numbers(self):
        model = self.train()
        out = ["-o", self.folder / "x.npy"]
        data = ["--data", "gmm-iso", "--split", "train"]
        cases = [("--threads", ["train", "gmm-iso", "--out", self.folder / "new"]), ("--threads", ["sample", model, *out]),
                 ("--threads", ["bench"]), ("--threads", ["dashboard", self.folder]), ("--port", ["dashboard", self.folder]),
                 ("--count", ["sample", model, *out]), ("--steps", ["sample", model, *out]),
                 ("--every", ["sample", model, *out]), ("--columns", ["sample", model, *out]),
                 ("--count", ["encode", model, *data, *out]), ("--count", ["reconstruct", model, *data, *out]),
                 ("--count", ["filters", model, "-o", self.folder / "x.png"])]
        judge = ["evaluate", model, "--data", "gmm-iso"]
        cases += [(name, judge) for name in ("--samples", "--rows", "--chains", "--temperatures", "--tap")]
        for name, command in cases:
            for value in self.BAD:
                self.refuse(64, f"{name} .*: allowed is a whole number from", *command, name, value)
        for value in ["-1", "nan", "inf", "1e400", "0x10", "5x", ""]:
            self.refuse(64, "--seconds .*: allowed is a number from 0 to 3600", "bench", "--seconds", value)
        for shape in ["99999999999999999999x1x1x1", "1x1x1x1e3", "0x1x1x1", "1x1x1x", "1x1x1x1 ", "-1x1x1x1"]:
            self.refuse(64, "--shape.*four numbers above 0", "bench", "--shape", shape)

    def test_and_those_of_settings(self):
        train = ["train", "gmm-iso", "--out", self.folder / "new"]
        for key in ["sampler.steps", "data.subset_seed", "checkpoint.every_steps", "train.batch_size", "data.subset"]:
            for value in self.BAD:
                self.refuse(64, f"{key.split('.')[1]} = .*: allowed is a whole number", *train, "--set", f"{key}={value}")
        for value in ["nan", "inf", "1e400", "0x10", "5x", "", "+5", " 5"]:
            self.refuse(64, "epochs = .*: allowed is a number", *train, "--set", f"train.epochs={value}")
        file = self.folder / "c.toml"
        for value in ["-1", str(HUGE), "1e3", "1.5", "nan", "'5'"]:
            file.write_text(f"[data]\nsource = 'gmm-iso'\nsubset_seed = {value}\n")
            self.refuse(64, "c.toml:3", "train", file, "--out", self.folder / "new")
        self.assertFalse((self.folder / "new").exists())


if __name__ == "__main__":
    unittest.main()
