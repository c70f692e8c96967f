#include "grbm/sampler/inpaint.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "grbm/model/energy.h"
#include "grbm/sampler/sampler.h"
#include "grbm/sampler/transition.h"
#include "sampler/engine.h"

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
  if (FindSampler(options.method).marginal || options.adjust != Adjust::kNone) {
    throw ConfigError(
        "inpaint: allowed are the methods \"gibbs\", \"partial-gibbs\" and \"gibbs-langevin\" with adjust = \"none\": "
        "set sampler.method and sampler.adjust");
  }
  if (model.label_units() > 0) throw ConfigError("inpaint: the model has labels: take it given one (GivenLabel)");
  CheckVisible(model, data, "data");
  if (known.cols() != model.visible() || known.rows() != data.rows()) {
    throw DataError(
        fmt::format("inpaint: known is {} × {}: expected is one element for each of {} rows and {} visible units",
                    known.rows(), known.cols(), data.rows(), model.visible()));
  }
  const auto put_back = [&](Matrix& v) { PutBack(data, known, v); };
  Matrix given(data.rows(), data.cols());
  std::ranges::fill(given.values(), std::numeric_limits<float>::quiet_NaN());
  put_back(given);

  CheckOptions(options);
  Engine engine(pool);
  const Law law = LawOf(options);
  engine.Set(model, options, law);
  engine.Resize(0, data.rows());
  const kernels::Rows all{0, data.rows()};
  engine.DrawNoise(Stream(seed, Purpose::kInitialVisible), 0, all);
  engine.PutBack(given);
  engine.DrawHidden(Stream(seed, Purpose::kInitialHidden), 0, law.hidden_temperature(), all);
  engine.Keep({});
  for (std::int64_t t = 0; t < options.steps; ++t) {
    const auto step = static_cast<std::uint64_t>(t);
    engine.Step({.seed = seed, .first_step = step}, 0);
    engine.PutBack(given);
    engine.DrawHidden(Stream(seed, Purpose::kPositiveHidden), step, law.hidden_temperature(), all);
  }
  Matrix result(data.rows(), data.cols());
  engine.StoreVisible(result);
  CheckVisible(model, result, "chains");
  if (options.final == Final::kMean) {
    result = FinalMean(model, result, engine.hidden(), options, pool, put_back);
  }
  put_back(result);
  return result;
}

}  // namespace grbm
