"""What models are used for, through the real program: models_test.py PROGRAM."""

import json
import struct
import unittest
import zlib

import numpy
from PIL import Image
from support import TINY, ProgramTest, run


def png_pixels(path):
    """height, width, channels and the pixels of an 8-bit PNG without interlacing, decoded here."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, compressed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
        elif kind == b"IDAT":
            compressed += body
        at += 12 + length
    channels = {0: 1, 2: 3, 6: 4}[colour]
    assert depth == 8
    raw = numpy.frombuffer(zlib.decompress(compressed), numpy.uint8).reshape(height, 1 + width * channels)
    out = numpy.zeros((height, width * channels), numpy.int32)
    for y in range(height):
        line, above = raw[y, 1:].astype(numpy.int32), out[y - 1] if y else numpy.zeros(width * channels, numpy.int32)
        for x in range(width * channels):
            a = out[y, x - channels] if x >= channels else 0
            b, c = above[x], above[x - channels] if x >= channels else 0
            p = a + b - c
            paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            out[y, x] = (line[x] + [0, a, b, (a + b) // 2, paeth][raw[y, 0]]) & 255
    return out.reshape(height, width, channels)


class Models(ProgramTest):
    def test_a_model_is_trained_sampled_and_used(self):
        model = self.train()
        run_folder = model.parent
        for name in ["config.toml", "manifest.json", "metrics.jsonl"]:
            self.assertTrue((run_folder / name).exists(), name)
        lines = [json.loads(line) for line in (run_folder / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual([line["update"] for line in lines], list(range(1, 201)))
        for key in ["epoch", "reconstruction", "mean_variance", "gradient_norm", "acceptance", "min_log_var",
                    "max_log_var", "hidden_activity", "variety"]:
            self.assertIn(key, lines[0])

        out = self.folder / "samples.npy"
        self.assertEqual(self.results("sample", model, "-n", 30, "-o", out)["count"], 30)
        samples = numpy.load(out)
        self.assertEqual(samples.shape, (30, 2))
        self.assertTrue(numpy.isfinite(samples).all())
        self.assertGreater(samples.std(), 1)  # in the data's own units

        frames = self.folder / "frames.npy"
        self.succeed("sample", model, "-n", 5, "--steps", 12, "--every", 4, "-o", frames)
        self.assertEqual(numpy.load(frames).shape, (3, 5, 2))

        codes = self.folder / "codes.npy"
        self.succeed("encode", model, "--data", "gmm-iso", "-o", codes)
        self.assertEqual(numpy.load(codes).dtype, numpy.uint8)
        self.assertEqual(numpy.load(codes).shape, (1000, 4))
        self.assertLessEqual(set(numpy.unique(numpy.load(codes))), {0, 1})
        self.succeed("encode", model, "--data", "gmm-iso", "--probabilities", "-o", codes)
        p = numpy.load(codes)
        self.assertTrue(((p >= 0) & (p <= 1)).all() and p.dtype == numpy.float32)

        back = self.folder / "back.npy"
        self.succeed("reconstruct", model, "--data", "gmm-iso", "--split", "train", "-n", 7, "-o", back)
        self.assertEqual(numpy.load(back).shape, (7, 2))

        mask = self.folder / "mask.csv"
        mask.write_text("1,0\n")
        self.succeed("inpaint", model, "--data", "gmm-iso", "--split", "train", "-n", 7, "--mask", mask, "-o", back)
        truth = numpy.load(back)
        self.assertEqual(truth.shape, (7, 2))
        given = numpy.random.default_rng(1).normal(2, 3, size=(50, 2)).astype(numpy.float32)
        data = self.folder / "given.npy"
        numpy.save(data, given)
        self.succeed("inpaint", model, "--data", data, "--split", "all", "-n", 50, "--mask", mask, "-o", back)
        self.assertTrue((numpy.load(back)[:, 0] == given[:, 0]).all())  # to the bit
        self.assertFalse((numpy.load(back)[:, 1] == given[:, 1]).any())

        self.assertEqual(self.results("info", model)["hidden"], 4)
        npz = self.folder / "model.npz"
        again = self.folder / "again.safetensors"
        self.succeed("convert", model, npz)
        self.assertEqual(numpy.load(npz)["W"].shape, (2, 4))
        self.succeed("convert", npz, again)
        self.assertEqual(again.read_bytes(), model.read_bytes())

    def test_hidden_units_are_of_the_samplers_law(self):
        """At temperature 4, conditionally adjusted: h = 1 with probability sigmoid(x/4)."""
        model = self.train("run", "--set", "sampler.temperature=4", "--set", "data.standardize=none")
        data, codes, npz = self.folder / "data.npy", self.folder / "codes.npy", self.folder / "model.npz"
        v = numpy.random.default_rng(1).normal(size=(200, 2)).astype(numpy.float32)
        numpy.save(data, v)
        self.succeed("encode", model, "--data", data, "--probabilities", "-o", codes)
        self.succeed("convert", model, npz)
        m = numpy.load(npz)
        x = m["b"] + (v / numpy.exp(m["log_var"])) @ m["W"]
        self.assertLess(abs(numpy.load(codes) - 1 / (1 + numpy.exp(-x / 4))).max(), 1e-4)
        self.assertGreater(abs(x).max(), 0.1)

        mask, adjusted, gibbs = self.folder / "mask.csv", self.folder / "a.npy", self.folder / "b.npy"
        mask.write_text("1,0\n")
        arguments = ["inpaint", model, "--data", data, "--split", "all", "--mask", mask, "-o"]
        self.succeed(*arguments, adjusted)
        self.succeed(*arguments, gibbs, "--set", "sampler.method=gibbs")
        self.assertEqual(adjusted.read_bytes(), gibbs.read_bytes())
        # By --set the temperature means the same.
        self.succeed(*arguments, gibbs, "--set", "sampler.temperature=2", "--set", "sampler.method=gibbs")
        self.succeed(*arguments, adjusted, "--set", "sampler.temperature=2")
        self.assertEqual(adjusted.read_bytes(), gibbs.read_bytes())
        cold = self.train("cold", "--set", "sampler.temperature=1", "--set", "data.standardize=none")
        arguments[1] = cold
        self.succeed(*arguments, gibbs, "--set", "sampler.temperature=4", "--set", "sampler.method=gibbs")
        self.succeed(*arguments, adjusted, "--set", "sampler.temperature=4")
        self.assertEqual(adjusted.read_bytes(), gibbs.read_bytes())

    def test_points_are_samples_and_images_means_unless_asked_otherwise(self):
        """The model of a mixture has few conditional means, but every sample is another point."""
        self.succeed("train", "gmm-iso", "--quiet", "--out", self.folder / "run", *TINY)
        model, out = self.folder / "run" / "model.safetensors", self.folder / "samples.npy"
        draw = ["sample", model, "-n", 1000, "-o", out]
        self.assertEqual(self.results(*draw)["final"], "sample")
        self.assertEqual(len(numpy.unique(numpy.load(out), axis=0)), 1000)
        self.assertRegex(self.succeed(*draw).stdout, r"(?m)^final +sample$")
        self.assertEqual(self.results(*draw, "--set", "sampler.final=mean")["final"], "mean")
        self.assertLessEqual(len(numpy.unique(numpy.load(out), axis=0)), 16)  # states of 4 hidden units
        self.assertEqual(self.results("info", model)["sampler.final"], "auto")
        mask = self.folder / "mask.csv"
        mask.write_text("1,0\n")
        fill = ["inpaint", model, "--data", "gmm-iso", "--split", "train", "-n", 200, "--mask", mask, "-o", out]
        self.assertEqual(self.results(*fill)["final"], "sample")
        self.assertEqual(len(numpy.unique(numpy.load(out)[:, 1])), 200)

    def test_generation_has_settings_of_its_own(self):
        """They change samples and pictures, and nothing of the model or of its likelihood."""
        generate = ["--set", "generate.steps=3", "--set", "generate.temperature=9", "--set", "generate.final=mean"]
        plain, other = self.train("plain"), self.train("other", *generate)
        info = self.results("info", other)
        self.assertEqual((info["generate.temperature"], info["sampler.temperature"]), (9, 1))
        self.assertNotIn("generate.steps", self.results("info", plain))
        out = self.folder / "samples.npy"
        draw = ["sample", other, "-n", 300, "-o", out]
        drawn = self.results(*draw)
        self.assertEqual((drawn["steps"], drawn["final"]), (3, "mean"))
        self.assertLessEqual(len(numpy.unique(numpy.load(out), axis=0)), 16)  # states of 4 hidden units
        hot = numpy.load(out) if self.results(*draw, "--set", "generate.final=sample") else None
        # What is set of the sampler holds for samples, too.
        self.assertEqual(self.results(*draw, "--set", "sampler.steps=7")["steps"], 7)
        self.assertEqual(self.results(*draw, "--steps", 5)["steps"], 5)
        self.results(*draw, "--set", "sampler.temperature=1", "--set", "sampler.final=sample")
        self.assertGreater(hot.std(), 1.5 * numpy.load(out).std())
        last = "samples/000000000200.json"
        self.assertNotEqual((plain.parent / last).read_bytes(), (other.parent / last).read_bytes())

        judge = lambda model, *more: self.results("evaluate", model, "--data", "gmm-iso", "--metrics", "likelihood,mixture", *more)
        a, b = judge(plain), judge(other)
        self.assertEqual(a["likelihood"], b["likelihood"])
        self.assertEqual(a["mixture"]["kl_data_model"], b["mixture"]["kl_data_model"])
        self.assertNotEqual(a["mixture"]["share_mode_1"], b["mixture"]["share_mode_1"])
        self.assertEqual(judge(plain, *generate)["mixture"], b["mixture"])
        self.assertNotEqual(judge(plain, "--set", "sampler.temperature=9")["likelihood"], a["likelihood"])
        figures = [self.results("density", model, "--data", "gmm-iso", "-o", self.folder / "density.svg") for model in (plain, other)]
        self.assertEqual(figures[0]["kl_data_model"], figures[1]["kl_data_model"])
        self.assertIn("their means given the hidden units", (self.folder / "density.svg").read_text())
        self.refuse(64, "--set generate.stps=3: unknown key 'stps': did you mean 'steps'", *draw, "--set", "generate.stps=3")
        self.refuse(64, r"\[generate\]: sampler: step_size = 3: ", "train", "gmm-iso", "--set", "generate.step_size=3", "--out",
                    self.folder / "no")

    def test_proposals_have_a_temperature_of_their_own(self):
        wide = ["--set", "sampler.proposal_temperature=4"]
        model = self.train("wide", *wide)
        self.assertEqual(self.results("info", model)["sampler.proposal_temperature"], 4)
        self.assertNotEqual((model.parent / "metrics.jsonl").read_bytes(), (self.train("plain").parent / "metrics.jsonl").read_bytes())
        self.succeed("sample", model, "-o", self.folder / "x.npy")
        mask, data = self.folder / "mask.csv", self.folder / "data.csv"
        mask.write_text("1,0\n")
        data.write_text("1,2\n3,4\n")
        self.succeed("inpaint", model, "--data", data, "--split", "all", "--mask", mask, "-o", self.folder / "x.npy")
        unadjusted = r"sampler: proposal_temperature = 4: without adjustment a move is no proposal.*allowed is 0"
        self.refuse(64, unadjusted, "sample", model, "-o", self.folder / "x.npy", "--set", "sampler.adjust=none")
        self.succeed("sample", model, "-o", self.folder / "x.npy", "--set", "sampler.adjust=none", "--set",
                     "sampler.proposal_temperature=0")
        out = ["--out", self.folder / "no"]
        self.refuse(64, unadjusted, "train", "gmm-iso", *wide, "--set", "sampler.adjust=none", *out)
        self.refuse(64, "draw from the law, and propose nothing", "train", "gmm-iso", *wide, "--set", "sampler.adjust=none", "--set",
                    "sampler.method=gibbs", *out)
        self.refuse(64, r"\[generate\]: sampler: proposal_temperature = 4: ", "train", "gmm-iso", "--set", "sampler.adjust=none",
                    "--set", "generate.proposal_temperature=4", *out)

    def test_pictures_are_kept_over_training_and_change_nothing_of_it(self):
        folder = self.train("with", "--set", "checkpoint.pictures=6").parent
        updates = [int(path.stem) for path in sorted((folder / "samples").iterdir())]
        self.assertEqual(updates, [2, 6, 14, 34, 83, 200])  # evenly on a logarithmic scale
        first, last = (numpy.array(json.loads((folder / "samples" / f"{k:012}.json").read_text())) for k in (2, 200))
        self.assertEqual(first.shape, (256, 2))
        self.assertFalse((first == last).all())
        without = self.train("without", "--set", "checkpoint.pictures=0").parent
        self.assertFalse((without / "samples").exists())
        self.assertEqual((folder / "metrics.jsonl").read_bytes(), (without / "metrics.jsonl").read_bytes())
        threads = self.train("threads", "--set", "checkpoint.pictures=1", "--threads", "3").parent
        name = "samples/000000000200.json"
        self.assertEqual((threads / name).read_bytes(), (folder / name).read_bytes())

    def test_generation_does_not_depend_on_the_number_of_chains_or_threads(self):
        model = self.train()
        for method in ["gibbs", "gibbs-langevin", "langevin"]:
            outputs = []
            for count, threads in [(50, 1), (7, 1), (50, 2), (7, 2)]:
                out = self.folder / f"{count}-{threads}.npy"
                self.succeed("sample", model, "-n", count, "--threads", threads, "--set", f"sampler.method={method}",
                             "--set", "sampler.adjust=none", "-o", out)
                outputs.append(numpy.load(out)[:7])
            for other in outputs[1:]:
                self.assertTrue((outputs[0] == other).all())

    def test_the_density_figure_is_a_picture(self):
        model = self.train()
        out = self.folder / "density.png"
        results = self.results("density", model, "--data", "gmm-iso", "-o", out)
        self.assertAlmostEqual(results["kl_single_gaussian"], 1.9098, places=3)
        self.assertEqual(out.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        for ending, magic in [(".svg", b"<?xml"), (".pdf", b"%PDF")]:
            self.succeed("density", model, "--data", "gmm-iso", "-o", out.with_suffix(ending), "--quiet")
            self.assertEqual(out.with_suffix(ending).read_bytes()[:len(magic)], magic)
        said = out.with_suffix(".svg").read_text()
        for text in ["nats", "density, log scale", "1,000 points of the data"]:
            self.assertIn(text, said)
        # Four digits with their unit for people, all of them for programs.
        printed = self.succeed("density", model, "--data", "gmm-iso", "-o", out).stdout
        self.assertRegex(printed, r"kl single gaussian +1\.91 nats\n")
        self.assertNotRegex(printed, r"\d\.\d{6}")
        self.assertRegex(str(results["kl_single_gaussian"]), r"\d\.\d{6}")

    def test_a_model_of_the_plane_is_judged(self):
        model = self.train()
        asked = ["evaluate", model, "--data", "gmm-iso", "--samples", 300]
        results = self.results(*asked)
        for name in ["likelihood", "quick", "mixing", "memorisation", "coverage", "mixture"]:
            self.assertIn(name, results)
        self.assertEqual(results["likelihood"]["log_partition"]["note"], "nats, exact, by quadrature")
        density = self.results("density", model, "--data", "gmm-iso", "-o", self.folder / "x.png")
        kl = results["mixture"]["kl_data_model"]["value"]
        self.assertAlmostEqual(kl, density["kl_data_model"], places=9)
        # E[-log p(v)] of the mixture's points is its entropy and the divergence.
        entropy = 1 + numpy.log(2 * numpy.pi) - 0.33 * 2 * numpy.log(0.33) - 0.34 * numpy.log(0.34)
        nats = results["likelihood"]["nats_held_out"]
        self.assertLess(abs(nats["value"] + entropy + kl), 5 * nats["error"])
        self.assertEqual(results["mixing"]["energy_ess"]["note"], "of 16000 draws")

        self.assertEqual(results, self.results(*asked, "--threads", 3), "threads do not matter")
        table = self.succeed(*asked, "--metrics", "mixture,quick", "--quiet").stdout
        self.assertRegex(table, r"\nquick\n  frechet +[0-9.]+ ± [0-9.]+ ")
        self.assertRegex(table, r"\nmixture\n  kl data model +[0-9.]+ ")
        self.assertNotIn("likelihood", table)

        hot = self.succeed(*asked, "--metrics", "likelihood", "--set", "sampler.temperature=2", "--set",
                           "sampler.adjust=none", "--quiet").stdout
        self.assertIn("at temperature 2", hot)
        self.assertIn("all of exp(-E/2)", hot)

    def test_a_model_of_images_is_judged_by_annealing(self):
        rows = numpy.random.default_rng(1).integers(0, 2, (200, 6, 6), dtype=numpy.uint8) * 200
        rows[:, 0] = 7
        data, other = self.folder / "images.npy", self.folder / "other.npy"
        numpy.save(data, rows[:100])
        numpy.save(other, rows[100:])
        model = self.train("run", "--set", f"data.source={data}", "--set", "data.subset=0", "--set", "model.hidden=22",
                           "--set", "train.batch_size=32")
        asked = ["evaluate", model, "--data", data, "--chains", 20, "--temperatures", 50, "--samples", 50]
        results = self.results(*asked, "--held-out", other)
        likelihood = results["likelihood"]
        self.assertIn("annealed importance sampling", likelihood["log_partition"]["note"])
        self.assertRegex(likelihood["log_partition_upper"]["note"], r"^nats, approximate: from chains with R̂ [0-9.]+")
        lower, upper = (likelihood[f"log_partition_{end}"] for end in ["lower", "upper"])
        self.assertLess(lower["value"], upper["value"] + 5 * (lower["error"] + upper["error"]))
        self.assertIn("bits_per_dimension_training", likelihood)
        self.assertIn("6 units", likelihood["degenerate_nats_training"]["note"])
        self.assertIn("nearer_to_training", results["memorisation"])
        without = self.results(*asked)
        self.assertNotIn("memorisation", without)
        self.assertNotIn("nats_held_out", without["likelihood"])
        bar = self.succeed(*asked, "--metrics", "likelihood")
        self.assertRegex(bar.stderr, r"annealing 50/50 .* left")
        self.refuse(64, "metrics: memorisation: held-out data are needed", *asked, "--metrics", "memorisation")

    def test_evaluations_that_cannot_be(self):
        model = self.train()
        asked = ["evaluate", model, "--data", "gmm-iso"]
        self.refuse(64, "unknown metric 'quik': did you mean 'quick'", *asked, "--metrics", "quik")
        self.refuse(64, "--samples 0: allowed is a whole number from 2", *asked, "--samples", 0)
        self.refuse(64, "see 'grbm evaluate --help'", "evaluate", model)
        self.refuse(64, "needed, once: MODEL, or --given FILE", "evaluate", "--data", "gmm-iso")
        self.refuse(64, "needed, once: MODEL, or --given FILE", *asked, "--given", self.plane())
        self.refuse(64, "given rows have no sampler", "evaluate", "--given", self.plane(), "--data", "gmm-iso", "--set",
                    "sampler.steps=3")
        self.refuse(64, "likelihood: rows are judged, not a model", "evaluate", "--given", self.plane(), "--data", "gmm-iso",
                    "--metrics", "likelihood")
        given = json.loads(self.succeed("evaluate", "--given", self.plane(), "--data", "gmm-iso", "--json").stdout)
        self.assertIn("frechet", given["quick"])
        self.assertNotIn("likelihood", given)
        self.refuse(64, "classes: a classifier of these data is needed: give --classifier FILE", *asked, "--metrics", "classes")
        self.refuse(64, "classes: the data must be grey images", *asked, "--metrics", "classes", "--classifier", "mnist")
        self.refuse(64, "quick: at least 20 samples", *asked, "--metrics", "quick", "--samples", 5)
        three = self.folder / "three.csv"
        three.write_text("1,2,3\n4,5,6\n")
        self.refuse(65, "three.csv: 3 values a row, but the model has 2", "evaluate", model, "--data", three)
        self.refuse(64, "mixture: the data must be gmm-iso or gmm-aniso", "evaluate", model, "--data", self.plane(),
                    "--metrics", "mixture")

    def plane(self):
        path = self.folder / "plane.csv"
        path.write_text("".join(f"{k % 7},{k % 5}\n" for k in range(40)))
        return path

    def test_training_is_followed_without_being_changed(self):
        def tensors(model):
            data = model.read_bytes()
            return data[8 + struct.unpack("<Q", data[:8])[0]:]

        plain = self.train("plain")
        followed = self.train("followed", "--set", "evaluate.every_steps=70", "--set", "evaluate.samples=50", "--set",
                              "train.log_every=100")
        self.assertEqual(tensors(plain), tensors(followed))
        lines = [json.loads(line) for line in (followed.parent / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual([line["update"] for line in lines], [70, 100, 140, 200])
        for line in lines:
            for name in ["quick_distance", "free_energy_gap", "pseudo_likelihood"]:
                self.assertEqual(name in line, line["update"] != 100)
                self.assertEqual(name + "_error" in line, line["update"] != 100)
        only = self.train("only", "--set", "evaluate.every_steps=100", "--set", "evaluate.metrics=pseudo")
        line = json.loads((only.parent / "metrics.jsonl").read_text().splitlines()[99])
        self.assertIn("pseudo_likelihood", line)
        self.assertNotIn("quick_distance", line)
        train = ["train", "gmm-iso", "--out", self.folder / "new", "--set", "evaluate.every_steps=5"]
        self.refuse(64, "evaluate: metrics: unknown metric 'pesudo': did you mean 'pseudo'", *train, "--set",
                    "evaluate.metrics=quick,pesudo")
        self.refuse(64, "gap needs held-out data", *train, "--set", "evaluate.metrics=gap", "--set",
                    f"data.source={self.plane()}", "--set", "data.subset=0")
        self.assertFalse((self.folder / "new").exists())

    def test_images_are_trained_and_drawn(self):
        rows = numpy.zeros((64, 6, 6), numpy.uint8)
        rows[::2, :3] = 200
        rows[1::2, 3:] = 200
        data = self.folder / "images.npy"
        numpy.save(data, rows)
        self.succeed("train", "gmm-iso", "--quiet", "--out", self.folder / "run", *TINY, "--set", f"data.source={data}",
                     "--set", "data.subset=0", "--set", "train.batch_size=32")
        model = self.folder / "run" / "model.safetensors"
        out = self.folder / "samples.png"
        self.assertEqual(self.results("sample", model, "-n", 9, "-o", out)["final"], "mean")
        pixels = png_pixels(out)
        self.assertEqual(pixels.shape, (3 * 54 + 4, 3 * 54 + 4, 1))  # 6 pixels at scale 9, gaps of 2
        self.assertGreater(pixels.std(), 5)
        self.assertEqual(png_pixels(self.folder / "run" / "samples.png").shape[2], 1)
        filters = self.folder / "filters.png"
        self.succeed("filters", model, "-o", filters)
        self.assertGreater(png_pixels(filters).std(), 5)
        gif = self.folder / "chain.gif"
        self.succeed("sample", model, "-n", 4, "-o", gif)
        self.assertEqual(gif.read_bytes()[:6], b"GIF89a")
        self.check_animation(gif, model)
        back = self.folder / "back.png"
        self.succeed("reconstruct", model, "--data", data, "--split", "train", "-n", 4, "-o", back)
        self.assertEqual(png_pixels(back).shape[2], 1)

    def check_animation(self, gif, model):
        """It begins with the noise, before the first step, goes on to the last, and rests there."""
        array = self.folder / "chain.npy"
        self.succeed("sample", model, "-n", 4, "--every", 1, "-o", array)
        steps = len(numpy.load(array))
        durations, shown = [], []
        with Image.open(gif) as animation:
            for k in range(animation.n_frames):
                animation.seek(k)
                durations.append(animation.info["duration"])
                pixels = numpy.asarray(animation.convert("L"), float)  # 6 × 6 at scale 9, gaps of 2
                shown.append([pixels[y:y + 54:9, x:x + 54:9].ravel() for y in (0, 56) for x in (0, 56)])
        self.assertEqual(durations, [80] * steps + [1500])
        numpy.testing.assert_allclose(shown[1:], numpy.load(array).clip(0, 255).round(), atol=1)
        self.assertGreater(numpy.abs(numpy.subtract(shown[0], shown[1])).mean(), 20)

    def test_images_of_sixteen_bits_keep_them(self):
        """The same pictures in 8 and in 16 bits: the same standardisation, and samples on the scale of 0 to 255."""
        dice = numpy.random.default_rng(1)
        for bits in ("8", "16"):
            (self.folder / bits).mkdir()
        for k in range(20):
            picture = dice.integers(0, 256, (5, 5), numpy.uint8)
            Image.fromarray(picture).save(self.folder / "8" / f"{k:02}.png")
            Image.fromarray(picture.astype(numpy.uint16) * 257).save(self.folder / "16" / f"{k:02}.png")
        info = {bits: self.results("data", "info", self.folder / bits) for bits in ("8", "16")}
        self.assertEqual((info["8"]["type"], info["16"]["type"]), ("u8", "u16"))
        for key in ("min", "max", "mean", "deviation"):
            self.assertEqual(info["8"][key], info["16"][key])
        models = {}
        for bits in ("8", "16"):
            models[bits] = self.train(f"run{bits}", "--set", f"data.source={self.folder / bits}", "--set", "data.subset=0",
                                      "--set", "train.batch_size=10")
            self.assertEqual(self.results("info", models[bits])["provenance.bits"], int(bits))
            self.succeed("sample", models[bits], "-n", 4, "-o", self.folder / f"{bits}.png")
        self.assertEqual((self.folder / "8.png").read_bytes(), (self.folder / "16.png").read_bytes())
        fine = self.folder / "fine"
        fine.mkdir()
        Image.fromarray(numpy.full((5, 5), 257 * 100 + 128, numpy.uint16)).save(fine / "a.png")
        self.assertAlmostEqual(self.results("data", "info", fine)["mean"], 100 + 128 / 257, places=4)
        Image.fromarray(numpy.dstack([numpy.full((5, 5), 9, numpy.uint8)] * 4)).save(self.folder / "8" / "zz.png")
        self.refuse(65, r"zz\.png: the pixel at row 0, column 0 \(counted from 0\) is transparent", "data", "info",
                    self.folder / "8")

    def test_faces_are_cropped_resized_and_trained(self):
        # Pictures of CelebA's shape, white outside the central square: the crop leaves none of it.
        faces = self.folder / "faces"
        faces.mkdir()
        dice = numpy.random.default_rng(1)
        for k in range(30):
            picture = numpy.full((218, 178, 3), 255, numpy.uint8)
            picture[31:187, 11:167] = numpy.kron(dice.integers(0, 128, (2, 2, 3)), numpy.ones((78, 78, 1)))
            Image.fromarray(picture).save(faces / f"{k:06}.jpg", quality=95)
        self.succeed("train", "faces32", "--quiet", "--out", self.folder / "run", "--set", f"data.source={faces}",
                     "--set", "data.subset=0", "--set", "train.batch_size=10", "--set", "train.epochs=1")
        self.assertEqual(len((self.folder / "run" / "metrics.jsonl").read_text().splitlines()), 3)
        model = self.folder / "run" / "model.safetensors"
        self.assertEqual(self.results("info", model)["visible"], 32 * 32 * 3)
        back = self.folder / "back.png"
        self.succeed("reconstruct", model, "--data", faces, "--split", "all", "-n", 1, "-o", back)
        height, width, channels = png_pixels(back).shape
        self.assertEqual((height, channels), (2 * width + 2, 3))  # the original above its reconstruction
        original = png_pixels(back)[:width]
        self.assertLess(original.max(), 160)
        self.assertGreater(original.std(), 10)


if __name__ == "__main__":
    unittest.main()
