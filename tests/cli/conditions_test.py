"""Models with conditions, through the real program: conditions_test.py PROGRAM."""

import json
import unittest

import numpy
from support import ProgramTest

QUICK = ["--set", "train.epochs=40", "--set", "model.hidden=4", "--set", "train.learning_rate=0.05", "--set", "model.variance_floor=0.01"]


def numbers(path):
    return numpy.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)


def sigmoid_density(parameters, mean, deviation, given, value):
    """log p(v | u) by the sum over all hidden states, from the tensors of a model file."""
    W, b, mu, log_var, A, B = (parameters[name].astype(float) for name in ("W", "b", "mu", "log_var", "A", "B"))
    v = (value - mean) / deviation
    states = ((numpy.arange(2 ** len(b))[:, None] >> numpy.arange(len(b))) & 1).astype(float)
    variance = numpy.exp(log_var)
    shifted = mu + A @ given
    means = shifted + states @ W.T
    log_weights = states @ (b + B @ given) + ((means**2 - shifted**2) / (2 * variance)).sum(1)
    log_normal = -0.5 * ((v - means) ** 2 / variance + numpy.log(2 * numpy.pi * variance)).sum(1)
    total = numpy.logaddexp.reduce(log_weights)
    return numpy.logaddexp.reduce(log_weights - total + log_normal) - numpy.log(deviation).sum()


class Conditions(ProgramTest):
    def table(self, rows=400):
        """y is near 2 a or -2 a, x near 3 + b."""
        generator = numpy.random.default_rng(1)
        a, b = generator.normal(size=(2, rows)) * [[1], [5]] + [[0], [7]]
        sign = generator.choice([-1, 1], rows)
        x = 3 + b + 0.3 * generator.normal(size=rows)
        y = 2 * sign + a + 0.3 * generator.normal(size=rows)
        path = self.folder / "table.csv"
        numpy.savetxt(path, numpy.c_[x, a, y, b], delimiter=",", header="x,a,y,b", comments="")
        return path

    def trained(self, *arguments):
        table, run = self.table(), self.folder / "run"
        self.succeed("train", table, "--set", "data.condition=a,b", *QUICK, "--out", run, "--quiet", *arguments)
        return table, run

    def test_a_model_is_trained_sampled_scored_and_judged_given_them(self):
        table, run = self.trained()
        info = self.results("info", run)
        self.assertEqual((info["visible"], info["conditions"]), (2, 2))
        # One sample for each row, in its order, or several; samples follow their conditions.
        out = self.folder / "out.csv"
        self.assertEqual(self.results("sample", run, "--given", table, "-o", out)["count"], 400)
        given = numbers(table)
        samples = numpy.loadtxt(out, delimiter=",", skiprows=1)
        self.assertGreater(numpy.corrcoef(samples[:, 0], given[:, 3])[0, 1], 0.9)
        few = self.folder / "few.csv"
        few.write_text("b,a\n-20,0\n40,0\n")
        self.succeed("sample", run, "--given", few, "-n", 50, "-o", out)
        samples = numpy.loadtxt(out, delimiter=",", skiprows=1)
        self.assertEqual(samples.shape, (100, 2))
        self.assertLess(abs(samples[:50, 0].mean() - (3 - 20)), 3)
        self.assertLess(abs(samples[50:, 0].mean() - (3 + 40)), 3)
        alone = self.folder / "alone.npy"  # an array has no names: its columns are the conditions
        numpy.save(alone, numpy.array([[0.0, 40.0]], numpy.float32))
        self.succeed("sample", run, "--given", alone, "-n", 50, "-o", out)
        self.assertLess(abs(numpy.loadtxt(out, delimiter=",", skiprows=1)[:, 0].mean() - 43), 3)

        # log p(v | u) of a row is the sum over hidden states, made here from the file's tensors.
        npz = self.folder / "model.npz"
        self.succeed("convert", run, npz)
        arrays = dict(numpy.load(npz))
        metadata = json.loads(arrays.pop("metadata").tobytes())
        units, of_conditions = (json.loads(metadata[key]) for key in ("standardization", "conditions"))
        scores = self.folder / "scores.csv"
        deviations = self.folder / "deviations.csv"
        for model in (run, npz):
            self.succeed("score", model, "--data", table, "-o", scores, "--per-column", deviations)
            named = numpy.genfromtxt(scores, delimiter=",", names=True)
            for row in range(0, 400, 37):
                u = (given[row, [1, 3]] - of_conditions["mean"]) / of_conditions["deviation"]
                expected = sigmoid_density(arrays, numpy.array(units["mean"]), numpy.array(units["deviation"]), u, given[row, [0, 2]])
                self.assertAlmostEqual(named["log_likelihood"][row], expected, delta=2e-3)
        self.assertLess(abs(numbers(deviations).mean()), 0.3)
        evaluated = self.results("evaluate", run, "--data", table)["likelihood"]
        held_out = self.folder / "held_out.csv"
        self.succeed("score", run, "--data", table, "--split", "test", "-o", held_out)
        mean = numpy.genfromtxt(held_out, delimiter=",", names=True)["log_likelihood"].mean()
        self.assertAlmostEqual(evaluated["nats_held_out"]["value"], mean, delta=1e-4)
        # Far better than a law that knows nothing of a and b: x alone has a deviation of 5.
        self.assertGreater(mean, -3.2)
        self.assertEqual(len(self.succeed("encode", run, "--data", table, "-o", "-").stdout.splitlines()), 360)
        back = self.folder / "back.csv"
        self.succeed("reconstruct", run, "--data", table, "--split", "all", "-n", 400, "-o", back)
        self.assertLess(numpy.abs(numbers(back)[:, 0] - given[:, 0]).mean(), 1)

    def test_annealing_agrees_with_the_exact_sum(self):
        generator = numpy.random.default_rng(3)
        tall = self.folder / "tall.csv"
        rows = generator.normal(size=(60, 4))
        rows[:, :3] += rows[:, 3:]
        numpy.savetxt(tall, rows, delimiter=",", header="x,y,z,u", comments="")
        for hidden in (4, 24):
            run = self.folder / f"run{hidden}"
            self.succeed("train", tall, "--set", "data.condition=u", *QUICK, "--set", f"model.hidden={hidden}", "--out", run, "--quiet")
        exact = self.results("evaluate", self.folder / "run4", "--data", tall)["likelihood"]["nats_training"]
        self.assertIn("exact", exact["note"])
        annealed = self.results("evaluate", self.folder / "run24", "--data", tall, "--rows", 10, "--temperatures", 300)["likelihood"]
        self.assertIn("annealed", annealed["nats_training"]["note"])
        self.assertLess(abs(annealed["nats_training"]["value"] - exact["value"]), 2)

    def test_a_series_goes_on_from_its_end(self):
        # x turns between 10 and -10, whose past tells it.
        generator = numpy.random.default_rng(2)
        series = self.folder / "series.csv"
        pattern = numpy.array([10, 10, -10, -10])
        numpy.savetxt(series, pattern[numpy.arange(600) % 4] + generator.normal(size=600), header="x", comments="")
        run = self.folder / "run"
        self.succeed("train", series, "--set", "data.history=2", *QUICK, "--set", "train.epochs=300", "--out", run, "--quiet")
        self.assertEqual(self.results("info", run)["history"], 2)
        out = self.folder / "out.csv"
        self.assertEqual(self.results("sample", run, "--given", series, "--frames", 8, "-n", 3, "-o", out)["count"], 24)
        numpy.testing.assert_array_equal(numpy.sign(numpy.loadtxt(out, skiprows=1)), numpy.tile(numpy.sign(pattern), 6))
        again = self.folder / "again.csv"
        self.succeed("sample", run, "--given", series, "--frames", 8, "-n", 3, "--threads", 1, "-o", again)
        self.assertEqual(out.read_bytes(), again.read_bytes())
        self.assertGreater(self.results("evaluate", run, "--data", series)["likelihood"]["nats_held_out"]["value"], -2)
        start = self.folder / "start.csv"
        start.write_text("x\n10\n-10\n")
        self.succeed("sample", run, "--given", start, "-o", out)
        self.assertLess(numpy.loadtxt(out, skiprows=1), 0)

        short = self.folder / "short.csv"
        short.write_text("x\n1\n")
        self.refuse(65, "short.csv: 1 rows, but the model has 2: at least as many are needed", "sample", run, "--given", short, "-o", out)
        self.refuse(64, "give them by --given FILE, whose last 2 rows", "sample", run, "-o", out)
        self.refuse(65, "1 rows, of which each needs 2 before it", "train", short, "--set", "data.history=2", "--out", self.folder / "x")
        self.refuse(65, "1 rows, of which each needs 2 before it", "evaluate", run, "--data", short)

    def test_runs_resume_to_the_same_bits_on_any_number_of_threads(self):
        table = self.table()
        arguments = ["train", table, "--set", "data.condition=2,4", *QUICK, "--quiet", "--set", "train.learning_rate_schedule=constant"]
        models = []
        for name, threads in [("one", 1), ("two", 2)]:
            self.succeed(*arguments, "--out", self.folder / name, "--threads", threads)
            models.append((self.folder / name / "model.safetensors").read_bytes())
        self.assertEqual(models[0], models[1])
        half = self.folder / "half"
        self.succeed(*arguments, "--set", "train.epochs=13", "--out", half)
        self.assertNotEqual((half / "model.safetensors").read_bytes()[-64:], models[0][-64:])
        self.succeed("train", "--resume", "--out", half, "--set", "train.epochs=40", "--quiet")
        self.assertEqual((half / "model.safetensors").read_bytes()[-64:], models[0][-64:])
        # Other conditions are other data.
        lines = table.read_text().splitlines()
        lines[1] = ",".join("9" if k == 3 else cell for k, cell in enumerate(lines[1].split(",")))
        table.write_text("\n".join(lines))
        self.refuse(65, "the data have changed", "train", "--resume", "--out", half)
        # A model to start from has as many.
        self.succeed("train", table, "--set", "data.condition=2,4", *QUICK, "--init", half, "--out", self.folder / "next", "--quiet")
        self.refuse(65, "0 conditions, of 0 rows before, but the model to start from has 2", "train", table, "--set", "data.columns=x,y",
                    *QUICK, "--init", half, "--out", self.folder / "x")

    def test_what_cannot_be_is_refused_in_a_line(self):
        table, run = self.trained("--set", "train.epochs=2")
        out = self.folder / "out.csv"
        x = ["--out", self.folder / "x", *QUICK]
        self.refuse(64, "data.condition: no column 'c'", "train", table, "--set", "data.condition=c", *x)
        self.refuse(64, "go with train.algorithm", "train", table, "--set", "data.condition=a", "--set", "train.algorithm=pcd", *x)
        self.refuse(64, "train: stop_after: not with conditions", "train", table, "--set", "data.condition=a", "--set", "train.stop_after=2", *x)
        self.refuse(64, "evaluate: every_steps: not with conditions", "train", table, "--set", "data.condition=a", "--set",
                    "evaluate.every_steps=2", *x)
        gap = self.folder / "gap.csv"
        gap.write_text("a,b\n1,\n")
        self.refuse(65, "line 2, column 2 'b': an empty cell", "sample", run, "--given", gap, "-o", out)
        numpy.save(self.folder / "nan.npy", numpy.array([[0, numpy.nan]], numpy.float32))
        self.refuse(65, "nan.npy: row 0, column 1", "sample", run, "--given", self.folder / "nan.npy", "-o", out)
        numpy.save(self.folder / "wide.npy", numpy.zeros((1, 3), numpy.float32))
        self.refuse(65, "wide.npy: 3 columns, but the model has 2", "sample", run, "--given", self.folder / "wide.npy", "-o", out)
        self.refuse(64, "give them by --given FILE, of 2 columns", "sample", run, "-o", out)
        self.refuse(64, "--frames: .* has no history", "sample", run, "--given", table, "--frames", 3, "-o", out)
        self.refuse(64, "leave --every out", "sample", run, "--given", table, "--every", 3, "-o", self.folder / "out.npy")
        holes = self.folder / "holes.csv"
        holes.write_text("x,a,y,b\n1,2,3,4\n1,,3,4\n")
        self.refuse(65, r"row 1 \(counted from 0\): a condition is missing", "train", holes, "--set", "data.condition=a,b", *x)
        self.refuse(64, "--anneal: with conditions every row", "score", self.wide(), "--data", table, "--anneal", "-o", out)
        for command in (["couplings", run, "--data", table, "-o", out],
                        ["distance", run, table], ["density", run, "--data", "gmm-iso", "-o", self.folder / "x.png"],
                        ["classify", run, "--data", table]):
            self.refuse(64, "a model with conditions: sample, score, evaluate, encode, reconstruct and inpaint take such", *command)
        self.refuse(64, "the model has conditions: judge it by its likelihood", "evaluate", run, "--data", table, "--metrics", "quick")
        plain = self.train("plain")
        self.refuse(64, "--given: .* has no conditions", "sample", plain, "--given", table, "-o", out)
        self.refuse(65, "0 conditions a row, but the model has 2", "score", self.without_settings(run), "--data", table, "--columns", "x,y", "-o", out)

    def wide(self):
        self.succeed("train", self.table(), "--set", "data.condition=a", *QUICK, "--set", "model.hidden=21", "--set", "train.epochs=1",
                     "--out", self.folder / "wide", "--quiet")
        return self.folder / "wide"

    def test_values_may_be_missing_and_are_filled_in_given_them(self):
        table = self.table()
        values = numbers(table)
        lines = table.read_text().splitlines()
        gaps = self.folder / "gaps.csv"
        cells = [line.split(",") for line in lines]
        for row in range(1, len(cells)):
            if row % 2:
                cells[row][0 if row % 4 == 1 else 2] = ""
        gaps.write_text("\n".join(",".join(line) for line in cells) + "\n")
        run, out = self.folder / "run", self.folder / "out.csv"
        settings = ["train", gaps, "--set", "data.condition=a,b", *QUICK, "--quiet", "--set", "train.learning_rate_schedule=constant",
                    "--set", "train.algorithm=noise-cd", "--set", "train.start_temperature=3", "--set", "train.burn_in=5",
                    "--set", "sampler.steps=10"]
        self.succeed(*settings, "--out", run)
        self.succeed("inpaint", run, "--data", gaps, "--split", "all", "--mean", 50, "-o", out)
        filled = numbers(out)
        missing = numpy.arange(400) % 4 == 0
        self.assertTrue(numpy.allclose(filled[~missing, 0], values[~missing, 0], rtol=1e-5))
        # x is known to 0.3 given b, which has a deviation of 5.
        self.assertLess(numpy.abs(filled[missing, 0] - values[missing, 0]).mean(), 1.5)
        # Such runs resume to the same bits.
        half = self.folder / "half"
        self.succeed(*settings, "--set", "train.epochs=13", "--out", half)
        self.succeed("train", "--resume", "--out", half, "--set", "train.epochs=40", "--quiet")
        self.assertEqual((half / "model.safetensors").read_bytes()[-64:], (run / "model.safetensors").read_bytes()[-64:])

    def without_settings(self, run):
        """The model's tensors alone: which columns were conditions is not known any longer."""
        npz = self.folder / "model.npz"
        self.succeed("convert", run, npz)
        arrays = dict(numpy.load(npz))
        del arrays["metadata"]
        numpy.savez(npz, **arrays)
        return npz

    def test_reports_show_such_a_run(self):
        _, run = self.trained("--set", "train.epochs=2")
        page = self.folder / "page.html"
        self.succeed("report", run, "-o", page)
        self.assertGreater(page.stat().st_size, 1000)


if __name__ == "__main__":
    unittest.main()
