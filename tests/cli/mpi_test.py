"""Training on many ranks: mpi_test.py PROGRAM. Skipped where there is no mpirun, or the program was built without MPI."""

import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

from support import PATIENCE, PROGRAM, ProgramTest

MPIRUN = shutil.which("mpirun")
# More ranks than cores, as root where a container is, and waiting ranks that leave the cores to others.
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_mpi_yield_when_idle="1", OMPI_MCA_rmaps_base_oversubscribe="1")

# Some updates on made images: four pieces of a batch.
SHORT = ["train", "small-mnist", "--quiet", "--set", "data.source=strokes", "--set", "data.subset=400",
         "--set", "model.hidden=64", "--set", "train.batch_size=80", "--set", "train.epochs=1.6", "--set", "sampler.steps=3",
         "--set", "train.log_every=2", "--set", "checkpoint.pictures=0"]
PERSISTENT = ["--set", "train.algorithm=pcd", "--set", "train.restart_fraction=0.1", "--set", "train.hidden=probability",
              "--set", "train.optimizer=adam"]


def command(ranks, *arguments):
    return [MPIRUN, "-n", str(ranks), PROGRAM, *map(str, arguments)]


def mpirun(ranks, *arguments):
    return subprocess.run(command(ranks, *arguments), capture_output=True, text=True, env=ENVIRONMENT, timeout=240 * PATIENCE)


class Ranks(ProgramTest):
    def on_ranks(self, ranks, name, *arguments):
        """The files of a run that ranks must not change."""
        out = self.folder / name
        result = mpirun(ranks, *arguments, "--out", out)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return self.files(out)

    def alone(self, name, *arguments):
        self.succeed(*arguments, "--out", self.folder / name)
        return self.files(self.folder / name)

    def files(self, out):
        return {path.relative_to(out): path.read_bytes() for path in sorted(out.rglob("*"))
                if path.name in ("model.safetensors", "metrics.jsonl") or path.parent.name == "checkpoints"}

    def test_any_number_of_them_writes_the_same_files(self):
        for name, settings in [("noise", []), ("pcd", PERSISTENT)]:
            alone = self.alone(name, *SHORT, *settings)
            for ranks in (2, 3, 4):
                self.assertEqual(self.on_ranks(ranks, f"{name}{ranks}", *SHORT, *settings, "--threads", 1), alone, (name, ranks))

    def test_a_run_goes_on_with_another_number_of_them(self):
        settings = [*SHORT, *PERSISTENT, "--set", "checkpoint.every_steps=2", "--set", "checkpoint.keep=10"]
        alone = self.alone("alone", *settings)
        self.on_ranks(3, "run", *settings)
        out = self.folder / "run"
        for path in sorted((out / "checkpoints").iterdir())[2:]:  # as a kill would have left it
            path.unlink()
        self.on_ranks(2, "run", "train", "--resume", "--quiet")
        self.assertEqual(self.files(out), alone)

    def test_what_is_refused_is_told_once(self):
        result = mpirun(3, *SHORT, "--set", "train.burn_in=3", "--out", self.folder / "run")
        self.assertEqual(result.returncode, 64, result.stderr)
        lines = [line for line in result.stderr.splitlines() if line.startswith("grbm: ")]
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertIn("burn_in = 3", lines[0])

    def test_a_rank_that_dies_ends_the_job_and_the_run_goes_on(self):
        out = self.folder / "run"
        long = [*SHORT, *PERSISTENT, "--set", "train.epochs=1000", "--set", "checkpoint.every_steps=3"]
        job = subprocess.Popen(command(3, *long, "--out", out), stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        self.addCleanup(job.kill)
        end = time.monotonic() + 60 * PATIENCE
        while not list(out.glob("checkpoints/*.safetensors")):
            self.assertIsNone(job.poll(), "it ended too early")
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        children = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(job.pid)], capture_output=True, text=True).stdout
        victims = [int(line.split()[0]) for line in children.splitlines() if PROGRAM in line]
        self.assertEqual(len(victims), 3, children)
        os.kill(victims[-1], signal.SIGKILL)
        _, errors = job.communicate(timeout=60 * PATIENCE)
        self.assertNotEqual(job.returncode, 0, errors)
        resumed = subprocess.Popen(command(2, "train", "--resume", "--quiet", "--out", out), stderr=subprocess.PIPE, text=True,
                                   env=ENVIRONMENT)
        self.addCleanup(resumed.kill)
        time.sleep(2)
        self.assertIsNone(resumed.poll(), "it goes on")
        resumed.send_signal(signal.SIGTERM)
        _, errors = resumed.communicate(timeout=60 * PATIENCE)
        self.assertNotIn("Traceback", errors)

    def test_other_commands_are_the_first_ranks(self):
        self.alone("run", *SHORT)
        result = mpirun(2, "info", self.folder / "run" / "model.safetensors")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count("64"), self.succeed("info", self.folder / "run" / "model.safetensors").stdout.count("64"))


if __name__ == "__main__":
    if MPIRUN is None or mpirun(2, "presets").returncode != 0:
        print("skipped: no mpirun, or a program without MPI")
        sys.exit(77)
    unittest.main()
