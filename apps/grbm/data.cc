// grbm data get, grbm data info
#include <fmt/core.h>

#include <memory>

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

int Info(const DataOptions& options, const Common& common) {
  const DataInfo info = Describe(LoadDataset(options));
  std::vector<std::pair<std::string, Result>> results = {
      {"source", info.source},
      {"rows", std::int64_t{info.rows}},
      {"visible", std::int64_t{info.visible}},
      {"image", info.shape.known()
                    ? fmt::format("{} × {} × {}", info.shape.height, info.shape.width, info.shape.channels)
                    : std::string("no")},
      {"type", info.dtype},
      {"min", info.min},
      {"max", info.max},
      {"mean", info.mean},
      {"deviation", info.deviation},
      {"constant_units", std::int64_t{info.constant_units}}};
  for (const auto& [label, count] : info.labels)
    results.emplace_back(fmt::format("label_{}", label), std::int64_t{count});
  PrintResults(common, results);
  return 0;
}

}  // namespace

void AddData(CLI::App& app, Common& common, Action& action) {
  CLI::App* data = app.add_subcommand("data", "Get and describe data");
  data->require_subcommand(1);
  data->footer("Example: grbm data get fashion-mnist && grbm data info fashion-mnist");

  CLI::App* get = data->add_subcommand("get", "Get a public data set: mnist or fashion-mnist");
  const auto name = std::make_shared<std::string>();
  const auto cache = std::make_shared<std::string>();
  get->add_option("NAME", *name, "mnist or fashion-mnist")->required();
  get->add_option("--cache", *cache, "The folder to keep it in (default: $GRBM_DATA_DIR, or grbm in the user's cache)");
  get->fallthrough();  // --quiet and --json
  get->footer("Example: grbm data get mnist");
  get->callback([=, &common, &action] { action = [=, &common] { return Get(*name, *cache, common); }; });

  CLI::App* info = data->add_subcommand("info", "Describe data");
  const auto options = std::make_shared<DataOptions>();
  info->add_option("PATH", options->source, "A path, or mnist, fashion-mnist, gmm-iso, gmm-aniso")->required();
  info->add_option("--split", options->split, "Part of the data: train, test, all")->capture_default_str();
  info->fallthrough();
  info->footer("Example: grbm data info digits.csv --json");
  info->callback([=, &common, &action] { action = [=, &common] { return Info(*options, common); }; });
}

}  // namespace grbm::app
