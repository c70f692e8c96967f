// Runs as one HTML file that needs nothing else: curves, samples, chains, filters, variances, mixing, scores, settings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "grbm/core/parallel.h"
#include "grbm/evaluate/estimate.h"

namespace grbm {

struct ReportRequest {
  std::vector<std::string> runs;  // folders; finished or not
  bool measure = true;            // mixing and the quick distance, which read the data
  std::uint64_t seed = 1;
};

// Throws where a folder holds no run, or where the page was not built.
std::string MakeReport(const ReportRequest& request, ThreadPool& pool, const EvaluationProgress& progress = {});

}  // namespace grbm
