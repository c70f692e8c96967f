// Random numbers in vectors: the same streams as grbm/core/random.h, a tile of sixty-four units at a time. Included
// once per CPU target.
#if defined(GRBM_KERNELS_RANDOM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GRBM_KERNELS_RANDOM_INL_H_
#undef GRBM_KERNELS_RANDOM_INL_H_
#else
#define GRBM_KERNELS_RANDOM_INL_H_
#endif

#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "grbm/core/random.h"

HWY_BEFORE_NAMESPACE();
namespace grbm::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::CappedTag<float, 16>;
using I32 = hn::RebindToSigned<F32>;
using U32 = hn::RebindToUnsigned<F32>;
using U64 = hn::Repartition<std::uint64_t, U32>;
using VF = hn::Vec<F32>;
using VI = hn::Vec<I32>;
using VU = hn::Vec<U32>;

inline constexpr std::size_t kLanes = hn::MaxLanes(F32());
inline constexpr std::size_t kVectors = 16 / kLanes;  // in a line of sixteen

// The draws of one chain at one step. Philox works on 64-bit lanes: a product's low half needs no mask, for it is used
// only as a factor, whose high half is ignored, and in sums modulo 2³².
class VectorStream {
 public:
  VectorStream() = default;
  VectorStream(const Stream& stream, std::uint64_t step) {
    const PhiloxKey key = stream.Key(step);
    low_ = key.counter[2];
    high_ = key.counter[3];
    for (std::uint32_t round = 0; round < 10; ++round) {
      hn::Store(hn::Set(U64(), std::uint64_t{key.key[0] + round * 0x9E3779B9u}), U64(), keys_[0][round]);
      hn::Store(hn::Set(U64(), std::uint64_t{key.key[1] + round * 0xBB67AE85u}), U64(), keys_[1][round]);
    }
  }

  // The words of the first kUsed of kParts vectors of counters, from `first` on: word w of a counter in its lane of
  // words[part][w].
  template <std::size_t kUsed, std::size_t kParts, class D>
  HWY_INLINE void Words(D u32, std::uint32_t chain, std::uint32_t first, hn::Vec<D> (&words)[kParts][4]) const {
    hn::Vec<D> counters[kUsed], chains[kUsed];
    for (std::size_t part = 0; part < kUsed; ++part) {
      // An Iota from a variable on would be stored lane by lane, and its load would wait for that.
      const auto counter = hn::Iota(u32, static_cast<std::uint32_t>(part * hn::MaxLanes(u32)));
      counters[part] = hn::Add(counter, hn::Set(u32, first));
      chains[part] = hn::Set(u32, chain);
    }
    Words(u32, chains, counters, words);
  }
  // The same of any counters and chains. All go through the rounds together, for each round waits for the one before.
  template <std::size_t kUsed, std::size_t kParts, class D>
  HWY_INLINE void Words(D u32, const hn::Vec<D> (&chains)[kUsed], const hn::Vec<D> (&counters)[kUsed],
                        hn::Vec<D> (&words)[kParts][4]) const {
    const hn::Repartition<std::uint64_t, D> u64;
    using VW = hn::Vec<decltype(u64)>;
    constexpr std::size_t kHalves = 2 * kUsed;  // lanes with even numbers, and those with odd ones
    VW c0[kHalves], c1[kHalves], c2[kHalves], c3[kHalves];
    const auto upper = [&](VW x) HWY_ATTR { return hn::BitCast(u64, hn::DupOdd(hn::BitCast(u32, x))); };
    for (std::size_t part = 0; part < kUsed; ++part) {
      c0[2 * part] = hn::BitCast(u64, counters[part]);
      c0[2 * part + 1] = upper(c0[2 * part]);
      c1[2 * part] = hn::BitCast(u64, chains[part]);
      c1[2 * part + 1] = upper(c1[2 * part]);
    }
    for (std::size_t half = 0; half < kHalves; ++half) {
      c2[half] = hn::Set(u64, low_);
      c3[half] = hn::Set(u64, high_);
    }
    const auto m0 = hn::Set(u32, 0xD2511F53u);
    const auto m1 = hn::Set(u32, 0xCD9E8D57u);
    for (int round = 0; round < 10; ++round) {
      const VW k0 = hn::Load(u64, keys_[0][round]);
      const VW k1 = hn::Load(u64, keys_[1][round]);
      for (std::size_t half = 0; half < kHalves; ++half) {
        const VW p0 = hn::MulEven(hn::BitCast(u32, c0[half]), m0);
        const VW p1 = hn::MulEven(hn::BitCast(u32, c2[half]), m1);
        c0[half] = hn::Xor(hn::Xor(c1[half], k0), upper(p1));
        c2[half] = hn::Xor(hn::Xor(c3[half], k1), upper(p0));
        c1[half] = p1;
        c3[half] = p0;
      }
    }
    for (std::size_t part = 0; part < kUsed; ++part) {
      const auto merge = [&](const VW* c) HWY_ATTR {
        return hn::OddEven(hn::BitCast(u32, hn::ShiftLeft<32>(c[2 * part + 1])), hn::BitCast(u32, c[2 * part]));
      };
      words[part][0] = merge(c0);
      words[part][1] = merge(c1);
      words[part][2] = merge(c2);
      words[part][3] = merge(c3);
    }
  }

 private:
  std::uint64_t low_ = 0;
  std::uint64_t high_ = 0;
  alignas(64) std::uint64_t keys_[2][10][hn::MaxLanes(U64())] = {};  // a vector of each
};

// (k + 1/2) / 2²³ for the upper 23 bits.
HWY_INLINE VF Uniform(VU word) {
  const F32 f;
  const VF k = hn::ConvertTo(f, hn::BitCast(I32(), hn::ShiftRight<9>(word)));
  return hn::Mul(hn::Add(k, hn::Set(f, 0.5f)), hn::Set(f, 0x1p-23f));
}

// x = exp(-x) for -x within ±87, and its value there beyond: 2ⁿ exp(r) with |r| ≤ ½ log 2. To 2 units in the last
// place. Several vectors side by side, for each operation waits for the one before.
template <std::size_t kCount>
HWY_INLINE void ExpMinus(VF (&x)[kCount]) {
  const F32 f;
  const U32 u32;
  VF shifted[kCount], r[kCount], p[kCount];
  for (std::size_t i = 0; i < kCount; ++i) {
    const VF t = hn::Max(hn::Min(hn::Neg(x[i]), hn::Set(f, 87.0f)), hn::Set(f, -87.0f));
    // So large a number has no bits below the point: the sum's last bits are n.
    const VF large = hn::Set(f, 0x1.8p23f);
    shifted[i] = hn::MulAdd(t, hn::Set(f, 1.44269504088896341f), large);
    const VF n = hn::Sub(shifted[i], large);
    // log 2 in two parts, the first of which n multiplies exactly.
    r[i] = hn::NegMulAdd(n, hn::Set(f, 0.693359375f), t);
    r[i] = hn::NegMulAdd(n, hn::Set(f, -2.12194440e-4f), r[i]);
    p[i] = hn::MulAdd(r[i], hn::Set(f, 1.9875691500e-4f), hn::Set(f, 1.3981999507e-3f));
  }
  for (const float factor : {8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f}) {
    for (std::size_t i = 0; i < kCount; ++i) p[i] = hn::MulAdd(p[i], r[i], hn::Set(f, factor));
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    p[i] = hn::MulAdd(p[i], hn::Mul(r[i], r[i]), hn::Add(r[i], hn::Set(f, 1.0f)));
    x[i] = hn::BitCast(f, hn::Add(hn::BitCast(u32, p[i]), hn::ShiftLeft<23>(hn::BitCast(u32, shifted[i]))));
  }
}

// The vectors of a group's four lines in sets of four: vector i of a set is part Part(set, i) of line Line(set, i).
inline constexpr std::size_t kSide = 4;
constexpr std::size_t Line(std::size_t set, std::size_t i) { return (set * kSide + i) / kVectors; }
constexpr std::size_t Part(std::size_t set, std::size_t i) { return (set * kSide + i) % kVectors; }

using F64 = hn::Repartition<double, F32>;
using VD = hn::Vec<F64>;

// x = exp(-x) in double for 0 ≤ x, the same way: the series to the twelfth power leaves 2e-16.
template <std::size_t kCount>
HWY_INLINE void ExpMinus(VD (&x)[kCount]) {
  const F64 f;
  const U64 u64;
  VD shifted[kCount], r[kCount], p[kCount];
  for (std::size_t i = 0; i < kCount; ++i) {
    const VD t = hn::Max(hn::Neg(x[i]), hn::Set(f, -700.0));
    const VD large = hn::Set(f, 0x1.8p52);
    shifted[i] = hn::MulAdd(t, hn::Set(f, 1.4426950408889634), large);
    const VD n = hn::Sub(shifted[i], large);
    r[i] = hn::NegMulAdd(n, hn::Set(f, 0x1.62e42fefa38p-1), t);
    r[i] = hn::NegMulAdd(n, hn::Set(f, 0x1.ef35793c7673p-45), r[i]);
    p[i] = hn::Set(f, 1.0 / 479001600);
  }
  for (const double factor : {1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
                              1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0}) {
    for (std::size_t i = 0; i < kCount; ++i) p[i] = hn::MulAdd(p[i], r[i], hn::Set(f, factor));
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    x[i] = hn::BitCast(f, hn::Add(hn::BitCast(u64, p[i]), hn::ShiftLeft<52>(hn::BitCast(u64, shifted[i]))));
  }
}

// u = log u for normal numbers u > 0: u = 2ⁿ (1 + x) with 1 + x between √½ and √2. To 2 units in the last place.
template <std::size_t kCount>
HWY_INLINE void Log(VF (&u)[kCount]) {
  const F32 f;
  const I32 i32;
  VF n[kCount], x[kCount], p[kCount];
  for (std::size_t i = 0; i < kCount; ++i) {
    const VI bits = hn::BitCast(i32, u[i]);
    const VI exponent = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(i32, 0x3F3504F3)));  // from √½ on, n is 0
    n[i] = hn::ConvertTo(f, exponent);
    x[i] = hn::Sub(hn::BitCast(f, hn::Sub(bits, hn::ShiftLeft<23>(exponent))), hn::Set(f, 1.0f));
    p[i] = hn::MulAdd(x[i], hn::Set(f, 7.0376836292e-2f), hn::Set(f, -1.1514610310e-1f));
  }
  for (const float factor : {1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f, 2.0000714765e-1f,
                             -2.4999993993e-1f, 3.3333331174e-1f}) {
    for (std::size_t i = 0; i < kCount; ++i) p[i] = hn::MulAdd(p[i], x[i], hn::Set(f, factor));
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    const VF x2 = hn::Mul(x[i], x[i]);
    VF tail = hn::MulAdd(hn::Mul(p[i], x[i]), x2, hn::Mul(n[i], hn::Set(f, -2.12194440e-4f)));
    tail = hn::NegMulAdd(x2, hn::Set(f, 0.5f), tail);
    u[i] = hn::MulAdd(n[i], hn::Set(f, 0.693359375f), hn::Add(x[i], tail));
  }
}

// Box and Muller, from words 2·pair and 2·pair + 1 of each vector of counters.
template <std::size_t kUsed>
HWY_INLINE void Normals(const VU (&words)[kVectors][4], std::size_t pair, VF (&first)[kUsed], VF (&second)[kUsed]) {
  const F32 f;
  const I32 i32;
  const auto half = [&](VU word) HWY_ATTR { return hn::ConvertTo(f, hn::BitCast(i32, word)); };
  VF r[kUsed], quarters[kUsed], x[kUsed], s[kUsed], c[kUsed];
  for (std::size_t i = 0; i < kUsed; ++i) {
    const VU radius = words[i][2 * pair];
    const VF bits = hn::MulAdd(half(hn::ShiftRight<16>(radius)), hn::Set(f, 65536.0f),
                               half(hn::And(radius, hn::Set(U32(), 0xFFFFu))));
    r[i] = hn::MulAdd(bits, hn::Set(f, 0x1p-32f), hn::Set(f, 0x1p-33f));
    // The angle: quarter turns, and at most an eighth of a turn beyond, where short polynomials will do.
    const VF turns = Uniform(words[i][2 * pair + 1]);
    quarters[i] = hn::Round(hn::Mul(turns, hn::Set(f, 4.0f)));
    x[i] = hn::Mul(hn::NegMulAdd(quarters[i], hn::Set(f, 0.25f), turns), hn::Set(f, 6.28318530717958647692f));
  }
  Log(r);
  for (std::size_t i = 0; i < kUsed; ++i) {
    r[i] = hn::Sqrt(hn::Mul(hn::Set(f, -2.0f), r[i]));
    const VF x2 = hn::Mul(x[i], x[i]);
    s[i] = hn::MulAdd(hn::Set(f, -1.9515295891e-4f), x2, hn::Set(f, 8.3321608736e-3f));
    s[i] = hn::MulAdd(s[i], x2, hn::Set(f, -1.6666654611e-1f));
    s[i] = hn::MulAdd(hn::Mul(s[i], x2), x[i], x[i]);
    c[i] = hn::MulAdd(hn::Set(f, 2.443315711809948e-5f), x2, hn::Set(f, -1.388731625493765e-3f));
    c[i] = hn::MulAdd(c[i], x2, hn::Set(f, 4.166664568298827e-2f));
    c[i] = hn::MulAdd(hn::Mul(c[i], x2), x2, hn::NegMulAdd(x2, hn::Set(f, 0.5f), hn::Set(f, 1.0f)));
  }
  for (std::size_t i = 0; i < kUsed; ++i) {
    const VU quadrant = hn::BitCast(U32(), hn::ConvertTo(i32, quarters[i]));
    const auto odd = hn::MaskFromVec(hn::BitCast(f, hn::Neg(hn::BitCast(i32, hn::And(quadrant, hn::Set(U32(), 1u))))));
    const VF cosine = hn::IfThenElse(odd, s[i], c[i]);
    const VF sine = hn::IfThenElse(odd, c[i], s[i]);
    // cos is negative in quadrants 1 and 2, sin in 2 and 3.
    const VU cos_sign = hn::ShiftLeft<30>(hn::And(hn::Add(quadrant, hn::Set(U32(), 1u)), hn::Set(U32(), 2u)));
    const VU sin_sign = hn::ShiftLeft<30>(hn::And(quadrant, hn::Set(U32(), 2u)));
    first[i] = hn::Mul(r[i], hn::Xor(cosine, hn::BitCast(f, cos_sign)));
    second[i] = hn::Mul(r[i], hn::Xor(sine, hn::BitCast(f, sin_sign)));
  }
}

// Counters of a tile of bits: eight, of which each gives eight numbers of sixteen bits.
using U32x8 = hn::CappedTag<std::uint32_t, 8>;
inline constexpr std::size_t kWordParts = 8 / hn::MaxLanes(U32x8());
using BitWords = hn::Vec<U32x8>[kWordParts][4];

// The sixteen bits of each unit of vector `part` in line w, as numbers.
template <class V>
HWY_INLINE VF Sixteen(const V (&words)[kWordParts][4], std::size_t w, std::size_t part) {
  const auto number = [](auto k) HWY_ATTR { return hn::ConvertTo(F32(), hn::BitCast(I32(), k)); };
  const auto low = [](V word) HWY_ATTR { return hn::And(word, hn::Set(U32x8(), 0xFFFFu)); };
  const auto high = [](V word) HWY_ATTR { return hn::ShiftRight<16>(word); };
  if constexpr (kLanes == 16) {
    return number(hn::Combine(U32(), high(words[0][w]), low(words[0][w])));
  } else {
    return number(part < kWordParts ? low(words[part][w]) : high(words[part - kWordParts][w]));
  }
}

// Sixty-four bits: bit u is whether test(k, q) holds for its sixteen bits k and q = 1 + exp(-scale · x[u]).
template <typename Test>
HWY_INLINE std::uint64_t TestTile(const BitWords& words, const float* x, std::size_t stride, VF scale,
                                  const Test& test) {
  const F32 f;
  constexpr std::size_t kBytes = (kLanes + 7) / 8;  // of a mask
  std::uint8_t masks[4][kVectors * kBytes];
  for (std::size_t set = 0; set < kVectors; ++set) {
    VF q[kSide];
    for (std::size_t i = 0; i < kSide; ++i) {
      q[i] = hn::Mul(hn::LoadU(f, x + Line(set, i) * stride + Part(set, i) * kLanes), scale);
    }
    ExpMinus(q);
    for (std::size_t i = 0; i < kSide; ++i) {
      const std::size_t w = Line(set, i);
      const std::size_t part = Part(set, i);
      hn::StoreMaskBits(f, test(Sixteen(words, w, part), hn::Add(q[i], hn::Set(f, 1.0f))), &masks[w][part * kBytes]);
    }
  }
  std::uint64_t bits = 0;
  if constexpr (kLanes >= 8) {
    std::memcpy(&bits, masks, sizeof(bits));
  } else {
    for (std::size_t w = 0; w < 4; ++w) {
      for (std::size_t part = 0; part < kVectors; ++part) {
        bits |= std::uint64_t{masks[w][part]} << (16 * w + part * kLanes);
      }
    }
  }
  return bits;
}

// The bits of those units whose sixteen bits leave it open: about one in 2¹⁶.
inline HWY_NOINLINE std::uint64_t OpenBits(const DrawPlace& draw, std::uint32_t chain, std::uint32_t tile,
                                           const BitWords& words, const float* x, std::size_t stride, VF scale) {
  const VF end = hn::Set(F32(), 65536.0f);
  std::uint64_t open = TestTile(words, x, stride, scale, [&](VF k, VF q) HWY_ATTR {
    return hn::And(hn::Lt(hn::Mul(k, q), end), hn::Not(hn::Lt(hn::MulAdd(k, q, q), end)));
  });
  std::uint64_t bits = 0;
  for (; open != 0; open &= open - 1) {
    const int unit = std::countr_zero(open);
    const double logit = double{x[unit / 16 * static_cast<int>(stride) + unit % 16]} * double{hn::GetLane(scale)};
    const double u = draw.stream.BitUniform(draw.step, chain, static_cast<Index>(tile) * Stream::kTile + unit);
    if (u * (1 + std::exp(-logit)) < 1) bits |= std::uint64_t{1} << unit;
  }
  return bits;
}

// Sixty-four bits: bit u is 1 with probability sigmoid(scale · x[u]). x is four lines, `stride` floats apart. u below
// 1/q is decided from its first sixteen bits k: (k + 1) q < 2¹⁶ or not k q < 2¹⁶.
HWY_INLINE std::uint64_t BernoulliTile(const VectorStream& stream, const DrawPlace& draw, Index row, Index group,
                                       const float* x, std::size_t stride, VF scale) {
  const F32 f;
  const VF end = hn::Set(f, 65536.0f);
  const std::uint32_t chain = draw.first_chain + static_cast<std::uint32_t>(row);
  const auto tile = static_cast<std::uint32_t>(group);
  BitWords words;
  stream.Words<kWordParts>(U32x8(), chain, tile * 8, words);
  hn::Mask<F32> open = hn::Lt(end, end);
  const std::uint64_t bits = TestTile(words, x, stride, scale, [&](VF k, VF q) HWY_ATTR {
    const auto certain = hn::Lt(hn::MulAdd(k, q, q), end);
    open = hn::Or(open, hn::Xor(certain, hn::Lt(hn::Mul(k, q), end)));
    return certain;
  });
  if (HWY_LIKELY(hn::AllFalse(f, open))) return bits;
  return bits | OpenBits(draw, chain, tile, words, x, stride, scale);
}

// The standard normals of the first kUsed vectors of each line, for a tile's first `units` units.
template <std::size_t kUsed>
HWY_INLINE void NormalLines(const VectorStream& stream, std::uint32_t chain, std::uint32_t tile, Index units,
                            float* out) {
  VU words[kVectors][4];
  stream.Words<kUsed>(U32(), chain, tile * 16, words);
  for (std::size_t pair = 0; pair < 2 && static_cast<Index>(32 * pair) < units; ++pair) {
    VF first[kUsed], second[kUsed];
    Normals(words, pair, first, second);
    for (std::size_t i = 0; i < kUsed; ++i) {
      hn::StoreU(first[i], F32(), out + 32 * pair + i * kLanes);
      hn::StoreU(second[i], F32(), out + 32 * pair + 16 + i * kLanes);
    }
  }
}

// The standard normals of a tile's first 2^log_width units, of as many chains from `chain` on as share a vector.
HWY_INLINE VF FewNormals(const VectorStream& stream, std::uint32_t chain, std::uint32_t tile, int log_width) {
  const VU lane = hn::Iota(U32(), 0);
  const VU unit = hn::And(lane, hn::Set(U32(), (1u << log_width) - 1));
  const VU chains[] = {hn::Add(hn::Set(U32(), chain), hn::ShiftRightSame(lane, log_width))};
  const VU counters[] = {hn::Add(hn::Set(U32(), tile * 16), unit)};
  VU words[kVectors][4];
  stream.Words(U32(), chains, counters, words);
  VF first[1], second[1];
  Normals(words, 0, first, second);
  return first[0];
}

// The standard normals of a tile's first `units` units; out has room for sixty-four.
HWY_INLINE void NormalTile(const VectorStream& stream, std::uint32_t chain, std::uint32_t tile, Index units,
                           float* out) {
  if (units <= static_cast<Index>(kLanes)) {
    NormalLines<1>(stream, chain, tile, units, out);
  } else {
    NormalLines<kVectors>(stream, chain, tile, units, out);
  }
}

}  // namespace grbm::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
