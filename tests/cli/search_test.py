"""grbm search: search_test.py PROGRAM."""

import csv
import io
import json
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import time
import unittest

from support import PROGRAM, ProgramTest

TOP = """
preset = "gmm-iso"
updates = 20
samples = 50
rows = 200
"""
SET = """
[set]
"model.hidden" = 4
"sampler.steps" = 10
"train.burn_in" = 2
"checkpoint.pictures" = 0
"""
VARY = """
[vary]
"train.learning_rate" = [0.01, 0.03]
"train.optimizer" = ["sgd", "adam"]
"""


class Search(ProgramTest):
    def write(self, text, name="tiny.toml"):
        path = self.folder / name
        path.write_text(text)
        return path

    def table(self, out):
        return list(csv.DictReader(io.StringIO((out / "table.csv").read_text())))

    def test_a_grid_has_a_page_a_table_and_figures(self):
        out = self.folder / "out"
        file = self.write(TOP + 'metrics = "quick,likelihood,mixture"\nseeds = 2\n' + SET + VARY)
        found = self.results("search", file, "--out", out)
        self.assertEqual([row["rank"] for row in found["trials"]], [1, 2, 3, 4])
        scores = [row["scores"]["quick.frechet"]["mean"] for row in found["trials"]]
        self.assertEqual(scores, sorted(scores))
        self.assertEqual(set(found["trials"][0]["scores"]),
                         {"quick.frechet", "likelihood.nats_held_out", "mixture.kl_data_model"})
        rows = self.table(out)
        self.assertEqual(len(rows), 8)
        for row in rows:
            self.assertEqual((row["outcome"], row["updates"]), ("trained", "20"))
            self.assertTrue((out / "trials" / row["run"] / "result.json").exists())
        mean = sum(float(row["quick.frechet"]) for row in rows if row["rank"] == "1") / 2
        self.assertAlmostEqual(mean, scores[0], places=6)
        page = (out / "index.md").read_text()
        for link in re.findall(r"\]\(([^)]+)\)", page):
            self.assertTrue((out / link).exists(), link)
        self.assertIn("(settings.png)", page)
        self.assertIn("(time.png)", page)
        self.assertIn(file.read_text(), page)
        # A second time nothing is done.
        before = {path: path.stat().st_mtime_ns for path in (out / "trials").rglob("*")}
        self.succeed("search", file, "--out", out, "--quiet")
        self.assertEqual(before, {path: path.stat().st_mtime_ns for path in (out / "trials").rglob("*")})

        # A trial is an ordinary run, and the page's commands make the best again.
        best = pathlib.Path(found["trials"][0]["folders"][0])
        self.succeed("sample", best / "model.safetensors", "-n", 5, "-o", self.folder / "x.npy", "--quiet")
        self.succeed("report", best, "--fast", "-o", self.folder / "x.html", "--quiet")
        train, judge = re.search(r"```sh\n(.*)\n(.*)\n```", page).groups()
        again = self.folder / "again"
        self.succeed(*train.replace("--out best", f"--out {again}").split()[1:], "--quiet")
        self.assertEqual((again / "model.safetensors").read_bytes(), (best / "model.safetensors").read_bytes())
        judged = self.results(*judge.replace("best/", f"{again}/").split()[1:])["quick"]["frechet"]["value"]
        first = next(row for row in rows if row["rank"] == "1" and row["seed"] == "1")
        self.assertAlmostEqual(judged, float(first["quick.frechet"]), places=9)

    def test_classes_are_judged_and_all_metrics_that_need_rows(self):
        """The scores are tried before the first trial, on few rows: enough for each. MNIST is noise here."""
        data = self.folder / "data" / "mnist"
        data.mkdir(parents=True)
        for name in ("train", "t10k"):
            pixels = random.Random(1).randbytes(200 * 784)
            (data / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 0x803, 200, 28, 28) + pixels)
            (data / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, 200) + bytes(200))
        file = self.folder / "classes.toml"
        file.write_text('preset = "mnist"\nupdates = 2\nsamples = 128\nrows = 128\nmetrics = "quick,classes,background,coverage"\n'
                        '[set]\n"model.hidden" = 4\n"generate.steps" = 2\n"checkpoint.pictures" = 0\n'
                        '[vary]\n"train.learning_rate" = [0.01]\n')
        result = self.succeed("search", file, "--out", self.folder / "out", "--json",
                              env=os.environ | {"GRBM_DATA_DIR": str(data.parent)})
        self.assertIn("classes.frechet", json.loads(result.stdout)["trials"][0]["scores"])

    def test_a_dry_run_says_what_it_costs_and_trains_nothing(self):
        out = self.folder / "out"
        file = self.write(TOP + "halving = 2\nseeds = 3\n" + SET + VARY)
        plan = self.results("search", file, "--out", out, "--dry-run")
        self.assertEqual(plan["rungs"], [{"trials": 4, "updates": 5}, {"trials": 2, "updates": 10}, {"trials": 1, "updates": 20}])
        self.assertEqual((plan["runs"], plan["finished"], plan["updates"]), (12, 0, 3 * (4 * 5 + 2 * 5 + 1 * 10)))
        self.assertRegex(self.succeed("search", file, "--out", out, "--dry-run").stdout, r"4 trials, 12 runs, 120 updates in all")
        self.assertFalse(out.exists())

    def test_stopped_by_ctrl_c_and_by_a_kill_it_goes_on_to_the_same_models(self):
        text = TOP.replace("updates = 20", "updates = 600") + "halving = 2\n" + SET + VARY
        file = self.write(text)
        whole, parts = self.folder / "whole", self.folder / "parts"
        self.succeed("search", file, "--out", whole, "--quiet")
        command = [PROGRAM, "search", str(file), "--out", str(parts)]
        for how, code in ((signal.SIGINT, 130), (signal.SIGKILL, -9)):
            process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            deadline = time.time() + 60  # until a run is under way
            while not list(parts.glob("trials/*/metrics.jsonl")) and time.time() < deadline:
                time.sleep(0.01)
            if how == signal.SIGKILL:
                time.sleep(0.2)
            process.send_signal(how)
            rest = process.stderr.read()
            process.stderr.close()
            self.assertEqual(process.wait(), code, rest)
            if how == signal.SIGINT:
                self.assertIn("stopped; to go on, give the same command again", rest)
                self.assertTrue(list(parts.glob("trials/*/checkpoints/*")))
                self.assertFalse((parts / "index.md").exists())
        self.succeed(*command[1:], "--quiet")
        ours, theirs = self.table(parts), self.table(whole)
        for row, other in zip(ours, theirs, strict=True):
            self.assertEqual({**row, "seconds": ""}, {**other, "seconds": ""})
            for name in ("model.safetensors", "metrics.jsonl"):
                self.assertEqual((parts / "trials" / row["run"] / name).read_bytes(),
                                 (whole / "trials" / row["run"] / name).read_bytes())

    def test_wrong_input_gets_one_line(self):
        good = TOP + SET + VARY
        out = ["--out", self.folder / "out"]
        self.refuse(74, "nowhere.toml: ", "search", self.folder / "nowhere.toml")
        self.refuse(64, r"tiny.toml:6: unknown key 'trails': did you mean 'trials'\?", "search",
                    self.write(TOP + "trails = 3\n" + SET + VARY), *out)
        self.refuse(64, r"tiny.toml:\d+: \[vary\] train.momentum: the list is empty", "search",
                    self.write(good + '"train.momentum" = []\n'), *out)
        self.refuse(64, "tiny.toml: rank_by: quick has no score 'frechett' here: did you mean 'frechet'", "search",
                    self.write(TOP + 'rank_by = "quick.frechett"\n' + SET + VARY), *out)
        self.refuse(74, "no-such", "search", self.write(TOP + SET + '"data.source" = "/no-such/data.npy"\n' + VARY), *out)
        bad = self.folder / "bad.npy"
        bad.write_bytes(b"no array")
        self.refuse(65, "bad.npy", "search", self.write(TOP + SET + f'"data.source" = "{bad}"\n' + VARY), *out)
        file = self.write(good)
        self.refuse(74, "this is a file: give a folder", "search", file, "--out", file)
        self.refuse(64, "it holds something else than a search", "search", file, "--out", self.folder)


if __name__ == "__main__":
    unittest.main()
