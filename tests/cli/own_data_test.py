"""Data of one's own, through the real program: own_data_test.py PROGRAM."""

import json
import os
import pty
import re
import subprocess
import unittest

import numpy
from PIL import Image
from support import PROGRAM, ProgramTest, run

QUICK = ["--set", "train.epochs=2", "--set", "model.hidden=4"]


def table(rows=120, seed=1):
    """Two clusters in three columns, with a kind each."""
    generator = numpy.random.default_rng(seed)
    kind = generator.integers(0, 2, rows)
    values = generator.normal(size=(rows, 3)) * [1, 10, 0.1] + numpy.outer(kind, [5, 50, 0.5])
    return values, kind


class OwnData(ProgramTest):
    def csv(self, name="cells.csv"):
        values, kind = table()
        lines = ["width,height,depth,kind"] + [",".join(map(str, row)) + ("," + "ab"[k]) for row, k in zip(values, kind)]
        path = self.folder / name
        path.write_text("\n".join(lines) + "\n")
        return path

    def test_a_table_is_trained_on_and_the_run_is_named_after_it(self):
        result = self.succeed("train", self.csv(), *QUICK, cwd=self.folder)
        self.assertIn("column 4 'kind' holds text, and is taken as labels", result.stderr)
        self.assertIn("a table of 120 rows and 3 columns", result.stderr)
        self.assertIn("fewer than 1000 seldom suffice", result.stderr)
        chosen = (self.folder / "runs/cells/chosen.toml").read_text()
        self.assertIn('standardize = "pixel"', chosen)
        # It can be edited, and is then a file of settings like any other.
        edited = self.folder / "mine.toml"
        edited.write_text(chosen.replace("hidden = 4", "hidden = 6"))
        self.succeed("train", edited, "--set", "train.epochs=2", "--out", self.folder / "again", "--quiet")
        self.assertEqual(self.results("info", self.folder / "again")["hidden"], 6)
        # Going on needs nothing but the folder, from anywhere.
        self.succeed("train", "--resume", "--out", self.folder / "runs/cells", "--quiet")
        self.refuse(64, "there is a run already", "train", self.csv(), "--out", self.folder / "again", *QUICK)

    def test_columns_are_known_by_their_names(self):
        data, run_folder = self.csv(), self.folder / "run"
        self.succeed("train", data, *QUICK, "--out", run_folder, "--quiet")
        self.assertEqual(self.results("info", run_folder)["columns"], ["width", "height", "depth"])
        self.assertEqual(self.succeed("sample", run_folder, "-n", 2, "-o", "-").stdout.splitlines()[0], "width,height,depth")
        swapped = self.folder / "swapped.csv"
        lines = [line.split(",") for line in data.read_text().splitlines()]
        swapped.write_text("".join(f"{b},{a},{c},{kind}\n" for a, b, c, kind in lines))
        message = "its column 1 is 'height', that of {} 'width': name them in that order by --columns"
        of_model = message.format("the model")
        for command in (["score", "-o", "-"], ["encode", "-o", "-"], ["reconstruct", "-o", "-"], ["evaluate", "--metrics", "quick"]):
            self.refuse(65, of_model, command[0], run_folder, "--data", swapped, *command[1:])
        self.refuse(65, message.format("the model to start from"), "train", swapped, "--init", run_folder, *QUICK, "--out", self.folder / "b")
        self.refuse(65, message.format(data), "train", data, "--held-out", swapped, *QUICK, "--out", self.folder / "b")
        self.refuse(65, message.format(data), "distance", data, swapped)
        self.refuse(65, message.format(data), "evaluate", "--given", data, "--data", swapped)
        self.assertFalse((self.folder / "b").exists())
        rows = ["--split", "all", "-o", "-", "--columns", "width,height,depth"]
        named = self.succeed("score", run_folder, "--data", swapped, *rows).stdout
        self.assertEqual(named, self.succeed("score", run_folder, "--data", data, *rows).stdout)
        other = self.folder / "other.csv"
        other.write_text(data.read_text().replace("width", "breadth"))
        self.refuse(65, "its column 1 is 'breadth', that of the model 'width': rename it, or leave out the first line", "score", run_folder, "--data", other, "-o", "-")
        bare = self.folder / "bare.csv"
        bare.write_text(data.read_text().split("\n", 1)[1])
        self.succeed("score", run_folder, "--data", bare, "--label", "4", "-o", "-")
        latin = self.folder / "latin.csv"
        latin.write_bytes(data.read_bytes().replace(b"width", b"gr\xf6\xdfe"))
        self.succeed("train", latin, *QUICK, "--out", self.folder / "latin", "--quiet")  # a name that no file of a model can have
        self.assertNotIn("columns", self.results("info", self.folder / "latin"))

    def test_a_model_to_start_from_may_be_an_archive(self):
        data, first = self.csv(), self.folder / "first"
        self.succeed("train", data, *QUICK, "--out", first, "--quiet")
        folder = self.folder / "exported"
        folder.mkdir()
        self.succeed("convert", first, folder / "model.npz")
        for k, init in enumerate((first, folder / "model.npz", folder)):
            out = self.folder / f"next{k}"
            self.succeed("train", data, *QUICK, "--init", init, "--out", out, "--quiet")
            self.assertEqual((out / "model.safetensors").read_bytes(), (self.folder / "next0/model.safetensors").read_bytes())
        self.succeed("train", "--resume", "--out", self.folder / "next1", "--quiet")
        self.assertEqual(self.results("info", folder)["hidden"], 4)

    def test_other_data_to_be_held_out_are_looked_at_before_training(self):
        data, out = self.csv(), self.folder / "run"
        narrow = self.folder / "narrow.npy"
        numpy.save(narrow, numpy.zeros((3, 2), "f4"))
        self.refuse(74, "cannot open", "train", data, "--held-out", self.folder / "none.csv", *QUICK, "--out", out)
        self.refuse(65, "rows of 2 values and 0 conditions: as held-out data they must have 3 and 0", "train", data, "--held-out", narrow, *QUICK, "--out", out)

    def test_no_output_takes_the_place_of_an_input_or_another_output(self):
        data, model = self.csv(), self.folder / "run"
        self.succeed("train", data, *QUICK, "--out", model, "--quiet")
        before = data.read_bytes()
        link = self.folder / "link.csv"
        os.link(data, link)
        for command, *rest in (["score"], ["encode"], ["classify"], ["reconstruct"], ["couplings"], ["inpaint", "--mask", data]):
            for out in (data, link):
                self.refuse(64, f"-o {out}: a file that the command has already: name another file", command, model, "--data", data, *rest, "-o", out)
        self.refuse(64, "--per-column", "score", model, "--data", data, "-o", self.folder / "s.csv", "--per-column", self.folder / "s.csv")
        self.refuse(64, "--per-column -: an output that the command has already", "score", model, "--data", data, "-o", "-", "--per-column", "-")
        self.refuse(64, "--deviation", "inpaint", model, "--data", data, "--mean", 2, "-o", self.folder / "s.csv", "--deviation", self.folder / "s.csv")
        self.assertEqual(data.read_bytes(), before)

    def test_masks_are_pictures_as_programs_write_them(self):
        folder = self.folder / "pictures"
        folder.mkdir()
        generator = numpy.random.default_rng(1)
        for k in range(20):
            Image.fromarray(generator.integers(0, 255, (8, 8), "u1")).save(folder / f"{k}.png")
        model = self.folder / "run"
        self.succeed("train", folder, *QUICK, "--out", model, "--quiet")
        half = numpy.zeros((8, 8), "u1")
        half[:4] = 255
        mask = Image.fromarray(half)
        mask.save(self.folder / "grey.png")
        mask.save(self.folder / "blurred.jpg")
        mask.convert("RGB").save(self.folder / "colour.png")
        mask.convert("P").save(self.folder / "palette.png")
        Image.fromarray(half // 255).save(self.folder / "bits.png")
        for name in ("grey.png", "blurred.jpg", "colour.png", "palette.png", "bits.png"):
            result = self.results("inpaint", model, "--data", folder, "--mask", self.folder / name, "-o", self.folder / "out.npy")
            self.assertEqual(result["known_units"], 32, name)
        Image.fromarray(half[:, :4]).save(self.folder / "narrow.png")
        self.refuse(65, "4 × 8 pixels: the model's images have 8 × 8", "inpaint", model, "--data", folder, "--mask", self.folder / "narrow.png", "-o", self.folder / "out.npy")

    def test_a_part_is_held_out_of_any_data(self):
        data, model = self.csv(), self.folder / "run"
        self.succeed("train", data, *QUICK, "--out", model, "--quiet")
        copy = self.csv("copy.csv")
        half = ["--held-out", 0.5, "--split", "test"]
        self.assertEqual(self.results("data", "info", copy, *half)["rows"], 60)
        self.assertEqual(len(self.succeed("score", model, "--data", copy, *half, "-o", "-").stdout.splitlines()), 61)
        note = self.results("evaluate", model, "--data", copy, "--held-out", 0.25, "--metrics", "likelihood")["likelihood"]["nats_held_out"]["note"]
        self.assertIn("30 rows", note)
        note = self.results("evaluate", model, "--data", copy, "--held-out", data, "--metrics", "likelihood")["likelihood"]["nats_held_out"]["note"]
        self.assertIn("120 rows", note)
        numpy.savez(self.folder / "two.npz", a=table()[0], b=table(seed=2)[0])
        note = self.results("distance", self.folder / "two.npz", self.folder / "two.npz", "--key", "b")["quick"]["frechet"]["note"]
        self.assertRegex(note, r"^120 rows of .*two\.npz, against 120 of .*two\.npz$")

    def test_two_models_are_compared_by_draws_of_their_own(self):
        model = self.folder / "run"
        self.succeed("train", self.csv(), *QUICK, "--out", model, "--quiet")
        distance = self.results("distance", model, model)["quick"]["frechet"]
        self.assertGreater(distance["value"], 0.02)  # two sets of 2,000 rows of one law

    def test_the_model_is_used_by_its_folder_and_on_the_part_that_was_held_out(self):
        data, folder = self.csv(), self.folder / "run"
        self.succeed("train", data, *QUICK, "--out", folder, "--quiet")
        back = self.succeed("reconstruct", folder, "--data", data, "-n", 100, "-o", "-").stdout.splitlines()
        self.assertEqual(back[0], "width,height,depth")
        self.assertEqual(len(back), 1 + 12)  # a tenth is held out
        self.assertEqual(len(self.succeed("encode", folder, "--data", data, "-o", "-").stdout.splitlines()), 108)
        self.assertEqual(len(self.succeed("encode", folder, "--data", data, "--split", "all", "-o", "-").stdout.splitlines()), 120)
        self.assertEqual(len(self.succeed("sample", folder, "-n", 5, "-o", "-", "--json").stdout.splitlines()), 1 + 5)
        scores = self.results("evaluate", folder, "--data", data, "--metrics", "likelihood")["likelihood"]
        self.assertIn("nats_held_out", scores)
        npz = self.folder / "model.npz"
        self.succeed("convert", folder, npz)
        out = self.folder / "out.csv"
        self.assertEqual(self.results("sample", npz, "-n", 5, "-o", out)["count"], 5)
        self.assertEqual(numpy.loadtxt(out, delimiter=",", skiprows=1).shape, (5, 3))
        self.refuse(74, "a folder without model.safetensors", "info", self.folder / "run" / "samples")
        self.refuse(64, "--every: a table holds the last state", "sample", npz, "--every", 2, "-o", "-")
        self.refuse(64, "--columns: images per row of a picture", "sample", npz, "--columns", 2, "-o", "-")

    def test_held_out_data_may_be_a_file(self):
        other = self.folder / "other.csv"
        other.write_text("\n".join(self.csv().read_text().splitlines()[:8]))
        folder = self.folder / "run"
        self.succeed("train", self.csv(), "--held-out", other, *QUICK, "--out", folder, "--quiet")
        back = self.succeed("reconstruct", folder, "--data", self.csv(), "-o", "-").stdout.splitlines()
        self.assertEqual(len(back), 1 + 7)
        self.refuse(64, "above 0 and below 1", "train", self.csv(), "--held-out", "1.5", "--out", self.folder / "x")
        self.refuse(74, "none.csv: cannot open", "train", self.csv(), "--held-out", "none.csv", "--set", "evaluate.every_steps=1",
                    "--out", self.folder / "x")

    def test_columns_and_labels_are_chosen(self):
        folder = self.folder / "run"
        self.succeed("train", self.csv(), "--columns", "depth,1", "--label", "kind", *QUICK, "--out", folder, "--quiet")
        back = self.succeed("reconstruct", folder, "--data", self.csv(), "-o", "-").stdout.splitlines()
        self.assertEqual(back[0], "depth,width")
        self.refuse(64, "no column 'deph': did you mean 'depth'", "train", self.csv(), "--columns", "deph")
        self.refuse(64, "no column 'knd': did you mean 'kind'", "data", "info", self.csv(), "--label", "knd")

    def test_an_array_and_an_archive(self):
        values, kind = table()
        numpy.save(self.folder / "X.npy", values)
        self.succeed("train", self.folder / "X.npy", *QUICK, "--quiet", cwd=self.folder)
        self.assertTrue((self.folder / "runs/X/model.safetensors").exists())
        numpy.savez(self.folder / "xy.npz", x=values, y=kind, z=values[:5])
        info = self.results("data", "info", self.folder / "xy.npz", "--key", "x", "--label", "y")
        self.assertEqual((info["rows"], info["visible"], info["label_1"]), (120, 3, int(kind.sum())))
        self.assertEqual(info["memory_bytes"], 120 * 3 * 4)
        self.refuse(64, "say which by data.key: there are x, y, z", "data", "info", self.folder / "xy.npz")

    def test_rows_that_do_not_fit_into_memory_lie_in_a_file(self):
        values, _ = table()
        paths = [self.csv(), self.folder / "X.npy", self.folder / "X.npz"]  # floats of 64 bits; an archive that must be inflated
        numpy.save(paths[1], values)
        numpy.savez_compressed(paths[2], X=values.astype(numpy.float32))
        try:
            import h5py
            with h5py.File(self.folder / "a.h5", "w") as file:
                file["X"] = values
            if run("data", "info", self.folder / "a.h5").returncode == 0:
                paths.append(self.folder / "a.h5")
        except ModuleNotFoundError:
            pass
        room = self.folder / "room"
        room.mkdir()
        none = os.environ | {"GRBM_ROWS_IN_MEMORY": "0"}
        for k, path in enumerate(paths):
            models = []
            for name, env in [("memory", None), ("file", none | {"TMPDIR": str(room)})]:
                out = self.folder / f"{name}{k}"
                self.succeed("train", path, *QUICK, "--out", out, "--quiet", env=env)
                models.append((out / "model.safetensors").read_bytes())
            self.assertEqual(models[0], models[1], path)
            self.assertEqual(list(room.iterdir()), [])
            self.refuse(74, "/nowhere/grbm-rows-.*set TMPDIR to a folder with room", "data", "info", path,
                        env=none | {"TMPDIR": "/nowhere"})
        photos = self.folder / "photos"
        photos.mkdir()
        for k in range(5):
            Image.fromarray(numpy.random.default_rng(k).integers(0, 256, (6, 6), numpy.uint8)).save(photos / f"{k}.png")
        models = []
        for name, env in [("memory", None), ("file", none | {"TMPDIR": str(room)})]:
            out = self.folder / f"photos-{name}"
            self.succeed("train", photos, *QUICK, "--set", "data.crop=4", "--out", out, "--quiet", env=env)
            models.append((out / "model.safetensors").read_bytes())
        self.assertEqual(models[0], models[1])
        self.refuse(74, "/nowhere/grbm-rows-", "data", "info", photos, env=none | {"TMPDIR": "/nowhere"})
        self.refuse(64, "GRBM_ROWS_IN_MEMORY = 8G: allowed is a whole number of bytes", "data", "info", paths[0],
                    env=os.environ | {"GRBM_ROWS_IN_MEMORY": "8G"})

    def test_a_folder_of_classes_of_photos(self):
        for i in range(6):
            place = self.folder / "photos" / "ab"[i % 2]
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(numpy.random.default_rng(i).integers(0, 256, (60 + i, 70, 3), numpy.uint8)).save(place / f"{i}.jpg")
        result = self.succeed("train", "photos/", *QUICK, "--set", "generate.steps=5", cwd=self.folder)
        self.assertIn("6 images of 32 × 32 pixels and 3 channels", result.stderr)
        self.assertIn("crop = 60", (self.folder / "runs/photos/chosen.toml").read_text())
        self.assertTrue((self.folder / "runs/photos/samples.png").exists())
        mask = numpy.full((32, 32), 255, numpy.uint8)
        mask[16:] = 0
        Image.fromarray(mask).save(self.folder / "mask.png")
        arguments = ["inpaint", self.folder / "runs/photos", "--data", self.folder / "photos", "-n", 2, "--set", "generate.steps=5"]
        known = self.results(*arguments, "--mask", self.folder / "mask.png", "-o", self.folder / "x.png")["known_units"]
        self.assertEqual(known, 16 * 32 * 3)
        Image.fromarray(mask[:8]).save(self.folder / "small.png")
        self.refuse(65, "32 × 8 pixels: the model's images have 32 × 32", *arguments, "--mask",
                    self.folder / "small.png", "-o", self.folder / "x.png")

    def test_hdf5_and_anndata(self):
        try:
            import h5py
        except ImportError:
            self.skipTest("h5py is not installed")
        values, kind = table()
        with h5py.File(self.folder / "a.h5", "w") as file:
            file["deep/values"] = values
            file["bytes"] = (values > 0).astype(numpy.uint8)
            file["numbers"] = numpy.arange(3)
            file["deep/gaps"] = numpy.where(numpy.arange(360).reshape(120, 3) % 7 == 0, numpy.nan, values)
            file["deep/weights"] = kind
        probe = run("data", "info", self.folder / "a.h5")
        if "does not read them" in probe.stderr:
            self.skipTest("the program was built without HDF5")
        self.assertEqual(self.results("data", "info", self.folder / "a.h5", "--key", "bytes")["type"], "u8")
        info = self.results("data", "info", self.folder / "a.h5", "--key", "deep/values")
        self.assertAlmostEqual(info["mean"], values.mean(), 4)
        gaps = ["--key", "deep/gaps"]
        self.assertAlmostEqual(self.results("data", "info", self.folder / "a.h5", *gaps)["missing"], 52 / 360)
        weights = ["--set", "data.weight=deep/weights"]
        self.succeed("train", self.folder / "a.h5", *gaps, *weights, *QUICK, "--out", self.folder / "gaps", "--quiet")
        self.refuse(64, "data.weight = none: no such array", "train", self.folder / "a.h5", *gaps, "--set", "data.weight=none")
        self.refuse(65, "3 weights for 120 rows", "train", self.folder / "a.h5", *gaps, "--set", "data.weight=numbers")
        self.refuse(64, "no such array: there are bytes, deep/gaps, deep/values, .*, numbers", "data", "info", self.folder / "a.h5", "--key", "none")
        self.refuse(64, "no such array", "data", "info", self.folder / "a.h5", "--key", "deep/none")
        self.refuse(65, "deep: a group: name an array of it: there are deep/gaps, ", "data", "info", self.folder / "a.h5", "--key", "deep")
        self.refuse(65, "allowed are rows × values", "data", "info", self.folder / "a.h5", "--key", "numbers")
        dense = numpy.where(values > 4, values, 0).astype(numpy.float32)
        for by_columns in (False, True):
            lines = dense.T if by_columns else dense
            with h5py.File(self.folder / "a.h5ad", "w") as file:
                group = file.create_group("X")
                group.attrs["encoding-type"] = "csc_matrix" if by_columns else "csr_matrix"
                group.attrs["shape"] = dense.shape
                group.create_dataset("data", data=lines[lines != 0], compression="gzip")
                group["indices"] = numpy.nonzero(lines)[1]
                group["indptr"] = numpy.concatenate([[0], numpy.cumsum((lines != 0).sum(1))])
                cells = file.create_group("obs").create_group("cell")
                cells["codes"] = kind.astype(numpy.int8)
                cells.create_dataset("categories", data=["B", "T"], dtype=h5py.string_dtype())
                names = file.create_group("var")
                names.attrs["_index"] = "gene"
                names.create_dataset("gene", data=["CD3", "CD4", "CD8"], dtype=h5py.string_dtype())
            info = self.results("data", "info", self.folder / "a.h5ad", "--label", "cell")
            self.assertEqual((info["rows"], info["visible"], info["label_T"]), (120, 3, int(kind.sum())))
            self.assertAlmostEqual(info["mean"], dense.mean(), 4)
        self.succeed("train", self.folder / "a.h5ad", *QUICK, "--out", self.folder / "run", "--quiet")
        back = self.succeed("reconstruct", self.folder / "run", "--data", self.folder / "a.h5ad", "-o", "-").stdout
        self.assertEqual(back.splitlines()[0], "CD3,CD4,CD8")
        self.refuse(64, "no such column of obs", "data", "info", self.folder / "a.h5ad", "--label", "none")
        whole = (self.folder / "a.h5ad").read_bytes()
        (self.folder / "cut.h5ad").write_bytes(whole[:len(whole) // 2])
        self.refuse(65, "not a valid HDF5 file", "data", "info", self.folder / "cut.h5ad")
        with h5py.File(self.folder / "a.h5ad", "a") as file:
            file["X/indices"][0] = 10**6
        self.refuse(65, "index 1000000 of the sparse matrix", "data", "info", self.folder / "a.h5ad")

    def test_rows_and_values_are_scored_and_columns_coupled(self):
        data, folder = self.csv(), self.folder / "run"
        self.succeed("train", data, *QUICK, "--out", folder, "--quiet")
        lines = data.read_text().splitlines()
        (self.folder / "new.csv").write_text("\n".join([*lines[:11], "0,1000,0,a"]) + "\n")
        out, values = self.folder / "scores.csv", self.folder / "values.npy"
        result = self.results("score", folder, "--data", self.folder / "new.csv", "-o", out, "--per-column", values)
        self.assertEqual((result["rows"], result["strangest_row"]), (11, 10))
        names = out.read_text().splitlines()[0].split(",")
        self.assertEqual(names, ["free_energy", "quadratic", "hidden", "reconstruction", "log_likelihood"])
        scores = numpy.loadtxt(out, delimiter=",", skiprows=1)
        self.assertLess(abs(scores[:, 0] - scores[:, 1] - scores[:, 2]).max(), 1e-2)
        spread = scores[:, 4] + scores[:, 0]  # -log Z and the units
        self.assertLess(numpy.ptp(spread[:10]), 1e-3)
        self.assertEqual(abs(numpy.load(values)[10]).argmax(), 1)
        pairs = self.folder / "pairs.npy"
        self.assertEqual(self.results("couplings", folder, "--data", data, "-o", pairs)["rows"], 120)
        couplings = numpy.load(pairs)
        self.assertEqual(couplings.shape, (3, 3))
        self.assertTrue((couplings == couplings.T).all() and (numpy.diag(couplings) == 0).all())
        self.succeed("couplings", folder, "--data", data, "--kind", "precision", "-o", self.folder / "pairs.png")
        with Image.open(self.folder / "pairs.png") as picture:
            self.assertEqual(picture.size, (480, 480))
        table = self.succeed("couplings", folder, "--data", data, "-o", "-").stdout.splitlines()
        self.assertEqual(table[0], "width,height,depth")
        self.refuse(64, "allowed are .csv, .npy", "score", folder, "--data", data, "-o", self.folder / "x.png")
        self.refuse(64, "see 'grbm couplings --help'", "couplings", folder, "--data", data, "--kind", "all", "-o", pairs)
        self.refuse(65, "visible units", "score", folder, "--data", self.array("wide.npy", numpy.zeros((3, 7))), "-o", out)
        self.refuse(74, "there is no folder", "score", folder, "--data", data, "-o", self.folder / "none" / "x.csv")

    def test_distances_between_data_and_models(self):
        data, folder = self.csv(), self.folder / "run"
        self.succeed("train", data, *QUICK, "--out", folder, "--quiet")
        values, _ = table(400, 1)
        same, other = self.array("same.npy", table(400, 2)[0]), self.array("other.npy", values[:, ::-1])
        near = self.results("distance", same, data)["quick"]["frechet"]["value"]
        far = self.results("distance", other, data)["quick"]["frechet"]["value"]
        self.assertLess(near, far)
        self.assertIn("frechet", self.succeed("distance", folder, data, "--samples", 100).stdout)
        self.refuse(65, "they must be as many", "distance", self.array("wide.npy", numpy.zeros((30, 7))), data)
        self.refuse(74, "cannot open", "distance", self.folder / "none.npy", data)

    def test_a_finished_run_is_extended(self):
        arguments = ["--quiet", "--set", "model.hidden=4", "--set", "sampler.steps=3", "--set", "train.burn_in=1"]
        folder = self.folder / "run"
        self.succeed("train", "gmm-iso", "--out", folder, *arguments, "--set", "train.epochs=2")
        result = self.succeed("train", "--resume", "--out", folder, "--set", "train.epochs=4")
        self.assertIn("extended from 2 epochs to 4", result.stderr)
        updates = [json.loads(line)["update"] for line in (folder / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual(updates, list(range(1, 41)))
        self.refuse(64, "train.epochs = 3 now, but the run was started with 4", "train", "--resume", "--out", folder,
                    "--set", "train.epochs=3")

    def test_a_table_with_gaps_is_trained_on_and_filled_in(self):
        values, _ = table()
        generator = numpy.random.default_rng(2)
        gaps = numpy.where(generator.random(values.shape) < 0.3, numpy.nan, values)
        gaps[:, 0] = values[:, 0]
        path, folder, filled = self.folder / "gaps.csv", self.folder / "run", self.folder / "filled.csv"
        lines = [",".join("" if numpy.isnan(x) else str(x) for x in row) for row in gaps]
        path.write_text("width,height,depth\n" + "\n".join(lines) + "\n")
        info = self.results("data", "info", path)
        self.assertAlmostEqual(info["missing"], numpy.isnan(gaps).mean())
        self.assertAlmostEqual(info["missing_height"], numpy.isnan(gaps[:, 1]).mean())
        self.assertNotIn("missing_width", info)
        self.assertAlmostEqual(info["mean"], numpy.nanmean(gaps), delta=1e-4)
        result = self.succeed("train", path, *QUICK, "--out", folder)
        self.assertIn("values are missing: they are drawn", result.stderr)
        self.assertIn('gaps = "sample"', (folder / "chosen.toml").read_text())
        fill = self.results("inpaint", folder, "--data", path, "--split", "all", "-o", filled)
        self.assertEqual((fill["count"], fill["missing_values"]), (120, int(numpy.isnan(gaps).sum())))
        self.assertNotIn("mean_squared_error", fill)
        names, rows = filled.read_text().split("\n", 1)
        self.assertEqual(names, "width,height,depth")
        rows = numpy.array([line.split(",") for line in rows.splitlines()], float)
        self.assertEqual(rows.shape, values.shape)
        self.assertTrue(numpy.isfinite(rows).all())
        self.assertTrue(numpy.allclose(rows[~numpy.isnan(gaps)], gaps[~numpy.isnan(gaps)], rtol=1e-6))
        # What needs whole rows says so.
        missing = r"the value is missing: leave the row out, or fill in the value; .* grbm inpaint fills it in"
        for command in (["score"], ["encode"], ["reconstruct"]):
            self.refuse(65, missing, *command, folder, "--data", path, "--split", "all", "-o", self.folder / "x.csv")
        self.refuse(65, "evaluate: .*gaps.csv has missing values: whole rows are needed", "evaluate", folder, "--data", path)
        self.refuse(65, "evaluate: every_steps: .* has missing values", "train", path, *QUICK, "--set", "evaluate.every_steps=1",
                    "--out", self.folder / "curves")
        self.succeed("score", folder, "--data", filled, "-o", self.folder / "scores.csv")
        self.refuse(64, "has no missing value: say by --mask", "inpaint", folder, "--data", filled, "-o", self.folder / "y.csv")

    def test_arrays_with_gaps_and_weights(self):
        values, _ = table()
        values = values.astype(numpy.float32)
        values[::3, 1] = numpy.nan
        path = self.folder / "a.npz"
        numpy.savez(path, x=values, w=numpy.arange(120) % 4)
        chosen = ["--set", "data.weight=w", *QUICK, "--quiet"]
        self.succeed("train", path, *chosen, "--out", self.folder / "weighted")
        self.succeed("train", path, *QUICK, "--quiet", "--out", self.folder / "plain")
        means = [self.results("info", self.folder / name) for name in ("weighted", "plain")]
        self.assertNotEqual(means[0], means[1])
        self.succeed("inpaint", self.folder / "weighted", "--data", path, "--split", "all", "-o", self.folder / "b.npy")
        filled = numpy.load(self.folder / "b.npy")
        self.assertTrue(numpy.array_equal(filled[~numpy.isnan(values)], values[~numpy.isnan(values)]))
        numpy.savez(path, x=values, w=-numpy.ones(120))
        self.refuse(65, "the weight of row 0 .* is -1", "train", path, *chosen, "--out", self.folder / "x")
        numpy.savez(path, x=values, w=numpy.ones(7))
        self.refuse(65, "7 weights for 120 rows", "train", path, *chosen, "--out", self.folder / "x")
        self.refuse(64, "data.weight = v: no such array", "train", path, "--set", "data.weight=v", "--out", self.folder / "x")
        self.refuse(64, "weight = w: .*: allowed for tables", "train", "mnist", "--set", "data.weight=w", "--out", self.folder / "x")

    def test_what_cannot_be_read_gets_one_line(self):
        def put(name, contents):
            (self.folder / name).write_bytes(contents)
            return self.folder / name
        self.refuse(64, "none.csv: there is no such file or folder, and no preset of that name", "train", "none.csv")
        self.refuse(65, "no line with numbers", "train", put("empty.csv", b""))
        whole = ["--set", "data.gaps=refuse"]
        self.refuse(65, "line 3, column 2 'y': 'NA': the value is missing", "train", put("missing.csv", b"x,y\n1,2\n3,NA\n"), *whole)
        self.refuse(65, "column 'y': no value is known: leave the column out", "train", put("hole.csv", b"x,y\n1,\n"))
        self.refuse(65, r"column 2 \(counted from 1\): no value is known", "train", put("hole.csv", b"1,,3\n2,,4\n"))
        self.refuse(65, "'-9': the value is missing", "train", put("marks.csv", b"x,y\n1,2\n3,-9\n"), *whole, "--set",
                    "data.missing=-9")
        self.refuse(65, "row 1 .*: no value is known: leave it out", "train", put("row.csv", b"x,y\n1,2\n,\n3,4\n"))
        self.refuse(65, "'b' is not a number: name the columns", "train", put("texts.csv", b"x,y,z\nb,c,1\n"))
        self.refuse(65, "expected are 2, as above", "train", put("ragged.csv", b"x,y\n1,2\n3,4,5\n"))
        self.refuse(65, "a quote without its end", "train", put("quote.csv", b'x,y\n1,"2\n'))
        self.refuse(65, "not a format that is known", "train", put("text.txt", b"some text"))
        self.refuse(65, "no PNG or JPEG image in this folder", "train", self.folder)
        self.refuse(65, "a single image", "train", put("a.png", b"\x89PNG\r\n\x1a\n"))
        self.refuse(65, "nan: allowed are finite numbers", "train", self.array("nan.npy", [[1, numpy.nan]]), *whole)
        self.refuse(65, "allowed are rows × values", "train", self.array("flat.npy", [1, 2]))

    def array(self, name, values):
        numpy.save(self.folder / name, numpy.array(values, numpy.float32))
        return self.folder / name

    def test_the_progress_line_keeps_to_the_terminals_width(self):
        main, other = pty.openpty()
        import fcntl
        import struct
        import termios
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
        process = subprocess.Popen([PROGRAM, "train", "gmm-iso", *QUICK, "--out", str(self.folder / "run")], stderr=other,
                                   stdout=subprocess.DEVNULL)
        os.close(other)
        text = b""
        try:
            while chunk := os.read(main, 65536):
                text += chunk
        except OSError:  # the other end was closed
            pass
        self.assertEqual(process.wait(), 0)
        bars = re.findall(r"\r\x1b\[K(\[[^\r\n]*)", text.decode())
        self.assertTrue(bars)
        self.assertLess(max(map(len, bars)), 40)
        self.assertIn("update", bars[-1])


if __name__ == "__main__":
    unittest.main()
