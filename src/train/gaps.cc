#include "train/gaps.h"

#include <algorithm>
#include <cmath>

#include "grbm/model/energy.h"

namespace grbm {

bool HasGaps(ConstMatrix rows) {
  for (Index r = 0; r < rows.rows(); ++r) {
    if (!AllFinite(rows.row(r))) return true;
  }
  return false;
}

Matrix FillGaps(Engine& engine, const Model& model, const Law& law, ConstMatrix rows, std::uint32_t first,
                const GapOptions& options, std::uint64_t update, BitMatrix* hidden) {
  const double temperature = law.hidden_temperature();
  SamplerOptions gibbs;
  gibbs.method = Method::kGibbs;
  gibbs.temperature = temperature;
  engine.Set(model, gibbs, {Law::Kind::kJoint, temperature});
  engine.Resize(first, rows.rows());
  engine.Keep({});
  const kernels::Rows all{0, rows.rows()};

  // Step 1. What is known, as the model sees it: with the noise that the update adds to it.
  Matrix known(rows.rows(), rows.cols());
  CopyRows(rows, known);
  if (options.noise > 0) {
    engine.LoadNoisy(rows, options.noise, Stream(options.seed, Purpose::kNoise), update);
    engine.StoreVisible(known);
  }

  // Step 2. h given what is known, after so many steps. An update has steps + 1 numbers of the streams.
  const Stream visible(options.seed, Purpose::kGapVisible);
  const Stream bits(options.seed, Purpose::kGapHidden);
  if (hidden != nullptr) engine.LoadHidden(*hidden);
  const std::uint64_t number = update * static_cast<std::uint64_t>(options.steps + 1);
  for (std::int64_t t = 0; t < options.steps; ++t) {
    const std::uint64_t at = number + static_cast<std::uint64_t>(t);
    if (t == 0) engine.DrawNoise(visible, at, all);  // finite, which a move must start from
    if (t > 0 || hidden != nullptr) engine.MoveFreely(visible, at, t);
    engine.PutBack(known);
    engine.DrawHidden(bits, at, temperature, all);
  }
  if (hidden != nullptr) CopyRows(engine.hidden(), *hidden);

  // Step 3. v = x + noise has the variance τσ² given h, and x the rest of it.
  const Matrix mean = VisibleMean(model, engine.hidden(), engine.pool());
  engine.DrawNoise(visible, number + static_cast<std::uint64_t>(options.steps), all);
  Matrix filled(rows.rows(), rows.cols());
  engine.StoreVisible(filled);
  std::vector<float> deviation;
  for (const float variance : model.variance()) {
    deviation.push_back(static_cast<float>(std::sqrt(std::max(0.0, temperature * double{variance} - options.noise))));
  }
  for (Index r = 0; r < rows.rows(); ++r) {
    for (Index i = 0; i < rows.cols(); ++i) {
      const float value = rows(r, i);
      filled(r, i) = std::isnan(value) ? mean(r, i) + deviation[static_cast<std::size_t>(i)] * filled(r, i) : value;
    }
  }
  return filled;
}

}  // namespace grbm
