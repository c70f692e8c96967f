// A convolutional network as a table of blocks, and its execution on oneDNN, one image at a time.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/core/tensor.h"

namespace grbm::network {

// One operation. A convolution is followed by a rectifier.
struct Op {
  enum class Kind { kConvolution, kMax, kAverage };  // the average leaves padding out
  Kind kind;
  std::string_view name;  // of a convolution: its tensors are <block>.<name>.weight and .bias
  Index channels;         // that a convolution makes
  Index height, width;    // of the window
  Index stride;
  bool pad;     // by half the window on all sides
  bool beside;  // takes what the operation before it took, and both results are the branch's
};

// Branches that all start from the block's input; their results are joined along the channels.
struct Block {
  std::string_view name;  // empty: the names of its operations are whole
  std::vector<std::vector<Op>> branches;
  int tap = 0;  // the tap after this block; 0: none
};

struct MapSize {
  Index channels, height, width;
  Index plane() const { return height * width; }
};

// Blocks ready to run. Runs may go on at the same time, each with a workspace of its own.
class Network {
 public:
  // As many of the blocks as the file has all the tensors of. Throws DataError for tensors of another shape.
  Network(const TensorFile& weights, std::span<const Block> blocks, MapSize input);
  ~Network();

  // The taps of the blocks that it has.
  const std::vector<int>& taps() const { return taps_; }
  // Tensors that all the blocks need and the file lacks.
  const std::vector<std::string>& missing() const { return missing_; }

  struct Workspace;
  struct DeleteWorkspace {
    void operator()(Workspace* workspace) const;
  };
  using WorkspacePointer = std::unique_ptr<Workspace, DeleteWorkspace>;
  WorkspacePointer MakeWorkspace() const;

  // input: channels × height × width. features: the mean over each channel after the block with that tap.
  void Run(std::span<const float> input, int tap, Workspace& workspace, std::span<float> features) const;
  // The same of out.rows() inputs, each written by prepare(number, input). A row depends on its input alone.
  void RunAll(const std::function<void(Index, std::span<float>)>& prepare, int tap, MutableMatrix out,
              ThreadPool& pool) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::vector<int> taps_;
  std::vector<std::string> missing_;
};

// oneDNN takes its number of threads from OpenMP, thread by thread. While one of these lives, what this thread does with
// oneDNN stays on it, so that results do not depend on the number of threads.
class OnThisThreadOnly {
 public:
  OnThisThreadOnly();
  ~OnThisThreadOnly();
  OnThisThreadOnly(const OnThisThreadOnly&) = delete;
  OnThisThreadOnly& operator=(const OnThisThreadOnly&) = delete;

 private:
  int before_;
};

}  // namespace grbm::network
