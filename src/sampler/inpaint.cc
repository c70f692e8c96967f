#include "grbm/sampler/inpaint.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

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

namespace {

// Chains of the unknown units given the known ones.
class GivenChains {
 public:
  GivenChains(const Model& model, const SamplerOptions& options, ConstMatrix data, MatrixView<const std::uint8_t> known,
              std::uint64_t seed, ThreadPool& pool)
      : engine(pool), seed_(seed), temperature_(LawOf(options).hidden_temperature()), given_(data.rows(), data.cols()) {
    if (FindSampler(options.method).marginal || options.adjust != Adjust::kNone) {
      throw ConfigError(
          "inpaint: allowed are the methods \"gibbs\", \"partial-gibbs\" and \"gibbs-langevin\" with adjust = "
          "\"none\": set sampler.method and sampler.adjust");
    }
    CheckVisible(model, data, "data");
    if (known.cols() != model.visible() || known.rows() != data.rows()) {
      throw DataError(
          fmt::format("inpaint: known is {} × {}: expected is one element for each of {} rows and {} visible units",
                      known.rows(), known.cols(), data.rows(), model.visible()));
    }
    for (Index r = 0; r < known.rows() && model.label_units() > 0; ++r) {
      const auto of_class = known.row(r).subspan(ToSize(model.gaussian_units()), ToSize(model.label_units()));
      if (std::ranges::count(of_class, 0) % model.label_units() == 0) continue;
      throw DataError(fmt::format(
          "inpaint: row {} (counted from 0): part of its class is known: allowed is all of it or nothing", r));
    }
    std::ranges::fill(given_.values(), std::numeric_limits<float>::quiet_NaN());
    PutBack(data, known, given_);
    CheckOptions(options);
    SamplerOptions moves = options;
    moves.keep_labels = false;  // a class that is known is put back; another one is drawn, given what is known
    engine.Set(model, moves, LawOf(moves));
    engine.Resize(0, data.rows());
    engine.DrawNoise(Stream(seed, Purpose::kInitialVisible), 0, all());
    engine.DrawUniformLabels(Stream(seed, Purpose::kInitialLabel), 0, all());
    engine.PutBack(given_);
    engine.DrawHidden(Stream(seed, Purpose::kInitialHidden), 0, temperature_, all());
    engine.Keep({});
    for (std::int64_t t = 0; t < options.steps; ++t) Step();
  }

  void Step() {
    engine.Step({.seed = seed_, .first_step = steps_}, 0);
    engine.PutBack(given_);
    engine.DrawHidden(Stream(seed_, Purpose::kPositiveHidden), steps_, temperature_, all());
    ++steps_;
  }

  Matrix Visible() const {
    Matrix v(given_.rows(), given_.cols());
    engine.StoreVisible(v);
    CheckVisible(engine.model(), v, "chains");
    return v;
  }

  Engine engine;

 private:
  kernels::Rows all() const { return {0, given_.rows()}; }

  std::uint64_t seed_;
  double temperature_;
  std::uint64_t steps_ = 0;
  Matrix given_;  // NaN where unknown
};

struct Moments {
  double mean;
  double variance;
};

// Of what is shown of y ~ N(mean, variance), where least is shown of values below it. Of images their means are shown, with
// the noise where its values are; of other data y itself.                                               [math.md (68)]
Moments MomentsOfShown(double mean, double variance, double least, Final final) {
  if (least == -HUGE_VAL) return {mean, variance};
  const double above = mean - least;
  if (final == Final::kMean || variance == 0) return above > 0 ? Moments{mean, variance} : Moments{least, 0};
  const double deviation = std::sqrt(variance);
  const double z = above / deviation;
  const double share = std::erfc(-z / std::numbers::sqrt2) / 2;  // of values above least
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  const double first = above * share + deviation * density;
  const double second = (above * above + variance) * share + above * deviation * density;
  return {least + first, std::max(0.0, second - first * first)};
}

}  // namespace

Matrix Inpaint(const Model& model, const SamplerOptions& options, ConstMatrix data,
               MatrixView<const std::uint8_t> known, std::uint64_t seed, ThreadPool& pool) {
  const GivenChains chains(model, options, data, known, seed, pool);
  const auto put_back = [&](Matrix& v) { PutBack(data, known, v); };
  Matrix result = chains.Visible();
  if (options.final == Final::kMean) {
    result = FinalMean(model, result, chains.engine.hidden(), options, pool, put_back);
  }
  put_back(result);
  return result;
}

Imputed InpaintMean(const Model& model, const SamplerOptions& options, ConstMatrix data,
                    MatrixView<const std::uint8_t> known, std::int64_t draws, std::uint64_t seed, ThreadPool& pool,
                    ConstMatrix least) {
  if (draws < 1) throw ConfigError(fmt::format("inpaint: a mean over {} draws: allowed is 1 and more", draws));
  GivenChains chains(model, options, data, known, seed, pool);
  BasicMatrix<double> sums(data.rows(), data.cols());
  BasicMatrix<double> squares(data.rows(), data.cols());
  BasicMatrix<double> noise(data.rows(), data.cols());
  const Index gaussian = model.gaussian_units();
  for (std::int64_t t = 0; t < draws; ++t) {
    chains.Step();
    Matrix mean = VisibleMean(model, chains.engine.hidden(), pool);
    if (gaussian < model.visible()) {  // of a class, and of conditions, what they are
      const Matrix v = chains.Visible();
      for (Index r = 0; r < v.rows(); ++r) {
        for (Index i = gaussian; i < v.cols(); ++i) mean(r, i) = v(r, i);
      }
    }
    for (Index r = 0; r < mean.rows(); ++r) {
      for (Index i = 0; i < mean.cols(); ++i) {
        const double variance = i < gaussian ? options.temperature * double{model.variance()[ToSize(i)]} : 0.0;
        const double from = least.rows() > 0 && i < gaussian ? double{least(r, i)} : -HUGE_VAL;
        const Moments shown = MomentsOfShown(double{mean(r, i)}, variance, from, options.final);
        sums(r, i) += shown.mean;
        squares(r, i) += shown.mean * shown.mean;
        noise(r, i) += shown.variance;
      }
    }
  }
  Imputed result{Matrix(data.rows(), data.cols()), Matrix(data.rows(), data.cols())};
  const auto count = static_cast<double>(draws);
  for (Index r = 0; r < data.rows(); ++r) {
    for (Index i = 0; i < data.cols(); ++i) {
      const double mean = sums(r, i) / count;
      result.mean(r, i) = static_cast<float>(mean);
      result.deviation(r, i) =
          static_cast<float>(std::sqrt(std::max(0.0, squares(r, i) / count - mean * mean) + noise(r, i) / count));
      if (known(r, i) != 0) result.deviation(r, i) = 0;
    }
  }
  PutBack(data, known, result.mean);
  return result;
}

}  // namespace grbm
