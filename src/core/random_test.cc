#include "grbm/core/random.h"

#include <Random123/philox.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

namespace grbm {
namespace {

PhiloxWords Reference(const PhiloxWords& counter, const std::array<std::uint32_t, 2>& key) {
  const r123::Philox4x32 generator;
  const auto out = generator({{counter[0], counter[1], counter[2], counter[3]}}, {{key[0], key[1]}});
  return {out[0], out[1], out[2], out[3]};
}

TEST(Philox, KnownAnswers) {
  // From Random123's known-answer file: philox4x32, 10 rounds.
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(Philox({0, 0, 0, 0}, {0, 0}), (PhiloxWords{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxWords{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxWords{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, AgreesWithRandom123OnRandomCounters) {
  std::mt19937 generator(1);
  const auto word = [&] { return static_cast<std::uint32_t>(generator()); };
  for (int i = 0; i < 1000; ++i) {
    const PhiloxWords counter = {word(), word(), word(), word()};
    const std::array<std::uint32_t, 2> key = {word(), word()};
    ASSERT_EQ(Philox(counter, key), Reference(counter, key));
  }
}

TEST(Stream, TheKeyLayoutIsTheDocumentedOne) {
  const std::uint64_t seed = 0x0123456789abcdef;
  const std::uint64_t step = 0x00aabbccddeeff11;
  EXPECT_EQ(Stream(seed, Purpose::kHidden).Words(step, 77, 5),
            Reference({5, 77, 0xddeeff11, 0x04aabbcc}, {0x89abcdef, 0x01234567}));
}

TEST(Stream, EveryPartOfTheKeyMatters) {
  std::set<PhiloxWords> seen;
  for (const std::uint64_t seed : {0ull, 1ull, 1ull << 32}) {
    for (const Purpose purpose : {Purpose::kVisible, Purpose::kHidden, Purpose::kAccept}) {
      for (const std::uint64_t step : {0ull, 1ull, 1ull << 32, 1ull << 55}) {
        for (const std::uint32_t chain : {0u, 1u, 0xffffffffu}) {
          for (const std::uint32_t counter : {0u, 1u, 16u}) {
            seen.insert(Stream(seed, purpose).Words(step, chain, counter));
          }
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), 3u * 3 * 4 * 3 * 3);
}

TEST(Stream, UnitsDrawDistinctNumbers) {
  const Stream stream(3, Purpose::kVisible);
  std::set<float> uniforms;
  std::set<float> normals;
  for (Index unit = 0; unit < 300; ++unit) {
    uniforms.insert(stream.Uniform(0, 0, unit));
    normals.insert(stream.Normal(0, 0, unit));
  }
  EXPECT_EQ(uniforms.size(), 300u);
  EXPECT_EQ(normals.size(), 300u);
}

TEST(Uniform, EndsStayInsideTheOpenInterval) {
  EXPECT_EQ(UniformFloat(0), 0x1p-24f);
  EXPECT_EQ(UniformFloat(0xffffffff), 1.0f - 0x1p-24f);
  EXPECT_EQ(UniformDouble(0, 0), 0x1p-53);
  EXPECT_LT(UniformDouble(0xffffffff, 0xffffffff), 1.0);
}

TEST(Normal, EndsAreFinite) {
  for (const std::uint32_t radius : {0u, 1u, 0x80000000u, 0xffffffffu}) {
    for (const std::uint32_t angle : {0u, 0x80000000u, 0xffffffffu}) {
      const auto [a, b] = NormalPair(radius, angle);
      EXPECT_TRUE(std::isfinite(a) && std::isfinite(b));
    }
  }
  EXPECT_NEAR(std::hypot(NormalPair(0, 0).first, NormalPair(0, 0).second), std::sqrt(66 * std::log(2.0)), 1e-5);
}

// Moments 1 to 4 and the correlation of neighbours, by unit, by chain and by step: 12 statistics of 200,000 draws
// each, within 5.5 standard errors (family-wise error 12 × 3.8e-8 < 1e-6).
TEST(Normal, MomentsAndIndependence) {
  const Stream stream(12345, Purpose::kVisible);
  const int n = 200000;
  for (int axis = 0; axis < 3; ++axis) {
    const auto draw = [&](int i) {
      return static_cast<double>(axis == 0   ? stream.Normal(0, 0, i)
                                 : axis == 1 ? stream.Normal(0, static_cast<std::uint32_t>(i), 0)
                                             : stream.Normal(static_cast<std::uint64_t>(i), 0, 0));
    };
    double m1 = 0, m2 = 0, m4 = 0, lag = 0, previous = 0;
    for (int i = 0; i < n; ++i) {
      const double z = draw(i);
      m1 += z / n;
      m2 += z * z / n;
      m4 += z * z * z * z / n;
      lag += z * previous / n;
      previous = z;
    }
    EXPECT_NEAR(m1, 0, 5.5 * std::sqrt(1.0 / n)) << "axis " << axis;
    EXPECT_NEAR(m2, 1, 5.5 * std::sqrt(2.0 / n)) << "axis " << axis;
    EXPECT_NEAR(m4, 3, 5.5 * std::sqrt(96.0 / n)) << "axis " << axis;
    EXPECT_NEAR(lag, 0, 5.5 * std::sqrt(1.0 / n)) << "axis " << axis;
  }
}

// The Kolmogorov-Smirnov distance of 200,000 values to a law, given as its distribution function at each; the bound is
// exceeded with probability 2 exp(-2·2.7²) < 1e-6.
void ExpectUniform(std::vector<double> cdf) {
  std::ranges::sort(cdf);
  const auto n = static_cast<double>(cdf.size());
  double distance = 0;
  for (std::size_t i = 0; i < cdf.size(); ++i) {
    const auto below = static_cast<double>(i);
    distance = std::max({distance, std::abs(cdf[i] - below / n), std::abs(cdf[i] - (below + 1) / n)});
  }
  EXPECT_LT(distance, 2.7 / std::sqrt(n));
}

TEST(Normal, FollowsTheNormalLaw) {
  const Stream stream(99, Purpose::kVisible);
  std::vector<double> cdf;
  for (int i = 0; i < 200000; ++i) cdf.push_back(0.5 * std::erfc(-double{stream.Normal(0, 1, i)} / std::sqrt(2.0)));
  ExpectUniform(cdf);
}

// The uniforms behind bits, their sixteen leading bits and the finer ones apart; neighbours are not the same.
TEST(BitUniform, IsUniformInAllItsBits) {
  const Stream stream(99, Purpose::kHidden);
  std::vector<double> whole;
  std::vector<double> fine;
  std::set<double> distinct;
  for (int i = 0; i < 200000; ++i) {
    whole.push_back(stream.BitUniform(4, 1, i));
    fine.push_back(std::fmod(whole.back() * 65536, 1.0));
    distinct.insert(whole.back());
  }
  EXPECT_GT(distinct.size(), 199990u);  // of 2³⁹ values
  ExpectUniform(whole);
  ExpectUniform(fine);
}

}  // namespace
}  // namespace grbm
