// Data sets.
#include <cstring>
#include <optional>

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
)")
      .def(py::init([](const py::object& rows, const ShapeTuple& image_shape, const std::string& source, bool gaps,
                       std::vector<double> weights) {
             return DatasetOf(rows, ShapeOf(image_shape), source, gaps).WithWeights(std::move(weights));
           }),
           py::arg("rows"), py::arg("image_shape") = py::none(), py::arg("source") = "array", py::arg("gaps") = false,
           py::arg("weights") = std::vector<double>())
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
