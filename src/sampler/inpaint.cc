#include "grbm/sampler/inpaint.h"

#include <fmt/core.h>

#include "grbm/model/energy.h"
#include "grbm/sampler/sampler.h"

namespace grbm {

SamplerOptions InpaintSampler(SamplerOptions options) {
  const bool other_law = options.temperature != 1 && LawOf(options).kind == Law::Kind::kJoint;
  if (other_law && options.adjust != Adjust::kNone) options.method = Method::kGibbs;
  options.adjust = Adjust::kNone;
  options.proposal_temperature = 0;
  return options;
}

void PutBack(ConstMatrix data, MatrixView<const std::uint8_t> known, MutableMatrix to) {
  for (Index r = 0; r < to.rows(); ++r) {
    for (Index i = 0; i < to.cols(); ++i) {
      if (known(r, i) != 0) to(r, i) = data(r, i);
    }
  }
}

Matrix Inpaint(const Model& model, const SamplerOptions& options, ConstMatrix data, const std::vector<bool>& known,
               std::uint64_t seed, ThreadPool& pool) {
  const std::vector<std::uint8_t> row(known.begin(), known.end());
  const MatrixView<const std::uint8_t> rows(row.data(), data.rows(), static_cast<Index>(row.size()), 0);
  return Inpaint(model, options, data, rows, seed, pool);
}

Matrix Inpaint(const Model& model, const SamplerOptions& options, ConstMatrix data,
               MatrixView<const std::uint8_t> known, std::uint64_t seed, ThreadPool& pool) {
  if (options.method == Method::kLangevin || options.adjust != Adjust::kNone) {
    throw ConfigError(
        "inpaint: allowed are the methods \"gibbs\", \"partial-gibbs\" and \"gibbs-langevin\" with adjust = \"none\": "
        "set sampler.method and sampler.adjust");
  }
  CheckVisible(model, data, "data");
  if (known.cols() != model.visible() || known.rows() != data.rows()) {
    throw DataError(
        fmt::format("inpaint: known is {} × {}: expected is one element for each of {} rows and {} visible units",
                    known.rows(), known.cols(), data.rows(), model.visible()));
  }
  const auto put_back = [&](Matrix& v) { PutBack(data, known, v); };

  SamplerOptions one_step = options;
  one_step.steps = 1;
  Sampler sampler(model, one_step, pool, OnUnstable::kAllow);
  const double hidden_temperature = sampler.law().hidden_temperature();
  Matrix start = NoiseChains(model, data.rows(), seed, pool).visible;
  put_back(start);
  Chains chains = ChainsFrom(model, start, seed, pool, 0, 0, hidden_temperature);
  for (std::int64_t t = 0; t < options.steps; ++t) {
    const auto step = static_cast<std::uint64_t>(t);
    sampler.Run(chains, {.seed = seed, .first_step = step});
    put_back(chains.visible);
    const DrawPlace draw{Stream(seed, Purpose::kPositiveHidden), step, 0};
    chains.hidden = SampleHidden(model, chains.visible, draw, pool, hidden_temperature);
  }
  Matrix result = options.final == Final::kMean
                      ? FinalMean(model, chains.visible, chains.hidden, options, pool, put_back)
                      : chains.visible;
  put_back(result);
  return result;
}

}  // namespace grbm
