// Classes and conditions: what a model has of them, and what it is given them.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "arrays.h"
#include "bindings.h"
#include "compute.h"
#include "grbm/core/error.h"
#include "grbm/evaluate/samples.h"
#include "grbm/model/conditions.h"
#include "grbm/model/visible_law.h"
#include "rows.h"

namespace grbm::python {

namespace {

using ModelClass = py::class_<ModelFile, std::shared_ptr<ModelFile>>;

// f of log p(y | v) of rows in the data's own units: rows × classes.
template <typename Function>
py::array_t<double> OfClassLogs(const ModelFile& file, const py::array& X, int threads, const Function& f) {
  if (file.classes.empty()) throw ConfigError("the model has no labels: train one with model.labels = true");
  const auto classes = static_cast<Index>(file.classes.size());
  py::array_t<double> out({X.ndim() == 2 ? X.shape(0) : 0, classes});
  double* const to = out.mutable_data();
  const VisibleLaw law = file.law();
  ForRows(file, X, py::none(), threads, [&](const GivenRows& rows, ThreadPool& pool) {
    const BasicMatrix<double> logs = ClassesOf(law, rows.values, pool);
    std::ranges::transform(logs.values(), to + rows.first * classes, f);
  });
  return out;
}

std::shared_ptr<ModelFile> Given(const ModelFile& file, const std::optional<std::string>& label,
                                 const py::object& conditions) {
  if (label.has_value() == !conditions.is_none()) throw ConfigError("given: allowed is one of label and conditions");
  if (label) return std::make_shared<ModelFile>(file.Given(*label, "label = " + *label));
  const Matrix u = ConditionsOf(file, ArrayOf(conditions).attr("reshape")(1, -1), 1);
  ModelFile given = file;
  given.model = GivenConditions(file.model, u.row(0));
  given.conditions = {};
  given.history = 0;
  return std::make_shared<ModelFile>(std::move(given));
}

// One chain for each row of conditions, in the model's units: chains × frames × visible, in the data's own units.
py::array_t<float> Draw(const ModelFile& given, Matrix conditions, Index frames, std::optional<std::int64_t> steps,
                        std::uint64_t seed, int threads) {
  const ModelFile file = Prepared(given, steps);
  const Index count = conditions.rows();
  const Index visible = file.model.visible();
  py::array_t<float> out({count, frames, visible});
  float* const to = out.mutable_data();
  OnPool(threads, [&](ThreadPool& pool, Signals&) {
    DrawGiven(file, file.sampler, std::move(conditions), frames, seed, 0, pool, [&](Index f, Matrix rows) {
      file.standardization.Invert(rows);
      CheckFinite(file, rows, "samples");
      for (Index r = 0; r < count; ++r) std::ranges::copy(rows.row(r), to + (r * frames + f) * visible);
    });
    return true;
  });
  return out;
}

Matrix Repeated(const Matrix& rows, Index count) {
  if (count < 1) throw ConfigError(fmt::format("count = {}: allowed is a whole number of at least 1", count));
  Matrix all(rows.rows() * count, rows.cols());
  for (Index r = 0; r < all.rows(); ++r) std::ranges::copy(rows.row(r / count), all.row(r).begin());
  return all;
}

py::object SampleGiven(const ModelFile& file, const py::object& conditions, Index count,
                       std::optional<std::int64_t> steps, std::uint64_t seed, int threads) {
  const Index rows = ArrayOf(conditions).ndim() == 2 ? ArrayOf(conditions).shape(0) : -1;
  const Matrix u = Repeated(ConditionsOf(file, conditions, rows), count);
  return Draw(file, u, 1, steps, seed, threads).attr("reshape")(u.rows(), file.model.visible());
}

py::array_t<float> SampleSeries(const ModelFile& file, const FloatArray& before, Index frames, Index count,
                                std::optional<std::int64_t> steps, std::uint64_t seed, int threads) {
  if (file.history == 0) throw ConfigError("the model has no history: train one with data.history");
  const ConstMatrix rows = RowsOf(before, "rows");
  if (rows.cols() != file.model.visible() || rows.rows() < file.history) {
    throw DataError(fmt::format("rows: {} × {}: expected are at least {} of {} values", rows.rows(), rows.cols(),
                                file.history, file.model.visible()));
  }
  if (frames < 1) throw ConfigError(fmt::format("frames = {}: allowed is a whole number of at least 1", frames));
  Matrix last(file.history, rows.cols());
  CopyRows(rows.Rows(rows.rows() - file.history, file.history), last);
  if (!AllFinite(last.values())) throw DataError("rows: Input contains NaN or infinity");
  file.standardization.Apply(last);
  Matrix conditions(1, file.model.conditions());
  std::ranges::copy(last.values(), conditions.values().begin());
  return Draw(file, Repeated(conditions, count), frames, steps, seed, threads);
}

}  // namespace

void RequireNoLabels(const ModelFile& file) {
  if (file.classes.empty()) return;
  throw ConfigError(fmt::format(
      "the model has labels: this is computed of a model given one: model.given(label=\"{}\")", file.classes.front()));
}

void RequireNoConditions(const ModelFile& file) {
  if (file.model.conditions() == 0) return;
  throw ConfigError(
      fmt::format("the model has conditions: give them: model.given(conditions=...) of {} values is a model without, "
                  "model.sample_given draws",
                  file.model.conditions()));
}

Matrix ConditionsOf(const ModelFile& file, const py::object& given, Index rows) {
  const Index wanted = file.model.conditions();
  if (given.is_none()) {
    if (wanted == 0) return {};
    throw ConfigError(
        fmt::format("the model has conditions: give them: conditions, of {} values for each row", wanted));
  }
  if (wanted == 0) throw ConfigError("conditions: the model has none");
  const auto array = FloatArray::ensure(ArrayOf(given));
  if (!array) throw DataError("conditions: could not convert them to an array of numbers");
  const ConstMatrix view = RowsOf(array, "conditions");
  if (view.rows() != rows || view.cols() != wanted) {
    throw DataError(fmt::format("conditions: {} × {}: expected are {} × {}", view.rows(), view.cols(), rows, wanted));
  }
  Matrix conditions(rows, wanted);
  CopyRows(view, conditions);
  if (!AllFinite(conditions.values())) throw DataError("conditions: Input contains NaN or infinity");
  file.conditions.Apply(conditions);
  return conditions;
}

void BindGiven(ModelClass& model) {
  model.def_readonly("classes", &ModelFile::classes, "Names of the classes that are units of the model; mostly none.")
      .def_property_readonly(
          "conditions", [](const ModelFile& f) { return f.model.conditions(); },
          "How many values are given with a row.")
      .def_readonly("history", &ModelFile::history, "How many rows before a row are its conditions; 0: none.")
      .def_property_readonly("condition_mean", VectorOf(&ModelFile::conditions, &Standardization::mean),
                             "The conditions' value that is 0 in the model's units.")
      .def_property_readonly("condition_deviation", VectorOf(&ModelFile::conditions, &Standardization::deviation),
                             "How many of the conditions' units are 1.")
      .def_property_readonly("condition_margin", VectorOf(&ModelFile::conditions, &Standardization::margin),
                             "How far below 0 the conditions' zeros lie; empty: where they are.")
      .def(
          "class_log_probabilities",
          [](const ModelFile& f, const py::object& X, int threads) {
            return OfClassLogs(f, ArrayOf(X), threads, [](double l) { return l; });
          },
          py::arg("X"), py::arg("threads") = 0,
          R"(log p(y | v) of all classes, of rows in the data's own units: rows × classes.

>>> model = grbm.Model(W=np.zeros((3, 2)), b=[0, 0], mu=np.zeros(3), log_var=np.zeros(3), classes=["a", "b"])
>>> bool(np.allclose(model.class_log_probabilities([[0.5]]), np.log(0.5)))
True
)")
      .def(
          "class_probabilities",
          [](const ModelFile& f, const py::object& X, int threads) {
            return OfClassLogs(f, ArrayOf(X), threads, [](double l) { return std::exp(l); });
          },
          py::arg("X"), py::arg("threads") = 0,
          R"(p(y | v) of all classes: what `grbm classify -o` writes.

>>> model = grbm.Model(W=np.zeros((3, 2)), b=[0, 0], mu=[0, 0, np.log(3)], log_var=np.zeros(3), classes=["a", "b"])
>>> model.class_probabilities([[0.5]]).round(6)
array([[0.25, 0.75]])
)")
      .def(
          "given", &Given, py::arg("label") = py::none(), py::arg("conditions") = py::none(),
          R"(What the model is given a class, by its name, or given conditions, in their own units: a model without them, which
everything takes.

>>> model = grbm.Model(W=np.zeros((3, 2)), b=[0, 0], mu=np.zeros(3), log_var=np.zeros(3), classes=["a", "b"])
>>> model, model.given(label="b")
(Model(visible=1, hidden=2, classes=2), Model(visible=1, hidden=2))
>>> model = grbm.Model(W=np.zeros((1, 2)), b=[0, 0], mu=[1], log_var=[0], A=[[2]], B=np.zeros((2, 1)))
>>> model.given(conditions=[10]).mu
array([21.], dtype=float32)
)")
      .def(
          "sample_given", &SampleGiven, py::arg("conditions"), py::arg("count") = 1, py::arg("steps") = py::none(),
          py::arg("seed") = 1, py::arg("threads") = 0,
          R"(Draws from noise given each row of conditions, in their own units, so many for each, one after the other: what `grbm sample
--given` writes.

>>> model = grbm.Model(W=np.zeros((1, 2)), b=[0, 0], mu=[1], log_var=[0], A=[[2]], B=np.zeros((2, 1)))
>>> drawn = model.sample_given([[0], [100]], count=50)
>>> drawn.shape, bool(abs(drawn[50:].mean() - 201) < 1)
((100, 1), True)
)")
      .def(
          "sample_series", &SampleSeries, py::arg("rows"), py::arg("frames"), py::arg("count") = 1,
          py::arg("steps") = py::none(), py::arg("seed") = 1, py::arg("threads") = 0,
          R"(Of a model with a history: goes on from the last of these rows for so many frames, in as many series: [series, frame,
value]. What `grbm sample --given --frames` writes.

>>> model = grbm.Model(W=np.zeros((1, 2)), b=[0, 0], mu=[1], log_var=[-20], A=[[1]], B=np.zeros((2, 1)), history=1)
>>> model.sample_series([[5.0]], frames=3).round(2)
array([[[6.],
        [7.],
        [8.]]], dtype=float32)
)");
}

}  // namespace grbm::python
