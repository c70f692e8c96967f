#include "grbm/dashboard/report.h"

#include <fmt/core.h>

#include "dashboard/model_view.h"
#include "dashboard/page.h"
#include "dashboard/run_view.h"
#include "grbm/core/error.h"
#include "grbm/core/version.h"
#include "grbm/train/run.h"

namespace grbm {

std::string MakeReport(const ReportRequest& request, ThreadPool& pool, const EvaluationProgress& progress) {
  using json = nlohmann::ordered_json;
  json data = {{"live", false}, {"version", Version()}, {"runs", json::array()}};
  PageHtml(data);  // fails here, before the work
  for (const std::string& folder : request.runs) {
    const std::filesystem::path path = std::filesystem::absolute(folder).lexically_normal();
    RunFolder run{(path.has_filename() ? path : path.parent_path()).filename().string(), path};
    const auto taken = [&](const json& other) { return other["name"] == run.name; };
    if (std::ranges::any_of(data["runs"], taken)) run.name = folder;
    json described = DescribeRun(run, Pictures::kInside);
    const std::string model_path = ModelPath(folder);
    if (run.Has(model_path)) {
      const ModelFile file = ReadModel(model_path);
      described["model"] = DescribeModel(file, request.seed, pool, progress);
      if (request.measure) described["measured"] = MeasureModel(file, request.seed, pool, progress);
    }
    data["runs"].push_back(std::move(described));
  }
  return PageHtml(data);
}

}  // namespace grbm
