#include "grbm/evaluate/inception.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>

#include "evaluate/inception_blocks.h"
#include "evaluate/network_oracle.h"
#include "evaluate/random_weights.h"
#include "evaluate/resize.h"
#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "grbm/core/safetensors.h"
#include "support/temporary_folder.h"

namespace grbm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RandomWeights;
using ::testing::StartsWith;
using testing::StemWeights;
using ::testing::ThrowsMessage;

// The last three blocks, written from their definition and not from the table.
class Oracle : public testing::NetworkOracle {
 public:
  using NetworkOracle::NetworkOracle;

  static Map Join(const std::vector<Map>& parts) {
    Map joined(0, parts[0].height, parts[0].width);
    for (const Map& part : parts) {
      joined.channels += part.channels;
      joined.values.insert(joined.values.end(), part.values.begin(), part.values.end());
    }
    return joined;
  }

  Map Mixed7a(const Map& x) {
    const std::string n = "Mixed_7a.";
    const Map a = Conv(Conv1(x, n + "branch3x3_1", 192), n + "branch3x3_2", 320, 3, 3, 2, 0, 0);
    Map b = Conv1(x, n + "branch7x7x3_1", 192);
    b = Conv(b, n + "branch7x7x3_2", 192, 1, 7, 1, 0, 3);
    b = Conv(b, n + "branch7x7x3_3", 192, 7, 1, 1, 3, 0);
    b = Conv(b, n + "branch7x7x3_4", 192, 3, 3, 2, 0, 0);
    return Join({a, b, Pool(x, 3, 2, 0, Max)});
  }

  Map Mixed7bc(const Map& x, const std::string& n, double (*combine)(const std::vector<double>&)) {
    const Map a = Conv1(x, n + "branch1x1", 320);
    const Map b = Conv1(x, n + "branch3x3_1", 384);
    const Map b1 = Conv(b, n + "branch3x3_2a", 384, 1, 3, 1, 0, 1);
    const Map b2 = Conv(b, n + "branch3x3_2b", 384, 3, 1, 1, 1, 0);
    const Map c = Conv(Conv1(x, n + "branch3x3dbl_1", 448), n + "branch3x3dbl_2", 384, 3, 3, 1, 1, 1);
    const Map c1 = Conv(c, n + "branch3x3dbl_3a", 384, 1, 3, 1, 0, 1);
    const Map c2 = Conv(c, n + "branch3x3dbl_3b", 384, 3, 1, 1, 1, 0);
    const Map d = Conv1(Pool(x, 3, 1, 1, combine), n + "branch_pool", 192);
    return Join({a, b1, b2, c1, c2, d});
  }
};

// Maps of 7 × 7, so that the blocks after the stride see 3 × 3: every place but one is at the border, and the two
// pooling rules show.
TEST(InceptionNetwork, LastBlocksEqualTheirDefinitionInDouble) {
  RandomWeights weights;
  Oracle oracle(weights);
  Oracle::Map x(768, 7, 7);
  const std::vector<float> input = weights.Make(x.values.size(), 1);
  std::ranges::copy(input, x.values.begin());
  x = oracle.Mixed7a(x);
  ASSERT_EQ(x.channels, 1280);
  x = oracle.Mixed7bc(x, "Mixed_7b.", Oracle::Mean);
  x = oracle.Mixed7bc(x, "Mixed_7c.", Oracle::Max);
  ASSERT_EQ(x.channels, 2048);

  const auto& blocks = inception::Blocks();
  const auto first = std::ranges::find(blocks, "Mixed_7a", &network::Block::name);
  const network::Network network(weights.file(), {first, blocks.end()}, {768, 7, 7});
  ASSERT_THAT(network.taps(), ElementsAre(2048));
  std::vector<float> features(2048);
  network.Run(input, 2048, *network.MakeWorkspace(), features);
  const std::vector<double> means = Oracle::Means(x);
  const double largest = *std::ranges::max_element(means);
  double error = 0;
  for (std::size_t c = 0; c < means.size(); ++c) error = std::max(error, std::abs(means[c] - double{features[c]}));
  EXPECT_GT(largest, 0.1);
  EXPECT_LT(error, 1e-5 * largest);
}

// Half pixels, borders repeated: 0, 1 to 4 places gives 0, ¼, ¾, 1.
TEST(InceptionResize, BilinearByHand) {
  const std::vector<std::uint8_t> image = {0, 255, 0, 255};
  std::vector<float> out(3 * 16);
  inception::ResizeImage(image, {2, 2, 1}, 4, out);
  for (const Index row : {0, 4, 8, 12, 16, 32, 44}) {
    const auto at = [&](Index i) { return out[static_cast<std::size_t>(row + i)]; };
    EXPECT_NEAR(at(0), -1, 1e-6);
    EXPECT_NEAR(at(1), -0.5, 1e-6);
    EXPECT_NEAR(at(2), 0.5, 1e-6);
    EXPECT_NEAR(at(3), 1, 1e-6);
  }
  // Smaller: places 0.5 and 2.5 of four, and nothing of what lies further off. Channels last come out plane by plane.
  const std::vector<std::uint8_t> colour = {0, 1, 2, 10, 11, 12, 20, 21, 22, 40, 41, 42};
  std::vector<float> small(3 * 4);
  inception::ResizeImage(colour, {1, 4, 3}, 2, small);
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR((small[c * 4] + 1) * 127.5, 5.0 + static_cast<double>(c), 1e-4);
    EXPECT_NEAR((small[c * 4 + 1] + 1) * 127.5, 30.0 + static_cast<double>(c), 1e-4);
    EXPECT_EQ(small[c * 4 + 3], small[c * 4 + 1]);
  }
}

TEST(Inception, RowsAreIndependentOfEachOtherAndOfThreads) {
  const RandomWeights weights = StemWeights();
  const Inception network(weights.file());
  BasicMatrix<std::uint8_t> images(5, 48);
  for (Index i = 0; i < 5 * 48; ++i) images.data()[i] = static_cast<std::uint8_t>(i * 37);
  const ImageShape shape{4, 4, 3};
  ThreadPool one(1);
  ThreadPool three(3);
  Matrix all(5, 64);
  network.Features(images, shape, 64, all, one);
  Matrix threaded(5, 64);
  network.Features(images, shape, 64, threaded, three);
  EXPECT_EQ(all, threaded);
  Matrix alone(1, 64);
  network.Features(MatrixView<const std::uint8_t>(images).Rows(3, 1), shape, 64, alone, one);
  EXPECT_TRUE(std::ranges::equal(alone.row(0), all.row(3)));
  EXPECT_FALSE(std::ranges::equal(all.row(2), all.row(3)));
}

TEST(Inception, SaysWhatIsMissingAndWhatWorks) {
  const RandomWeights weights = StemWeights();
  const Inception network(weights.file());
  EXPECT_THAT(network.taps(), ElementsAre(64));
  EXPECT_THAT([&] { network.CheckTap(2048); },
              ThrowsMessage<DataError>(AllOf(StartsWith("random: cannot compute the tap 2048: 182 tensors are missing: "
                                                        "Conv2d_3b_1x1.weight, Conv2d_3b_1x1.bias, "
                                                        "Conv2d_4a_3x3.weight, ...: "),
                                             HasSubstr("the taps that work are 64"))));
  EXPECT_THAT([&] { network.CheckTap(100); }, ThrowsMessage<DataError>(HasSubstr("has no tap 100")));
  EXPECT_THAT([] { Inception(RandomWeights().file()); },
              ThrowsMessage<DataError>(StartsWith("random: not weights of the Inception network: 188 tensors")));
  RandomWeights wrong;
  wrong.Add("Conv2d_1a_3x3", 32, 3, 3, 3);
  wrong.Add("Conv2d_2a_3x3", 32, 32, 3, 1);
  wrong.Add("Conv2d_2b_3x3", 64, 32, 3, 3);
  EXPECT_THAT([&] { Inception(wrong.file()); }, ThrowsMessage<DataError>(HasSubstr("Conv2d_2a_3x3.weight")));
}

using InceptionFile = testing::TemporaryFolder;

TEST_F(InceptionFile, DamagedFilesAreErrors) {
  EXPECT_THROW(Inception::Load(Path("none")), IoError);
  const RandomWeights weights = StemWeights();
  WriteTensors(Path("w"), weights.file());
  EXPECT_THAT(Inception::Load(Path("w")).taps(), ElementsAre(64));
  const std::string contents = ReadFile(Path("w"));
  WriteFileAtomically(Path("w"), std::string_view(contents).substr(0, contents.size() / 2));
  EXPECT_THROW(Inception::Load(Path("w")), DataError);
}

// Features of 20 images by PyTorch, beside the weights: $GRBM_INCEPTION, and $GRBM_INCEPTION_GOLDEN or
// golden-features.safetensors in the same folder. The names are <set>.images (B, C, H, W) and <set>.features<tap>.
TEST(Inception, GoldenFeatures) {
  const char* path = std::getenv("GRBM_INCEPTION");
  if (path == nullptr) GTEST_SKIP() << "GRBM_INCEPTION is not set: the network's weights are not at hand";
  const char* variable = std::getenv("GRBM_INCEPTION_GOLDEN");
  const std::string golden_path =
      variable != nullptr ? variable
                          : (std::filesystem::path(path).parent_path() / "golden-features.safetensors").string();
  if (!std::filesystem::exists(golden_path)) GTEST_SKIP() << golden_path << ": no such file";
  const TensorFile golden = ReadTensors(golden_path);
  const Inception network = Inception::Load(path);
  ThreadPool pool;
  for (const std::string set : {"mnist", "fashion", "colour"}) {
    const Tensor& tensor = *FindTensor(golden, set + ".images");
    const Index count = tensor.shape[0];
    const ImageShape shape{tensor.shape[2], tensor.shape[3], tensor.shape[1]};
    BasicMatrix<std::uint8_t> images(count, shape.size());
    for (Index i = 0; i < count; ++i) {
      for (Index c = 0; c < shape.channels; ++c) {
        for (Index p = 0; p < shape.height * shape.width; ++p) {
          const Index from = (i * shape.channels + c) * shape.height * shape.width + p;
          images(i, p * shape.channels + c) = static_cast<std::uint8_t>(tensor.bytes[static_cast<std::size_t>(from)]);
        }
      }
    }
    for (const int tap : {64, 192, 768}) {
      const std::vector<float> expected =
          GetFloats(golden, set + ".features" + std::to_string(tap), std::vector<Index>{count, tap});
      Matrix features(count, tap);
      network.Features(images, shape, tap, features, pool);
      double squares = 0;
      double errors = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        squares += std::pow(expected[i], 2);
        errors += std::pow(expected[i] - features.data()[i], 2);
      }
      EXPECT_LT(std::sqrt(errors / squares), 1e-3) << set << " " << tap;
      RecordProperty(set + std::to_string(tap), fmt::format("{:.1e}", std::sqrt(errors / squares)));
    }
  }
}

}  // namespace
}  // namespace grbm
