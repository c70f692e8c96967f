#include "grbm/sampler/sampler.h"

#include <algorithm>
#include <limits>

#include "grbm/core/error.h"
#include "grbm/model/energy.h"
#include "sampler/engine.h"

namespace grbm {

Sampler::Sampler(const Model& model, const SamplerOptions& options, ThreadPool& pool, OnUnstable on_unstable,
                 SamplerHooks hooks)
    : on_unstable_(on_unstable), hooks_(std::move(hooks)), engine_(std::make_unique<Engine>(pool)) {
  Set(model, options);
}

Sampler::~Sampler() = default;

void Sampler::Set(const Model& model, const SamplerOptions& options) {
  CheckOptions(options);
  if (on_unstable_ == OnUnstable::kThrow) RequireStable(model, options);
  options_ = options;
  stability_ = CheckStability(model, options_);
  engine_->Set(model, options_, law());
}

void CheckRun(const SamplerOptions& options, std::uint32_t first, Index count, const RunPlace& place) {
  if (count > static_cast<Index>(std::numeric_limits<std::uint32_t>::max() - first) ||
      place.first_step > Stream::kMaxStep - static_cast<std::uint64_t>(options.steps)) {
    throw ConfigError(
        "sampler: chain or step numbers exceed the random streams: allowed are 2^32 chains, 2^56 "
        "steps");
  }
}

std::vector<double> Sampler::Run(Chains& chains, const RunPlace& place, Observer* observer,
                                 EnergyStatistics* statistics) {
  CheckVisible(engine_->model(), chains.visible, "chains");
  CheckHidden(engine_->model(), chains.hidden, chains.count(), "chains");
  CheckRun(options_, chains.first, chains.count(), place);
  if (chains.count() == 0) return {};
  engine_->Resize(chains.first, chains.count());
  engine_->Load(chains.visible, chains.hidden);
  std::vector<RowSums> sums;
  if (statistics != nullptr) sums.push_back({{0, chains.count()}, &SumsOf(*statistics)});
  const std::vector<Index> accepted = RunChains(*engine_, place, hooks_, observer, sums);
  engine_->Store(chains.visible, chains.hidden);
  std::vector<double> shares;
  for (const Index count : accepted) shares.push_back(static_cast<double>(count) / static_cast<double>(chains.count()));
  return shares;
}

}  // namespace grbm
