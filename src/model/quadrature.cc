#include "grbm/model/quadrature.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "grbm/model/energy.h"

namespace grbm {

namespace {

constexpr double kSpacing = 0.5;    // of the lattice, in units of σ (of √τ σ below temperature 1)
constexpr double kMargin = 10;      // how far the lattice reaches beyond the outermost mean, in √τ σ
constexpr double kNegligible = 46;  // -log(1e-20)
constexpr std::size_t kMaxPoints = 20'000'000;

using Point = std::array<double, Quadrature::kMaxVisible>;
using Cell = std::array<std::int64_t, Quadrature::kMaxVisible>;

// Collects lattice points cell by cell: a cell of 2^level points a side is dropped when an upper bound of the
// log-density over it is negligible beside the largest value found so far, and split otherwise.
class Collector {
 public:
  Collector(const Model& model, double temperature) : model_(model), temperature_(temperature) {
    visible_ = static_cast<std::size_t>(model.visible());
    std::int64_t longest = 1;
    for (std::size_t i = 0; i < visible_; ++i) {
      double low = model.mu()[i];
      double high = low;
      for (const float w : model.W().row(static_cast<Index>(i))) (w < 0 ? low : high) += double{w};
      variance_[i] = std::exp(double{model.log_var()[i]});
      const double deviation = std::sqrt(variance_[i]);
      spacing_[i] = kSpacing * deviation * std::min(1.0, std::sqrt(temperature));
      if (temperature != 1) {
        // (1 + exp x)^(1/τ) has branch points at distance πσ²/|W| from the real line.
        for (const float w : model.W().row(static_cast<Index>(i))) {
          if (w != 0) spacing_[i] = std::min(spacing_[i], kSpacing * variance_[i] / std::abs(double{w}));
        }
      }
      const double reach = kMargin * deviation * std::max(1.0, std::sqrt(temperature));
      origin_[i] = low - reach;
      count_[i] = static_cast<std::int64_t>(std::ceil((high - low + 2 * reach) / spacing_[i])) + 1;
      longest = std::max(longest, count_[i]);
    }
    while ((std::int64_t{1} << top_) < longest) ++top_;
  }

  void Run() {
    // The largest value first, by climbing from the best of a few starts: bounds are then tight from the beginning.
    best_ = Climb();
    Visit(Cell{}, top_);
  }

  std::size_t visible() const { return visible_; }
  double spacing(std::size_t i) const { return spacing_[i]; }
  const std::vector<Point>& points() const { return points_; }
  const std::vector<double>& values() const { return values_; }

 private:
  double Value(const Point& v) const { return -MarginalEnergy(model_, std::span(v.data(), visible_)) / temperature_; }

  // Fixed points of v = μ + W sigmoid(logits(v)) are the stationary points of Ẽ.
  double Climb() const {
    double best = -std::numeric_limits<double>::infinity();
    for (int start = 0; start < 9; ++start) {
      Point v{};
      for (std::size_t i = 0; i < visible_; ++i) {
        const int part = i == 0 ? start % 3 : start / 3;
        v[i] = origin_[i] + spacing_[i] * static_cast<double>(count_[i]) * (0.25 + 0.25 * part);
      }
      for (int step = 0; step < 200; ++step) {
        const auto gradient = MarginalEnergyGradient(model_, std::span(v.data(), visible_));
        for (std::size_t i = 0; i < visible_; ++i) v[i] -= variance_[i] * gradient[i];
      }
      best = std::max(best, Value(v));
    }
    return best;
  }

  // An upper bound of the log-density over the cell: each term of -Ẽ at its own best place.
  double Bound(const Point& centre, const Point& half) const {
    double quadratic = 0;
    std::vector<double> logits = HiddenLogits(model_, std::span(centre.data(), visible_));
    for (std::size_t i = 0; i < visible_; ++i) {
      const double distance = std::max(0.0, std::abs(centre[i] - double{model_.mu()[i]}) - half[i]);
      quadratic += distance * distance / (2 * variance_[i]);
      const std::span<const float> row = model_.W().row(static_cast<Index>(i));
      for (std::size_t j = 0; j < logits.size(); ++j) logits[j] += std::abs(double{row[j]}) * half[i] / variance_[i];
    }
    double bound = -quadratic;
    for (const double x : logits) bound += std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    return bound / temperature_;
  }

  void Visit(const Cell& corner, int level) {
    for (std::size_t i = 0; i < visible_; ++i) {
      if (corner[i] >= count_[i]) return;
    }
    const std::int64_t side = std::int64_t{1} << level;
    Point centre{};
    Point half{};
    for (std::size_t i = 0; i < visible_; ++i) {
      half[i] = 0.5 * spacing_[i] * static_cast<double>(side - 1);
      centre[i] = origin_[i] + spacing_[i] * static_cast<double>(corner[i]) + half[i];
    }
    if (level == 0) {
      const double value = Value(centre);
      if (value < best_ - kNegligible) return;
      best_ = std::max(best_, value);
      points_.push_back(centre);
      values_.push_back(value);
      if (points_.size() > kMaxPoints) {
        throw ConfigError(fmt::format("quadrature: the model's mass covers more than {} lattice points", kMaxPoints));
      }
      return;
    }
    if (Bound(centre, half) < best_ - kNegligible) return;
    const std::int64_t step = side / 2;
    for (int child = 0; child < (1 << visible_); ++child) {
      Cell next = corner;
      for (std::size_t i = 0; i < visible_; ++i) next[i] += (child >> i & 1) != 0 ? step : 0;
      Visit(next, level - 1);
    }
  }

  const Model& model_;
  double temperature_;
  std::size_t visible_ = 0;
  Point variance_{};
  Point spacing_{};
  Point origin_{};
  Cell count_{};
  int top_ = 0;
  double best_ = 0;
  std::vector<Point> points_;
  std::vector<double> values_;
};

}  // namespace

Quadrature::Quadrature(Model model, double temperature) : model_(std::move(model)), temperature_(temperature) {
  if (model_.visible() > kMaxVisible) {
    throw ConfigError(
        fmt::format("quadrature: {} visible units: allowed are at most {}", model_.visible(), kMaxVisible));
  }
  if (!(temperature > 0) || !std::isfinite(temperature)) {
    throw ConfigError(fmt::format("quadrature: temperature = {}: allowed is a number above 0", temperature));
  }
  Collector collector(model_, temperature);
  collector.Run();

  const double largest = *std::ranges::max_element(collector.values());
  double total = 0;
  for (const double value : collector.values()) total += std::exp(value - largest);
  log_partition_ = largest + std::log(total);
  for (std::size_t i = 0; i < collector.visible(); ++i) log_partition_ += std::log(collector.spacing(i));

  points_ = BasicMatrix<double>(static_cast<Index>(collector.points().size()), model_.visible());
  for (std::size_t p = 0; p < collector.points().size(); ++p) {
    for (std::size_t i = 0; i < collector.visible(); ++i) {
      points_(static_cast<Index>(p), static_cast<Index>(i)) = collector.points()[p][i];
    }
    probabilities_.push_back(std::exp(collector.values()[p] - largest) / total);
  }
}

double Quadrature::LogDensity(std::span<const double> v) const {
  return -MarginalEnergy(model_, v) / temperature_ - log_partition_;
}

double Quadrature::Expectation(const std::function<double(std::span<const double>)>& f) const {
  double sum = 0;
  for (Index p = 0; p < points_.rows(); ++p) sum += probabilities_[static_cast<std::size_t>(p)] * f(points_.row(p));
  return sum;
}

}  // namespace grbm
