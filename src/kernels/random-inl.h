// Random numbers in vectors: the same streams as grbm/core/random.h, a tile of sixty-four units at a time. Included
// once per CPU target.
#if defined(GRBM_KERNELS_RANDOM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GRBM_KERNELS_RANDOM_INL_H_
#undef GRBM_KERNELS_RANDOM_INL_H_
#else
#define GRBM_KERNELS_RANDOM_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

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
using VW = hn::Vec<U64>;

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
      keys_[0][round] = key.key[0] + round * 0x9E3779B9u;
      keys_[1][round] = key.key[1] + round * 0xBB67AE85u;
    }
  }

  // The words of a tile's first kParts vectors: word w of lane kLanes·part + l in lane l of words[part][w]. All go
  // through the rounds together, for each round waits for the one before.
  template <std::size_t kParts>
  HWY_INLINE void Words(std::uint32_t chain, std::uint32_t tile, VU (&words)[kVectors][4]) const {
    const U32 u32;
    const U64 u64;
    constexpr std::size_t kHalves = 2 * kParts;  // counters with even numbers, and those with odd ones
    VW c0[kHalves], c1[kHalves], c2[kHalves], c3[kHalves];
    for (std::size_t part = 0; part < kParts; ++part) {
      const VU counter = hn::Iota(u32, tile * 16 + static_cast<std::uint32_t>(part * kLanes));
      c0[2 * part] = hn::BitCast(u64, counter);
      c0[2 * part + 1] = hn::ShiftRight<32>(c0[2 * part]);
    }
    for (std::size_t half = 0; half < kHalves; ++half) {
      c1[half] = hn::Set(u64, chain);
      c2[half] = hn::Set(u64, low_);
      c3[half] = hn::Set(u64, high_);
    }
    const VU m0 = hn::Set(u32, 0xD2511F53u);
    const VU m1 = hn::Set(u32, 0xCD9E8D57u);
    for (int round = 0; round < 10; ++round) {
      const VW k0 = hn::Set(u64, keys_[0][round]);
      const VW k1 = hn::Set(u64, keys_[1][round]);
      for (std::size_t half = 0; half < kHalves; ++half) {
        const VW p0 = hn::MulEven(hn::BitCast(u32, c0[half]), m0);
        const VW p1 = hn::MulEven(hn::BitCast(u32, c2[half]), m1);
        c0[half] = hn::Xor(hn::Xor(c1[half], k0), hn::ShiftRight<32>(p1));
        c2[half] = hn::Xor(hn::Xor(c3[half], k1), hn::ShiftRight<32>(p0));
        c1[half] = p1;
        c3[half] = p0;
      }
    }
    for (std::size_t part = 0; part < kParts; ++part) {
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
  std::uint64_t keys_[2][10] = {};
};

// (k + 1/2) / 2²³ for the upper 23 bits.
HWY_INLINE VF Uniform(VU word) {
  const F32 f;
  const VF k = hn::ConvertTo(f, hn::BitCast(I32(), hn::ShiftRight<9>(word)));
  return hn::Mul(hn::Add(k, hn::Set(f, 0.5f)), hn::Set(f, 0x1p-23f));
}

// exp(-x) for -x within ±87, and its value there beyond: 2ⁿ exp(r) with |r| ≤ ½ log 2. To 2 units in the last place.
HWY_INLINE VF ExpMinus(VF x) {
  const F32 f;
  const U32 u32;
  const VF t = hn::Max(hn::Min(hn::Neg(x), hn::Set(f, 87.0f)), hn::Set(f, -87.0f));
  // So large a number has no bits below the point: the sum's last bits are n.
  const VF large = hn::Set(f, 0x1.8p23f);
  const VF shifted = hn::MulAdd(t, hn::Set(f, 1.44269504088896341f), large);
  const VF n = hn::Sub(shifted, large);
  // log 2 in two parts, the first of which n multiplies exactly.
  VF r = hn::NegMulAdd(n, hn::Set(f, 0.693359375f), t);
  r = hn::NegMulAdd(n, hn::Set(f, -2.12194440e-4f), r);
  VF p = hn::MulAdd(r, hn::Set(f, 1.9875691500e-4f), hn::Set(f, 1.3981999507e-3f));
  p = hn::MulAdd(p, r, hn::Set(f, 8.3334519073e-3f));
  p = hn::MulAdd(p, r, hn::Set(f, 4.1665795894e-2f));
  p = hn::MulAdd(p, r, hn::Set(f, 1.6666665459e-1f));
  p = hn::MulAdd(p, r, hn::Set(f, 5.0000001201e-1f));
  p = hn::MulAdd(p, hn::Mul(r, r), hn::Add(r, hn::Set(f, 1.0f)));
  return hn::BitCast(f, hn::Add(hn::BitCast(u32, p), hn::ShiftLeft<23>(hn::BitCast(u32, shifted))));
}

using F64 = hn::Repartition<double, F32>;
using VD = hn::Vec<F64>;

// exp(-x) in double for 0 ≤ x, the same way: the series to the twelfth power leaves 2e-16.
HWY_INLINE VD ExpMinus(VD x) {
  const F64 f;
  const U64 u64;
  const VD t = hn::Max(hn::Neg(x), hn::Set(f, -700.0));
  const VD large = hn::Set(f, 0x1.8p52);
  const VD shifted = hn::MulAdd(t, hn::Set(f, 1.4426950408889634), large);
  const VD n = hn::Sub(shifted, large);
  VD r = hn::NegMulAdd(n, hn::Set(f, 0x1.62e42fefa38p-1), t);
  r = hn::NegMulAdd(n, hn::Set(f, 0x1.ef35793c7673p-45), r);
  VD p = hn::Set(f, 1.0 / 479001600);
  constexpr double kFactors[] = {1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
                                 1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5,         1.0,        1.0};
  for (const double factor : kFactors) p = hn::MulAdd(p, r, hn::Set(f, factor));
  return hn::BitCast(f, hn::Add(hn::BitCast(u64, p), hn::ShiftLeft<52>(hn::BitCast(u64, shifted))));
}

// u < sigmoid(x), without a division.
HWY_INLINE hn::Mask<F32> Below(VF u, VF x) {
  const F32 f;
  return hn::Lt(hn::MulAdd(u, ExpMinus(x), u), hn::Set(f, 1.0f));
}

// Box and Muller.
HWY_INLINE void Normals(VU radius_word, VU angle_word, VF& first, VF& second) {
  const F32 f;
  const I32 i32;
  const auto half = [&](VU word) { return hn::ConvertTo(f, hn::BitCast(i32, word)); };
  const VF radius_bits = hn::MulAdd(half(hn::ShiftRight<16>(radius_word)), hn::Set(f, 65536.0f),
                                    half(hn::And(radius_word, hn::Set(U32(), 0xFFFFu))));
  const VF u = hn::MulAdd(radius_bits, hn::Set(f, 0x1p-32f), hn::Set(f, 0x1p-33f));
  const VF r = hn::Sqrt(hn::Mul(hn::Set(f, -2.0f), hn::Log(f, u)));

  // The angle: quarter turns, and at most an eighth of a turn beyond, where short polynomials will do.
  const VF turns = Uniform(angle_word);
  const VF quarters = hn::Round(hn::Mul(turns, hn::Set(f, 4.0f)));
  const VF x = hn::Mul(hn::NegMulAdd(quarters, hn::Set(f, 0.25f), turns), hn::Set(f, 6.28318530717958647692f));
  const VF x2 = hn::Mul(x, x);
  VF s = hn::MulAdd(hn::Set(f, -1.9515295891e-4f), x2, hn::Set(f, 8.3321608736e-3f));
  s = hn::MulAdd(s, x2, hn::Set(f, -1.6666654611e-1f));
  s = hn::MulAdd(hn::Mul(s, x2), x, x);
  VF c = hn::MulAdd(hn::Set(f, 2.443315711809948e-5f), x2, hn::Set(f, -1.388731625493765e-3f));
  c = hn::MulAdd(c, x2, hn::Set(f, 4.166664568298827e-2f));
  c = hn::MulAdd(hn::Mul(c, x2), x2, hn::NegMulAdd(x2, hn::Set(f, 0.5f), hn::Set(f, 1.0f)));

  const VU quadrant = hn::BitCast(U32(), hn::ConvertTo(i32, quarters));
  const auto odd = hn::MaskFromVec(hn::BitCast(f, hn::Neg(hn::BitCast(i32, hn::And(quadrant, hn::Set(U32(), 1u))))));
  const VF cosine = hn::IfThenElse(odd, s, c);
  const VF sine = hn::IfThenElse(odd, c, s);
  // cos is negative in quadrants 1 and 2, sin in 2 and 3.
  const VU cos_sign = hn::ShiftLeft<30>(hn::And(hn::Add(quadrant, hn::Set(U32(), 1u)), hn::Set(U32(), 2u)));
  const VU sin_sign = hn::ShiftLeft<30>(hn::And(quadrant, hn::Set(U32(), 2u)));
  first = hn::Mul(r, hn::Xor(cosine, hn::BitCast(f, cos_sign)));
  second = hn::Mul(r, hn::Xor(sine, hn::BitCast(f, sin_sign)));
}

// Sixty-four bits: bit u is 1 with probability sigmoid(scale · x[u]). x is four lines, `stride` floats apart.
HWY_INLINE std::uint64_t BernoulliTile(const VectorStream& stream, std::uint32_t chain, std::uint32_t tile,
                                       const float* x, std::size_t stride, VF scale) {
  const F32 f;
  constexpr std::size_t kBytes = (kLanes + 7) / 8;  // of a mask
  std::uint8_t masks[4][kVectors * kBytes];
  VU words[kVectors][4];
  stream.Words<kVectors>(chain, tile, words);
  for (std::size_t part = 0; part < kVectors; ++part) {
    for (std::size_t w = 0; w < 4; ++w) {
      const VF logits = hn::Mul(hn::LoadU(f, x + w * stride + part * kLanes), scale);
      hn::StoreMaskBits(f, Below(Uniform(words[part][w]), logits), &masks[w][part * kBytes]);
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

// The standard normals of a tile's first `units` units; out has room for sixty-four.
HWY_INLINE void NormalTile(const VectorStream& stream, std::uint32_t chain, std::uint32_t tile, Index units,
                           float* out) {
  const F32 f;
  const bool one = units <= static_cast<Index>(kLanes);
  const std::size_t parts = one ? 1 : kVectors;
  VU words[kVectors][4];
  if (one) {
    stream.Words<1>(chain, tile, words);
  } else {
    stream.Words<kVectors>(chain, tile, words);
  }
  for (std::size_t part = 0; part < parts; ++part) {
    for (std::size_t pair = 0; pair < 4 && static_cast<Index>(16 * pair) < units; pair += 2) {
      VF a, b;
      Normals(words[part][pair], words[part][pair + 1], a, b);
      hn::StoreU(a, f, out + 16 * pair + part * kLanes);
      hn::StoreU(b, f, out + 16 * (pair + 1) + part * kLanes);
    }
  }
}

}  // namespace grbm::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
