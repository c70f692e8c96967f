#include "evaluate/network.h"

#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "grbm/core/error.h"

namespace grbm::network {

namespace {

using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;

// Activations are kept in groups of channels, as oneDNN's kernels for this CPU want them: channels/group × height × width
// × group. So the channels of one branch lie together, and it writes its part of the joined result in place.
Index Group() {
  static const Index group = dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core ? 16 : 8;
  return group;
}

// Images have 3 channels, which make no group: they stay plane by plane.
bool Grouped(const MapSize& size) { return size.channels % Group() == 0; }

dnnl::memory::desc Layout(const MapSize& size) {
  const Tag tag = !Grouped(size) ? Tag::nchw : Group() == 16 ? Tag::nChw16c : Tag::nChw8c;
  return {{1, size.channels, size.height, size.width}, Type::f32, tag};
}

// One channel of values in that layout.
struct Channel {
  float* first;
  Index stride;
};
Channel ChannelOf(float* values, const MapSize& size, Index channel) {
  const Index group = Grouped(size) ? Group() : 1;
  return {values + channel / group * group * size.plane() + channel % group, group};
}

MapSize Result(const Op& op, const MapSize& in) {
  const auto side = [&](Index length, Index window) {
    return (length + (op.pad ? 2 * (window / 2) : 0) - window) / op.stride + 1;
  };
  const Index channels = op.kind == Op::Kind::kConvolution ? op.channels : in.channels;
  return {channels, side(in.height, op.height), side(in.width, op.width)};
}

std::string TensorName(const Block& block, const Op& op, const char* kind) {
  return block.name.empty() ? fmt::format("{}.{}", op.name, kind) : fmt::format("{}.{}.{}", block.name, op.name, kind);
}

std::vector<std::string> MissingTensors(const TensorFile& weights, const Block& block) {
  std::vector<std::string> missing;
  for (const auto& branch : block.branches) {
    for (const Op& op : branch) {
      if (op.kind != Op::Kind::kConvolution) continue;
      for (const char* kind : {"weight", "bias"}) {
        std::string name = TensorName(block, op, kind);
        if (FindTensor(weights, name) == nullptr) missing.push_back(std::move(name));
      }
    }
  }
  return missing;
}

// Where a value lies: one of a workspace's buffers, from an offset on.
struct BufferOffset {
  std::size_t buffer;
  Index offset;
};

// Buffers 0 and 1 hold the input and the result of a block in turn, 2 and 3 what passes within a branch.
constexpr std::size_t kBuffers = 4;

struct Step {
  dnnl::primitive primitive;
  dnnl::memory::desc from_layout, to_layout, scratchpad_layout;
  BufferOffset from, to;
  dnnl::memory weight, bias;  // of a convolution
};

// After which step a tap is read, and where.
struct TapPlace {
  int tap;
  std::size_t steps;
  std::size_t buffer;
  MapSize size;
};

}  // namespace

struct Network::Workspace {
  dnnl::stream stream;
  std::array<AlignedVector<float>, kBuffers> buffers;
  AlignedVector<std::byte> scratchpad;
};

struct Network::State {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  MapSize input;
  std::vector<Step> steps;
  std::vector<TapPlace> taps;
  std::array<Index, kBuffers> buffer_sizes{};
  std::size_t scratchpad_size = 0;

  void Append(const TensorFile& weights, const Block& block, const Op& op, const MapSize& from_size, BufferOffset from,
              BufferOffset to);
  MapSize AppendBlock(const TensorFile& weights, const Block& block, const MapSize& input_size, std::size_t buffer);
};

void Network::State::Append(const TensorFile& weights, const Block& block, const Op& op, const MapSize& from_size,
                            BufferOffset from, BufferOffset to) {
  const MapSize to_size = Result(op, from_size);
  Step step{{}, Layout(from_size), Layout(to_size), {}, from, to, {}, {}};
  const dnnl::memory::dims strides = {op.stride, op.stride};
  const dnnl::memory::dims window = {op.height, op.width};
  const dnnl::memory::dims padding = {op.pad ? op.height / 2 : 0, op.pad ? op.width / 2 : 0};
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // runs at the same time share a primitive
  constexpr auto kForward = dnnl::prop_kind::forward_inference;
  if (op.kind == Op::Kind::kConvolution) {
    dnnl::post_ops rectifier;
    rectifier.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
    attributes.set_post_ops(rectifier);
    const std::array<Index, 4> shape = {op.channels, from_size.channels, op.height, op.width};
    const dnnl::memory::dims dims(shape.begin(), shape.end());
    const dnnl::memory::desc bias_layout({op.channels}, Type::f32, Tag::x);
    const dnnl::convolution_forward::primitive_desc description({kForward,
                                                                 dnnl::algorithm::convolution_direct,
                                                                 step.from_layout,
                                                                 {dims, Type::f32, Tag::any},
                                                                 bias_layout,
                                                                 step.to_layout,
                                                                 strides,
                                                                 padding,
                                                                 padding},
                                                                attributes, engine);
    std::vector<float> weight = GetFloats(weights, TensorName(block, op, "weight"), shape);
    step.weight = dnnl::memory(description.weights_desc(), engine);
    dnnl::memory plain({dims, Type::f32, Tag::oihw}, engine, weight.data());
    dnnl::stream stream(engine);
    dnnl::reorder(plain, step.weight).execute(stream, plain, step.weight);
    stream.wait();
    const std::vector<float> bias = GetFloats(weights, TensorName(block, op, "bias"), {shape.data(), 1});
    step.bias = dnnl::memory(bias_layout, engine);
    std::ranges::copy(bias, static_cast<float*>(step.bias.get_data_handle()));
    step.primitive = dnnl::convolution_forward(description);
    step.scratchpad_layout = description.scratchpad_desc();
  } else {
    const auto algorithm =
        op.kind == Op::Kind::kMax ? dnnl::algorithm::pooling_max : dnnl::algorithm::pooling_avg_exclude_padding;
    const dnnl::pooling_forward::primitive_desc description(
        {kForward, algorithm, step.from_layout, step.to_layout, strides, window, padding, padding}, attributes, engine);
    step.primitive = dnnl::pooling_forward(description);
    step.scratchpad_layout = description.scratchpad_desc();
  }
  scratchpad_size = std::max(scratchpad_size, step.scratchpad_layout.get_size());
  Index& size = buffer_sizes[to.buffer];
  size = std::max(size, to.offset + to_size.channels * to_size.plane());
  steps.push_back(std::move(step));
}

// The block reads `buffer` and writes the other one of 0 and 1. Returns its result's size.
MapSize Network::State::AppendBlock(const TensorFile& weights, const Block& block, const MapSize& input_size,
                                    std::size_t buffer) {
  MapSize joined{0, 0, 0};
  for (const auto& branch : block.branches) {
    BufferOffset from{buffer, 0};
    MapSize from_size = input_size;
    for (std::size_t i = 0; i < branch.size(); ++i) {
      const bool last = i + 1 == branch.size() || branch[i + 1].beside;
      const MapSize to_size = Result(branch[i], from_size);
      const BufferOffset to =
          last ? BufferOffset{1 - buffer, joined.channels * joined.plane()} : BufferOffset{2 + i % 2, 0};
      Append(weights, block, branch[i], from_size, from, to);
      if (last) {
        joined = {joined.channels + to_size.channels, to_size.height, to_size.width};
      } else {
        from = to;
        from_size = to_size;
      }
    }
  }
  return joined;
}

Network::Network(const TensorFile& weights, std::span<const Block> blocks, MapSize input)
    : state_(std::make_unique<State>()) {
  const OnThisThreadOnly one_thread;
  state_->input = input;
  state_->buffer_sizes[0] = input.channels * input.plane();
  std::size_t buffer = 0;
  MapSize size = input;
  for (const Block& block : blocks) {
    const std::vector<std::string> missing = MissingTensors(weights, block);
    missing_.insert(missing_.end(), missing.begin(), missing.end());
    if (!missing_.empty()) continue;
    size = state_->AppendBlock(weights, block, size, buffer);
    buffer = 1 - buffer;
    if (block.tap == 0) continue;
    GRBM_CHECK(size.channels == block.tap);
    state_->taps.push_back({block.tap, state_->steps.size(), buffer, size});
    taps_.push_back(block.tap);
  }
}

Network::~Network() = default;

void Network::DeleteWorkspace::operator()(Workspace* workspace) const { delete workspace; }

Network::WorkspacePointer Network::MakeWorkspace() const {
  WorkspacePointer workspace(new Workspace{dnnl::stream(state_->engine), {}, {}});
  for (std::size_t i = 0; i < kBuffers; ++i) {
    workspace->buffers[i].resize(static_cast<std::size_t>(state_->buffer_sizes[i]));
  }
  workspace->scratchpad.resize(state_->scratchpad_size);
  return workspace;
}

void Network::Run(std::span<const float> input, int tap, Workspace& workspace, std::span<float> features) const {
  const auto found = std::ranges::find(state_->taps, tap, &TapPlace::tap);
  GRBM_CHECK(found != state_->taps.end());
  const OnThisThreadOnly one_thread;
  const MapSize& size = state_->input;
  GRBM_CHECK(std::ssize(input) == size.channels * size.plane());
  for (Index c = 0; c < size.channels; ++c) {
    const Channel to = ChannelOf(workspace.buffers[0].data(), size, c);
    for (Index p = 0; p < size.plane(); ++p)
      to.first[p * to.stride] = input[static_cast<std::size_t>(c * size.plane() + p)];
  }
  const auto memory = [&](const dnnl::memory::desc& layout, BufferOffset place) {
    return dnnl::memory(layout, state_->engine, workspace.buffers[place.buffer].data() + place.offset);
  };
  for (std::size_t i = 0; i < found->steps; ++i) {
    const Step& step = state_->steps[i];
    std::unordered_map<int, dnnl::memory> arguments = {
        {DNNL_ARG_SRC, memory(step.from_layout, step.from)},
        {DNNL_ARG_DST, memory(step.to_layout, step.to)},
        {DNNL_ARG_SCRATCHPAD, dnnl::memory(step.scratchpad_layout, state_->engine, workspace.scratchpad.data())}};
    if (step.weight) {
      arguments.emplace(DNNL_ARG_WEIGHTS, step.weight);
      arguments.emplace(DNNL_ARG_BIAS, step.bias);
    }
    step.primitive.execute(workspace.stream, arguments);
  }
  workspace.stream.wait();
  const MapSize& out = found->size;
  GRBM_CHECK(std::ssize(features) == out.channels);
  for (Index c = 0; c < out.channels; ++c) {
    double sum = 0;
    const Channel from = ChannelOf(workspace.buffers[found->buffer].data(), out, c);
    for (Index p = 0; p < out.plane(); ++p) sum += from.first[p * from.stride];
    features[static_cast<std::size_t>(c)] = static_cast<float>(sum / static_cast<double>(out.plane()));
  }
}

void Network::RunAll(const std::function<void(Index, std::span<float>)>& prepare, int tap, MutableMatrix out,
                     ThreadPool& pool) const {
  // As many workspaces as inputs are worked on at the same time.
  struct Space {
    WorkspacePointer workspace;
    std::vector<float> input;
  };
  std::mutex mutex;
  std::vector<Space> spaces;
  pool.ParallelFor(out.rows(), [&](Index i) {
    Space space;
    {
      const std::lock_guard lock(mutex);
      if (!spaces.empty()) {
        space = std::move(spaces.back());
        spaces.pop_back();
      }
    }
    if (!space.workspace) {
      const MapSize& size = state_->input;
      space = {MakeWorkspace(), std::vector<float>(static_cast<std::size_t>(size.channels * size.plane()))};
    }
    prepare(i, space.input);
    Run(space.input, tap, *space.workspace, out.row(i));
    const std::lock_guard lock(mutex);
    spaces.push_back(std::move(space));
  });
}

OnThisThreadOnly::OnThisThreadOnly() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
OnThisThreadOnly::~OnThisThreadOnly() { omp_set_num_threads(before_); }

}  // namespace grbm::network
