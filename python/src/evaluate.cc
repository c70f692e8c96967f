// Judgements of models and of samples.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "arrays.h"
#include "bindings.h"
#include "compute.h"
#include "grbm/core/error.h"
#include "grbm/evaluate/evaluation.h"
#include "grbm/evaluate/frechet.h"
#include "grbm/evaluate/likelihood.h"
#include "grbm/evaluate/quick.h"
#include "grbm/evaluate/score.h"
#include "grbm/model/energy.h"
#include "grbm/model/reach.h"
#include "grbm/sampler/diagnostics.h"

namespace grbm::python {

namespace {

const char* MethodName(PartitionMethod method) {
  constexpr std::array<const char*, 3> kNames = {"enumeration", "quadrature", "annealing"};
  return kNames[static_cast<std::size_t>(method)];
}

// log Z of the model's law. Annealing begins at a Gaussian that is fitted to samples of the model itself: no data are needed.
PartitionFunction Partition(const ModelFile& file, const AisOptions& options, int threads,
                            const ProgressCallback& progress) {
  RequireNoLabels(file);
  RequireNoConditions(file);
  if (options.chains < 2 || options.temperatures < 1) {
    throw ConfigError("annealing: at least 2 chains and 1 temperature are needed");
  }
  return OnPool(threads, [&](ThreadPool& pool, Signals& signals) {
    Chains chains = NoiseChains(file.model, options.chains, options.seed, pool);
    Sampler sampler(file.model, file.sampler, pool, OnUnstable::kAllow, Hooks(signals));
    sampler.Run(chains, {.seed = options.seed});
    return ComputePartition(file.law(), chains.visible, options, pool, Progress(signals, progress));
  });
}

// log p(v | u) of each row given its conditions, exactly.
std::vector<double> RowLikelihoodsGiven(const ModelFile& file, const FloatArray& rows, const py::object& conditions,
                                        int threads) {
  const ConstMatrix view = RowsOf(rows, "X");
  if (view.cols() != file.model.visible()) {
    throw DataError(
        fmt::format("X: rows of {} values, but the model has {} visible units", view.cols(), file.model.visible()));
  }
  const Matrix u = ConditionsOf(file, conditions, view.rows());
  return OnPool(threads, [&](ThreadPool& pool, Signals&) {
    Matrix values(view.rows(), view.cols());
    CopyRows(view, values);
    file.standardization.Apply(values);
    CheckReach(file.model, values, "X");
    for (auto& [name, scores] : ScoreRowsGiven(file.law(), file.standardization, values, u, pool)) {
      if (name == "log_likelihood") return scores;
    }
    throw ConfigError(
        "conditions: log Z given each row's is exact up to 20 hidden or 2 visible units: of larger models, "
        "evaluate(model, "
        "data, metrics=[\"likelihood\"]) anneals");
  });
}

std::vector<double> RowLikelihoods(const ModelFile& file, const FloatArray& rows, double log_partition, int threads) {
  RequireNoLabels(file);
  RequireNoConditions(file);
  const ConstMatrix view = RowsOf(rows, "X");
  return OnPool(threads, [&](ThreadPool& pool, Signals&) {
    CheckVisible(file.model, view, "X");
    return LogLikelihoods(file.law(), file.standardization, view, log_partition, pool);
  });
}

std::string Judge(const ModelFile& file, const Dataset& data, const std::optional<Dataset>& held_out,
                  const std::vector<std::string>& metrics, Index samples, Index rows, Index chains,
                  std::int64_t temperatures, const std::string& classifier, std::uint64_t seed, int threads,
                  const ProgressCallback& progress) {
  return OnPool(threads, [&](ThreadPool& pool, Signals& signals) {
    EvaluationRequest request{.file = file, .data = data, .held_out = held_out};
    request.samples = samples;
    request.rows = rows;
    request.chains = chains;
    request.temperatures = temperatures;
    request.classifier = classifier;
    request.seed = seed;
    Evaluation evaluation(std::move(request), pool, Progress(signals, progress));
    return ScoresJson(Evaluate(evaluation, metrics));
  });
}

std::pair<double, bool> FrechetOf(const FloatArray& a, const FloatArray& b) {
  const ConstMatrix first = RowsOf(a, "a");
  const ConstMatrix second = RowsOf(b, "b");
  const FrechetDistance distance = WithoutGil([&](Signals& signals) {
    FeatureMoments m(first.cols());
    FeatureMoments n(second.cols());
    m.Add(first);
    n.Add(second);
    return Frechet(m, n, [&] { signals.Check(); });
  });
  return {distance.distance, distance.rank_deficient};
}

std::pair<double, double> KernelOf(const FloatArray& a, const FloatArray& b, Index subset_size) {
  const ConstMatrix first = RowsOf(a, "a");
  const ConstMatrix second = RowsOf(b, "b");
  const KernelDistance distance =
      WithoutGil([&](Signals& signals) { return Kernel(first, second, subset_size, [&] { signals.Check(); }); });
  return {distance.distance, distance.standard_error};
}

QuickDistance QuickOf(const FloatArray& data, const FloatArray& samples, const ShapeTuple& image_shape, int threads) {
  const ConstMatrix rows = RowsOf(data, "data");
  const ConstMatrix drawn = RowsOf(samples, "samples");
  const ImageShape shape = ShapeOf(image_shape);
  if (drawn.cols() != rows.cols()) throw DataError("samples: expected are as many columns as the data have");
  const auto check = [](ConstMatrix values, const char* what) {
    const auto count = static_cast<std::size_t>(values.rows() * values.cols());
    if (count == 0) throw DataError(fmt::format("{}: no values", what));
    if (!AllFinite({values.data(), count})) throw DataError(fmt::format("{}: Input contains NaN or infinity", what));
  };
  check(rows, "data");
  check(drawn, "samples");
  return OnPool(threads, [&](ThreadPool& pool, Signals&) {
    const QuickFeatures features(rows, shape, pool);
    return QuickDistances(features(rows, pool), features(drawn, pool));
  });
}

// A diagnostic of draws [chain, draw, ...]: one number for each of what follows.
template <double (*kDiagnostic)(MatrixView<const double>)>
py::object Diagnostic(const DoubleArray& draws) {
  if (draws.ndim() < 2) throw DataError("draws: expected is an array of [chain, draw, ...]");
  const Index chains = draws.shape(0);
  const Index count = draws.shape(1);
  if (chains * count == 0) throw DataError("draws: expected are at least one chain and one draw");
  const Index each = draws.size() / (chains * count);
  std::vector<double> results(static_cast<std::size_t>(each));
  const double* const values = draws.data();
  WithoutGil([&](Signals& signals) {
    BasicMatrix<double> one(chains, count);
    for (Index k = 0; k < each; ++k) {
      signals.Check();
      for (Index c = 0; c < chains; ++c) {
        for (Index d = 0; d < count; ++d) one(c, d) = values[(c * count + d) * each + k];
      }
      results[static_cast<std::size_t>(k)] = kDiagnostic(one.view());
    }
    return true;
  });
  if (draws.ndim() == 2) return py::float_(results.empty() ? std::numeric_limits<double>::quiet_NaN() : results[0]);
  const std::vector<Index> shape(draws.shape() + 2, draws.shape() + draws.ndim());
  return py::array_t<double>(shape, results.data());
}

}  // namespace

void BindEvaluate(py::module_& m) {
  py::class_<Estimate>(m, "Estimate", "A number and its standard error: NaN where unknown, 0 where exact.")
      .def_readonly("value", &Estimate::value, "The number.")
      .def_readonly("error", &Estimate::error, "Its standard error.")
      .def("__repr__", [](const Estimate& e) { return fmt::format("Estimate({:.6g} ± {:.2g})", e.value, e.error); });

  py::class_<PartitionFunction>(m, "Partition",
                                R"(log Z of a model: exact for small ones, otherwise an estimate with bounds.

>>> z = grbm.log_partition(grbm.Model.initial(3, 2))
>>> z.method, z.error, z.low == z.value == z.high
('enumeration', 0.0, True)
)")
      .def_property_readonly(
          "value", [](const PartitionFunction& z) { return z.log_partition.value; }, "The estimate of log Z.")
      .def_property_readonly(
          "error", [](const PartitionFunction& z) { return z.log_partition.error; }, "Its standard error; 0: exact.")
      .def_property_readonly("low", &PartitionFunction::low,
                             "Where log Z lies at least: two standard errors, or the bound where it is wider.")
      .def_property_readonly("high", &PartitionFunction::high, "Where log Z lies at most.")
      .def_property_readonly(
          "method", [](const PartitionFunction& z) { return MethodName(z.method); },
          "\"enumeration\", \"quadrature\" or \"annealing\".")
      .def_property_readonly(
          "wide", [](const PartitionFunction& z) { return z.annealing && z.annealing->wide; },
          "True where the estimate is not to be trusted, only the interval.")
      .def("__repr__",
           [](const PartitionFunction& z) {
             return fmt::format("Partition(log Z = {:.6g}, between {:.6g} and {:.6g}, by {})", z.log_partition.value,
                                z.low(), z.high(), MethodName(z.method));
           })
      .def(py::pickle(
          [](const PartitionFunction& z) {
            const bool wide = z.annealing && z.annealing->wide;
            return py::make_tuple(static_cast<int>(z.method), z.log_partition.value, z.log_partition.error, wide,
                                  z.low(), z.high());
          },
          FromPickle("log Z", [](const py::tuple& t) {
            const int method = t.size() == 6 ? t[0].cast<int>() : -1;
            if (method < 0 || method > static_cast<int>(PartitionMethod::kAnnealing)) {
              throw DataError("log Z: a pickle of another version");
            }
            PartitionFunction z{
                static_cast<PartitionMethod>(t[0].cast<int>()), {t[1].cast<double>(), t[2].cast<double>()}, {}};
            if (t[3].cast<bool>()) {
              z.annealing.emplace();
              z.annealing->wide = true;
              z.annealing->lower = {t[4].cast<double>(), 0};
              z.annealing->upper = {t[5].cast<double>(), 0};
            }
            return z;
          })));

  m.def(
      "log_partition",
      [](const ModelFile& f, Index chains, std::int64_t temperatures, std::uint64_t seed, int threads,
         const ProgressCallback& progress) {
        return Partition(f, {chains, temperatures, seed}, threads, progress);
      },
      py::arg("model"), py::arg("chains") = 100, py::arg("temperatures") = 1000, py::arg("seed") = 1,
      py::arg("threads") = 0, py::arg("progress") = py::none(),
      R"(log Z of the model's law: exact up to 20 hidden or 2 visible units, otherwise by annealed importance sampling, from a
Gaussian fitted to samples of the model.

>>> grbm.log_partition(grbm.Model.initial(3, 2)).method
'enumeration'
)");
  m.def(
      "row_log_likelihoods",
      [](const ModelFile& f, const FloatArray& X, const std::optional<double>& log_partition, int threads,
         const py::object& conditions) {
        if (f.model.conditions() > 0 && log_partition) {
          throw ConfigError(
              "log_partition: with conditions every row has one of its own, which is computed: leave it out");
        }
        if (f.model.conditions() > 0) return ToArray(RowLikelihoodsGiven(f, X, conditions, threads));
        if (!conditions.is_none()) throw ConfigError("conditions: the model has none");
        if (!log_partition) throw ConfigError("log_partition: it is needed: see grbm.log_partition");
        return ToArray(RowLikelihoods(f, X, *log_partition, threads));
      },
      py::arg("model"), py::arg("X"), py::arg("log_partition") = py::none(), py::arg("threads") = 0,
      py::arg("conditions") = py::none(),
      R"(log p(v) of each row, in the data's own units; of a model with conditions log p(v | u), for which log Z of each row is computed,
exactly: up to 20 hidden or 2 visible units.

>>> model = grbm.Model.initial(3, 2)
>>> grbm.row_log_likelihoods(model, np.zeros((2, 3)), grbm.log_partition(model).value).shape
(2,)
)");
  m.def("judge", &Judge, py::arg("model"), py::arg("data"), py::arg("held_out"), py::arg("metrics"), py::arg("samples"),
        py::arg("rows"), py::arg("chains"), py::arg("temperatures"), py::arg("classifier"), py::arg("seed"),
        py::arg("threads"), py::arg("progress"), "The judgements of `grbm evaluate`, as the text of a JSON object.");
  m.def(
      "metrics",
      [] {
        std::map<std::string, std::string> all;
        for (const Metric& metric : Metrics()) all[std::string(metric.name)] = metric.help;
        return all;
      },
      R"(What grbm.evaluate can judge, and what each is.

>>> "likelihood" in grbm.metrics()
True
)");
  m.def("frechet", &FrechetOf, py::arg("a"), py::arg("b"), "The distance, and whether a covariance is singular.");
  m.def("kernel", &KernelOf, py::arg("a"), py::arg("b"), py::arg("subset_size"),
        "The distance and its standard error.");
  m.def(
      "quick_distance",
      [](const FloatArray& data, const FloatArray& samples, const ShapeTuple& image_shape, int threads) {
        const QuickDistance distance = QuickOf(data, samples, image_shape, threads);
        return std::pair(distance.frechet, distance.kernel);
      },
      py::arg("data"), py::arg("samples"), py::arg("image_shape") = py::none(), py::arg("threads") = 0,
      R"(Fréchet and kernel distances on features that are made from the data in seconds: compare only those of as many rows.

>>> X = np.random.default_rng(0).normal(size=(200, 5))
>>> frechet, kernel = grbm.quick_distance(X[:100], X[100:])
>>> frechet.value < grbm.quick_distance(X[:100], X[100:] + 3)[0].value
True
)");
  m.def("split_rhat", &Diagnostic<SplitRhat>, py::arg("draws"), "R̂ of draws [chain, draw, ...].");
  m.def("ess_bulk", &Diagnostic<EssBulk>, py::arg("draws"), "Of the centre of the distribution.");
  m.def("ess_tail", &Diagnostic<EssTail>, py::arg("draws"), "Of its tails.");
  m.def("ess_mean", &Diagnostic<EssMean>, py::arg("draws"), "Of its mean.");
}

}  // namespace grbm::python
