"""Settings and the completion of lines, through the real program: settings_test.py PROGRAM."""

import json
import os
import pathlib
import shutil
import subprocess
import unittest

from support import PROGRAM, ProgramTest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Settings(ProgramTest):
    def test_the_page_is_what_the_program_prints(self):
        page = (ROOT / "docs" / "settings.md").read_text()
        self.assertEqual(page, self.succeed("settings").stdout, "to write it again: grbm settings > docs/settings.md")

    def test_one_setting_a_section_and_a_key(self):
        self.assertIn("### train.epochs\n", self.succeed("settings", "train.epochs").stdout)
        section = self.succeed("settings", "model").stdout
        self.assertTrue(section.startswith("## [model]\n"), section)
        self.assertNotIn("### train", section)
        self.assertIn("### generate.step_size", self.succeed("settings", "step_size").stdout)

    def test_json_has_numbers_as_numbers(self):
        settings = self.results("settings")
        self.assertEqual(settings["train.batch_size"]["default"], 100)
        self.assertEqual(settings["train.centred"]["default"], False)
        self.assertEqual(settings["sampler.method"]["words"], ["gibbs", "langevin", "gibbs-langevin", "partial-gibbs"])

    def test_wrong_names_get_one_line(self):
        for name in ["epohcs", "train.", ".epochs", "train.epochs=3", "[train]", "TRAIN", "a" * 500, "--", "train epochs", "é"]:
            if name != "--":
                self.refuse(64, "unknown setting", "settings", name)
        self.refuse(64, "see 'grbm settings --help'", "settings", "train", "model")


class Completion(ProgramTest):
    def words(self, *line):
        return self.succeed("completion", "words", "--", *line).stdout.split("\n")[:-1]

    def test_the_program_knows_what_may_follow(self):
        self.assertIn("train", self.words(""))
        self.assertEqual(self.words("tra"), ["train"])
        self.assertIn("gmm-iso", self.words("train", ""))
        self.assertNotIn("--out", self.words("train", ""))
        self.assertEqual(self.words("train", "--res"), ["--resume"])
        self.assertEqual(self.words("train", "--set", "model.h"), ["model.hidden="])
        self.assertEqual(self.words("train", "--set", "train.optimizer="), ["train.optimizer=sgd", "train.optimizer=adam"])
        self.assertEqual(self.words("train", "--set", "data.source=mn"), ["data.source=mnist"])
        self.assertEqual(self.words("sample", "m", "--set", "train.e"), [])
        self.assertIn("sampler.steps=", self.words("sample", "m", "--set", "sampler"))
        self.assertEqual(self.words("evaluate", "m", "--metrics", "quick,lik"), ["quick,likelihood"])
        self.assertEqual(self.words("evaluate", "m", "--data", "fash"), ["fashion-mnist"])
        self.assertEqual(self.words("evaluate", "m", "--data=fash"), ["--data=fashion-mnist"])
        self.assertEqual(self.words("train", "--set=model.h"), ["--set=model.hidden="])
        self.assertEqual(self.words("train", "--set", "evaluate.metrics=quick,p"), ["evaluate.metrics=quick,pseudo"])
        self.assertEqual(self.words("distance", "a", "fash"), ["fashion-mnist"])
        self.assertEqual(self.words("couplings", "m", "--kind", "pre"), ["precision"])
        self.assertEqual(self.words("data", ""), ["get", "info"])
        self.assertEqual(self.words("data", "get", ""), ["mnist", "fashion-mnist"])
        self.assertIn("strokes", self.words("data", "info", ""))
        self.assertEqual(self.words("settings", "train.ep"), ["train.epochs"])
        self.assertEqual(self.words("completion", "f"), ["fish"])
        for line in [["nonsense", ""], ["train", "--set", "nonsense"], ["--set", "--set", "="]]:
            self.words(*line)

    def complete(self, shell, script, expected):
        environment = dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}", HOME=str(self.folder))
        if not (self.folder / "grbm").exists():
            (self.folder / "grbm").symlink_to(PROGRAM)
        result = subprocess.run([shell, "-c", script], capture_output=True, text=True, env=environment, cwd=self.folder, timeout=120)
        self.assertEqual((result.stdout.split(), result.stderr), (expected, ""), script)

    def test_bash(self):
        script = 'source <(grbm completion bash)\ncompopt() { :; }\nCOMP_LINE="%s"\nCOMP_POINT=${#COMP_LINE}\n_grbm\nprintf "%%s\\n" "${COMPREPLY[@]}"'
        self.complete("bash", script % "grbm tra", ["train"])
        self.complete("bash", script % "grbm train --set model.h", ["model.hidden="])
        self.complete("bash", script % "grbm train --set train.optimizer=a", ["adam"])  # bash cuts the line at "="
        self.complete("bash", script % "grbm evaluate run --metrics quick,lik", ["quick,likelihood"])
        (self.folder / "mnist.toml").touch()
        self.complete("bash", script % "grbm train mnist", ["mnist-30", "mnist-labels", "mnist", "mnist.toml"])

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        script = "grbm completion fish | source\ncomplete -C '%s'"
        self.complete("fish", script % "grbm train --set model.h", ["model.hidden="])
        self.complete("fish", script % "grbm evaluate run --metrics quick,lik", ["quick,likelihood"])
        self.complete("fish", script % "grbm settings train.ep", ["train.epochs"])

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh(self):
        script = ('compdef() { :; }\nsource <(grbm completion zsh)\n_files() { :; }\n'
                  'compadd() { [[ $1 == -S ]] && shift 2; print -l -- ${(P)2} }\n'
                  'words=(%s)\nCURRENT=$#words\nPREFIX=${words[-1]}\n_grbm')
        self.complete("zsh", script % "grbm train --set model.h", ["model.hidden="])
        self.complete("zsh", script % "grbm train --set train.optimizer=", ["train.optimizer=sgd", "train.optimizer=adam"])
        self.complete("zsh", script % "grbm data get m", ["mnist"])


if __name__ == "__main__":
    unittest.main()
