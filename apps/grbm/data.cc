// grbm data get, grbm data info
#include <fmt/core.h>

#include <memory>
#include <numeric>

#include "grbm/data/fetch.h"
#include "grbm/data/info.h"
#include "grbm/data/options.h"
#include "output.h"
#include "streams.h"

namespace grbm::app {

namespace {

int Get(const std::string& name, const std::string& cache, const Common& common) {
  const std::string folder = cache.empty() ? DefaultCacheDir() : cache;
  FetchDataset(name, folder, [&](const std::string& line) {
    if (!common.quiet && !common.json) Tell("{}\n", line);
  });
  PrintResults(common, {{"data", folder + "/" + name}});
  return 0;
}

// Shares of values that are missing: of all, and of each column that has some, unless rows are images.
void AddMissing(const DataInfo& info, const std::vector<std::string>& names, Results& results) {
  if (info.missing.empty()) return;
  const double sum = std::accumulate(info.missing.begin(), info.missing.end(), 0.0);
  results.emplace_back("missing", Measure{sum / static_cast<double>(info.visible), "of the values"});
  for (std::size_t i = 0; !info.shape.known() && i < info.missing.size(); ++i) {
    const std::string name = names.empty() ? fmt::format("{}", i + 1) : names[i];
    if (info.missing[i] > 0) results.emplace_back("missing_" + name, Measure{info.missing[i], "of the rows"});
  }
}

int Info(const DataArguments& given, const Common& common) {
  DataOptions options;
  options.source = given.source;
  options.split = given.split;
  options.gaps = Gaps::kSample;
  given.Put(options);
  const Dataset data = LoadDataset(options);
  const DataInfo info = Describe(data);
  // Values of 16-bit images are parts of 8-bit ones: 65535 is 255.
  const std::string unit = !info.shape.known() || data.bits() == 32 ? "in the data's units"
                           : data.bits() == 16                      ? "grey levels of 255"
                                                                    : "grey levels";
  Results results = {{"source", info.source},
                     {"rows", std::int64_t{info.rows}},
                     {"visible", std::int64_t{info.visible}},
                     {"image", SizesOf(info.shape)},
                     {"type", info.dtype},
                     {"min", Measure{info.min, unit}},
                     {"max", Measure{info.max, unit}},
                     {"mean", Measure{info.mean, unit}},
                     {"deviation", Measure{info.deviation, unit}},
                     {"constant_units", std::int64_t{info.constant_units}}};
  results.emplace_back("memory_bytes", info.bytes);
  AddMissing(info, data.names().columns, results);
  const std::vector<std::string>& names = data.names().labels;
  for (const auto& [label, count] : info.labels) {
    const bool named = label >= 0 && label < std::ssize(names);
    results.emplace_back(
        fmt::format("label_{}", named ? names[static_cast<std::size_t>(label)] : fmt::format("{}", label)),
        std::int64_t{count});
  }
  if (!info.warning.empty()) results.emplace_back("warning", info.warning);
  if (!common.quiet && !common.json) {
    for (const std::string& note : data.names().notes) Tell("{}\n", note);
  }
  PrintResults(common, results);
  return 0;
}

}  // namespace

void AddData(Command app, Common& common, Action& action) {
  Command data = app.AddCommand("data", "Get and describe data");
  data.RequireCommand();
  data.SetFooter("Example: grbm data get fashion-mnist && grbm data info fashion-mnist");

  Command get = data.AddCommand("get", "Get a public data set: mnist or fashion-mnist");
  const auto name = std::make_shared<std::string>();
  const auto cache = std::make_shared<std::string>();
  get.AddOption("NAME", *name, "mnist or fashion-mnist").Required();
  get.AddOption("--cache", *cache, "The folder to keep it in (default: $GRBM_DATA_DIR, or grbm in the user's cache)");
  get.FallThrough();  // --quiet and --json
  get.SetFooter("Example: grbm data get mnist");
  get.SetCallback([=, &common, &action] { action = [=, &common] { return Get(*name, *cache, common); }; });

  Command info = data.AddCommand("info", "Describe data");
  const auto given = std::make_shared<DataArguments>();
  given->split = DataOptions().split;
  info.AddOption("PATH", given->source, "A path, or mnist, fashion-mnist, gmm-iso, gmm-aniso").Required();
  AddDataDetails(info, *given);
  info.FallThrough();
  info.SetFooter("Example: grbm data info digits.csv --json");
  info.SetCallback([=, &common, &action] { action = [=, &common] { return Info(*given, common); }; });
}

}  // namespace grbm::app
