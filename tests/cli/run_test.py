"""The folder of a run: what is resumed, what is refused, and who may work in it: run_test.py PROGRAM."""

import datetime
import json
import shlex
import shutil
import signal
import subprocess
import time
import unittest

from support import PATIENCE, PROGRAM, TINY, ProgramTest, run


class Folder(ProgramTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "run"

    def write_rows(self, name="data.csv", rows=200, last=5):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{k % 7},{k % 5}\n" for k in range(rows - 1)) + f"1,{last}\n")
        return path

    def start(self, *arguments, **options):
        """A run of 40 updates on data.csv."""
        return self.succeed("train", "gmm-iso", "--quiet", "--out", self.out, *TINY, "--set", "data.source=data.csv",
                            "--set", "data.subset=0", "--set", "checkpoint.every_steps=10", *arguments,
                            cwd=self.folder, **options)

    def resume(self, *arguments, **options):
        return run("train", "--resume", "--quiet", "--out", self.out, *arguments, **options)

    def files(self):
        """What the settings decide: all but the times."""
        return {path.relative_to(self.out): path.read_bytes() for path in self.out.rglob("*")
                if path.is_file() and path.name != "times.jsonl"}

    def times(self):
        return [json.loads(line) for line in (self.out / "times.jsonl").read_text().splitlines()]

    def go_back(self, updates):
        """As a kill after this update would have left it."""
        for path in sorted((self.out / "checkpoints").iterdir()):
            if int(path.stem.split("-")[1]) > updates:
                path.unlink()


class Adopting(Folder):
    def test_parts_of_a_run_without_its_manifest_are_refused(self):
        self.write_rows()
        self.start()
        (self.out / "manifest.json").unlink()
        before = self.files()
        new = ["train", "gmm-iso", "--quiet", "--out", self.out, *TINY, "--seed", 5]
        for arguments in [new, [*new, "--resume"]]:
            self.refuse(64, "it holds checkpoints of a run whose manifest.json is missing.*give another --out", *arguments)
        self.refuse(64, "manifest.json is missing", "train", "--resume", "--out", self.out)
        shutil.rmtree(self.out / "checkpoints")
        self.refuse(64, "metrics.jsonl of a run", *new)
        (self.out / "metrics.jsonl").unlink()
        self.refuse(64, "model.safetensors of a run", *new)
        for name, content in before.items():
            if (self.out / name).exists():
                self.assertEqual((self.out / name).read_bytes(), content, name)
        # What a start that was killed leaves is no run yet.
        (self.out / "model.safetensors").unlink()
        self.assertTrue((self.out / "config.toml").exists())
        self.succeed(*new, "--resume")

    def test_the_settings_of_a_run_cannot_be_edited(self):
        self.write_rows()
        self.start()
        whole = self.files()
        config = self.out / "config.toml"
        text = config.read_text()
        config.write_text(text.replace("steps = 10\n", "steps = 11\n"))
        self.assertNotEqual(config.read_text(), text)
        self.refuse(64, "sampler.steps = 11 now, but the run was started with 10", "train", "--resume", "--out", self.out)
        config.write_text(text.replace("keep = 2", "keep = 3"))
        self.assertEqual(self.resume().returncode, 0)
        config.unlink()
        self.assertEqual(self.resume().returncode, 0)
        self.assertEqual(self.files(), whole)

    def test_a_damaged_manifest_is_refused(self):
        self.write_rows()
        self.start()
        manifest = self.out / "manifest.json"
        whole = manifest.read_text()
        for text in ["", "{", "[]", '{"seed": -1}', whole[:100]]:
            manifest.write_text(text)
            self.refuse(65, r"manifest\.json: (byte \d+: not valid JSON|not a manifest)", "train", "--resume", "--out", self.out)
        manifest.write_text(whole)
        self.assertEqual(self.resume().returncode, 0)


class Data(Folder):
    def test_changed_data_are_refused(self):
        self.write_rows()
        self.start()
        before = self.files()
        self.write_rows(rows=300)
        self.refuse(65, "the data have changed since the run was started: .*300 rows of 2 values, then there were 200 of 2",
                    "train", "--resume", "--out", self.out)
        self.write_rows(last=6)
        self.refuse(65, "200 rows of 2 values, then there were 200 of 2, with other values",
                    "train", "--resume", "--out", self.out)
        self.write_rows()
        self.assertEqual(self.files(), before, "nothing was changed")
        self.assertEqual(self.resume().returncode, 0)
        self.assertEqual(self.files(), before)

    def test_a_run_starts_from_a_model_and_keeps_it(self):
        self.write_rows()
        self.start("--set", "train.epochs=10")
        model = self.folder / "first.safetensors"
        shutil.copy(self.out / "model.safetensors", model)
        shutil.rmtree(self.out)
        self.start("--init", model, "--set", "checkpoint.keep=9")
        whole = self.files()
        self.assertEqual(whole[next(p for p in whole if p.name == "init.safetensors")], model.read_bytes())
        first = json.loads((self.out / "metrics.jsonl").read_text().splitlines()[0])
        self.assertNotEqual(first["mean_variance"], 1)
        # Resumed, it needs the model no more: neither from a checkpoint nor from the very start.
        given = model.read_bytes()
        model.unlink()
        self.go_back(20)
        self.assertEqual(self.resume().returncode, 0)
        self.assertEqual(self.files(), whole)
        for path in (self.out / "checkpoints").iterdir():
            path.unlink()
        (self.out / "model.safetensors").unlink()
        self.assertEqual(self.resume().returncode, 0)
        self.assertEqual(self.files(), whole)
        # The same model may be given again, another one not, nor may the copy change.
        model.write_bytes(given)
        self.assertEqual(self.resume("--init", model).returncode, 0)
        again = ["train", "--resume", "--out", self.out]
        self.refuse(64, "--init .* now, but the run was started from another model", *again, "--init",
                    self.out / "model.safetensors")
        (self.out / "init.safetensors").write_bytes((self.out / "model.safetensors").read_bytes())
        self.refuse(65, "not the model that the run was started from", *again)

    def test_a_model_to_start_from_must_fit(self):
        self.write_rows()
        self.start()
        model = self.out / "model.safetensors"
        new = ["train", "gmm-iso", "--quiet", "--out", self.folder / "new", *TINY, "--init"]
        self.refuse(74, "no/model.safetensors", *new, "no/model.safetensors")
        self.refuse(65, "data.csv", *new, self.folder / "data.csv")
        self.refuse(64, "hidden = 2: the model to start from has 4: allowed is as many and more", *new, model, "--set",
                    "model.hidden=2")
        wide = self.folder / "wide.csv"
        wide.write_text("1,2,3\n4,5,6\n" * 100)
        self.refuse(65, "wide.csv: rows of 3 values, but the model to start from has 2 visible units", *new, model, "--set",
                    f"data.source={wide}", "--set", "data.subset=0")
        self.refuse(64, "--init .* now, but the run was started from fresh parameters", "train", "--resume", "--out",
                    self.out, "--init", model)
        self.assertFalse((self.folder / "new").exists())

    def test_a_relative_path_is_found_from_everywhere(self):
        self.write_rows()
        self.start()
        whole = self.files()
        self.go_back(30)
        other = self.folder / "other"
        other.mkdir()
        self.assertEqual(self.resume(cwd=other).returncode, 0)
        self.assertEqual(self.files(), whole)
        self.go_back(30)
        self.start("--resume")  # with the same words, in the same folder
        self.assertEqual(self.files(), whole)
        model = self.out / "model.safetensors"
        data = str(self.folder / "data.csv")
        self.assertEqual(self.results("info", model)["provenance.data"], data)
        self.assertEqual(json.loads((self.out / "manifest.json").read_text())["data"]["source"], data)

    def test_a_subset_is_found_again_by_either_path(self):
        self.write_rows()
        self.start("--set", "data.subset=100")
        asked = ["evaluate", self.out / "model.safetensors", "--metrics", "quick", "--samples", 50, "--json"]
        texts = [self.succeed(*asked, "--data", name, cwd=self.folder).stdout
                 for name in ("data.csv", "./data.csv", self.folder / "data.csv")]
        self.assertEqual(len({text[text.index("visible"):] for text in texts}), 1)

    def test_data_that_moved_are_the_same_data(self):
        self.write_rows()
        self.start()
        self.go_back(30)
        (self.folder / "data.csv").rename(self.folder / "moved.csv")
        self.assertEqual(self.resume().returncode, 74)
        self.assertEqual(self.resume("--set", f"data.source={self.folder / 'moved.csv'}").returncode, 0)
        self.refuse(64, "data.source = \"gmm-iso\" now", "train", "--resume", "--out", self.out, "--set", "data.source=gmm-iso")

    def test_runs_of_older_versions_go_on_with_a_warning(self):
        self.write_rows()
        self.start()
        manifest = self.out / "manifest.json"
        old = json.loads(manifest.read_text())
        del old["config"], old["data"]["fingerprint"]
        manifest.write_text(json.dumps(old))
        result = self.resume()
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, "^grbm: warning: .*older version of grbm: whether its data have changed cannot be told\n$")
        self.write_rows(rows=300)
        self.refuse(65, "300 rows of 2 values, then there were 200", "train", "--resume", "--out", self.out)


class Damage(Folder):
    def test_a_damaged_checkpoint_is_named_and_an_older_one_taken(self):
        self.write_rows()
        self.start()
        whole = self.files()
        newest = self.out / "checkpoints" / "update-000000000040.safetensors"
        data = bytearray(newest.read_bytes())
        data[-3] ^= 4  # a bit of a value
        newest.write_bytes(data)
        result = self.resume()
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"^grbm: warning: .*update-000000000040\.safetensors: damaged: [^\n]*older checkpoint[^\n]*\n$")
        aside = newest.with_name(newest.name + ".damaged")
        self.assertEqual(aside.read_bytes(), data)
        aside.unlink()
        self.assertEqual(self.files(), whole)

    def test_where_all_are_damaged_nothing_starts_again(self):
        self.write_rows()
        self.start()
        for path in (self.out / "checkpoints").iterdir():
            path.write_bytes(b"broken")
        before = self.files()
        for _ in range(2):
            result = self.resume()
            self.assertEqual(result.returncode, 65)
            self.assertRegex(result.stderr, "grbm: .*no checkpoint can be read: .*put a copy back, or start again\n?")
        self.assertEqual(self.files(), before)

    def test_where_all_are_gone_nothing_starts_again_either(self):
        self.write_rows()
        self.start()
        for path in (self.out / "checkpoints").iterdir():
            path.unlink()
        before = self.files()
        self.refuse(65, "the checkpoints of this run are gone: put one back", "train", "--resume", "--out", self.out)
        self.assertEqual(self.files(), before)

    def test_a_model_that_is_lost_or_stale_is_made_again(self):
        self.write_rows()
        self.start()
        whole = self.files()
        model = self.out / "model.safetensors"
        for spoil in [model.unlink, lambda: model.write_bytes(b"stale")]:
            spoil()
            self.assertEqual(self.resume().returncode, 0)
            self.assertEqual(self.files(), whole)

    def test_metrics_are_cut_back_and_gaps_are_told(self):
        self.write_rows()
        self.start("--set", "train.log_every=3", "--set", "evaluate.every_steps=7", "--set", "evaluate.samples=20")
        whole = self.files()
        metrics = self.out / "metrics.jsonl"
        text = metrics.read_text()
        self.assertEqual([json.loads(line)["update"] for line in text.splitlines()],
                         sorted({*range(3, 41, 3), *range(7, 41, 7), 40}))
        self.go_back(30)
        metrics.write_text(text + '{"update": 90}\n{"upd')
        result = self.resume()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.files(), whole)
        lines = text.splitlines(keepends=True)
        metrics.write_text("".join(lines + lines))
        result = self.resume()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(metrics.read_text(), text, "no line twice")
        metrics.write_text("".join(lines[:4] + ["garbage\n"] + lines[5:]))
        result = self.resume()
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, f"^grbm: warning: .*metrics.jsonl: {len(lines) - 1} lines of the {len(lines)} up to update 40")
        self.assertEqual(metrics.read_text(), "".join(lines[:4] + lines[5:]), "the lines after it are kept")

    def test_times_are_kept_apart_and_go_on(self):
        """When a run was at work and by which command, and the seconds up to each line; none of it is in other files."""
        self.write_rows()
        before = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
        self.start("--set", "train.log_every=7", "--seed", "3")
        whole, first = self.files(), self.times()
        self.assertEqual([line["update"] for line in first], [0, 7, 10, 14, 20, 21, 28, 30, 35, 40])
        start = first[0]
        self.assertLessEqual(before, datetime.datetime.fromisoformat(start["started"].replace("Z", "+00:00")))
        self.assertRegex(start["command"], f"^grbm train gmm-iso --quiet --out {self.out} --set .*train.log_every=7 --seed 3$")
        self.assertGreaterEqual(start["threads"], 1)
        self.assertTrue(all(set(line) == {"update", "seconds"} for line in first[1:]))
        seconds = [line["seconds"] for line in first]
        self.assertEqual(seconds, sorted(seconds))
        self.assertEqual(seconds[0], 0)

        self.go_back(30)
        with (self.out / "times.jsonl").open("a") as file:
            file.write('{"update": 41, "seconds": 1}\n{"upd')
        self.assertEqual(self.resume("--threads", 1).returncode, 0)
        self.assertEqual(self.files(), whole)
        again = self.times()
        self.assertEqual(again[:8], first[:8], "lines up to the checkpoint are kept")
        self.assertEqual([line["update"] for line in again[8:]], [30, 35, 40])
        self.assertRegex(again[8]["command"], f"^grbm train --resume --quiet --out {self.out} --threads 1$")
        self.assertEqual((again[8]["threads"], again[8]["seconds"]), (1, first[7]["seconds"]))
        self.assertEqual(self.resume().returncode, 0)
        self.assertEqual(self.times(), again, "no work, no line")

        # Runs of versions that kept none.
        (self.out / "times.jsonl").unlink()
        self.go_back(30)
        self.assertEqual(self.resume().returncode, 0)
        self.assertEqual([line["update"] for line in self.times()], [30, 35, 40])
        self.assertEqual(self.files(), whole)

    def test_commands_are_kept_as_a_shell_takes_them(self):
        data = self.write_rows("it's data.csv")
        self.start("--set", f"data.source={data}")
        self.assertEqual(shlex.split(self.times()[0]["command"])[-2:], ["--set", f"data.source={data}"])

    def test_rows_of_the_data_are_drawn_beside_the_samples(self):
        path = self.write_rows()
        self.start()
        points = json.loads((self.out / "data.json").read_text())
        rows = [[float(text) for text in line.split(",")] for line in path.read_text().splitlines()]
        self.assertEqual(sorted(points), sorted(rows))
        (self.out / "data.json").unlink()
        self.assertEqual(self.resume().returncode, 0)
        self.assertEqual(json.loads((self.out / "data.json").read_text()), points)

    def test_pictures_of_later_updates_are_removed(self):
        self.write_rows()
        self.start()
        whole = self.files()
        self.go_back(30)
        (self.out / "samples" / "000000000039.json").write_text("[]")
        (self.out / "samples" / "notes.txt").write_text("mine")
        self.assertEqual(self.resume().returncode, 0)
        (self.out / "samples" / "notes.txt").unlink()
        self.assertEqual(self.files(), whole)


class SameBits(Folder):
    """Ends of one run, however it got there. Kills are tests/campaign/kills.py."""

    ARGUMENTS = ["train", "gmm-iso", "--quiet", "--set", "train.epochs=100", "--set", "model.hidden=4", "--set",
                 "sampler.steps=4", "--set", "train.burn_in=1", "--set", "checkpoint.every_steps=10", "--set",
                 "train.algorithm=pcd", "--set", "train.start_temperature=1", "--set", "evaluate.every_steps=150", "--set",
                 "evaluate.samples=20"]

    def whole(self):
        self.succeed(*self.ARGUMENTS, "--out", self.out)
        return self.files()

    def compare(self, whole):
        ours = self.files()
        # The number of threads is in the manifest, and a stop leaves a checkpoint of its own.
        for path in whole.keys() | ours.keys():
            if path.name not in ("manifest.json", "run.lock") and path.parent.name != "checkpoints":
                self.assertEqual(ours.get(path), whole.get(path), path)
        self.assertGreater(sum(path.parent.name == "samples" for path in ours), 12)

    def test_interrupted_by_the_user(self):
        whole = self.whole()
        self.out = self.folder / "interrupted"
        process = subprocess.Popen([PROGRAM, *self.ARGUMENTS, "--out", self.out], stderr=subprocess.PIPE, text=True)
        metrics = self.out / "metrics.jsonl"
        while not metrics.exists() or metrics.stat().st_size < 3000:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertRegex(errors, r"stopped after update \d+; to go on: grbm train --resume --out .*interrupted\n$")
        self.assertEqual(self.resume().returncode, 0)
        self.compare(whole)

    def test_threads_do_not_matter(self):
        whole = self.whole()
        self.out = self.folder / "one"
        self.succeed(*self.ARGUMENTS, "--threads", 1, "--out", self.out)
        self.compare(whole)


class Locking(Folder):
    LONG = ["train", "gmm-iso", "--quiet", "--set", "train.epochs=1e5", "--set", "checkpoint.every_steps=100", "--set",
            "model.hidden=4"]

    def wait_for(self, path):
        for _ in range(1000 * PATIENCE):
            if path.exists() and path.stat().st_size > 0:
                return
            time.sleep(0.01)
        self.fail(f"{path} did not come")

    def test_a_second_run_in_the_folder_is_refused_and_told_of_the_first(self):
        first = subprocess.Popen([PROGRAM, *self.LONG, "--out", self.out], stderr=subprocess.PIPE)
        try:
            self.wait_for(self.out / "metrics.jsonl")
            named = f"a run is at work here: process {first.pid} on .* since .* UTC: wait until it has ended, or give another --out"
            self.refuse(75, named, "train", "--resume", "--out", self.out)
            self.refuse(75, named, *self.LONG, "--resume", "--out", self.out)
            self.refuse(64, "there is a run already", *self.LONG, "--out", self.out)
        finally:
            first.send_signal(signal.SIGKILL)
            first.communicate()
        again = subprocess.Popen([PROGRAM, "train", "--quiet", "--resume", "--out", self.out], stderr=subprocess.PIPE)
        self.addCleanup(again.kill)
        self.wait_for(self.out / "run.lock")
        while f"process {again.pid} " not in (self.out / "run.lock").read_text():
            self.assertIsNone(again.poll(), "what the killed process left locks nothing")
            time.sleep(0.01)
        again.send_signal(signal.SIGINT)
        _, errors = again.communicate(timeout=60)
        self.assertEqual(again.returncode, 130, errors)
        self.assertEqual((self.out / "run.lock").read_text(), "")

    def test_of_many_starts_at_once_one_runs(self):
        arguments = ["train", "gmm-iso", "--quiet", *TINY, "--set", "checkpoint.every_steps=5", "--out", self.out]
        processes = [subprocess.Popen([PROGRAM, *map(str, arguments)], stderr=subprocess.PIPE, text=True) for _ in range(4)]
        ends = [(process.communicate(timeout=120)[1], process.returncode) for process in processes]
        self.assertEqual(sorted(code for _, code in ends if code == 0), [0], ends)
        for errors, code in ends:
            self.assertIn(code, (0, 64, 75), errors)
        lines = (self.out / "metrics.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(line)["update"] for line in lines], list(range(1, 201)))


if __name__ == "__main__":
    unittest.main()
