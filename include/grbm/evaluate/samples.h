// Samples as a person sees them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/data/dataset.h"
#include "grbm/data/options.h"
#include "grbm/evaluate/estimate.h"
#include "grbm/sampler/sampler.h"
#include "grbm/store/model_file.h"

namespace grbm {

// What options.final stands for: where it is kAuto, μ + W h of images, which is v without its noise, and v of other rows,
// whose law μ + W h does not have.
Final ShownFinal(const ModelFile& file, const SamplerOptions& options);

// Throws NumericError, which says what is likely wrong, where a value is not finite. `what` the rows are opens it.
void CheckFinite(const ModelFile& file, ConstMatrix rows, std::string_view what);

// States of all visible units as rows of the data's own units: without labels.
Matrix InOwnUnits(const ModelFile& file, Matrix states);

// What is shown of running chains: μ + W h or v, as options.final says (v where there is no h), in the data's own units.
Matrix ShowState(const ModelFile& file, const SamplerOptions& options, const ChainState& state, ThreadPool& pool);

// Samples from noise given conditions, one of each row of them (chains × conditions, in the model's units), as options.final says,
// in the model's units. Of a history, frames one after the other, each of which is history of the next: visit(its number, rows).
// `first`: the number of the first chain.
void DrawGiven(const ModelFile& file, const SamplerOptions& options, Matrix conditions, Index frames,
               std::uint64_t seed, std::uint32_t first, ThreadPool& pool,
               const std::function<void(Index, Matrix)>& visit);

// How samples are drawn to be shown: file.generation(), with what its `final` stands for.
SamplerOptions ShownSampler(const ModelFile& file);
// The same, for samples that are judged. Of rows that are not images v itself is taken: the law of μ + W h is narrower than
// the model's.
SamplerOptions JudgedSampler(const ModelFile& file);

// Values of pixels end at 0 and 255, and so do the values of samples that are compared with them.
void ClipToData(const ModelFile& file, MutableMatrix rows);

// From noise: count × Gaussian units, in the data's own units, clipped. Sample number first + row is a function of the seed and
// its number. As they are judged, and as they are shown.
Matrix DrawSamples(const ModelFile& file, Index count, std::uint64_t seed, ThreadPool& pool,
                   const EvaluationProgress& progress = {}, std::uint32_t first = 0);
Matrix DrawShown(const ModelFile& file, Index count, std::uint64_t seed, ThreadPool& pool,
                 const EvaluationProgress& progress = {});

// At most `limit` rows of data, in random order: which, and their values.
std::vector<Index> SomeRows(const Dataset& data, Index limit, std::uint64_t seed);
Matrix ReadSome(const Dataset& data, Index limit, std::uint64_t seed);

// Data of the same law that the model was not trained on: the part "test" of the public data sets, and of others what
// data.held_out says, where the options name the part "train"; other points of a mixture, other strokes. None for other data.
std::optional<Dataset> LoadHeldOut(const DataOptions& options, ThreadPool& pool);

}  // namespace grbm
