// Any number of ranks, with any number of threads, trains to the bits of one process.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "grbm/train/trainer.h"
#include "support/learning.h"
#include "support/models.h"
#include "support/thread_ranks.h"
#include "train/batch_split.h"

namespace grbm {
namespace {

using testing::OnRanks;
using testing::Values;

struct Case {
  const char* name;
  Index visible;
  Index hidden;
  Index batch;
  Method method = Method::kGibbs;
  Adjust adjust = Adjust::kNone;
  Algorithm algorithm = Algorithm::kNoiseCd;
  std::function<void(Trainer::Setup&)> change = {};
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

Trainer::Setup SetupOf(const Case& c) {
  Trainer::Setup setup;
  setup.model.hidden = c.hidden;
  setup.sampler = testing::LearningOptions(c.method, c.adjust, 0.3, 5);
  setup.train.algorithm = c.algorithm;
  setup.train.batch_size = c.batch;
  setup.train.restart_fraction = 0.2;
  setup.train.average = 0.9;
  setup.train.burn_in = 1;
  setup.visible = c.visible;
  setup.rows = 1000;
  setup.seed = 7;
  setup.gap_rows = 200;
  setup.gap_numbers = [](std::uint64_t update, std::span<Index> numbers) {
    for (std::size_t r = 0; r < numbers.size(); ++r) numbers[r] = static_cast<Index>((r * 3 + update * 71) % 200);
  };
  if (c.change) c.change(setup);
  return setup;
}

// Row r of an update's batch is the same whoever reads it. Of label units the last `labels`, one is 1.
void ReadRows(std::uint64_t update, Index first, Index labels, bool gaps, MutableMatrix out) {
  const Stream stream(3, Purpose::kBatches);
  for (Index r = 0; r < out.rows(); ++r) {
    for (Index i = 0; i < out.cols(); ++i) {
      out(r, i) = stream.Normal(update, static_cast<std::uint32_t>(first + r), i) + (i % 2 == 0 ? 1.0f : -1.0f);
      if (gaps && out(r, i) > 1.2f) out(r, i) = std::numeric_limits<float>::quiet_NaN();
    }
    for (Index k = 0; k < labels; ++k) out(r, out.cols() - 1 - k) = (first + r) % labels == k ? 1.0f : 0.0f;
  }
}

// What `updates` leave, and what was told of each; from `start` on, where there is one.
struct Outcome {
  std::vector<double> parameters;
  std::vector<double> metrics;
  TrainState state;
};

Outcome TrainOn(const Case& c, Ranks* ranks, int threads, int updates, const TrainState* start = nullptr) {
  Trainer::Setup setup = SetupOf(c);
  setup.ranks = ranks;
  ThreadPool pool(threads);
  Trainer* self = nullptr;
  Trainer trainer(
      setup,
      [&](std::uint64_t update, MutableMatrix out) {
        ReadRows(update, self->first_row(), setup.label_units, setup.gaps, out);
      },
      pool);
  self = &trainer;
  if (start != nullptr) trainer.Restore(*start);
  Outcome outcome;
  for (int k = 0; k < updates; ++k) {
    trainer.set_ask([&] { return ranks->rank() == 0 ? k + 5 : -1; });
    const UpdateMetrics m = trainer.Update(k % 2 == 1);
    if (ranks != nullptr && ranks->count() > 1) {
      EXPECT_EQ(trainer.answer(), k + 5) << "the first rank's, on all";
    }
    outcome.metrics.insert(outcome.metrics.end(), {m.gradient_norm, m.mean_variance, m.batch.acceptance,
                                                   m.batch.hidden_activity, m.batch.reconstruction, m.batch.variety});
  }
  outcome.parameters = Values(trainer.model().parameters());
  std::ranges::copy(Values(trainer.Result().parameters()), std::back_inserter(outcome.parameters));
  outcome.state = trainer.State();
  return outcome;
}

void ExpectSame(const Outcome& a, const Outcome& b, const std::string& what) {
  EXPECT_EQ(a.parameters, b.parameters) << what;
  EXPECT_EQ(a.metrics, b.metrics) << what;
  EXPECT_EQ(a.state.gaps, b.state.gaps) << what;
  ASSERT_EQ(a.state.chains.has_value(), b.state.chains.has_value()) << what;
  if (!a.state.chains) return;
  EXPECT_EQ(a.state.chains->visible, b.state.chains->visible) << what;
  EXPECT_EQ(a.state.chains->hidden, b.state.chains->hidden) << what;
}

class RanksTest : public ::testing::TestWithParam<Case> {};

TEST_P(RanksTest, LeaveNoTrace) {
  const Outcome alone = TrainOn(GetParam(), nullptr, 1, 3);
  for (const int count : {1, 2, 3, 4}) {
    OnRanks(count, [&](Ranks& ranks) {
      const int threads = 1 + (ranks.rank() + count) % 2;
      ExpectSame(TrainOn(GetParam(), &ranks, threads, 3), alone,
                 "rank " + std::to_string(ranks.rank()) + " of " + std::to_string(count));
    });
  }
}

TEST_P(RanksTest, OthersGoOnToTheSameBits) {
  const Outcome whole = TrainOn(GetParam(), nullptr, 2, 4);
  TrainState half;
  OnRanks(3, [&](Ranks& ranks) {
    const Outcome first = TrainOn(GetParam(), &ranks, 1, 2);
    if (ranks.rank() == 0) half = first.state;
  });
  OnRanks(2, [&](Ranks& ranks) {
    const Outcome rest = TrainOn(GetParam(), &ranks, 1, 2, &half);
    EXPECT_EQ(rest.parameters, whole.parameters);
  });
  EXPECT_EQ(TrainOn(GetParam(), nullptr, 1, 2, &half).parameters, whole.parameters);
}

const Case kCases[] = {
    // Small models: three pieces, so that a fourth rank has nothing to do but to take part.
    {"small_gibbs", 3, 70, 120},
    {"small_partial", 3, 70, 120, Method::kPartialGibbs, Adjust::kNone, Algorithm::kCd},
    {"small_langevin", 3, 70, 120, Method::kLangevin, Adjust::kMetropolis, Algorithm::kPcd},
    {"small_conditional", 3, 70, 120, Method::kGibbsLangevin, Adjust::kConditional, Algorithm::kPcd},
    {"small_cooled", 3, 70, 120, Method::kGibbsLangevin, Adjust::kMetropolis, Algorithm::kNoiseCd,
     [](Trainer::Setup& s) {
       s.train.start_temperature = 5;
       s.train.burn_in = 3;
     }},
    // Others: four pieces.
    {"gibbs", 37, 900, 70},
    {"gibbs_pcd", 37, 900, 70, Method::kGibbs, Adjust::kNone, Algorithm::kPcd},
    {"partial_cd", 37, 900, 70, Method::kPartialGibbs, Adjust::kNone, Algorithm::kCd},
    {"gibbs_langevin", 37, 900, 70, Method::kGibbsLangevin},
    {"joint", 37, 900, 70, Method::kGibbsLangevin, Adjust::kMetropolis, Algorithm::kPcd},
    {"conditional", 37, 900, 70, Method::kGibbsLangevin, Adjust::kConditional},
    {"langevin", 37, 900, 70, Method::kLangevin, Adjust::kNone, Algorithm::kPcd},
    {"langevin_metropolis", 37, 900, 70, Method::kLangevin, Adjust::kMetropolis},
    {"expected", 37, 900, 70, Method::kGibbs, Adjust::kNone, Algorithm::kPcd,
     [](Trainer::Setup& s) {
       s.train.hidden = HiddenKind::kProbability;
       s.train.visible = VisibleKind::kMean;
       s.train.optimizer = OptimizerKind::kAdam;
       s.noise = 0.5;
     }},
    {"centred", 37, 900, 70, Method::kGibbs, Adjust::kNone, Algorithm::kNoiseCd,
     [](Trainer::Setup& s) {
       s.train.centred = true;
       s.train.momentum = 0.5;
     }},
    {"labels", 47, 900, 70, Method::kGibbs, Adjust::kNone, Algorithm::kPcd,
     [](Trainer::Setup& s) {
       s.label_units = 10;
       s.train.hidden = HiddenKind::kProbability;
       s.train.visible = VisibleKind::kMean;
       s.train.discriminative = 0.7;
       s.noise = 0.5;
     }},
    {"small_labels", 5, 70, 120, Method::kLangevin, Adjust::kMetropolis, Algorithm::kPcd,
     [](Trainer::Setup& s) {
       s.label_units = 2;
       s.train.discriminative = 0.7;
     }},
    {"labels_joint", 47, 900, 70, Method::kGibbsLangevin, Adjust::kMetropolis, Algorithm::kPcd,
     [](Trainer::Setup& s) { s.label_units = 10; }},
    {"small_kept_labels", 5, 70, 120, Method::kLangevin, Adjust::kMetropolis, Algorithm::kPcd,
     [](Trainer::Setup& s) {
       s.label_units = 2;
       s.label_shares = {0.3, 0.7};
       s.train.keep_labels = true;
       s.train.far_starts = 0.5;
     }},
    {"kept_labels", 47, 900, 70, Method::kGibbs, Adjust::kNone, Algorithm::kPcd,
     [](Trainer::Setup& s) {
       s.label_units = 3;
       s.label_shares = {0.2, 0.7, 0.1};
       s.train.keep_labels = true;
       s.train.hidden = HiddenKind::kProbability;
       s.train.visible = VisibleKind::kMean;
       s.train.far_starts = 0.5;
     }},
    {"small_gaps", 3, 70, 120, Method::kLangevin, Adjust::kMetropolis, Algorithm::kPcd,
     [](Trainer::Setup& s) { s.gaps = true; }},
    {"gaps", 37, 900, 70, Method::kGibbs, Adjust::kNone, Algorithm::kPcd,
     [](Trainer::Setup& s) {
       s.train.hidden = HiddenKind::kProbability;
       s.train.visible = VisibleKind::kMean;
       s.train.centred = true;
       s.model.variance_floor = 0.5;
       s.noise = 0.5;
       s.gaps = true;
     }},
    {"small_conditions", 3, 70, 120, Method::kLangevin, Adjust::kMetropolis, Algorithm::kCd,
     [](Trainer::Setup& s) { s.conditions = 2; }},
    {"conditions", 37, 900, 70, Method::kGibbs, Adjust::kNone, Algorithm::kNoiseCd,
     [](Trainer::Setup& s) {
       s.train.hidden = HiddenKind::kProbability;
       s.train.visible = VisibleKind::kMean;
       s.train.optimizer = OptimizerKind::kAdam;
       s.train.centred = true;
       s.noise = 0.5;
       s.conditions = 20;
     }},
    {"conditions_joint", 37, 900, 70, Method::kGibbsLangevin, Adjust::kMetropolis, Algorithm::kNoiseCd,
     [](Trainer::Setup& s) { s.conditions = 20; }},
    // One visible panel and one piece: all ranks but one are idle.
    {"one_piece", 16, 2100, 20, Method::kGibbs, Adjust::kNone, Algorithm::kPcd},
};

INSTANTIATE_TEST_SUITE_P(Cases, RanksTest, ::testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

// Every row of a batch is in one piece, and every piece and panel with one rank.
TEST(BatchSplit, CoversAllOnce) {
  for (const auto& [visible, hidden, rows] : {std::tuple<Index, Index, Index>{2, 256, 100},
                                              {2, 256, 1},
                                              {784, 512, 100},
                                              {784, 4096, 512},
                                              {3072, 10000, 512},
                                              {784, 4096, 65536},
                                              {784, 512, 3}}) {
    for (const int ranks : {1, 2, 3, 7, 64}) {
      const BatchSplit split(visible, hidden, rows, ranks);
      EXPECT_EQ(split.pieces(), BatchSplit(visible, hidden, rows, 1).pieces()) << "ranks do not change the pieces";
      Index row = 0;
      Index piece = 0;
      Index panel = 0;
      for (int r = 0; r < ranks; ++r) {
        EXPECT_EQ(split.RowsOfRank(r).first, row);
        row += split.RowsOfRank(r).count;
        EXPECT_EQ(split.PiecesOfRank(r).first, piece);
        piece += split.PiecesOfRank(r).count;
        EXPECT_EQ(split.PanelsOfRank(r).first, panel);
        panel += split.PanelsOfRank(r).count;
      }
      EXPECT_EQ(row, rows);
      EXPECT_EQ(piece, split.pieces());
      EXPECT_EQ(panel, (visible + 15) / 16);
    }
  }
}

}  // namespace
}  // namespace grbm
