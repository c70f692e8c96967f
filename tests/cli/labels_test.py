"""Models with labels, through the real program: labels_test.py PROGRAM."""

import unittest

import numpy
from support import ProgramTest


class Labels(ProgramTest):
    def test_a_model_with_labels_is_sampled_given_one_and_classifies(self):
        generator, kinds = numpy.random.default_rng(1), numpy.repeat([0, 1], 200)
        values = generator.normal(size=(400, 2)) + 2.4 * kinds[:, None]
        data = self.folder / "kinds.csv"
        data.write_text("x,y,kind\n" + "".join(f"{x},{y},{'ab'[k]}\n" for (x, y), k in zip(values, kinds)))
        model = self.train("labelled", "--set", f"data.source={data}", "--set", "data.subset=0", "--set", "model.labels=true",
                           "--set", "train.discriminative=1", "--set", "train.epochs=100", "--set", "sampler.method=gibbs",
                           "--set", "sampler.adjust=none", "--set", "generate.steps=100")
        self.assertEqual(self.results("info", model)["classes"], ["a", "b"])
        probabilities = self.folder / "p.npy"
        told = self.results("classify", model, "--data", data, "-o", probabilities)
        self.assertGreater(told["accuracy"], 0.9)
        self.assertEqual(numpy.sum(told["confusion"]), told["rows"])
        self.assertAlmostEqual(numpy.trace(told["confusion"]) / told["rows"], told["accuracy"])
        p = numpy.load(probabilities)
        self.assertEqual(p.shape, (400, 2))
        self.assertTrue(numpy.allclose(p.sum(axis=1), 1, atol=1e-5))
        self.assertRegex(self.succeed("classify", model, "--data", data).stdout, r"(?m)^ +a +\d+ +\d+$")

        out, table = self.folder / "samples.npy", self.folder / "samples.csv"
        self.succeed("sample", model, "-n", 30, "-o", out)
        self.assertEqual(numpy.load(out).shape, (30, 2))
        self.assertEqual(self.results("sample", model, "-n", 100, "--label", "all", "-o", table)["count"], 200)
        # Samples of a class are told to be of it.
        told = numpy.loadtxt(self.succeed("classify", model, "--data", table, "-o", "-").stdout.splitlines()[1:], delimiter=",")
        self.assertGreater((told.argmax(axis=1) == numpy.repeat([0, 1], 100)).mean(), 0.85)
        self.succeed("sample", model, "-n", 100, "--label", "a", "-o", out)
        self.assertTrue(numpy.allclose(numpy.load(out), numpy.loadtxt(table, delimiter=",", skiprows=1)[:100], atol=1e-3))

        self.refuse(64, "--label c: no such class: allowed are a, b", "sample", model, "--label", "c", "-o", out)
        given, codes = self.folder / "one.safetensors", self.folder / "codes.npy"
        self.succeed("encode", model, "--data", data, "--probabilities", "-o", codes)
        mean = numpy.load(codes).mean(axis=0)
        self.succeed("encode", model, "--data", data, "-o", codes)
        self.assertEqual(numpy.load(codes).shape, (400, 4))
        # Bits of labels drawn from p(y | v): of 400 rows each mean is off by 0.025 at most, and by 6 of that in 1e8 cases once.
        self.assertLess(abs(numpy.load(codes).mean(axis=0) - mean).max(), 0.15)
        self.succeed("reconstruct", model, "--data", data, "-n", 400, "-o", codes)
        self.assertEqual(numpy.load(codes).shape, (400, 2))
        self.assertLess(abs(numpy.load(codes) - values).mean(), 1.5)
        self.succeed("encode", model, "--data", data, "-n", 50, "-o", self.folder / "first.npy")
        self.succeed("encode", model, "--data", data, "-n", 50, "--first-row", 50, "-o", self.folder / "later.npy")
        self.assertTrue(numpy.array_equal(numpy.load(self.folder / "first.npy"), self.bits(model, data)[:50]))
        self.assertFalse(numpy.array_equal(numpy.load(self.folder / "first.npy"), numpy.load(self.folder / "later.npy")))
        self.refuse(64, "--first-row 4294967290: with 50 rows", "encode", model, "--data", data, "-n", 50, "--first-row", 4294967290,
                    "-o", codes)
        self.succeed("convert", model, given, "--label", "b")
        self.succeed("encode", given, "--data", data, "-o", codes)
        self.refuse(64, "the model has no labels: train one with model.labels=true", "classify", given, "--data", data)
        self.refuse(64, "the model has no labels", "sample", given, "--label", "b", "-o", out)
        keep = ["--set", "generate.keep_labels=true"]
        self.refuse(64, "generate: keep_labels = true: the model has no labels", "sample", given, *keep, "-o", out)
        self.refuse(64, "generate: keep_labels = true: the model has no labels", "train", "gmm-iso", *keep, "--out", self.folder / "no")
        self.refuse(64, "train: keep_labels = true: the model has no labels", "train", "gmm-iso", "--set", "train.keep_labels=true",
                    "--out", self.folder / "no")
        judged = self.results("evaluate", model, "--data", data, "--metrics", "quick", *keep)
        self.assertIn("each class alike", judged["quick"]["frechet"]["note"])
        self.assertNotIn("each class alike", self.results("evaluate", model, "--data", data, "--metrics", "quick")["quick"]["frechet"]["note"])
        self.assertIn("quick", self.results("evaluate", model, "--data", data, "--metrics", "quick"))
        other = self.folder / "other.csv"
        other.write_text("x,y,kind\n1,2,ant\n3,4,bee\n")
        self.refuse(65, "row 0 .* is of class 'ant': the model knows a, b", "classify", model, "--data", other)
        other.write_text("x,y,kind\n1,2,ant\n3,4,\n")
        self.refuse(65, "line 3", "train", other, "--set", "model.labels=true", "--out", self.folder / "x")
        other.write_text("x,y\n1,2\n3,4\n")
        self.refuse(65, "no labels: name the column or array", "train", other, "--set", "model.labels=true", "--out", self.folder / "x")

        # Rows of another table may have no labels, and no weights.
        data.write_text("x,y,kind,w\n" + "".join(f"{x},{y},{'ab'[k]},1\n" for (x, y), k in zip(values, kinds)))
        of_columns = self.folder / "columns"
        self.succeed("train", data, "--set", "data.label=kind", "--set", "data.weight=w", "--set", "model.labels=true", "--set",
                     "train.epochs=2", "--out", of_columns)
        self.succeed("classify", of_columns, "--data", other, "-o", out)
        self.assertEqual(numpy.load(out).shape, (2, 2))
        for command in ["score", "encode", "reconstruct"]:
            self.succeed(command, of_columns, "--data", other, "-o", out)
        self.refuse(64, "no column 'kind'", "classify", of_columns, "--data", other, "--label", "kind")
        other.write_text("x,y,kind\n1,2,b\n3,4,a\n")
        self.assertIn("accuracy", self.results("classify", of_columns, "--data", other))

    def bits(self, model, data):
        self.succeed("encode", model, "--data", data, "-o", self.folder / "all.npy")
        return numpy.load(self.folder / "all.npy")

    def labelled(self):
        """A model of two values and two classes, and its data."""
        generator, kinds = numpy.random.default_rng(1), numpy.repeat([0, 1], 200)
        values = generator.normal(size=(400, 2)) + 2.4 * kinds[:, None]
        data = self.folder / "kinds.csv"
        data.write_text("x,y,kind\n" + "".join(f"{x},{y},{'ab'[k]}\n" for (x, y), k in zip(values, kinds)))
        return data, self.train("labelled", "--set", f"data.source={data}", "--set", "data.subset=0", "--set", "model.labels=true",
                                "--set", "train.epochs=100", "--set", "sampler.method=gibbs", "--set", "sampler.adjust=none")

    def test_the_class_is_summed_out_or_drawn_where_none_is_given(self):
        data, model = self.labelled()
        scores, out = self.folder / "scores.csv", self.folder / "out.npy"

        def likelihood(of):
            self.succeed("score", of, "--data", data, "-o", scores, "--per-column", out)
            self.assertEqual(numpy.load(out).shape, (400, 2))
            return numpy.genfromtxt(scores, delimiter=",", names=True)["log_likelihood"]
        whole = likelihood(model)
        # log p(v) = log p(v | a) + log p(a) - log p(a | v), of which log p(a) is the same for all rows.
        given = self.folder / "a.safetensors"
        self.succeed("convert", model, given, "--label", "a")
        self.succeed("classify", model, "--data", data, "-o", out)
        share = numpy.load(out)[:, 0]
        of_class = whole - likelihood(given) + numpy.log(share)
        likely = share > 1e-3
        self.assertLess(numpy.ptp(of_class[likely]), 2e-3)
        self.assertLess(of_class[likely].mean(), 0)
        evaluated = self.results("evaluate", model, "--data", data, "--metrics", "likelihood,mixing")
        self.assertAlmostEqual(evaluated["likelihood"]["nats_training"]["value"], whole.mean(), delta=1e-4)
        self.assertIn("quadrature", evaluated["likelihood"]["log_partition"]["note"])
        self.assertGreater(evaluated["mixing"]["energy_ess"]["value"], 1)
        self.succeed("couplings", model, "--data", data, "-o", out)
        self.assertEqual(numpy.load(out).shape, (2, 2))

        # What is known of one value tells of the other, through the class that nobody gave.
        mask, sure = self.folder / "mask.csv", self.folder / "sure.npy"
        mask.write_text("1,0\n")
        fill = self.results("inpaint", model, "--data", data, "--mask", mask, "-n", 400, "--mean", 100, "--deviation", sure, "-o", out)
        self.assertEqual(fill["final"], "mean of 100 draws")
        filled, values = numpy.load(out), numpy.loadtxt(data, delimiter=",", skiprows=1, usecols=(0, 1))
        self.assertTrue(numpy.allclose(filled[:, 0], values[:, 0], atol=1e-6))
        self.assertGreater(numpy.corrcoef(filled[:, 1], values[:, 1])[0, 1], 0.4)
        errors = numpy.abs(filled[:, 1] - values[:, 1])
        self.assertTrue((numpy.load(sure)[:, 0] == 0).all())
        self.assertLess(abs((errors / numpy.load(sure)[:, 1] < 1).mean() - 0.68), 0.15)
        # Its mean is nearer than one draw.
        self.succeed("inpaint", model, "--data", data, "--mask", mask, "-n", 400, "--set", "sampler.final=sample", "-o", out)
        self.assertLess((errors**2).mean(), 0.8 * ((numpy.load(out)[:, 1] - values[:, 1])**2).mean())
        self.refuse(64, "--deviation: it is that of a mean", "inpaint", model, "--data", data, "--mask", mask, "--deviation", sure, "-o", out)
        self.refuse(64, "--deviation .*x.png: the ending says what", "inpaint", model, "--data", data, "--mask", mask, "--mean", 3,
                    "--deviation", self.folder / "x.png", "-o", out)
        self.refuse(64, "--per-column .*x.png: the ending says what", "score", model, "--data", data, "-o", scores, "--per-column",
                    self.folder / "x.png")

    def test_rows_with_gaps_and_a_class_are_trained_on(self):
        data, _ = self.labelled()
        lines = [",".join("" if k == row % 5 else cell for k, cell in enumerate(line.split(",")))
                 for row, line in enumerate(data.read_text().splitlines())]
        lines[0] = "x,y,kind"
        gaps = self.folder / "gaps.csv"
        gaps.write_text("\n".join(line if not line.endswith(",") else line + "a" for line in lines) + "\n")
        chosen = ["--set", "data.label=kind", "--set", "model.labels=true", "--set", "train.epochs=5", "--quiet"]
        self.succeed("train", gaps, *chosen, "--out", self.folder / "gaps")
        self.succeed("inpaint", self.folder / "gaps", "--data", gaps, "--split", "all", "-o", self.folder / "filled.csv")
        self.refuse(64, "missing values with train.discriminative = 3", "train", gaps, *chosen, "--set", "train.discriminative=3",
                    "--out", self.folder / "x")

    def test_a_run_with_labels_resumes_to_the_same_bits(self):
        for keep in ("false", "true"):
            settings = ["--set", "model.labels=true", "--set", "train.algorithm=pcd", "--set", "train.start_temperature=1",
                        "--set", "train.learning_rate_schedule=constant", "--set", f"train.keep_labels={keep}"]
            whole = self.train(f"whole-{keep}", *settings)
            half = self.train(f"half-{keep}", *settings, "--set", "train.epochs=10")
            self.assertNotEqual(half.read_bytes()[-64:], whole.read_bytes()[-64:])
            self.succeed("train", "--resume", "--out", half.parent, "--set", "train.epochs=20", "--quiet")
            self.assertEqual(half.read_bytes()[-64:], whole.read_bytes()[-64:])
        self.assertGreater(self.results("density", whole, "--data", "gmm-iso", "-o", self.folder / "density.png")["kl_data_model"], 0)


if __name__ == "__main__":
    unittest.main()
