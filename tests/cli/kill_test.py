"""A run that is killed at 50 random moments, and stopped by Ctrl-C, ends with the bits of one that was left alone."""

import random
import shutil
import signal
import subprocess
import time
import unittest

from support import PROGRAM, ProgramTest

ARGUMENTS = ["train", "gmm-iso", "--quiet", "--set", "train.epochs=100", "--set", "model.hidden=4", "--set",
             "sampler.steps=4", "--set", "train.burn_in=1", "--set", "checkpoint.every_steps=10", "--set",
             "train.algorithm=pcd", "--set", "train.start_temperature=1", "--set", "evaluate.every_steps=150", "--set",
             "evaluate.samples=20"]


class Kill(ProgramTest):
    def whole(self):
        self.succeed(*ARGUMENTS, "--out", self.folder / "whole")
        return self.folder / "whole"

    def compare(self, one, other):
        for name in ["model.safetensors", "metrics.jsonl", "config.toml"]:
            self.assertEqual((one / name).read_bytes(), (other / name).read_bytes(), name)
        pictures = [{path.name: path.read_bytes() for path in (run / "samples").iterdir()} for run in (one, other)]
        self.assertEqual(pictures[0], pictures[1])
        self.assertGreater(len(pictures[0]), 12)

    def test_killed_at_fifty_random_moments(self):
        start = time.monotonic()
        whole = self.whole()
        duration = time.monotonic() - start
        dice = random.Random(1)
        folder = self.folder / "killed"
        kills = 0
        while kills < 50:
            process = subprocess.Popen([PROGRAM, *ARGUMENTS, "--resume", "--out", folder], stderr=subprocess.PIPE)
            try:
                _, errors = process.communicate(timeout=dice.uniform(0, duration / 10))
                self.assertEqual(process.returncode, 0, errors)  # a broken file would have been refused
                self.compare(whole, folder)  # it came to its end between two kills: once more from the start
                shutil.rmtree(folder)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                kills += 1
        self.succeed(*ARGUMENTS, "--resume", "--out", folder)
        self.compare(whole, folder)
        left = [path.name for path in folder.rglob("*.tmp")]
        self.assertEqual(left, [], "what killed writes left is removed")

    def test_interrupted_by_the_user(self):
        whole = self.whole()
        folder = self.folder / "interrupted"
        process = subprocess.Popen([PROGRAM, *ARGUMENTS, "--out", folder], stderr=subprocess.PIPE, text=True)
        while not (folder / "metrics.jsonl").exists() or (folder / "metrics.jsonl").stat().st_size < 3000:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertRegex(errors, r"stopped after update \d+; to go on: grbm train --resume --out .*interrupted\n$")
        self.succeed("train", "--resume", "--quiet", "--out", folder)
        self.compare(whole, folder)

    def test_threads_do_not_matter(self):
        whole = self.whole()
        self.succeed(*ARGUMENTS, "--threads", 1, "--out", self.folder / "one")
        self.compare(whole, self.folder / "one")


if __name__ == "__main__":
    unittest.main()
