// `grbm bench`: one update of each sampler against what the machine could do with dense products.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands.h"
#include "core/json.h"
#include "grbm/core/error.h"
#include "grbm/core/options.h"
#include "grbm/core/random.h"
#include "grbm/model/backend.h"
#include "grbm/train/trainer.h"
#include "numbers.h"
#include "peak.h"
#include "progress.h"
#include "streams.h"

namespace grbm::app {

namespace {

using json = nlohmann::ordered_json;

struct Shape {
  Index visible, hidden, batch;
  std::int64_t steps;
};
constexpr Shape kShapes[] = {{2, 256, 100, 100}, {784, 512, 512, 10}, {784, 4096, 512, 10}, {3072, 10000, 512, 2}};

struct Kind {
  const char* name;
  Method method;
  Adjust adjust;
};
constexpr Kind kKinds[] = {
    {"gibbs", Method::kGibbs, Adjust::kNone},
    {"partial-gibbs", Method::kPartialGibbs, Adjust::kNone},
    {"gibbs-langevin", Method::kGibbsLangevin, Adjust::kNone},
    {"gibbs-langevin, metropolis", Method::kGibbsLangevin, Adjust::kMetropolis},
    {"gibbs-langevin, conditional", Method::kGibbsLangevin, Adjust::kConditional},
    {"langevin", Method::kLangevin, Adjust::kNone},
    {"langevin, metropolis", Method::kLangevin, Adjust::kMetropolis},
};

// Operations of an update by dense products: three per step, five beside them.
double DenseFlops(const Shape& s) {
  return 2.0 * static_cast<double>(s.batch) * static_cast<double>(s.visible) * static_cast<double>(s.hidden) *
         static_cast<double>(3 * s.steps + 5);
}

Shape ParseShape(const std::string& text) {
  Shape s{};
  std::int64_t* const numbers[] = {&s.visible, &s.hidden, &s.batch, &s.steps};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::int64_t* number : numbers) {
    const auto [rest, error] = std::from_chars(at, end, *number);
    const bool last = number == std::end(numbers)[-1];
    if (error != std::errc() || *number < 1 || (last ? rest != end : rest == end || *rest != 'x')) {
      throw ConfigError(fmt::format(
          "--shape {}: allowed are four numbers above 0, visible x hidden x batch x steps, such as 784x4096x512x10",
          text));
    }
    at = rest + 1;
  }
  return s;
}

// Processes that compute without end beside what is timed, until this goes out of scope.
class BusyProcesses {
 public:
  explicit BusyProcesses(int count) {
    const pid_t parent = getpid();
    for (int k = 0; k < count; ++k) {
      const pid_t child = fork();
      if (child < 0) {
        Stop();
        throw IoError(fmt::format("bench: of {} busy processes {} could be started", count, k));
      }
      if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(0);  // it had ended before
        for (;;) asm volatile("");
      }
      children_.push_back(child);
    }
  }
  ~BusyProcesses() { Stop(); }
  BusyProcesses(const BusyProcesses&) = delete;
  BusyProcesses& operator=(const BusyProcesses&) = delete;

 private:
  void Stop() {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }

  std::vector<pid_t> children_;
};

// The median time of an update, the least and the mean, in seconds.
std::vector<double> TimeUpdates(const Shape& shape, const Kind& kind, int threads, double for_seconds) {
  ThreadPool pool(threads);
  Trainer::Setup setup;
  setup.model.hidden = shape.hidden;
  setup.sampler.method = kind.method;
  setup.sampler.adjust = kind.adjust;
  setup.sampler.steps = shape.steps;
  setup.sampler.step_size = 0.04;
  setup.train.batch_size = shape.batch;
  setup.train.learning_rate = 1e-4;
  setup.train.epochs = 1e6;
  setup.visible = shape.visible;
  setup.rows = static_cast<std::uint64_t>(shape.batch);
  const auto read = [&](std::uint64_t update, MutableMatrix out) {
    if (update > 0) return;
    const Stream stream(1, Purpose::kInitialVisible);
    for (Index r = 0; r < out.rows(); ++r) {
      for (Index i = 0; i < out.cols(); ++i) out(r, i) = stream.Normal(0, static_cast<std::uint32_t>(r), i);
    }
  };
  Trainer trainer(setup, read, pool);
  trainer.Update(/*report=*/false);
  std::vector<double> seconds;
  double total = 0;
  while (seconds.size() < 3 || (total < for_seconds && seconds.size() < 1000)) {
    const auto start = std::chrono::steady_clock::now();
    trainer.Update(/*report=*/false);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    total += seconds.back();
  }
  std::ranges::nth_element(seconds, seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2));
  return {seconds[seconds.size() / 2], std::ranges::min(seconds), total / static_cast<double>(seconds.size())};
}

// What `measure` returns, some numbers, from a process of its own, and the memory that it took.
struct Measured {
  std::vector<double> numbers;
  double peak_rss_mb = 0;
};
Measured MeasureAlone(std::size_t count, const std::string& what, const std::function<std::vector<double>()>& measure) {
  int ends[2];
  if (pipe(ends) != 0) throw IoError("bench: no pipe could be opened");
  const pid_t child = fork();
  if (child < 0) throw IoError("bench: no process could be started");
  const auto bytes = static_cast<ssize_t>(count * sizeof(double));
  if (child == 0) {
    try {
      const std::vector<double> numbers = measure();
      _exit(write(ends[1], numbers.data(), static_cast<std::size_t>(bytes)) == bytes ? 0 : 1);
    } catch (const std::exception&) {  // the parent says so
      _exit(1);
    }
  }
  close(ends[1]);
  Measured result{std::vector<double>(count), 0};
  const bool all = read(ends[0], result.numbers.data(), static_cast<std::size_t>(bytes)) == bytes;
  close(ends[0]);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  if (!all || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw NumericError(fmt::format("bench: {} ended without a result: is there enough memory?", what));
  }
  result.peak_rss_mb = static_cast<double>(usage.ru_maxrss) * 1024e-6;
  return result;
}

struct Timing {
  double seconds = 0;  // the median
  double least_seconds = 0;
  double mean_seconds = 0;
  double peak_rss_mb = 0;
};
Timing TimeAlone(const Shape& shape, const Kind& kind, int threads, double for_seconds) {
  const std::string what = fmt::format("the update of {}x{} with {}", shape.visible, shape.hidden, kind.name);
  const Measured m = MeasureAlone(3, what, [&] { return TimeUpdates(shape, kind, threads, for_seconds); });
  return {m.numbers[0], m.numbers[1], m.numbers[2], m.peak_rss_mb};
}

// The best rates seen so far: what the machine could do.
struct Bounds {
  MachinePeak peak;
  double sgemm = 0;

  void Measure(int threads) {
    const std::vector<double> m =
        MeasureAlone(4, "the peak", [&] {
          ThreadPool pool(threads);
          const MachinePeak p = MeasurePeak(pool);
          return std::vector<double>{p.clock_ghz, p.flops_per_cycle, p.gflops, MeasureSgemm(pool)};
        }).numbers;
    if (m[2] > peak.gflops) peak = {m[0], m[1], m[2]};
    sgemm = std::max(sgemm, m[3]);
  }
};

struct Arguments {
  std::vector<std::string> shapes;
  std::vector<std::string> samplers;
  double seconds = 2;
  bool no_scaling = false;
  int busy = 0;
};

std::vector<Kind> ChosenKinds(const std::vector<std::string>& names) {
  if (names.empty()) return {std::begin(kKinds), std::end(kKinds)};
  std::vector<std::string_view> known;
  for (const Kind& kind : kKinds) known.push_back(kind.name);
  std::vector<Kind> kinds;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(known, name);
    if (found == known.end()) {
      throw ConfigError(fmt::format("--sampler {}: unknown{}; allowed are: {}", name, DidYouMean(name, known),
                                    fmt::join(known, "; ")));
    }
    kinds.push_back(kKinds[found - known.begin()]);
  }
  return kinds;
}

int Bench(const Arguments& a, const Common& common) {
  std::vector<Shape> shapes;
  for (const std::string& text : a.shapes) shapes.push_back(ParseShape(text));
  if (shapes.empty()) shapes.assign(std::begin(kShapes), std::end(kShapes));
  const std::vector<Kind> kinds = ChosenKinds(a.samplers);
  const int threads = common.threads == 0 ? ThreadPool().threads() : common.threads;

  Progress progress("case", common.quiet || common.json);
  progress.Start(0, shapes.size() * kinds.size());
  Bounds bounds;
  bounds.Measure(threads);

  struct Case {
    Shape shape;
    Kind kind;
    Timing timing;
    std::optional<double> scaling;
  };
  std::vector<Case> timed;
  auto busy = std::make_unique<BusyProcesses>(a.busy);
  // Beside busy processes an update is either left alone or interrupted: only the mean tells of both.
  const auto time = [&](const Timing& t) { return a.busy > 0 ? t.mean_seconds : t.seconds; };
  for (const Shape& shape : shapes) {
    for (const Kind& kind : kinds) {
      const Timing timing = TimeAlone(shape, kind, threads, a.seconds);
      std::optional<double> scaling;
      if (!a.no_scaling) {
        scaling = threads == 1 ? 1 : time(TimeAlone(shape, kind, 1, a.seconds)) / time(timing);
      }
      timed.push_back({shape, kind, timing, scaling});
      progress.Update(timed.size(), kind.name);
    }
  }
  busy.reset();
  bounds.Measure(threads);
  const auto& [peak, sgemm] = bounds;

  json cases = json::array();
  std::string table =
      fmt::format("{:>8} {:>6} {:>5} {:>5}  {:28} {:>10} {:>8} {:>8} {:>8} {:>8} {:>7}\n", "visible", "hidden", "batch",
                  "steps", "sampler", "ms", "/ peak", "/ blas", "least", "MB", fmt::format("1 to {}", threads));
  for (const auto& [shape, kind, timing, scaling] : timed) {
    const double at_peak = DenseFlops(shape) / peak.gflops * 1e-9;
    const double to_peak = time(timing) / at_peak;
    const double to_library = time(timing) / (DenseFlops(shape) / sgemm * 1e-9);
    cases.push_back({{"visible", shape.visible},
                     {"hidden", shape.hidden},
                     {"batch", shape.batch},
                     {"steps", shape.steps},
                     {"sampler", kind.name},
                     {"adjusted", kind.adjust != Adjust::kNone},
                     {"seconds", timing.seconds},
                     {"least_seconds", timing.least_seconds},
                     {"mean_seconds", timing.mean_seconds},
                     {"ratio_to_peak", to_peak},
                     {"ratio_to_library", to_library},
                     {"peak_rss_mb", timing.peak_rss_mb},
                     {"scaling", scaling ? json(*scaling) : json()}});
    table +=
        fmt::format("{:8} {:6} {:5} {:5}  {:28} {:10.3f} {:8.3f} {:8.3f} {:8.3f} {:8.1f} {:>7}\n", shape.visible,
                    shape.hidden, shape.batch, shape.steps, kind.name, time(timing) * 1e3, to_peak, to_library,
                    timing.least_seconds / at_peak, timing.peak_rss_mb, scaling ? fmt::format("{:.2f}", *scaling) : "");
  }
  if (common.json) {
    const json result = {{"cpu_target", CpuTarget()},
                         {"threads", threads},
                         {"busy", a.busy},
                         {"clock_ghz", peak.clock_ghz},
                         {"flops_per_cycle", peak.flops_per_cycle},
                         {"peak_gflops", peak.gflops},
                         {"sgemm_gflops", sgemm},
                         {"sgemm_library", BlasName()},
                         {"cases", cases}};
    Print("{}\n", JsonText(result, 2));
    return 0;
  }
  Print(
      "{} threads, {} target, {:.2f} GHz, {:.1f} operations per cycle and core\n"
      "multiply-add peak {:.1f} GFLOP/s; dense product of {} {:.1f} GFLOP/s\n"
      "ms: {} of one update; / peak and / blas: as a share of the same update's dense products at those rates;\n"
      "least: of the fastest update, / peak: far below the median, something else used the machine\n\n{}",
      threads, CpuTarget(), peak.clock_ghz, peak.flops_per_cycle, peak.gflops, BlasName(), sgemm,
      a.busy > 0 ? fmt::format("beside {} busy processes, mean", a.busy) : "median", table);
  return 0;
}

}  // namespace

void AddBench(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("bench", "Time one update of each sampler against what the machine could do");
  const auto a = std::make_shared<Arguments>();
  command.AddOption("--shape", a->shapes, "Visible x hidden x batch x steps, such as 784x4096x512x10; may be repeated")
      .SetTypeName("VxHxBxS");
  command.AddOption("--sampler", a->samplers,
                    "Only this sampler, such as 'gibbs-langevin, metropolis'; may be repeated");
  AddNumber<double>(command, "--seconds", a->seconds, "Time each case for at least this long", 0.0, 3600.0)
      .ShowDefault();
  AddThreads(command, common.threads, "Threads; 0: one per core");
  AddNumber<int>(command, "--busy", a->busy,
                 "Time beside so many processes that compute without end; then means, not medians", 0, 1024)
      .ShowDefault();
  command.AddFlag("--no-scaling", a->no_scaling, "Leave out the times on one thread");
  command.SetFooter("Example: grbm bench --shape 784x512x512x10 --sampler gibbs-langevin");
  command.SetCallback([=, &common, &action] { action = [=, &common] { return Bench(*a, common); }; });
}

}  // namespace grbm::app
