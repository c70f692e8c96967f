// Models: their parameters, energies and conditionals, in the model's units.
#include <fmt/core.h>
#include <pybind11/operators.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

#include "arrays.h"
#include "bindings.h"
#include "compute.h"
#include "grbm/core/error.h"
#include "grbm/evaluate/samples.h"
#include "grbm/model/energy.h"
#include "grbm/model/reach.h"
#include "grbm/train/config.h"

namespace grbm::python {

namespace {

using ModelClass = py::class_<ModelFile, std::shared_ptr<ModelFile>>;

std::vector<float> OptionalVector(const std::optional<FloatArray>& array, const char* what) {
  return array ? VectorOf(*array, what) : std::vector<float>();
}

struct Settings {
  double variance_floor;
  py::dict sampler;
  py::dict generate;
  std::optional<FloatArray> mean;
  std::optional<FloatArray> deviation;
  ShapeTuple image_shape;
  std::map<std::string, std::string> provenance;
  std::vector<std::string> classes;
  std::optional<FloatArray> condition_mean;
  std::optional<FloatArray> condition_deviation;
  Index history;
  std::optional<FloatArray> margin;
  std::optional<FloatArray> condition_margin;
};

std::shared_ptr<ModelFile> Make(Parameters parameters, const Settings& s) {
  auto file = std::make_shared<ModelFile>(
      ModelFile{Model(std::move(parameters), s.variance_floor, static_cast<Index>(s.classes.size()))});
  file->classes = s.classes;
  if (std::set<std::string>(s.classes.begin(), s.classes.end()).size() != s.classes.size()) {
    throw DataError("classes: one stands there twice: each class has one name");
  }
  file->conditions = {OptionalVector(s.condition_mean, "condition_mean"),
                      OptionalVector(s.condition_deviation, "condition_deviation"),
                      OptionalVector(s.condition_margin, "condition_margin")};
  CheckStandardization(file->conditions, file->model.conditions(), "model: conditions");
  if (s.history != 0 && s.history * file->model.visible() != file->model.conditions()) {
    throw DataError(fmt::format("history = {}: expected are as many rows of {} values as make the {} conditions",
                                s.history, file->model.visible(), file->model.conditions()));
  }
  file->history = s.history;
  SetFields(file->sampler.Fields(), s.sampler, "sampler");
  CheckOptions(file->sampler);
  SetFields(file->generate.Fields(), s.generate, "generate");
  CheckGeneration(file->generate, file->sampler);
  CheckKeptLabels(file->generate, file->model.label_units() > 0);
  file->standardization = {OptionalVector(s.mean, "mean"), OptionalVector(s.deviation, "deviation"),
                           OptionalVector(s.margin, "margin")};
  CheckStandardization(file->standardization, file->model.gaussian_units(), "model");
  file->image_shape = ShapeOf(s.image_shape);
  if (file->image_shape.known() && file->image_shape.size() != file->model.gaussian_units()) {
    throw DataError(
        fmt::format("image_shape: images of {} values, but the model has {} visible units: expected are as many",
                    file->image_shape.size(), file->model.gaussian_units()));
  }
  file->provenance = s.provenance;
  return file;
}

bool IsNpz(const std::string& path) { return std::filesystem::path(path).extension() == ".npz"; }

std::shared_ptr<ModelFile> Load(const std::filesystem::path& given) {
  const GilReleased released;
  const std::string path = given.string();
  return std::make_shared<ModelFile>(IsNpz(path) ? ImportNpz(path) : ReadModel(path));
}

void Save(const ModelFile& file, const std::filesystem::path& given) {
  const GilReleased released;
  const std::string path = given.string();
  if (IsNpz(path)) {
    ExportNpz(path, file);
  } else {
    WriteModel(path, file);
  }
}

// The parameters as arrays: the model's own memory, which they keep alive.
void BindTensors(ModelClass& model) {
  const Parameters of_any(1, 1);
  const auto tensors = of_any.Tensors();
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const auto get = [k](const py::object& self) {
      const auto tensor = self.cast<const ModelFile&>().model.parameters().Tensors()[k];
      return Borrow(tensor.values(), tensor.shape(), self);
    };
    model.def_property_readonly(std::string(tensors[k].name).c_str(), get, std::string(tensors[k].meaning).c_str());
  }
}

void CheckTemperature(double temperature) {
  if (!(temperature > 0) || !std::isfinite(temperature)) {
    throw ConfigError(fmt::format("temperature = {}: allowed is a number above 0", temperature));
  }
}

ThreadPool& CheckedPool(ThreadPool& pool, const Model& model, ConstMatrix v) {
  CheckVisible(model, v, "v");
  CheckReach(model, v, "v");
  return pool;
}

// f(v, pool) of rows of visible units in the model's units.
template <typename Function>
auto OfVisible(const ModelFile& file, const FloatArray& v, int threads, const Function& f) {
  const ConstMatrix rows = RowsOf(v, "v");
  return OnPool(threads, [&](ThreadPool& pool, Signals&) { return f(rows, CheckedPool(pool, file.model, rows)); });
}

BitMatrix HiddenOf(const ModelFile& file, const py::object& h) {
  BitMatrix bits = BitsOf(h, "h");
  CheckHidden(file.model, bits, bits.rows(), "h");
  return bits;
}

// In place in a copy.
Matrix Mapped(const ModelFile& file, const FloatArray& rows, void (Standardization::*map)(MutableMatrix) const) {
  const ConstMatrix given = RowsOf(rows, "rows");
  if (given.cols() != file.model.gaussian_units()) {
    throw DataError(
        fmt::format("rows of {} values: the model has {} visible units", given.cols(), file.model.gaussian_units()));
  }
  Matrix copy(given.rows(), given.cols());
  CopyRows(given, copy);
  (file.standardization.*map)(copy);
  return copy;
}

void BindParameters(ModelClass& model) {
  model
      .def_property_readonly(
          "visible", [](const ModelFile& f) { return f.model.gaussian_units(); },
          "How many visible units: values of a row. The units of classes are not among them.")
      .def_property_readonly(
          "hidden", [](const ModelFile& f) { return f.model.hidden(); }, "How many hidden units.")
      .def_property_readonly(
          "variance",
          [](const py::object& self) {
            const std::span<const float> values = self.cast<const ModelFile&>().model.variance();
            return Borrow(values, {std::ssize(values)}, self);
          },
          "Variances of the visible units.")
      .def_property_readonly(
          "variance_floor", [](const ModelFile& f) { return f.model.variance_floor(); },
          "Variances are kept at or above this.")
      .def_property_readonly(
          "mean", VectorOf(&ModelFile::standardization, &Standardization::mean),
          "Of the standardisation: the data's value that is 0 in the model's units; empty: as they are.")
      .def_property_readonly("deviation", VectorOf(&ModelFile::standardization, &Standardization::deviation),
                             "Of the standardisation: how many of the data's units are 1; empty: as they are.")
      .def_property_readonly("margin", VectorOf(&ModelFile::standardization, &Standardization::margin),
                             "Of the standardisation: how far below 0 the data's zeros lie; empty: where they are.")
      .def_property_readonly(
          "image_shape", [](const ModelFile& f) { return ShapeTupleOf(f.image_shape); },
          "Height, width and channels; None where rows are not images.")
      .def_property_readonly(
          "sampler",
          [](const ModelFile& f) {
            SamplerOptions options = f.sampler;
            return FieldValues(options.Fields());
          },
          "Settings of the sampler that the model was trained by, by their names in the section [sampler].")
      .def_property_readonly(
          "generate",
          [](const ModelFile& f) {
            GenerateOptions options = f.generate;
            return FieldValues(options.Fields());
          },
          "How samples are drawn where that is not as in training, by the names in the section [generate].")
      .def_property_readonly(
          "provenance", [](const ModelFile& f) { return f.provenance; }, "Where the model comes from.");
}

void BindConditionals(ModelClass& model) {
  model
      .def(
          "energy",
          [](const ModelFile& f, const FloatArray& v, const py::object& h, int threads) {
            const BitMatrix bits = HiddenOf(f, h);
            return ToArray(OfVisible(f, v, threads, [&](ConstMatrix rows, ThreadPool& pool) {
              return Energies(f.model, rows, bits, pool);
            }));
          },
          py::arg("v"), py::arg("h"), py::arg("threads") = 0, R"(E(v, h) of each row. v and h are in the model's units.

>>> model = grbm.Model.initial(3, 2)
>>> model.energy(np.zeros((1, 3)), [[0, 0]]) == 0
array([ True])
)")
      .def(
          "marginal_energy",
          [](const ModelFile& f, const FloatArray& v, int threads) {
            return ToArray(OfVisible(f, v, threads, [&](ConstMatrix rows, ThreadPool& pool) {
              return MarginalEnergies(f.model, rows, pool);
            }));
          },
          py::arg("v"), py::arg("threads") = 0,
          R"(The energy of v alone, with the hidden units summed out: exp(-it) is the density but for its constant.

>>> model = grbm.Model.initial(3, 2)
>>> bool(np.isclose(model.marginal_energy(np.zeros((1, 3)))[0], -2 * np.log(2)))
True
)")
      .def(
          "hidden_probabilities",
          [](const ModelFile& f, const FloatArray& v, double temperature, int threads) {
            return ToArray(OfVisible(f, v, threads, [&](ConstMatrix rows, ThreadPool& pool) {
              CheckTemperature(temperature);
              return HiddenProbabilities(f.model, rows, pool, temperature);
            }));
          },
          py::arg("v"), py::arg("temperature") = 1.0, py::arg("threads") = 0, R"(p(h = 1 | v): rows × hidden.

>>> grbm.Model.initial(3, 2).hidden_probabilities(np.zeros((1, 3)))
array([[0.5, 0.5]], dtype=float32)
)")
      .def(
          "sample_hidden",
          [](const ModelFile& f, const FloatArray& v, std::uint64_t seed, std::uint64_t step, double temperature,
             int threads) {
            const BitMatrix bits = OfVisible(f, v, threads, [&](ConstMatrix rows, ThreadPool& pool) {
              CheckTemperature(temperature);
              return SampleHidden(f.model, rows, {Stream(seed, Purpose::kHidden), step, 0}, pool, temperature);
            });
            return ToBytes(bits);
          },
          py::arg("v"), py::arg("seed") = 1, py::arg("step") = 0, py::arg("temperature") = 1.0, py::arg("threads") = 0,
          R"(h ~ p(h | v), as 0 and 1. The seed, the step and the row fix every draw.

>>> grbm.Model.initial(3, 2).sample_hidden(np.zeros((4, 3))).shape
(4, 2)
)")
      .def(
          "sample_visible",
          [](const ModelFile& f, const py::object& h, std::uint64_t seed, std::uint64_t step, int threads) {
            const BitMatrix bits = HiddenOf(f, h);
            return ToArray(OnPool(threads, [&](ThreadPool& pool, Signals&) {
              return SampleVisible(f.model, bits, {Stream(seed, Purpose::kVisible), step, 0}, pool);
            }));
          },
          py::arg("h"), py::arg("seed") = 1, py::arg("step") = 0, py::arg("threads") = 0,
          R"(v ~ p(v | h), in the model's units.

>>> grbm.Model.initial(3, 2).sample_visible([[0, 1]]).shape
(1, 3)
)")
      .def(
          "visible_mean",
          [](const ModelFile& f, const FloatArray& h, int threads) {
            const ConstMatrix rows = RowsOf(h, "h");
            if (rows.cols() != f.model.hidden()) {
              throw DataError(
                  fmt::format("h: {} columns, but the model has {} hidden units", rows.cols(), f.model.hidden()));
            }
            return ToArray(
                OnPool(threads, [&](ThreadPool& pool, Signals&) { return VisibleMean(f.model, rows, pool); }));
          },
          py::arg("h"), py::arg("threads") = 0,
          R"(mu + W h, the mean of the visible units given hidden states, or given probabilities of them; in the model's units.

>>> model = grbm.Model.initial(3, 2)
>>> bool(np.allclose(model.visible_mean([[1, 0]])[0], model.W[:, 0]))
True
)")
      .def(
          "standardize",
          [](const ModelFile& f, const FloatArray& rows) { return ToArray(Mapped(f, rows, &Standardization::Apply)); },
          py::arg("rows"), R"(Rows from the data's own units to the model's.

>>> grbm.Model.initial(2, 1).standardize([[3, 4]])
array([[3., 4.]], dtype=float32)
)")
      .def(
          "unstandardize",
          [](const ModelFile& f, const FloatArray& rows) { return ToArray(Mapped(f, rows, &Standardization::Invert)); },
          py::arg("rows"), R"(Rows from the model's units to the data's own.

>>> grbm.Model.initial(2, 1).unstandardize([[3, 4]])
array([[3., 4.]], dtype=float32)
)");
}

py::tuple StateOf(const py::object& self) {
  const auto& f = self.cast<const ModelFile&>();
  const auto get = [&](const char* name) { return self.attr(name); };
  return py::make_tuple(ParametersTuple(f.model.parameters()), f.model.variance_floor(), get("sampler"),
                        get("generate"), get("mean"), get("deviation"), ShapeTupleOf(f.image_shape), f.provenance,
                        f.classes, get("condition_mean"), get("condition_deviation"), f.history, get("margin"),
                        get("condition_margin"));
}

std::shared_ptr<ModelFile> FromState(const py::tuple& state) {
  if (state.size() != 14) throw DataError("model: a pickle of another version");
  const auto array = [&](std::size_t k) { return state[k].cast<FloatArray>(); };
  return Make(ParametersFrom(state[0]),
              {state[1].cast<double>(), state[2], state[3], array(4), array(5), state[6].cast<ShapeTuple>(),
               state[7].cast<std::map<std::string, std::string>>(), state[8].cast<std::vector<std::string>>(), array(9),
               array(10), state[11].cast<Index>(), array(12), array(13)});
}

}  // namespace

ModelFile WithSampler(const ModelFile& file, const py::dict& settings) {
  ModelFile result = file;
  SetFields(result.sampler.Fields(), settings, "sampler");
  for (const auto& [name, value] : settings) result.generate.FollowTraining(name.cast<std::string>());
  CheckOptions(result.sampler);
  CheckGeneration(result.generate, result.sampler);
  const SamplerOptions drawn = result.generation();
  if (CheckStability(file.model, drawn).unstable > CheckStability(file.model, file.generation()).unstable) {
    RequireStable(file.model, drawn);
  }
  return result;
}

ModelClass BindModel(py::module_& m) {
  ModelClass model(m, "Model",
                   R"(A model with all that is needed to draw samples from it: parameters, sampler, standardisation.

A model never changes. Energies and conditionals take rows in the model's units, in which data have mean 0 and deviation 1;
sample, encode, reconstruct and inpaint those in the data's own units.

With classes the last rows of W, mu and log_var are units of a label, of which one is 1: energies take them behind the values of a
row. With A and B, conditions shift both biases: energies are those of given(conditions=...).

>>> model = grbm.Model(W=np.zeros((3, 2)), b=np.zeros(2), mu=np.ones(3), log_var=np.zeros(3))
>>> model
Model(visible=3, hidden=2)
>>> model.mu
array([1., 1., 1.], dtype=float32)
)");
  model
      .def(py::init([](const FloatArray& W, const FloatArray& b, const FloatArray& mu, const FloatArray& log_var,
                       double variance_floor, const py::dict& sampler, const py::dict& generate,
                       const std::optional<FloatArray>& mean, const std::optional<FloatArray>& deviation,
                       const ShapeTuple& image_shape, const std::map<std::string, std::string>& provenance,
                       const std::vector<std::string>& classes, const std::optional<FloatArray>& A,
                       const std::optional<FloatArray>& B, const std::optional<FloatArray>& condition_mean,
                       const std::optional<FloatArray>& condition_deviation, Index history,
                       const std::optional<FloatArray>& margin, const std::optional<FloatArray>& condition_margin) {
             if (A.has_value() != B.has_value()) throw DataError("A, B: of conditions both are needed");
             return Make(
                 ParametersFrom(A ? py::make_tuple(W, b, mu, log_var, *A, *B) : py::make_tuple(W, b, mu, log_var)),
                 {variance_floor, sampler, generate, mean, deviation, image_shape, provenance, classes, condition_mean,
                  condition_deviation, history, margin, condition_margin});
           }),
           py::arg("W"), py::arg("b"), py::arg("mu"), py::arg("log_var"),
           py::arg("variance_floor") = Model::kDefaultVarianceFloor, py::arg("sampler") = py::dict(),
           py::arg("generate") = py::dict(), py::arg("mean") = py::none(), py::arg("deviation") = py::none(),
           py::arg("image_shape") = py::none(), py::arg("provenance") = std::map<std::string, std::string>(),
           py::arg("classes") = std::vector<std::string>(), py::arg("A") = py::none(), py::arg("B") = py::none(),
           py::arg("condition_mean") = py::none(), py::arg("condition_deviation") = py::none(), py::arg("history") = 0,
           py::arg("margin") = py::none(), py::arg("condition_margin") = py::none())
      .def_static(
          "initial",
          [](Index visible, Index hidden, std::uint64_t seed, double initial_variance, double variance_floor) {
            if (visible < 1 || hidden < 1)
              throw ConfigError("model: at least one visible and one hidden unit is needed");
            return std::make_shared<ModelFile>(
                ModelFile{Model::Initial(visible, hidden, seed, initial_variance, variance_floor)});
          },
          py::arg("visible"), py::arg("hidden"), py::arg("seed") = 1, py::arg("initial_variance") = 1.0,
          py::arg("variance_floor") = Model::kDefaultVarianceFloor, R"(The start of training: small random weights.

>>> grbm.Model.initial(784, 16, seed=3)
Model(visible=784, hidden=16)
)")
      .def_static("load", &Load, py::arg("path"), R"(A model file: .safetensors or .npz.

>>> path = os.path.join(folder, "model.safetensors")
>>> grbm.Model.initial(3, 2).save(path)
>>> grbm.Model.load(path)
Model(visible=3, hidden=2)
)")
      .def("save", &Save, py::arg("path"), R"(Writes a model file, .safetensors or .npz, which the program reads, too.

>>> grbm.Model.initial(3, 2).save(os.path.join(folder, "model.npz"))
)")
      .def(
          "tempered",
          [](const ModelFile& f, double temperature) {
            CheckTemperature(temperature);
            ModelFile result = f;
            result.model = f.model.Tempered(temperature);
            return std::make_shared<ModelFile>(std::move(result));
          },
          py::arg("temperature"), R"(The model of exp(-E/temperature).

>>> grbm.Model.initial(3, 2).tempered(4).variance
array([4., 4., 4.], dtype=float32)
)")
      .def(
          "with_sampler",
          [](const ModelFile& f, const py::kwargs& settings) {
            return std::make_shared<ModelFile>(WithSampler(f, settings));
          },
          R"(The same model with other settings of its sampler.

>>> grbm.Model.initial(3, 2).with_sampler(method="gibbs", steps=7).sampler["steps"]
7
)")
      .def(
          "__eq__",
          [](const ModelFile& a, const ModelFile& b) {
            return a.model.parameters() == b.model.parameters() &&
                   a.model.variance_floor() == b.model.variance_floor() && a.sampler == b.sampler &&
                   a.generate == b.generate && a.standardization == b.standardization &&
                   a.image_shape == b.image_shape && a.provenance == b.provenance && a.classes == b.classes &&
                   a.conditions == b.conditions && a.history == b.history;
          },
          py::is_operator())
      .def("__repr__",
           [](const ModelFile& f) {
             std::string text = fmt::format("Model(visible={}, hidden={}", f.model.gaussian_units(), f.model.hidden());
             if (!f.classes.empty()) text += fmt::format(", classes={}", f.classes.size());
             if (f.model.conditions() > 0) text += fmt::format(", conditions={}", f.model.conditions());
             return text + ")";
           })
      .def(py::pickle(&StateOf, FromPickle("model", &FromState)));
  BindTensors(model);
  BindParameters(model);
  BindConditionals(model);
  BindGiven(model);
  return model;
}

}  // namespace grbm::python
