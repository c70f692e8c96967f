"""The command line, through the real program: cli_test.py PROGRAM."""

import json
import unittest

from support import PATIENCE, TINY, ProgramTest, run

COMMANDS = ["train", "sample", "classify", "reconstruct", "inpaint", "encode", "filters", "density", "evaluate", "distance", "score", "couplings", "info", "data", "presets",
            "settings", "convert", "reproduce", "search", "report", "dashboard", "completion"]


class Help(ProgramTest):
    def test_version_tells_version_and_target(self):
        result = self.succeed("--version")
        self.assertRegex(result.stdout, r"^grbm \d+\.\d+\.\d+\ncpu target: \w+\n$")

    def test_every_command_has_help_with_an_example(self):
        for arguments in [[], ["--help"], *[[name, "--help"] for name in COMMANDS], ["data", "get", "--help"]]:
            self.assertIn("Example: ", self.succeed(*arguments).stdout)
        listed = self.succeed("--help").stdout
        for name in COMMANDS:
            self.assertIn(f"\n  {name} ", listed)

    def test_wrong_words_get_one_line_and_code_64(self):
        self.refuse(64, "see 'grbm --help'", "--nonsense")
        self.refuse(64, "unknown command 'smaple': did you mean 'sample'", "smaple")
        self.refuse(64, "see 'grbm sample --help'", "sample")
        self.refuse(64, "see 'grbm train --help'", "train", "gmm-iso", "--frobnicate")

    def test_presets_are_listed_printed_and_parsed(self):
        names = list(json.loads(self.succeed("presets", "--json").stdout))
        for name in ["gmm-iso", "gmm-aniso", "digits", "digits-3", "digits-30", "mnist", "mnist-30", "mnist-labels", "fashion", "small-mnist", "small-fashion", "faces32", "paper-gmm-iso",
                     "paper-gmm-iso-repaired", "paper-gmm-aniso", "paper-gmm-aniso-repaired", "paper-mnist", "paper-fashion", "paper-celeba32", "paper-celeba2k64"]:
            self.assertIn(name, names)
        text = self.succeed("presets", "paper-mnist").stdout
        self.assertIn("hidden = 4096", text)
        file = self.folder / "mine.toml"
        file.write_text(self.succeed("presets", "gmm-iso").stdout)
        self.succeed("train", file, "--quiet", "--out", self.folder / "run", *TINY)
        self.refuse(64, "unknown preset 'mnits': did you mean 'mnist'", "train", "mnits")


class Resuming(ProgramTest):
    def test_only_the_same_run_is_resumed(self):
        model = self.train()
        folder = model.parent
        arguments = ["train", "gmm-iso", "--out", folder, *TINY]
        self.refuse(64, "there is a run already: add --resume", *arguments)
        self.refuse(64, "cannot resume: sampler.steps = 9 now, but the run was started with 10",
                    *arguments, "--set", "sampler.steps=9", "--resume")
        self.refuse(64, "cannot resume: --seed 7 now", *arguments, "--seed", 7, "--resume")
        self.refuse(64, "say which run", "train", "--resume")
        self.refuse(64, "there is no run here", "train", "--resume", "--out", self.folder / "none")
        before = model.read_bytes()
        self.succeed("train", "--resume", "--quiet", "--out", folder)  # it was at its end already
        self.assertEqual(model.read_bytes(), before)

    def test_a_checkpoint_of_another_run_is_refused(self):
        small = self.train("small").parent
        large = self.train("large", "--set", "model.hidden=5").parent
        for path in (small / "checkpoints").iterdir():
            path.unlink()
        for path in (large / "checkpoints").iterdir():
            (small / "checkpoints" / path.name).write_bytes(path.read_bytes())
        self.refuse(65, "a checkpoint of another run", "train", "--resume", "--quiet", "--out", small)

    def test_divergence_names_the_cause(self):
        result = run("train", "gmm-iso", "--quiet", "--out", self.folder / "run", *TINY, "--set", "train.learning_rate=1e6",
                     "--set", "train.clip_norm=0")
        self.assertEqual(result.returncode, 70)
        self.assertRegex(result.stderr, r"^grbm: training diverged at update \d+: .*no gradient clipping; set train.clip_norm")


class Bench(ProgramTest):
    def test_one_object_with_every_case(self):
        result = json.loads(self.succeed("bench", "--json", "--seconds", "0", "--shape", "3x5x7x2", "--sampler", "gibbs",
                                         "--sampler", "gibbs-langevin, metropolis").stdout)
        self.assertGreater(result["peak_gflops"], 0)
        self.assertGreater(result["sgemm_gflops"], 0)
        # A peak measured too low would flatter every ratio. (Under a sanitizer, which slows our code down and not the
        # library's, the two cannot be compared.)
        if PATIENCE == 1:
            self.assertGreater(result["peak_gflops"], 0.9 * result["sgemm_gflops"])
        self.assertEqual([(c["sampler"], c["adjusted"]) for c in result["cases"]],
                         [("gibbs", False), ("gibbs-langevin, metropolis", True)])
        for case in result["cases"]:
            self.assertEqual([case[k] for k in ("visible", "hidden", "batch", "steps")], [3, 5, 7, 2])
            flops = 2 * 7 * 3 * 5 * (3 * 2 + 5)
            self.assertAlmostEqual(case["ratio_to_peak"], case["seconds"] / (flops / result["peak_gflops"] * 1e-9),
                                   delta=1e-6 * case["ratio_to_peak"])
            self.assertGreater(case["least_seconds"], 0)
            self.assertLessEqual(case["least_seconds"], case["seconds"])
            self.assertGreater(case["peak_rss_mb"], 1)
            self.assertGreater(case["scaling"], 0)

    def test_scaling_can_be_left_out(self):
        command = ["bench", "--seconds", "0", "--no-scaling", "--shape", "3x5x7x2", "--sampler", "gibbs"]
        self.assertIsNone(json.loads(self.succeed(*command, "--json").stdout)["cases"][0]["scaling"])
        self.assertEqual(len(self.succeed(*command, "--threads", "1").stdout.splitlines()[-1].split()), 10)

    def test_wrong_shapes_and_samplers_are_refused(self):
        for shape in ("784", "784x512x512", "784x512x512x0", "784x512x512x10x3", "axbxcxd"):
            self.refuse(64, "--shape.*784x4096x512x10", "bench", "--shape", shape)
        self.refuse(64, "did you mean 'gibbs'", "bench", "--sampler", "gibs")
        self.refuse(64, "--seconds", "bench", "--seconds", "-1")


if __name__ == "__main__":
    unittest.main()
