"""grbm reproduce at quick scale, on made images: reproduce_test.py PROGRAM."""

import csv
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

import numpy
from PIL import Image
from inception_test import write_weights
from support import PROGRAM, ProgramTest, run

# With the figures of each.
NAMES = {
    "gmm": [f"gmm-{kind}-{way}{part}" for kind in ("iso", "aniso") for way in (1, 2, 3) for part in ("", "-training")],
    "mnist-table": [],
    "mnist-samples": ["samples"],
    "cd-table": ["samples"],
    "langevin-table": [],
    "variance-curve": ["variance"],
    "filters": ["filters"],
    "sampling": ["steps"],
    "fashion": ["samples"],
    "noise-start": ["samples"],
    "clip": ["samples"],
    "temperature": ["samples"],
    "celeba32": ["samples"],
    "celeba2k64": ["samples"],
}


def write_faces(folder):
    """Pictures of CelebA's shape."""
    folder.mkdir()
    dice = numpy.random.default_rng(1)
    for k in range(30):
        picture = numpy.kron(dice.integers(0, 256, (2, 2, 3), dtype=numpy.uint8), numpy.ones((109, 89, 1), numpy.uint8))
        Image.fromarray(picture).save(folder / f"{k:06}.jpg", quality=95)


def pixels(image):
    return numpy.asarray(image.convert("RGB")).astype(int)


class Pages(ProgramTest):
    """One run of everything, looked at from all sides."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.work = pathlib.Path(folder.name)
        cls.out = cls.work / "out"
        os.environ.pop("GRBM_INCEPTION", None)
        os.environ["GRBM_DATA_DIR"] = str(cls.work / "cache")  # empty: no download
        write_faces(cls.work / "faces")
        write_weights(cls.work / "weights.safetensors")
        cls.command = ["reproduce", "all", "--scale", "quick", "--out", cls.out, "--threads", 1, "--data", cls.work / "faces",
                       "--inception", cls.work / "weights.safetensors", "--json"]
        cls.first = run(*cls.command)
        assert cls.first.returncode == 0, cls.first.stderr

    def table(self, name):
        return list(csv.DictReader(io.StringIO((self.out / name / "table.csv").read_text())))

    def test_every_name_has_its_page(self):
        self.assertEqual(set(json.loads(self.first.stdout)), set(NAMES))
        for name, figures in NAMES.items():
            page = (self.out / name / "index.md").read_text()
            self.assertRegex(page, r"\| paper")
            self.assertRegex(page, r"\| ours: ")
            self.assertIn("Scale quick", page)
            self.assertIn("CPU target ", page)
            self.assertNotIn("not run yet", page)
            self.assertNotIn("failed", page)
            for link in re.findall(r"\]\(([^)]+)\)", page):
                self.assertTrue((self.out / name / link).exists(), f"{name}: {link}")
            for figure in figures:
                self.assertIn(f"({figure}.png)", page)
            self.assertEqual("The data are made up" in page, name != "gmm" and not name.startswith("celeba"))

    def test_figures_open_in_three_formats_and_are_not_blank(self):
        for name, figures in NAMES.items():
            for figure in figures:
                stem = self.out / name / figure
                png = pixels(Image.open(f"{stem}.png"))
                self.assertGreater(min(png.shape[:2]), 300, stem)
                self.assertGreater(png.std(), 5, stem)
                svg = self.folder / "svg.png"
                subprocess.run(["rsvg-convert", "--zoom", "1.5", "-o", svg, f"{stem}.svg"], check=True)
                pdf = self.folder / "pdf"
                subprocess.run(["pdftoppm", "-r", "144", "-png", "-singlefile", f"{stem}.pdf", pdf], check=True)
                for other in (svg, f"{pdf}.png"):
                    again = Image.open(other).convert("RGB")
                    self.assertLess(abs(again.width - png.shape[1]) + abs(again.height - png.shape[0]), 6, stem)
                    # The same drawing: small copies agree within 1.7; those of two figures differ by 8 and more.
                    small = [pixels(Image.fromarray(png.astype(numpy.uint8)).resize((16, 16), Image.Resampling.BOX)),
                             pixels(again.resize((16, 16), Image.Resampling.BOX))]
                    self.assertLess(abs(small[0] - small[1]).mean(), 3, stem)

    def test_the_animation_moves(self):
        animation = Image.open(self.out / "sampling" / "sampling.gif")
        self.addCleanup(animation.close)
        self.assertEqual(animation.n_frames, 7)  # the noise and six steps
        first = pixels(animation)
        animation.seek(6)
        self.assertGreater(abs(pixels(animation) - first).mean(), 5)

    def test_tables_are_numbers_beside_the_papers(self):
        self.assertEqual([row["paper"] for row in self.table("mnist-table")],
                         ["47.53", "43.80", "41.24", "17.49", "19.27", "20.64", "", "", ""])
        self.assertEqual([row["paper"] for row in self.table("cd-table")], ["32.33", "21.02", "22.05", "17.49"])
        self.assertEqual(len(self.table("langevin-table")), 9)
        for row in self.table("mnist-table"):
            self.assertEqual(row["outcome"], "trained")
            self.assertGreater(float(row["quick.frechet"]), float(row["quick.frechet_held_out"]))
            self.assertGreater(float(row["fid.fid"]), 0)
        self.assertEqual(len({row["quick.frechet"] for row in self.table("mnist-table")}), 9)
        for row in self.table("gmm"):
            self.assertGreater(float(row["mixture.kl_data_model"]), 0)
        # A distance on other features has another column.
        page = (self.out / "mnist-table" / "index.md").read_text()
        self.assertIn("| paper: FID (2048-d) | ours: quick distance | ours: FID, 64 features |", page)

    def test_a_cell_is_an_ordinary_run_and_its_command_makes_it_again(self):
        cell = self.out / "cells" / self.table("noise-start")[1]["cell"]
        page = (self.out / "noise-start" / "index.md").read_text()
        train, judge = [line for line in page.splitlines() if str(cell) in line]
        again = self.folder / "again"
        self.succeed(*train.replace(str(cell), str(again)).split()[1:], "--quiet")
        for name in ("model.safetensors", "metrics.jsonl", "config.toml"):
            self.assertEqual((again / name).read_bytes(), (cell / name).read_bytes())
        judged = self.results(*judge.split()[1:])["quick"]["frechet"]["value"]
        self.assertEqual(f"{judged}", self.table("noise-start")[1]["quick.frechet"])

    def test_finished_cells_are_kept_and_pages_drawn_again_are_the_same(self):
        def files():
            return {path: path.read_bytes() for path in self.out.rglob("*") if path.is_file()}

        before = files()
        times = {path: path.stat().st_mtime_ns for path in (self.out / "cells").rglob("*")}
        self.succeed(*self.command)
        self.assertEqual(times, {path: path.stat().st_mtime_ns for path in (self.out / "cells").rglob("*")})
        self.assertEqual(before, files())

    def test_a_dry_run_lists_cells_and_trains_nothing(self):
        plan = self.results("reproduce", "clip", "--scale", "small", "--dry-run", "--out", self.folder / "none")
        self.assertEqual(len(plan["cells"]), 6)
        self.assertEqual(plan["cells"][0]["updates"], 1500)
        self.assertFalse((self.folder / "none").exists())
        done = self.results(*self.command, "--dry-run")
        self.assertTrue(all(cell["finished"] for cell in done["cells"]))
        self.assertEqual(done["operations_left"], 0)

    def test_stopped_by_ctrl_c_and_by_a_kill_it_goes_on_to_the_same_files(self):
        out = self.folder / "out"
        command = [PROGRAM, "reproduce", "noise-start", "--scale", "quick", "--out", str(out), "--threads", "1"]
        for how, cell, code in ((signal.SIGINT, 1, 130), (signal.SIGKILL, 2, -9)):
            process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            for line in process.stderr:
                if line.startswith(f"cell {cell} of 3: "):
                    break
            time.sleep(0.05)
            process.send_signal(how)
            rest = process.stderr.read()
            process.stderr.close()
            self.assertEqual(process.wait(), code, rest)
            if how == signal.SIGINT:
                self.assertIn("stopped in cell 1 of 3; to go on, give the same command again", rest)
        self.succeed(*command[1:])
        for row in self.table("noise-start"):
            for name in ("model.safetensors", "metrics.jsonl"):
                self.assertEqual((out / "cells" / row["cell"] / name).read_bytes(),
                                 (self.out / "cells" / row["cell"] / name).read_bytes())
        for ending in ("png", "svg", "pdf"):
            self.assertEqual((out / "noise-start" / f"samples.{ending}").read_bytes(),
                             (self.out / "noise-start" / f"samples.{ending}").read_bytes())
        numbers = [{key: value for key, value in row.items() if key != "seconds"}
                   for row in csv.DictReader(io.StringIO((out / "noise-start" / "table.csv").read_text()))]
        for mine, theirs in zip(numbers, self.table("noise-start")):
            for key, value in mine.items():
                self.assertEqual(value, theirs[key], key)

    def test_a_page_of_nothing_says_so(self):
        out = self.folder / "out"
        self.succeed("reproduce", "clip", "--scale", "quick", "--render", "--out", out)
        self.assertEqual((out / "clip" / "index.md").read_text().count("| not run yet |"), 6)
        self.assertFalse((out / "cells").exists())

    def test_wrong_words_get_one_line(self):
        self.refuse(64, "unknown experiment 'gnm': did you mean 'gmm'", "reproduce", "gnm")
        self.refuse(64, "--scale huge: allowed are quick, small and paper", "reproduce", "gmm", "--scale", "huge")
        self.refuse(64, "say what", "reproduce")
        self.refuse(64, "celeba32: CelebA's images are needed: .* --data DIR", "reproduce", "celeba32")
        self.refuse(74, "no such folder", "reproduce", "celeba32", "--data", self.folder / "nowhere")
        file = self.folder / "file"
        file.write_text("")
        self.refuse(74, "this is a file: give a folder", "reproduce", "gmm", "--out", file)
        # Weights that lack the tap are refused before anything is trained.
        self.refuse(65, "768", "reproduce", "fashion", "--scale", "small", "--out", self.folder / "out", "--inception",
                    self.work / "weights.safetensors")
        self.assertFalse((self.folder / "out").exists())

    def test_every_name_can_be_given(self):
        for name in NAMES:  # some are names of commands, too
            done = run("reproduce", name, "--scale", "quick", "--dry-run", "--data", self.folder)
            self.assertEqual(done.returncode, 0, f"{name}: {done.stderr}")

    def test_the_list_has_every_name(self):
        self.assertEqual(set(self.results("reproduce", "--list")), {*NAMES, "all"})
        shown = self.succeed("reproduce", "--list").stdout
        for name in NAMES:
            self.assertRegex(shown, rf"(?m)^{name} +\w")


if __name__ == "__main__":
    unittest.main()
