// Training.
#include <fmt/core.h>

#include <atomic>
#include <thread>
#include <utility>

#include "arrays.h"
#include "bindings.h"
#include "compute.h"
#include "grbm/core/error.h"
#include "grbm/data/classes.h"
#include "grbm/train/data_trainer.h"
#include "grbm/train/run.h"
#include "hooks.h"
#include "train/metrics_file.h"
#include "train/watch.h"

namespace grbm::python {

namespace {

// Called with a line of metrics.jsonl after every update; true ends the run.
using LineCallback = std::optional<Callback<std::string>>;
using WarningCallback = std::optional<Callback<std::string>>;

bool Tell(const LineCallback& callback, const UpdateMetrics& metrics) {
  if (!callback) return false;
  const Gil gil;
  const py::object answer = (*callback)(MetricsLine(metrics, {}));
  return !answer.is_none() && answer.cast<bool>();
}

void Warn(const WarningCallback& callback, const std::string& text) {
  if (!callback) return;
  const Gil gil;
  (*callback)(text);
}

py::tuple StateTuple(const TrainState& s) {
  py::list moments;
  for (const Parameters& p : s.moments) moments.append(ParametersTuple(p));
  py::object chains = py::none();
  if (s.chains) chains = py::make_tuple(s.chains->first, ToArray(s.chains->visible), ToBytes(s.chains->hidden));
  py::object offsets = py::none();
  if (s.offsets) offsets = py::make_tuple(s.offsets->visible, s.offsets->hidden);
  py::object average = py::none();
  if (s.average) average = ParametersTuple(*s.average);
  py::object gaps = py::none();
  if (s.gaps) gaps = py::array_t<std::uint64_t>({s.gaps->rows(), s.gaps->cols()}, s.gaps->data());
  return py::make_tuple(s.updates, ParametersTuple(s.parameters), moments, chains, offsets, average, gaps);
}

TrainState StateFrom(const py::tuple& t) {
  if (t.size() != 7) throw DataError("state: a pickle of another version");
  TrainState s;
  s.updates = t[0].cast<std::uint64_t>();
  s.parameters = ParametersFrom(t[1]);
  for (const py::handle& p : t[2]) s.moments.push_back(ParametersFrom(p.cast<py::tuple>()));
  if (!t[3].is_none()) {
    const auto c = t[3].cast<py::tuple>();
    const auto visible = c[1].cast<FloatArray>();
    const ConstMatrix rows = RowsOf(visible, "chains");
    Matrix copy(rows.rows(), rows.cols());
    CopyRows(rows, copy);
    s.chains = Chains{c[0].cast<std::uint32_t>(), std::move(copy), BitsOf(c[2], "chains")};
  }
  if (!t[4].is_none()) {
    const auto o = t[4].cast<py::tuple>();
    s.offsets = Offsets{o[0].cast<std::vector<float>>(), o[1].cast<std::vector<float>>()};
  }
  if (!t[5].is_none()) s.average = ParametersFrom(t[5]);
  if (!t[6].is_none()) {
    const auto words = t[6].cast<py::array_t<std::uint64_t, py::array::c_style>>();
    if (words.ndim() != 2) throw DataError("state: a damaged pickle");
    s.gaps.emplace(words.shape(0), words.shape(1));
    std::copy_n(words.data(), words.size(), s.gaps->data());
  }
  return s;
}

py::tuple StatisticsTuple(const DataStatistics& s) {
  return py::make_tuple(s.standardization.mean, s.standardization.deviation, s.units.mean, s.units.deviation,
                        s.conditions.mean, s.conditions.deviation, s.classes, s.standardization.margin,
                        s.conditions.margin);
}

DataStatistics StatisticsFrom(const py::tuple& t) {
  if (t.size() != 9) throw DataError("statistics: a pickle of another version");
  const auto vector = [&](std::size_t i) { return t[i].cast<std::vector<float>>(); };
  return {{vector(0), vector(1), vector(7)},
          {vector(2), vector(3)},
          {vector(4), vector(5), vector(8)},
          t[6].cast<std::vector<std::string>>()};
}

// Zeros that lie lower by a margin leave no place for values below 0, in rows that count.              [math.md (85)]
void CheckMarginOfRows(const std::vector<float>& margin, const Dataset& data) {
  if (margin.empty()) return;
  Matrix row(1, data.visible());
  for (Index r = 0; r < data.rows(); ++r) {
    if (!data.weights().empty() && data.weights()[static_cast<std::size_t>(r)] == 0) continue;
    data.Read(r, row);
    CheckMargin(margin, row.values(), r, data.source());
  }
}

void CheckStatistics(const DataStatistics& s, const Dataset& data) {
  const Index visible = data.visible();
  CheckStandardization(s.standardization, visible, "statistics");
  CheckStandardization(s.conditions, data.conditions(), "statistics: conditions");
  const auto has = [&](const std::vector<float>& values) { return values.empty() || std::ssize(values) == visible; };
  if (!has(s.units.mean) || !has(s.units.deviation)) {
    throw DataError(fmt::format("statistics: expected is one number for each of {} columns", visible));
  }
}

// Training in memory, update by update.
class PythonTrainer {
 public:
  PythonTrainer(const Config& config, const Dataset& data, std::uint64_t seed, int threads, PythonStep step,
                std::optional<DataStatistics> statistics, const std::vector<std::string>& classes)
      : config_(config), step_(std::move(step)), like_{Model(Parameters(1, 1))}, pool_(threads) {
    SamplerHooks hooks = {.before_step = [this] {
      if (Signals* const signals = signals_) signals->Check();
    }};
    if (step_) {
      hooks.step = [this](const Model& model, Chains& chains, std::uint64_t number) {
        Hooks(*signals_.load(), step_, like_).step(model, chains, number);
      };
    }
    if (step_ && (config.model.labels || data.conditions() > 0)) {
      throw ConfigError(
          "sampler: one written in Python draws values and hidden units alone: not with labels or conditions");
    }
    if (statistics) CheckStatistics(*statistics, data);
    if (config.train.stop_after > 0) {
      throw ConfigError("train: stop_after: of runs in a folder, by the program; here, end training by a callback");
    }
    const GilReleased released;
    if (statistics) CheckMarginOfRows(statistics->standardization.margin, data);
    if (!statistics && config.model.labels && !classes.empty()) {
      Config values = config;  // of the classes, more are known than the data have
      values.model.labels = false;
      statistics = ComputeStatistics(values, data);
      CheckClassNames(classes, "classes");
      statistics->classes = classes;
    }
    trainer_.emplace(config_, data, seed, pool_, hooks, std::move(statistics));
    like_ = trainer_->File();
  }

  // True at the end, false after `most` updates (0: no limit), or where the callback said so.
  bool Run(std::uint64_t most, const LineCallback& on_update, const WarningCallback& on_warning) {
    Trainer& trainer = trainer_->trainer();
    const LogSchedule schedule =
        MakeLogSchedule(config_, static_cast<std::uint64_t>(trainer_->data().rows()), trainer.total_updates());
    Watch watch(config_.model, config_.sampler);
    return WithoutGil([&](Signals& signals) {
      const Listening listening(*this, signals);
      for (std::uint64_t made = 0; most > 0 ? made < most : !trainer.done(); ++made) {
        const UpdateMetrics metrics = trainer.Update();
        if (schedule.Logs(metrics.update)) lines_.push_back(MetricsLine(metrics, {}));
        for (const std::string& text : watch.See(metrics)) Warn(on_warning, text);
        if (Tell(on_update, metrics)) break;
        signals.Check();
      }
      return trainer.done();
    });
  }

  // These belong to the thread that runs it, whose callbacks may ask: to others it is closed until that thread is done.
  std::shared_ptr<ModelFile> File() const { return (CheckThread(), std::make_shared<ModelFile>(trainer_->File())); }
  Trainer& trainer() { return (CheckThread(), trainer_->trainer()); }
  const std::vector<std::string>& lines() const { return (CheckThread(), lines_); }
  const DataStatistics& statistics() const { return trainer_->statistics(); }

 private:
  // Chains look for signals while Run() does.
  struct Listening {
    Listening(PythonTrainer& t, Signals& signals) : trainer(t) {
      Signals* none = nullptr;
      if (!trainer.signals_.compare_exchange_strong(none, &signals)) throw ConfigError("trainer: it runs already");
      trainer.runner_ = std::this_thread::get_id();
    }
    ~Listening() {
      trainer.runner_ = std::thread::id();
      trainer.signals_ = nullptr;
    }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;
    PythonTrainer& trainer;
  };

  void CheckThread() const {
    const std::thread::id runner = runner_;
    if (signals_ != nullptr && runner != std::this_thread::get_id()) {
      throw ConfigError("trainer: it runs on another thread: wait until that is done");
    }
  }

  Config config_;
  PythonStep step_;
  ModelFile like_;
  ThreadPool pool_;
  std::atomic<Signals*> signals_ = nullptr;
  std::atomic<std::thread::id> runner_;
  std::optional<DataTrainer> trainer_;
  std::vector<std::string> lines_;  // as in metrics.jsonl
};

// A run in a folder, told to Python. After a signal it stops with a checkpoint; the exception comes later.
class PythonObserver : public RunObserver {
 public:
  PythonObserver(Signals& signals, const LineCallback& on_update, const WarningCallback& on_warning)
      : signals_(signals), on_update_(on_update), on_warning_(on_warning) {}

  void OnUpdate(const UpdateMetrics& metrics) override {
    try {
      stop_ = Tell(on_update_, metrics);
    } catch (...) {  // Ctrl-C amid the callback among others: first the checkpoint
      stop_ = true;
      raised = std::current_exception();
    }
  }
  void OnWarning(const std::string& text) override { Warn(on_warning_, text); }
  bool ShouldStop() override {
    try {
      signals_.Check();
    } catch (const Signals::Stopped&) {
      stop_ = interrupted = true;
    }
    return stop_;
  }

  bool interrupted = false;
  std::exception_ptr raised;  // by a callback

 private:
  Signals& signals_;
  const LineCallback& on_update_;
  const WarningCallback& on_warning_;
  bool stop_ = false;
};

bool RunInFolder(const Config& config, const std::string& folder, std::uint64_t seed, bool resume, int threads,
                 const LineCallback& on_update, const WarningCallback& on_warning) {
  return WithoutGil([&](Signals& signals) {
    ThreadPool pool(threads);
    PythonObserver observer(signals, on_update, on_warning);
    const bool finished = TrainRun({config, seed, folder, resume}, pool, observer);
    if (observer.raised) std::rethrow_exception(observer.raised);
    if (observer.interrupted) throw Signals::Stopped();
    return finished;
  });
}

}  // namespace

void BindTrain(py::module_& m) {
  py::class_<TrainState>(m, "TrainState", "Everything that training changes; it can be pickled.")
      .def(py::pickle(&StateTuple, FromPickle("state", &StateFrom)))
      .def_readonly("updates", &TrainState::updates, "How many were made.")
      .def(
          "without_chains",
          [](TrainState s) {
            s.chains.reset();
            return s;
          },
          "The same with chains that start anew.")
      .def(
          "without_gaps",
          [](TrainState s) {
            s.gaps.reset();
            return s;
          },
          "The same for other rows: without the states from which missing values of these are drawn on.");
  py::class_<DataStatistics>(m, "DataStatistics", "What training takes from the data as a whole; it can be pickled.")
      .def(py::pickle(&StatisticsTuple, FromPickle("statistics", &StatisticsFrom)));

  py::class_<PythonTrainer>(
      m, "Trainer",
      R"(Training in memory, as long as is wanted at a time. The data are standardised batch by batch, and never copied.

>>> config = grbm.Config.preset("gmm-iso")
>>> trainer = grbm.Trainer(config, grbm.Dataset.load("gmm-iso"), seed=1)
>>> trainer.run(10)
False
>>> trainer.updates, trainer.model().provenance["updates"]
(10, '10')
)")
      .def(py::init<const Config&, const Dataset&, std::uint64_t, int, PythonStep, std::optional<DataStatistics>,
                    const std::vector<std::string>&>(),
           py::arg("config"), py::arg("data"), py::arg("seed") = 1, py::arg("threads") = 0,
           py::arg("step") = py::none(), py::arg("statistics") = py::none(),
           py::arg("classes") = std::vector<std::string>())
      .def(
          "run", &PythonTrainer::Run, py::arg("most") = 0, py::arg("on_update") = py::none(),
          py::arg("on_warning") = py::none(),
          R"(Makes updates, at most so many (0: to the end). on_update is given a line of metrics.jsonl after each, and ends the run where it
returns True; on_warning texts. Ctrl-C ends it between two steps of the chains: the model is then that of the last update.

>>> config = grbm.Config.preset("gmm-iso")
>>> config["train.epochs"] = 0.1
>>> grbm.Trainer(config, grbm.Dataset.load("gmm-iso")).run()
True
)")
      .def("model", &PythonTrainer::File, "The model as it is now.")
      .def(
          "state", [](PythonTrainer& t) { return t.trainer().State(); }, "All that a trainer needs to go on.")
      .def(
          "restore", [](PythonTrainer& t, const TrainState& state) { t.trainer().Restore(state); }, py::arg("state"),
          "Goes on from there.")
      .def_property_readonly(
          "updates", [](PythonTrainer& t) { return t.trainer().updates(); }, "Made so far.")
      .def_property_readonly(
          "total_updates", [](PythonTrainer& t) { return t.trainer().total_updates(); }, "Of the whole training.")
      .def_property_readonly(
          "statistics", [](const PythonTrainer& t) { return t.statistics(); }, "What was taken from the data.")
      .def_property_readonly("lines", &PythonTrainer::lines, "Metrics so far, as in metrics.jsonl.");

  m.def("train_in_folder", &RunInFolder, py::arg("config"), py::arg("folder"), py::arg("seed") = 1,
        py::arg("resume") = false, py::arg("threads") = 0, py::arg("on_update") = py::none(),
        py::arg("on_warning") = py::none(), "A run in a folder, as `grbm train` makes it; true at its end.");
  m.def(
      "read_run",
      [](const std::string& folder) {
        const RunRequest request = ReadRun(folder);
        return std::pair(request.config, request.seed);
      },
      py::arg("folder"), "Settings and seed of the run in a folder.");
}

}  // namespace grbm::python
