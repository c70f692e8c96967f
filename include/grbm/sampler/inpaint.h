// Sampling with some visible units held at given values.
#pragma once

#include <cstdint>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/model/model.h"
#include "grbm/sampler/options.h"

namespace grbm {

// Draws the unknown visible units given the known ones: each chain starts with a row of `data` where `known` is true and
// with noise elsewhere. Given h the visible units are independent, so a step of all of them, after which the known ones
// are put back and h is drawn anew, is a step of the conditional law. data: rows × visible, labels among them, which must be
// known all or none. Returns what options.final says of the unknown units, and the data for the known ones; of a class that
// is unknown, what was drawn.
// Throws ConfigError for Langevin and for adjusted samplers, whose steps do not split so; DataError where `known` has not
// one element for each visible unit, or part of a class.
Matrix Inpaint(const Model& model, const SamplerOptions& options, ConstMatrix data, const std::vector<bool>& known,
               std::uint64_t seed, ThreadPool& pool);
// The same with other units known in every row. known: rows × visible, 0 where unknown.
Matrix Inpaint(const Model& model, const SamplerOptions& options, ConstMatrix data,
               MatrixView<const std::uint8_t> known, std::uint64_t seed, ThreadPool& pool);

// What is expected of the unknown units given the known ones, and how far they lie from it: mean and deviation over `draws`
// further steps of the same chains, of which each adds what h lets expect, μ + W h, and not a draw of it. The known units
// have the data and 0. Labels have the shares of the classes. `least`, if it has rows, is what is shown of values below it,
// rows × visible, -∞ where all are shown: mean and deviation are of what is shown.                      [math.md (68)]
struct Imputed {
  Matrix mean;
  Matrix deviation;
};
Imputed InpaintMean(const Model& model, const SamplerOptions& options, ConstMatrix data,
                    MatrixView<const std::uint8_t> known, std::int64_t draws, std::uint64_t seed, ThreadPool& pool,
                    ConstMatrix least = {});

// The data for the known units, in either units: what is known comes back as it was given, without the rounding of a
// standardisation and its inverse. Where `known` has a stride of 0, it is the same for all rows.
void PutBack(ConstMatrix data, MatrixView<const std::uint8_t> known, MutableMatrix to);

// A model's sampler for its inpainting. Nothing is adjusted there: at temperature 1 that costs the bias of a step, at others
// the law, which Gibbs has.
SamplerOptions InpaintSampler(SamplerOptions options);

}  // namespace grbm
