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
        self.assertTrue(numpy.allclose(numpy.load(out), numpy.loadtxt(table, delimiter=",")[:100], atol=1e-3))

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
        mask = self.folder / "mask.csv"
        mask.write_text("1,0\n")
        for command in (["couplings", model, "--data", data, "-o", codes], ["score", model, "--data", data, "-o", codes],
                        ["inpaint", model, "--data", data, "--mask", mask, "-o", codes]):
            self.refuse(64, "a model with labels, here allowed given one: 'grbm convert .* --label a'", *command)
        self.succeed("convert", model, given, "--label", "b")
        self.succeed("encode", given, "--data", data, "-o", codes)
        self.refuse(64, "the model has no labels: train one with model.labels=true", "classify", given, "--data", data)
        self.refuse(64, "the model has no labels", "sample", given, "--label", "b", "-o", out)
        self.refuse(64, "the model has labels: judge it given one", "evaluate", model, "--data", data, "--metrics", "likelihood")
        self.assertIn("quick", self.results("evaluate", model, "--data", data, "--metrics", "quick"))
        other = self.folder / "other.csv"
        other.write_text("x,y,kind\n1,2,ant\n3,4,bee\n")
        self.refuse(65, "row 0 .* is of class 'ant': the model knows a, b", "classify", model, "--data", other)
        other.write_text("x,y,kind\n1,2,ant\n3,4,\n")
        self.refuse(65, "line 3", "train", other, "--set", "model.labels=true", "--out", self.folder / "x")
        other.write_text("x,y\n1,2\n3,4\n")
        self.refuse(65, "no labels: name the column or array", "train", other, "--set", "model.labels=true", "--out", self.folder / "x")
        self.refuse(64, "with model.labels allowed is", "train", "gmm-iso", "--set", "model.labels=true", "--set", "evaluate.every_steps=5",
                    "--set", "evaluate.metrics=pseudo", "--out", self.folder / "x")

    def test_a_run_with_labels_resumes_to_the_same_bits(self):
        settings = ["--set", "model.labels=true", "--set", "train.algorithm=pcd", "--set", "train.start_temperature=1",
                    "--set", "train.learning_rate_schedule=constant"]
        whole = self.train("whole", *settings)
        half = self.train("half", *settings, "--set", "train.epochs=10")
        self.assertNotEqual(half.read_bytes()[-64:], whole.read_bytes()[-64:])
        self.succeed("train", "--resume", "--out", half.parent, "--set", "train.epochs=20", "--quiet")
        self.assertEqual(half.read_bytes()[-64:], whole.read_bytes()[-64:])


if __name__ == "__main__":
    unittest.main()
