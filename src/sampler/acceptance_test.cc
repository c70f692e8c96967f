// Acceptance ratios against naive ratios of full log-densities, every term on its own and in double.
//
// Parameters and states are small multiples of 1/8 and variances powers of two, so that the products in float are
// exact and what is compared is the formula, to 1e-9.
#include <gtest/gtest.h>

#include <cmath>

#include "grbm/model/energy.h"
#include "model/packed.h"
#include "sampler/table.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::Dice;
using testing::Doubles;
using testing::RandomHidden;

constexpr Index kVisible = 5;
constexpr Index kHidden = 6;
constexpr Index kStates = 24;

float Eighths(Dice& dice, int limit) { return static_cast<float>(std::floor(dice.Uniform(-limit, limit + 1)) / 8); }

Model DyadicModel(std::uint64_t seed) {
  Dice dice(seed);
  Parameters p(kVisible, kHidden);
  for (float& w : p.W.values()) w = Eighths(dice, 8);
  for (float& b : p.b) b = Eighths(dice, 8);
  for (float& m : p.mu) m = Eighths(dice, 8);
  for (float& l : p.log_var) l = static_cast<float>(std::floor(dice.Uniform(-2, 3)) * std::log(2.0));
  return Model(p);
}

// States with what a sampler computes of them, by the sampler's own kernels.
struct States {
  const Model& model;
  Matrix v{kStates, kVisible};
  BitMatrix h = RandomHidden(kStates, kHidden, 77);
  kernels::Panels visible{kStates, kVisible};
  kernels::Panels product{kStates, kVisible};
  HiddenSums sums;
  ThreadPool pool{1};

  States(const Model& m, bool marginal) : model(m) {
    Dice dice(78);
    for (float& x : v.values()) x = Eighths(dice, 16);
    PackRows(v, visible, pool);
    kernels::Panels p(kStates, kHidden);
    kernels::HiddenResult result;
    result.probabilities = p;
    if (!marginal) result.states = h;
    sums.Prepare(kStates, kHidden, result);
    const PackedWeights& weights = model.packed(pool);
    UpdateHidden(weights, visible, {0, kStates}, result, pool);
    sums.Finish();
    if (marginal) {
      kernels::ProbabilityProduct(p, weights.transposed(), 0, {0, kStates}, product);
    } else {
      kernels::HiddenProduct(h, weights.transposed(), 0, {0, kStates}, product);
    }
  }

  // The step from one state to another; for `given_h`, with the mean of the first one both ways.
  StepSums Step(const Move& move, Index from, Index to, bool given_h = false) {
    const auto row = [&](const kernels::Panels& panels, Index r) {
      return kernels::ConstPanelView(panels.view().line(0, r), 1, kVisible, panels.view().stride());
    };
    std::vector<double> inverse_noise(kernels::kPanel);
    for (std::size_t i = 0; i < kVisible; ++i) {
      inverse_noise[i] = 0.5 / (double{move.noise[i]} * double{move.noise[i]});
    }
    const kernels::PanelRow keep(move.keep);
    const PackedWeights& weights = model.packed(pool);
    kernels::VisibleSums visible_sums;
    kernels::AddVisibleSums(
        {row(visible, from), row(product, from), row(visible, to), row(product, given_h ? from : to)},
        {weights.mu(), keep, weights.inverse_variance(), inverse_noise}, 0, {0, 1}, &visible_sums);
    const auto state = [&](double quadratic, Index r) {
      const auto at = static_cast<std::size_t>(r);
      return StepSums::State{quadratic, sums.active[at], sums.softplus[at]};
    };
    return {state(visible_sums.from, from), state(visible_sums.to, to), visible_sums.proposal,
            visible_sums.conditional};
  }
};

double Variance(const Model& model, std::size_t i) { return model.variance()[i]; }  // a power of two: exact

double LogNormal(double x, double mean, double variance) {
  return -0.5 * std::log(2 * M_PI * variance) - (x - mean) * (x - mean) / (2 * variance);
}

double NaiveLogit(const Model& model, const States& s, Index r, Index j) {
  double x = model.b()[static_cast<std::size_t>(j)];
  for (Index i = 0; i < kVisible; ++i) {
    x += double{s.v(r, i)} / Variance(model, static_cast<std::size_t>(i)) * double{model.W()(i, j)};
  }
  return x;
}

double NaiveLogHidden(const Model& model, const States& s, Index r) {
  double sum = 0;
  for (Index j = 0; j < kHidden; ++j) {
    const double p = 1 / (1 + std::exp(-NaiveLogit(model, s, r, j)));
    sum += s.h.Get(r, j) ? std::log(p) : std::log(1 - p);
  }
  return sum;
}

double NaiveEnergy(const Model& model, const States& s, Index r) {
  double e = 0;
  for (std::size_t i = 0; i < kVisible; ++i) {
    const double d = double{s.v.row(r)[i]} - double{model.mu()[i]};
    e += 0.5 * d * d / Variance(model, i);
  }
  for (Index j = 0; j < kHidden; ++j) e -= s.h.Get(r, j) ? NaiveLogit(model, s, r, j) : 0.0;
  return e;
}

double NaiveMarginalEnergy(const Model& model, const States& s, Index r) {
  double e = 0;
  for (std::size_t i = 0; i < kVisible; ++i) {
    const double d = double{s.v.row(r)[i]} - double{model.mu()[i]};
    e += 0.5 * d * d / Variance(model, i);
  }
  for (Index j = 0; j < kHidden; ++j) e -= std::log(1 + std::exp(NaiveLogit(model, s, r, j)));
  return e;
}

double NaiveMean(const Model& model, const States& s, Index r, std::size_t i) {
  double mean = model.mu()[i];
  for (Index j = 0; j < kHidden; ++j) mean += s.h.Get(r, j) ? double{model.W()(static_cast<Index>(i), j)} : 0.0;
  return mean;
}

// log q(v of `to` | v of `from`, mean)
template <typename Mean>
double NaiveProposal(const Move& move, const States& s, Index from, Index to, const Mean& mean) {
  double sum = 0;
  for (std::size_t i = 0; i < kVisible; ++i) {
    const double keep = move.keep[i];
    const double centre = keep * double{s.v.row(from)[i]} + (1 - keep) * mean(i);
    sum += LogNormal(s.v.row(to)[i], centre, double{move.noise[i]} * double{move.noise[i]});
  }
  return sum;
}

SamplerOptions Options(Method method, Adjust adjust, double temperature, double proposals = 0) {
  SamplerOptions o;
  o.method = method;
  o.adjust = adjust;
  o.temperature = temperature;
  o.proposal_temperature = proposals;
  o.step_size = 0.3;
  o.langevin_steps = 4;
  return o;
}

// The temperature of the law, and that of the proposals (0: the same).
class AcceptanceRatio : public ::testing::TestWithParam<std::pair<double, double>> {
 protected:
  const double law_ = GetParam().first;

  SamplerOptions TestOptions(Method method, Adjust adjust) const {
    return Options(method, adjust, law_, GetParam().second);
  }

  // Calls check(from, to, ratio) for pairs of states, and checks the antisymmetry.
  template <typename Check>
  void ForPairs(const Transition& transition, const Move& move, States& states, const Check& check) {
    for (Index from = 0; from < kStates; ++from) {
      for (Index to = 0; to < kStates; ++to) {
        const bool given_h = transition.acceptance() == Transition::Acceptance::kVisible;
        const double forth = transition.LogAcceptance(states.Step(move, from, to, given_h));
        check(from, to, forth);
        if (given_h) continue;
        EXPECT_NEAR(forth, -transition.LogAcceptance(states.Step(move, to, from)), 1e-11);
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Temperatures, AcceptanceRatio,
                         ::testing::Values(std::pair{1.0, 0.0}, std::pair{0.5, 0.0}, std::pair{100.0, 0.0},
                                           std::pair{1.0, 100.0}, std::pair{0.5, 3.0}, std::pair{100.0, 2.0}));

TEST_P(AcceptanceRatio, JointGibbsLangevin) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Model model = DyadicModel(seed);
    States s(model, false);
    const auto transition = GibbsLangevin().make(model, TestOptions(Method::kGibbsLangevin, Adjust::kMetropolis));
    const Move& move = transition->MoveAt(0);
    ForPairs(*transition, move, s, [&](Index from, Index to, double ratio) {
      const auto proposal = [&](Index a, Index b) {
        return NaiveProposal(move, s, a, b, [&](std::size_t i) { return NaiveMean(model, s, a, i); });
      };
      const double target_to = -NaiveEnergy(model, s, to) / law_;
      const double target_from = -NaiveEnergy(model, s, from) / law_;
      const double back = proposal(to, from) + NaiveLogHidden(model, s, from);
      const double forth = proposal(from, to) + NaiveLogHidden(model, s, to);
      const double naive = target_to - target_from + back - forth;
      ASSERT_NEAR(ratio, naive, 1e-9 * (1 + std::abs(naive)));
    });
  }
}

TEST_P(AcceptanceRatio, ConditionalGibbsLangevin) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Model model = DyadicModel(seed);
    States s(model, false);
    const auto transition = GibbsLangevin().make(model, TestOptions(Method::kGibbsLangevin, Adjust::kConditional));
    const Move& move = transition->MoveAt(0);
    ForPairs(*transition, move, s, [&](Index from, Index to, double ratio) {
      const auto mean = [&](std::size_t i) { return NaiveMean(model, s, from, i); };
      double naive = NaiveProposal(move, s, to, from, mean) - NaiveProposal(move, s, from, to, mean);
      for (std::size_t i = 0; i < kVisible; ++i) {
        const double variance = law_ * Variance(model, i);
        naive += LogNormal(s.v.row(to)[i], mean(i), variance) - LogNormal(s.v.row(from)[i], mean(i), variance);
      }
      ASSERT_NEAR(ratio, naive, 1e-9 * (1 + std::abs(naive)));
    });
  }
}

// The proposal's mean is by definition the one that was used, with W p(h|v) in float; the energies are exact.
TEST_P(AcceptanceRatio, Langevin) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Model model = DyadicModel(seed);
    States s(model, true);
    SamplerOptions options = TestOptions(Method::kLangevin, Adjust::kMetropolis);
    options.steps = 10;
    const auto transition = Langevin().make(model, options);
    const Move& move = transition->MoveAt(3);
    ForPairs(*transition, move, s, [&](Index from, Index to, double ratio) {
      const auto proposal = [&](Index a, Index b) {
        return NaiveProposal(move, s, a, b, [&](std::size_t i) {
          return double{model.mu()[i]} + double{s.product.view()(a, static_cast<Index>(i))};
        });
      };
      const double naive = (NaiveMarginalEnergy(model, s, from) - NaiveMarginalEnergy(model, s, to)) / law_ +
                           proposal(to, from) - proposal(from, to);
      ASSERT_NEAR(ratio, naive, 1e-9 * (1 + std::abs(naive)));
    });
    // And that mean is v - α ∂Ẽ/∂v.
    for (Index r = 0; r < kStates; ++r) {
      const auto gradient = MarginalEnergyGradient(model, Doubles(s.v.row(r)));
      for (std::size_t i = 0; i < kVisible; ++i) {
        const double v = s.v.row(r)[i];
        const double mean = double{model.mu()[i]} + double{s.product.view()(r, static_cast<Index>(i))};
        const double alpha = (1 - double{move.keep[i]}) * Variance(model, i);
        EXPECT_NEAR(mean + double{move.keep[i]} * (v - mean), v - alpha * gradient[i], 1e-5);
      }
    }
  }
}

// At temperature 1 the joint rule does not see the hidden states but through the proposals: -ΔẼ + log q - log q, whatever
// the proposals' own temperature.
TEST(AcceptanceRatioIdentity, AtTemperatureOneTheEnergiesReduceToMarginalOnes) {
  const Model model = DyadicModel(9);
  States s(model, false);
  for (const double proposals : {0.0, 100.0}) {
    const auto transition =
        GibbsLangevin().make(model, Options(Method::kGibbsLangevin, Adjust::kMetropolis, 1.0, proposals));
    const Move& move = transition->MoveAt(0);
    for (Index to = 1; to < kStates; ++to) {
      const StepSums step = s.Step(move, 0, to);
      const double expected = NaiveMarginalEnergy(model, s, 0) - NaiveMarginalEnergy(model, s, to) + step.proposal;
      EXPECT_NEAR(transition->LogAcceptance(step), expected, 1e-9);
    }
  }
}

}  // namespace
}  // namespace grbm
