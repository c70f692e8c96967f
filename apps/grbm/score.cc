// grbm score, grbm couplings: what a model says of single rows, and of pairs of columns.
#include "grbm/evaluate/score.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "grbm/evaluate/likelihood.h"
#include "grbm/evaluate/samples.h"
#include "grbm/model/exact.h"
#include "grbm/report/image.h"
#include "numbers.h"
#include "output.h"
#include "progress.h"

namespace grbm::app {

namespace {

struct Arguments {
  std::string model;
  DataArguments data;
  Index count = 0;
  std::string per_column;
  bool anneal = false;
  AisOptions annealing;
  std::string kind = "coupling";
  std::string out;
};

// log Z by annealing: an estimate.                                                              [math.md (34) to (38)]
PartitionFunction Anneal(const Arguments& a, const VisibleLaw& law, const Matrix& rows, const Common& common,
                         ThreadPool& pool) {
  if (law.model.conditions() > 0) {
    throw ConfigError("--anneal: with conditions every row has a log Z of its own: 'grbm evaluate' anneals for some");
  }
  AisOptions options = a.annealing;
  options.seed = common.seed;
  Bars bars(common.quiet || common.json);
  return ComputePartition(law, rows, options, pool,
                          [&](std::string_view part, Index done, Index total) { bars.Show(part, done, total); });
}

int ScoreData(const Arguments& a, const Common& common) {
  CheckOutput(a.out, {".csv", ".npy"});
  CheckApart(a.out, {a.model, a.data.source});
  if (!a.per_column.empty()) {
    CheckOutput(a.per_column, {".csv", ".npy"}, "--per-column");
    CheckApart(a.per_column, {a.model, a.data.source, a.out}, "--per-column");
  }
  const ModelFile file = OpenModel(a.model, {}, {.labels = true, .conditions = true});
  const DataRows rows = ReadRows(file, a.data, a.count);
  ThreadPool pool(common.threads);
  const VisibleLaw law = file.law();
  const bool given = law.model.conditions() > 0;
  std::optional<double> log_partition = given ? std::nullopt : ExactLogPartition(law);
  std::optional<PartitionFunction> annealed;
  // As ScoreRowsGiven knows it.
  const bool given_exactly = given && HasExactLogPartition(law);
  if (a.anneal && !log_partition && !given_exactly) annealed = Anneal(a, law, rows.values, common, pool);
  if (annealed) log_partition = annealed->log_partition.value;
  RowScores scores = given ? ScoreRowsGiven(law, file.standardization, rows.values, rows.conditions, pool)
                           : ScoreRows(law, file.standardization, rows.values, log_partition, pool);
  if (annealed) scores.back().first = "log_likelihood_annealed";
  Matrix table(rows.values.rows(), static_cast<Index>(scores.size()));
  std::vector<std::string> names;
  for (std::size_t s = 0; s < scores.size(); ++s) {
    names.push_back(scores[s].first);
    for (Index r = 0; r < table.rows(); ++r) {
      table.row(r)[s] = static_cast<float>(scores[s].second[static_cast<std::size_t>(r)]);
    }
  }
  CheckFinite(file, table, "scores");
  if (!a.per_column.empty()) {
    const Matrix deviations = given ? ColumnDeviationsGiven(law, rows.values, rows.conditions, pool)
                                    : ColumnDeviations(law, rows.values, pool);
    WriteRows(a.per_column, deviations, rows.names.columns);
  }
  WriteRows(a.out, table, names);
  const std::vector<double>& energies = scores[0].second;
  Results results = {{"scores", a.out},
                     {"rows", std::int64_t{table.rows()}},
                     {"columns", names},
                     {"strangest_row", std::ranges::max_element(energies) - energies.begin()}};
  if (!a.per_column.empty()) results.emplace_back("per_column", a.per_column);
  if (annealed) {
    // All rows have the same error: log Z is one number.
    results.emplace_back("log_partition", Measure{annealed->log_partition.value, "nats, annealed"});
    results.emplace_back("log_partition_error", Measure{annealed->log_partition.error, "nats"});
    results.emplace_back("log_partition_low", Measure{annealed->low(), "nats"});
    results.emplace_back("log_partition_high", Measure{annealed->high(), "nats"});
  }
  PrintResults(Beside(common, a.out), results);
  return 0;
}

// From blue over white, at 0, to red.
Image Picture(const Matrix& values) {
  float largest = 0;
  for (const float value : values.values()) largest = std::max(largest, std::abs(value));
  const Index scale = std::max<Index>(1, 480 / values.rows());
  Image image{values.rows() * scale, values.cols() * scale, 3, {}};
  for (Index y = 0; y < image.height; ++y) {
    for (Index x = 0; x < image.width; ++x) {
      const float share = largest > 0 ? values.row(y / scale)[static_cast<std::size_t>(x / scale)] / largest : 0;
      const auto faded = static_cast<std::uint8_t>(std::lround(255 * (1 - std::abs(share))));
      const std::uint8_t red = share < 0 ? faded : 255;
      const std::uint8_t blue = share > 0 ? faded : 255;
      image.pixels.insert(image.pixels.end(), {red, faded, blue});
    }
  }
  return image;
}

int Couple(const Arguments& a, const Common& common) {
  CheckOutput(a.out, {".npy", ".csv", ".png"});
  CheckApart(a.out, {a.model, a.data.source});
  const ModelFile file = OpenModel(a.model, {}, {.labels = true});
  constexpr Index kMost = 4096;
  if (file.model.gaussian_units() > kMost) {
    throw ConfigError(fmt::format("{}: {} visible units: couplings of at most {} are computed", a.model,
                                  file.model.gaussian_units(), kMost));
  }
  const DataRows rows = ReadRows(file, a.data, a.count);
  ThreadPool pool(common.threads);
  const EffectiveCouplings couplings = ComputeCouplings(file.law(), rows.values, pool);
  const BasicMatrix<double> exact = a.kind == "partial"     ? couplings.PartialCorrelations()
                                    : a.kind == "precision" ? couplings.precision
                                                            : couplings.Couplings();
  Matrix values(exact.rows(), exact.cols());
  std::ranges::transform(exact.values(), values.values().begin(), [](double x) { return static_cast<float>(x); });
  CheckFinite(file, values, "couplings");
  Index first = 0;
  Index second = 0;
  for (Index i = 0; i < exact.rows(); ++i) {
    for (Index k = 0; k < i; ++k) {
      if (first == second || std::abs(exact(i, k)) > std::abs(exact(second, first))) std::tie(first, second) = {k, i};
    }
  }
  if (Ending(a.out) == ".png") {
    WritePng(a.out, Picture(values));
  } else {
    WriteRows(a.out, values, rows.names.columns);
  }
  const auto name = [&](Index unit) {
    const auto& names = rows.names.columns;
    return names.empty() ? fmt::format("{}", unit) : names[static_cast<std::size_t>(unit)];
  };
  Results results = {{"couplings", a.out}, {"kind", a.kind}, {"rows", std::int64_t{rows.values.rows()}}};
  if (first != second) {
    results.emplace_back("strongest_pair", fmt::format("{} and {}", name(first), name(second)));
    results.emplace_back("strongest", Measure{exact(second, first), a.kind == "partial" ? "(a correlation)"
                                                                    : file.standardization.identity()
                                                                        ? "per squared unit of the data"
                                                                        : "per squared standardised unit"});
  }
  PrintResults(Beside(common, a.out), results);
  return 0;
}

void AddShared(Command command, Arguments& a, Common& common) {
  command.AddOption("MODEL", a.model, "A model file, or a run's folder").Required();
  a.data.split = "all";
  AddData(command, a.data);
  AddNumber<Index>(command, "-n,--count", a.count, "How many rows, from the first on; 0: all", 0, 100'000'000);
  AddThreads(command, common.threads);
}

}  // namespace

void AddScore(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("score", "Say how likely a model finds each row, and each of its values");
  const auto a = std::make_shared<Arguments>();
  AddShared(command, *a, common);
  command
      .AddOption("-o,--out", a->out, "Scores of each row: a table (.csv, or - for standard output) or an array (.npy)")
      .Required();
  command
      .AddOption(
          "--per-column", a->per_column,
          "Also how far each value is from what the others of its row let expect, in standard deviations (.csv, .npy)")
      .SetTypeName("FILE");
  command.AddFlag(
      "--anneal", a->anneal,
      "Also log p(v) where log Z is not known exactly: an estimate by annealed importance sampling, with its "
      "error");
  AddNumber<Index>(command, "--chains", a->annealing.chains, "Annealing: how many chains", 2, 10'000'000).ShowDefault();
  AddNumber<std::int64_t>(command, "--temperatures", a->annealing.temperatures, "Annealing: in how many steps", 1,
                          100'000'000)
      .ShowDefault();
  AddSeed(command, common.seed, "Seed of annealing");
  command.SetFooter("Example: grbm score runs/table --data table.csv -o scores.csv --per-column values.csv");
  command.SetCallback([=, &common, &action] { action = [=, &common] { return ScoreData(*a, common); }; });
}

void AddCouplings(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("couplings", "Effective couplings between visible units");
  const auto a = std::make_shared<Arguments>();
  AddShared(command, *a, common);
  command
      .AddOption("--kind", a->kind,
                 "coupling; precision: with the diagonal, what is the inverse covariance of a Gaussian; partial: "
                 "correlations given all others")
      .OneOf({"coupling", "precision", "partial"})
      .ShowDefault();
  command
      .AddOption(
          "-o,--out", a->out,
          "An array (.npy), a table (.csv, or - for standard output), or a picture (.png): red above 0, blue below")
      .Required();
  command.SetFooter("Example: grbm couplings runs/table --data table.csv --kind partial -o couplings.png");
  command.SetCallback([=, &common, &action] { action = [=, &common] { return Couple(*a, common); }; });
}

}  // namespace grbm::app
