// What the files of this layer share.
#pragma once

#include <string>
#include <vector>

#include "grbm/search/search.h"

namespace grbm {

// The result of a run at a rung: result.json where there is only one, otherwise a file of its own, because rungs are judged
// again from what was written there, also after the run has gone on.
std::string RungResultPath(const SearchPlan& plan, const std::string& folder, std::size_t rung);
// The model as it was there.
std::string RungModelPath(const SearchPlan& plan, const std::string& folder, std::size_t rung);

// "metric.score" in two.
struct ScoreParts {
  std::string metric;
  std::string score;
};
ScoreParts SplitScore(const std::string& name);

// The scores of the table and of the figures, the one that decides first; of those that nobody asked for, those that a
// trial has.
std::vector<std::string> ShownScores(const SearchOptions& options, const std::vector<TrialState>& states);

}  // namespace grbm
