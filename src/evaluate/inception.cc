#include "grbm/evaluate/inception.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "data/md5.h"
#include "evaluate/inception_blocks.h"
#include "evaluate/resize.h"
#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "grbm/core/safetensors.h"

namespace grbm {

namespace {

constexpr Index kSide = 299;

std::string MissingText(const std::vector<std::string>& missing) {
  constexpr std::size_t kShown = 3;
  const std::size_t shown = std::min(missing.size(), kShown);
  return fmt::format("{} tensors are missing: {}{}", missing.size(),
                     fmt::join(missing.begin(), missing.begin() + static_cast<Index>(shown), ", "),
                     missing.size() > shown ? ", ..." : "");
}

}  // namespace

struct Inception::State {
  explicit State(const TensorFile& weights)
      : source(weights.source), network(weights, inception::Blocks(), {3, kSide, kSide}) {}

  std::string source;
  network::Network network;
};

Inception::Inception(const TensorFile& weights) : state_(std::make_unique<State>(weights)) {
  if (taps().empty()) {
    throw DataError(fmt::format("{}: not weights of the Inception network: {}: see docs/inception.md", state_->source,
                                MissingText(state_->network.missing())));
  }
}
Inception::~Inception() = default;
Inception::Inception(Inception&&) noexcept = default;
Inception& Inception::operator=(Inception&&) noexcept = default;

Inception Inception::Load(const std::string& path) {
  std::string contents = ReadFile(path);
  std::string digest = Md5(contents);
  Inception network(ParseTensors(std::move(contents), path));
  network.digest_ = std::move(digest);
  return network;
}

std::vector<int> Inception::taps() const { return state_->network.taps(); }

void Inception::CheckTap(int tap) const {
  const std::vector<int> allowed = taps();
  if (std::ranges::find(allowed, tap) != allowed.end()) return;
  const std::string works = fmt::format("the taps that work are {}", fmt::join(allowed, ", "));
  const auto& blocks = inception::Blocks();
  if (std::ranges::find(blocks, tap, &network::Block::tap) == blocks.end() || tap == 0) {
    throw DataError(fmt::format("{}: the Inception network has no tap {}: {}", state_->source, tap, works));
  }
  throw DataError(fmt::format("{}: cannot compute the tap {}: {}: {}", state_->source, tap,
                              MissingText(state_->network.missing()), works));
}

void Inception::Features(MatrixView<const std::uint8_t> images, const ImageShape& shape, int tap, MutableMatrix out,
                         ThreadPool& pool) const {
  CheckTap(tap);
  GRBM_CHECK(images.cols() == shape.size() && images.rows() == out.rows() && out.cols() == tap);
  if (shape.channels != 1 && shape.channels != 3) {
    throw DataError(fmt::format("Inception features: images of {} channels: allowed are 1 and 3", shape.channels));
  }
  state_->network.RunAll(
      [&](Index i, std::span<float> input) { inception::ResizeImage(images.row(i), shape, kSide, input); }, tap, out,
      pool);
}

}  // namespace grbm
