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

  // The words of counters first ... first + kLanes - 1: word w of counter first + lane in lane `lane` of words[w].
  HWY_INLINE void Words(std::uint32_t chain, std::uint32_t first, VU words[4]) const {
    const U32 u32;
    const U64 u64;
    const VU counter = hn::Iota(u32, first);
    const VW even = hn::BitCast(u64, counter);
    VW c0[2] = {even, hn::ShiftRight<32>(even)};
    VW c1[2] = {hn::Set(u64, chain), hn::Set(u64, chain)};
    VW c2[2] = {hn::Set(u64, low_), hn::Set(u64, low_)};
    VW c3[2] = {hn::Set(u64, high_), hn::Set(u64, high_)};
    const VU m0 = hn::Set(u32, 0xD2511F53u);
    const VU m1 = hn::Set(u32, 0xCD9E8D57u);
    for (int round = 0; round < 10; ++round) {
      const VW k0 = hn::Set(u64, keys_[0][round]);
      const VW k1 = hn::Set(u64, keys_[1][round]);
      for (int half = 0; half < 2; ++half) {
        const VW p0 = hn::MulEven(hn::BitCast(u32, c0[half]), m0);
        const VW p1 = hn::MulEven(hn::BitCast(u32, c2[half]), m1);
        c0[half] = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), c1[half]), k0);
        c2[half] = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), c3[half]), k1);
        c1[half] = p1;
        c3[half] = p0;
      }
    }
    const auto merge = [&](const VW* c) {
      return hn::OddEven(hn::BitCast(u32, hn::ShiftLeft<32>(c[1])), hn::BitCast(u32, c[0]));
    };
    words[0] = merge(c0);
    words[1] = merge(c1);
    words[2] = merge(c2);
    words[3] = merge(c3);
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

// exp(-x), which stays finite and above zero.
HWY_INLINE VF ExpMinus(VF x) {
  const F32 f;
  return hn::Exp(f, hn::Max(hn::Min(hn::Neg(x), hn::Set(f, 87.0f)), hn::Set(f, -87.0f)));
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
  const VF radius_bits =
      hn::MulAdd(half(hn::ShiftRight<16>(radius_word)), hn::Set(f, 65536.0f),
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
  std::uint64_t bits = 0;
  for (std::size_t part = 0; part < kVectors; ++part) {
    VU words[4];
    stream.Words(chain, tile * 16 + static_cast<std::uint32_t>(part * kLanes), words);
    for (std::size_t w = 0; w < 4; ++w) {
      const VF logits = hn::Mul(hn::LoadU(f, x + w * stride + part * kLanes), scale);
      std::uint8_t bytes[8] = {};
      hn::StoreMaskBits(f, Below(Uniform(words[w]), logits), bytes);
      std::uint16_t lane_bits;
      std::memcpy(&lane_bits, bytes, 2);
      bits |= std::uint64_t{lane_bits} << (16 * w + part * kLanes);
    }
  }
  return bits;
}

// Sixty-four standard normals.
HWY_INLINE void NormalTile(const VectorStream& stream, std::uint32_t chain, std::uint32_t tile, float* out) {
  const F32 f;
  for (std::size_t part = 0; part < kVectors; ++part) {
    VU words[4];
    stream.Words(chain, tile * 16 + static_cast<std::uint32_t>(part * kLanes), words);
    for (std::size_t pair = 0; pair < 4; pair += 2) {
      VF a, b;
      Normals(words[pair], words[pair + 1], a, b);
      hn::StoreU(a, f, out + 16 * pair + part * kLanes);
      hn::StoreU(b, f, out + 16 * (pair + 1) + part * kLanes);
    }
  }
}

}  // namespace grbm::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
