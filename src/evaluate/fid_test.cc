#include "grbm/evaluate/fid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "evaluate/random_weights.h"
#include "grbm/core/error.h"
#include "grbm/core/random.h"
#include "support/temporary_folder.h"
#include "support/thread_ranks.h"

namespace grbm {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::ThrowsMessage;

constexpr ImageShape kShape{5, 4, 1};

// Images of noise, darker by `shade`.
Dataset NoiseImages(Index rows, std::uint64_t seed, int shade = 0) {
  const Stream stream(seed, Purpose::kMixture);
  std::vector<std::uint8_t> values;
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < kShape.size(); ++j) {
      const float u = stream.Uniform(0, static_cast<std::uint32_t>(i), j);
      values.push_back(static_cast<std::uint8_t>(u * static_cast<float>(255 - shade)));
    }
  }
  return {std::move(values), kShape.size(), kShape, "noise"};
}

class Fid : public testing::TemporaryFolder {
 protected:
  FidResult Compute(const Dataset& samples, const Dataset& data) {
    progress_.clear();
    return ComputeFid(network_, DataImages(samples), data, options_, folder_.string(), pool_,
                      [&](std::string_view part, Index done, Index total) {
                        progress_[std::string(part)] = {done, total};
                      });
  }
  Matrix Features(const Dataset& data) {
    BasicMatrix<std::uint8_t> images(data.rows(), kShape.size());
    DataImages(data).read(0, images);
    Matrix features(data.rows(), 64);
    network_.Features(images, kShape, 64, features, pool_);
    return features;
  }
  FeatureMoments Moments(const Dataset& data) {
    FeatureMoments moments(64);
    moments.Add(Features(data));
    return moments;
  }
  std::filesystem::path CacheFile() const { return std::filesystem::directory_iterator(folder_ / "inception")->path(); }

  testing::RandomWeights weights_ = testing::StemWeights();
  Inception network_{weights_.file()};
  ThreadPool pool_{2};
  FidOptions options_{.tap = 64, .samples = 6, .reference = 0, .subsets = 3, .kernel_subset = 3};
  std::map<std::string, std::pair<Index, Index>> progress_;
};

// More images of the data than are computed at once, and a cache that rank 0 alone has.
TEST_F(Fid, RanksFindTheSameDistances) {
  const Dataset samples = NoiseImages(6, 1, 50);
  const Dataset data = NoiseImages(290, 2);
  const FidResult alone[] = {Compute(samples, data), Compute(samples, data)};  // without and with a cache
  for (const int count : {2, 3}) {
    const std::string folder = Path("cache" + std::to_string(count));
    for (const bool cached : {false, true}) {
      testing::OnRanks(count, [&](Ranks& ranks) {
        ThreadPool pool(1);
        const FidResult result = ComputeFid(network_, DataImages(samples), data, options_,
                                            ranks.rank() == 0 ? folder : Path("elsewhere"), pool, {}, ranks);
        EXPECT_EQ(result.fid.distance, alone[cached].fid.distance);
        EXPECT_EQ(result.kid.distance, alone[cached].kid.distance);
        EXPECT_EQ(result.subset_deviation, alone[cached].subset_deviation);
        EXPECT_EQ(result.from_cache, cached);
      });
    }
  }
  EXPECT_FALSE(std::filesystem::exists(Path("elsewhere")));
}

TEST_F(Fid, EqualsTheDistancesOfItsParts) {
  const Dataset samples = NoiseImages(6, 1, 50);
  const Dataset data = NoiseImages(16, 2);
  const FidResult result = Compute(samples, data);
  EXPECT_EQ(result.tap, 64);
  EXPECT_EQ(result.samples, 6);
  EXPECT_EQ(result.reference, 16);
  const double expected = Frechet(Moments(samples), Moments(data)).distance;
  EXPECT_GT(expected, 0);
  EXPECT_NEAR(result.fid.distance, expected, 1e-6 * expected);
  EXPECT_TRUE(result.fid.rank_deficient);
  EXPECT_THAT(result.warnings, ::testing::ElementsAre(HasSubstr("singular")));

  double mean = 0;
  std::vector<double> parts;
  for (Index i = 0; i < 6; i += 2) {
    const std::vector<Index> rows = {i, i + 1};
    parts.push_back(Frechet(Moments(samples.Select(rows)), Moments(data)).distance);
    mean += parts.back() / 3;
  }
  EXPECT_NEAR(result.subset_mean, mean, 1e-6 * mean);
  double squares = 0;
  for (const double d : parts) squares += (d - mean) * (d - mean);
  EXPECT_NEAR(result.subset_deviation, std::sqrt(squares / 2), 1e-6 * mean);

  // Six real images against the ten others: nearer than the darker samples.
  EXPECT_EQ(result.floor_samples, 6);
  EXPECT_GT(result.floor.distance, 0);
  EXPECT_LT(result.floor.distance, result.fid.distance);
  EXPECT_EQ(result.kid.subsets, 2);
  EXPECT_EQ(result.kernel_subset, 3);
  EXPECT_THAT(progress_, ::testing::ElementsAre(Pair("features of samples", Pair(6, 6)),
                                                Pair("features of the data", Pair(16, 16))));
}

TEST_F(Fid, CacheServesTheSameDataOnly) {
  const Dataset samples = NoiseImages(6, 1, 50);
  const FidResult first = Compute(samples, NoiseImages(16, 2));
  EXPECT_FALSE(first.from_cache);
  const FidResult second = Compute(samples, NoiseImages(16, 2));
  EXPECT_TRUE(second.from_cache);
  EXPECT_THAT(progress_, ::testing::ElementsAre(Pair("features of samples", Pair(6, 6))));
  EXPECT_NEAR(second.fid.distance, first.fid.distance, 1e-9 * first.fid.distance);
  EXPECT_NEAR(second.floor.distance, first.floor.distance, 1e-9 * first.fid.distance);
  EXPECT_EQ(second.kid.distance, first.kid.distance);

  EXPECT_FALSE(Compute(samples, NoiseImages(16, 3)).from_cache);
  options_.reference = 10;
  EXPECT_FALSE(Compute(samples, NoiseImages(16, 2)).from_cache);
  EXPECT_EQ(Compute(samples, NoiseImages(16, 2)).reference, 10);
}

TEST_F(Fid, DamagedCacheIsMadeAnew) {
  const Dataset samples = NoiseImages(6, 1, 50);
  const Dataset data = NoiseImages(16, 2);
  const FidResult first = Compute(samples, data);
  std::filesystem::resize_file(CacheFile(), 1000);
  EXPECT_FALSE(Compute(samples, data).from_cache);
  const FidResult again = Compute(samples, data);
  EXPECT_TRUE(again.from_cache);
  EXPECT_NEAR(again.fid.distance, first.fid.distance, 1e-9 * first.fid.distance);
}

TEST_F(Fid, SaysWhatIsWrong) {
  const Dataset samples = NoiseImages(6, 1);
  const Dataset data = NoiseImages(16, 2);
  options_.reference = 17;
  EXPECT_THAT([&] { Compute(samples, data); }, ThrowsMessage<ConfigError>(HasSubstr("the data have 16 rows")));
  options_.reference = 0;
  options_.tap = 768;
  EXPECT_THAT([&] { Compute(samples, data); }, ThrowsMessage<DataError>(HasSubstr("the taps that work are 64")));
  options_.tap = 64;
  options_.samples = 5;
  EXPECT_THAT([&] { Compute(samples, data); }, ThrowsMessage<ConfigError>(HasSubstr("3 subsets need at least 6")));
  options_.samples = 6;
  const Dataset wide(std::vector<std::uint8_t>(60 * 30), 60, {5, 4, 3}, "wide");
  EXPECT_THAT([&] { Compute(wide, data); },
              ThrowsMessage<DataError>(HasSubstr("5 × 4 × 1: the model makes 5 × 4 × 3")));
  EXPECT_THAT([&] { DataImages(Dataset(Matrix(3, 20), kShape, "floats")); },
              ThrowsMessage<DataError>(HasSubstr("floats: Inception distances need images of 8 or 16 bits")));
}

// A model without weights shows its mean: values off the scale are clamped, the others rounded.
TEST_F(Fid, ModelImagesComeBackToEightBits) {
  Parameters parameters = Model::Initial(20, 3, 1).parameters();
  std::ranges::fill(parameters.W.values(), 0.0f);
  parameters.mu[0] = 100;
  parameters.mu[1] = -100;
  ModelFile file{.model = Model(parameters)};
  file.image_shape = kShape;
  file.standardization = {std::vector<float>(20, 100.6f), std::vector<float>(20, 10)};
  const ImageSource source = ModelImages(file, 1, pool_);
  BasicMatrix<std::uint8_t> images(2, 20);
  source.read(7, images);
  EXPECT_EQ(images(1, 0), 255);
  EXPECT_EQ(images(1, 1), 0);
  EXPECT_EQ(images(1, 2), 101);
}

// Image i is the same however many are drawn at once.
TEST_F(Fid, ModelImagesAreKnownByTheirNumber) {
  ModelFile file{.model = Model::Initial(20, 3, 1)};
  file.image_shape = kShape;
  file.standardization = {std::vector<float>(20, 128), std::vector<float>(20, 50)};
  file.sampler = {.steps = 3, .final = Final::kSample};
  const ImageSource source = ModelImages(file, 1, pool_);
  BasicMatrix<std::uint8_t> all(4, 20);
  source.read(0, all);
  BasicMatrix<std::uint8_t> last(2, 20);
  source.read(2, last);
  EXPECT_TRUE(std::ranges::equal(all.row(3), last.row(1)));
  EXPECT_FALSE(std::ranges::equal(all.row(2), last.row(1)));
}

}  // namespace
}  // namespace grbm
