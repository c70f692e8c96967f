// Data sets.
#include <fmt/core.h>

#include <cstring>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include "arrays.h"
#include "bindings.h"
#include "compute.h"
#include "grbm/data/fetch.h"
#include "grbm/data/options.h"
#include "grbm/train/config.h"

namespace grbm::python {

namespace {

Dataset Load(const DataOptions& options, int threads) {
  return OnPool(threads, [&](ThreadPool& pool, Signals& signals) {
    return LoadDataset(options, pool, [&](Index, Index) { signals.Check(); });
  });
}

py::array Values(const Dataset& data) {
  if (!data.is_8bit()) return ToArray(WithoutGil([&](Signals&) { return data.ReadAll(); }));
  py::array_t<std::uint8_t> bytes({data.rows(), data.visible()});
  for (Index r = 0; r < data.rows(); ++r) {
    std::memcpy(bytes.mutable_data(r, 0), data.row(r), static_cast<std::size_t>(data.visible()));
  }
  return bytes;
}

// The class of each row: numbers as they are, other values by their texts, which become names.
std::vector<int> LabelsOf(const py::object& given, std::vector<std::string>& names) {
  if (given.is_none()) return {};
  py::array labels = ArrayOf(given);
  if (labels.ndim() != 1) throw DataError("labels: expected is one for each row");
  if (std::string_view("iu").find(labels.dtype().kind()) == std::string_view::npos) {
    if (!names.empty()) throw DataError("label_names: labels must be the numbers of names");
    if (labels.dtype().kind() == 'f' && py::module_::import("numpy").attr("isnan")(labels).attr("any")().cast<bool>()) {
      throw DataError("labels: NaN is no class: leave these rows out, or give them a class of their own");
    }
    const py::tuple unique = py::module_::import("numpy").attr("unique")(labels, py::arg("return_inverse") = true);
    for (const py::handle& name : unique[0]) names.push_back(py::str(name));
    labels = unique[1];
  }
  std::vector<int> numbers;
  const auto take = [&]<typename Number>(Number) {
    const auto whole = py::array_t<Number, py::array::c_style | py::array::forcecast>(labels);
    for (const Number label : std::span(whole.data(), ToSize(whole.size()))) {
      if (!std::in_range<int>(label)) throw DataError(fmt::format("labels: {}: allowed are numbers of 32 bits", label));
      numbers.push_back(static_cast<int>(label));
    }
  };
  if (labels.dtype().kind() == 'u') {
    take(std::uint64_t{});
  } else {
    take(std::int64_t{});
  }
  return numbers;
}

Dataset Make(const py::object& rows, const ShapeTuple& image_shape, const std::string& source, bool gaps,
             std::vector<double> weights, const py::object& labels, std::vector<std::string> label_names,
             const std::vector<Index>& condition, Index history) {
  std::vector<int> numbers = LabelsOf(labels, label_names);
  Dataset data =
      DatasetOf(rows, ShapeOf(image_shape), source, gaps, std::move(numbers)).WithWeights(std::move(weights));
  if (!label_names.empty()) data = data.WithNames({{}, std::move(label_names), {}});
  if (history < 0 || (history > 0 && !condition.empty())) {
    throw ConfigError(fmt::format("history = {}: allowed are 0 and, without condition, numbers of rows", history));
  }
  std::set<std::size_t> columns;
  for (const Index column : condition) {
    if (column < 0 || column >= data.visible() || !columns.insert(ToSize(column)).second) {
      throw ConfigError(
          fmt::format("condition: {}: allowed are columns from 0 to {}, each once", column, data.visible() - 1));
    }
  }
  const GilReleased released;
  if (history > 0) data = data.WithHistory(history);
  const std::vector<std::size_t> given(condition.begin(), condition.end());
  return given.empty() ? data : data.WithConditions(given);
}

py::object Conditions(const Dataset& data) {
  if (data.conditions() == 0) return py::none();
  std::vector<Index> all(ToSize(data.rows()));
  std::iota(all.begin(), all.end(), Index{0});
  return ToArray(WithoutGil([&](Signals&) { return data.ReadConditions(all); }));
}

}  // namespace

void BindData(py::module_& m) {
  py::class_<Dataset>(m, "Dataset", R"(Rows of data: a file, a public set, or an array, which is not copied.

>>> data = grbm.Dataset.load("gmm-iso", subset=500)
>>> data.rows, data.visible, data.labels.shape
(500, 2, (500,))
>>> X = np.zeros((3, 4), np.float32)
>>> grbm.Dataset(X).values.shape
(3, 4)

With gaps=True NaN is a value that is missing, to be drawn in training; otherwise it is refused. Weights, one per row, say what
rows count for in the law of the data.

>>> grbm.Dataset([[1, np.nan], [2, 3]], gaps=True, weights=[1, 2.5]).weights
array([1. , 2.5])

labels: the class of each row, whole numbers or texts; of numbers that stand for names, label_names are these. condition: which
columns, counted from 0, are conditions and no values of a row. history: how many rows before a row are its conditions; the
first rows are conditions alone.

>>> grbm.Dataset([[1], [2]], labels=["cat", "dog"]).label_names
['cat', 'dog']
>>> grbm.Dataset([[1, 10], [2, 20]], condition=[1]).conditions
array([[10.],
       [20.]], dtype=float32)
>>> grbm.Dataset([[1], [2], [3], [4]], history=2).conditions
array([[1., 2.],
       [2., 3.]], dtype=float32)
)")
      .def(py::init(&Make), py::arg("rows"), py::arg("image_shape") = py::none(), py::arg("source") = "array",
           py::arg("gaps") = false, py::arg("weights") = std::vector<double>(), py::arg("labels") = py::none(),
           py::arg("label_names") = std::vector<std::string>(), py::arg("condition") = std::vector<Index>(),
           py::arg("history") = 0)
      .def_static(
          "load",
          [](const std::string& source, int threads, const py::kwargs& settings) {
            DataOptions options;
            options.source = source;
            SetFields(options.Fields(), settings, "data");
            return Load(options, threads);
          },
          py::arg("source"), py::arg("threads") = 0,
          R"("mnist", "fashion-mnist", "gmm-iso", "gmm-aniso", "strokes", or the path of an IDX, NPY or CSV file or of a folder of
images; settings are those of the section [data]: split, subset, crop, resize.

>>> grbm.Dataset.load("strokes", subset=10).image_shape
[28, 28, 1]
)")
      .def_static(
          "of", [](const Config& config, int threads) { return Load(config.data, threads); }, py::arg("config"),
          py::arg("threads") = 0, R"(The data that a configuration names.

>>> grbm.Dataset.of(grbm.Config.preset("gmm-iso"))
Dataset('gmm-iso', 1000 rows of 2 values)
)")
      .def_property_readonly("rows", &Dataset::rows, "How many rows.")
      .def_property_readonly("visible", &Dataset::visible, "How many values a row has.")
      .def_property_readonly("source", &Dataset::source, "A file's name, or the name of the data.")
      .def_property_readonly(
          "image_shape", [](const Dataset& d) { return ShapeTupleOf(d.shape()); },
          "Height, width and channels; None where rows are not images.")
      .def_property_readonly(
          "labels",
          [](const Dataset& d) -> py::object {
            if (d.labels().empty()) return py::none();
            return py::array_t<int>(std::ssize(d.labels()), d.labels().data());
          },
          "One per row; None where unknown.")
      .def_property_readonly(
          "label_names", [](const Dataset& d) { return d.names().labels; },
          "What the labels 0, 1, ... are called; empty where they are plain numbers.")
      .def_property_readonly("conditions", &Conditions,
                             "What is given with each row, in its own units: rows × conditions; None where nothing is.")
      .def_property_readonly("history", &Dataset::history, "How many rows before a row are its conditions.")
      .def_property_readonly(
          "weights",
          [](const Dataset& d) -> py::object {
            if (d.weights().empty()) return py::none();
            return py::array_t<double>(static_cast<py::ssize_t>(d.weights().size()), d.weights().data());
          },
          "What each row counts for; None where all count the same.")
      .def_property_readonly("has_gaps", &Dataset::has_gaps, "Whether values are missing.")
      .def_property_readonly("warning", &Dataset::warning, "What whoever trains on them should know; mostly empty.")
      .def_property_readonly("values", &Values, "All rows, as a new array of unsigned bytes or of floats.")
      .def("__len__", &Dataset::rows)
      .def("__repr__", [](const Dataset& d) {
        return py::str("Dataset({!r}, {} rows of {} values)").format(d.source(), d.rows(), d.visible());
      });

  m.def(
      "fetch",
      [](const std::string& name, const std::optional<Callback<std::string>>& progress) {
        WithoutGil([&](Signals& signals) {
          FetchDataset(name, DefaultCacheDir(), [&](const std::string& line) {
            signals.Check();
            if (!progress) return;
            const Gil gil;
            (*progress)(line);
          });
          return true;
        });
      },
      py::arg("name"), py::arg("progress") = py::none(),
      R"(Gets "mnist" or "fashion-mnist" where Dataset.load finds them; what is there and right stays as it is.

>>> grbm.fetch("no-such-data")
Traceback (most recent call last):
grbm.ConfigError: no-such-data: ...
)");
}

}  // namespace grbm::python
