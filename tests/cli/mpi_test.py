"""Commands on many ranks: mpi_test.py PROGRAM. Skipped where there is no mpirun, or the program was built without MPI."""

import json
import os
import re
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


def command(ranks, *arguments, options=()):
    return [MPIRUN, *options, "-n", str(ranks), PROGRAM, *map(str, arguments)]


def mpirun(ranks, *arguments, options=()):
    return subprocess.run(command(ranks, *arguments, options=options), capture_output=True, text=True, env=ENVIRONMENT,
                          timeout=240 * PATIENCE)


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

    def test_a_quiet_mpirun_leaves_one_line(self):
        result = mpirun(3, *SHORT, "--set", "train.burn_in=3", "--out", self.folder / "run", options=["--quiet"])
        self.assertEqual(result.returncode, 64, result.stderr)
        self.assertEqual(len((result.stdout + result.stderr).splitlines()), 1, result.stdout + result.stderr)

    def start(self, ranks, *arguments):
        job = subprocess.Popen(command(ranks, *arguments), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               env=ENVIRONMENT)
        self.addCleanup(job.kill)
        return job

    def await_ranks(self, job, ranks, ready):
        """Their process numbers, once all are there and the job is ready."""
        end = time.monotonic() + 60 * PATIENCE
        while True:
            self.assertIsNone(job.poll(), "it ended too early")
            self.assertLess(time.monotonic(), end)
            children = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(job.pid)], capture_output=True, text=True).stdout
            found = [int(line.split()[0]) for line in children.splitlines() if PROGRAM in line]
            if len(found) == ranks and ready():
                return found
            time.sleep(0.05)

    def lose_a_rank(self, job, ranks, ready):
        """Once it is ready, the last rank is killed: the job ends, and not as if all were well."""
        os.kill(self.await_ranks(job, ranks, ready)[-1], signal.SIGKILL)
        _, errors = job.communicate(timeout=60 * PATIENCE)
        self.assertNotEqual(job.returncode, 0, errors)
        self.assertRegex(errors, r"rank 2 .*signal 9")

    def test_a_rank_that_dies_ends_the_job_and_the_run_goes_on(self):
        out = self.folder / "run"
        long = [*SHORT, *PERSISTENT, "--set", "train.epochs=1000", "--set", "checkpoint.every_steps=3"]
        job = self.start(3, *long, "--out", out)
        self.lose_a_rank(job, 3, lambda: list(out.glob("checkpoints/*.safetensors")))
        resumed = self.start(2, "train", "--resume", "--quiet", "--out", out)
        time.sleep(2)
        self.assertIsNone(resumed.poll(), "it goes on")
        resumed.send_signal(signal.SIGTERM)
        _, errors = resumed.communicate(timeout=60 * PATIENCE)
        self.assertNotIn("Traceback", errors)

    def test_usr1_reaches_all_ranks_and_ends_the_run_with_a_checkpoint(self):
        out = self.folder / "run"
        job = self.start(3, *SHORT, "--set", "train.epochs=100000", "--set", "checkpoint.every_seconds=0", "--out", out)
        self.await_ranks(job, 3, lambda: (out / "metrics.jsonl").exists() and (out / "metrics.jsonl").stat().st_size > 0)
        job.send_signal(signal.SIGUSR1)
        _, errors = job.communicate(timeout=60 * PATIENCE)
        self.assertEqual(job.returncode, 130, errors)
        stopped = re.search(r"stopped after update (\d+)", errors)
        self.assertTrue(stopped, errors)
        self.assertEqual([path.name for path in (out / "checkpoints").iterdir()], [f"update-{int(stopped[1]):012}.safetensors"])

    def test_a_rank_that_dies_ends_samples_and_evaluations(self):
        self.alone("run", *SHORT)
        out = self.folder / "x.npy"
        forever = ["--set", "sampler.steps=1000000000", "--quiet", "--threads", 1]
        for arguments in [["sample", self.folder / "run", "-n", 60, "-o", out, *forever],
                          ["evaluate", self.folder / "run", "--data", "strokes", "--metrics", "quick", "--samples", 60, *forever]]:
            job = self.start(3, *arguments)
            begin = time.monotonic()
            self.lose_a_rank(job, 3, lambda: time.monotonic() > begin + 1)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["run"])

    def test_a_rank_that_dies_loses_no_cell_and_no_trial_that_is_finished(self):
        for name, arguments in self.cells_and_trials(2000):
            alone, out = self.folder / f"{name}0", self.folder / name
            self.succeed(*arguments, "--out", alone, "--quiet")
            job = self.start(3, *arguments, "--out", out, "--quiet")
            self.lose_a_rank(job, 3, lambda: list(out.rglob("checkpoints/*.safetensors")) or list(out.rglob("result.json")))
            result = mpirun(2, *arguments, "--out", out, "--quiet")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(self.results(out), self.results(alone), name)

    def same_output(self, ranks, *arguments):
        """What a command prints, alone and on ranks, is the same; nothing is said beside it."""
        alone = self.succeed(*arguments).stdout
        result = mpirun(ranks, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, alone, (ranks, arguments))

    def test_samples_are_the_same_bytes(self):
        self.alone("run", *SHORT)
        model = self.folder / "run" / "model.safetensors"
        for name, settings in [("x.npy", ["--every", 2]), ("x.png", []), ("x.gif", []), ("x.csv", [])]:
            written = []
            for ranks in (0, 1, 2, 3):
                out = self.folder / f"{ranks}{name}"
                arguments = ["sample", model, "-n", 10, "--steps", 4, "--quiet", *settings, "-o", out]
                if ranks == 0:
                    self.succeed(*arguments)
                else:
                    result = mpirun(ranks, *arguments)
                    self.assertEqual(result.returncode, 0, result.stderr)
                written.append(out.read_bytes())
            self.assertEqual(set(written), {written[0]}, name)

    def test_series_are_the_same_bytes(self):
        table = self.folder / "series.csv"
        table.write_text("".join(f"{k % 5},{k % 3}\n" for k in range(90)))
        arguments = ["train", table, "--set", "data.history=2", "--set", "train.epochs=3", "--set", "model.hidden=20", "--quiet"]
        alone = self.alone("run", *arguments)
        self.assertEqual(self.on_ranks(3, "run3", *arguments), alone)
        written = []
        for ranks in (1, 2, 3):
            out = self.folder / f"{ranks}.npy"
            result = mpirun(ranks, "sample", self.folder / "run", "--given", table, "--frames", 4, "-n", 5, "--quiet", "-o", out)
            self.assertEqual(result.returncode, 0, result.stderr)
            written.append(out.read_bytes())
        self.assertEqual(set(written), {written[0]})

    def test_more_ranks_than_samples(self):
        self.alone("run", *SHORT)
        for ranks in (1, 3):
            result = mpirun(ranks, "sample", self.folder / "run", "-n", 2, "--steps", 2, "-o", self.folder / f"{ranks}.npy")
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((self.folder / "1.npy").read_bytes(), (self.folder / "3.npy").read_bytes())

    def test_evaluations_are_the_same_numbers(self):
        self.alone("run", *SHORT)
        for ranks in (1, 2, 3):
            self.same_output(ranks, "evaluate", self.folder / "run", "--data", "strokes", "--samples", 50, "--rows", 100,
                             "--chains", 10, "--temperatures", 20, "--metrics", "likelihood,quick,mixing", "--json", "--threads", 1)

    def results(self, folder):
        """Models, and what they scored, of the runs below a folder."""
        scores = {path.parent.name: json.loads(path.read_text())["metrics"] for path in folder.rglob("result.json")}
        models = {path.parent.name: path.read_bytes() for path in folder.rglob("model.safetensors")}
        self.assertEqual(scores.keys(), models.keys())
        return scores, models

    def cells_and_trials(self, updates):
        """Commands that train several models each; so many updates of a trial."""
        search = self.folder / "rates.toml"
        search.write_text(f'preset = "gmm-iso"\nupdates = {updates}\nhalving = 2\nmetrics = "quick"\nrank_by = "quick.frechet"\n'
                          'samples = 50\nrows = 50\n[set]\n"model.hidden" = 4\n"data.subset" = 200\n'
                          '[vary]\n"train.learning_rate" = [0.01, 0.02, 0.05, 0.1]\n')
        only = "cooled from noise (ours), Gibbs-Langevin"
        return [("cells", ["reproduce", "gmm", "--scale", "quick", "--only", only]), ("trials", ["search", search])]

    def test_cells_and_trials_are_shared(self):
        for name, arguments in self.cells_and_trials(20):
            alone = self.folder / f"{name}0"
            self.succeed(*arguments, "--out", alone, "--quiet")
            for ranks in (2, 3):
                out = self.folder / f"{name}{ranks}"
                result = mpirun(ranks, *arguments, "--out", out, "--quiet")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(self.results(out), self.results(alone), (name, ranks))
                self.assertEqual({path.name for path in out.rglob("index.md")}, {"index.md"})

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
