#include "store/parameter_tensors.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "grbm/core/error.h"

namespace grbm {

namespace {

void CopyTensors(const TensorFile& file, const std::string& prefix, Parameters& parameters) {
  for (const auto& to : parameters.Tensors()) {
    if (to.empty()) continue;
    const Tensor& from = GetTensor(file, prefix + std::string(to.name), to.shape());
    CheckFloating(file, from);
    CopyFloats(file, from, to.values());
  }
}

}  // namespace

void AddParameters(const Parameters& parameters, const std::string& prefix, TensorFile& file) {
  for (const auto& tensor : parameters.Tensors()) {
    if (tensor.empty()) continue;
    file.tensors.push_back(MakeTensor(prefix + std::string(tensor.name), tensor.shape(), tensor.values()));
  }
}

Parameters GetParameters(const TensorFile& file) {
  const Tensor& weights = GetTensor(file, "W", std::array<Index, 2>{-1, -1});
  // Sizes that are not of this file's own bytes could be anything.
  if (weights.bytes.empty()) {
    throw DataError(fmt::format("{}: tensor 'W' has shape {}: expected is at least one visible and one hidden unit",
                                file.source, ShapeText(weights.shape)));
  }
  const auto [visible, hidden] = std::pair(weights.shape[0], weights.shape[1]);
  Index conditions = 0;
  if (FindTensor(file, "A") != nullptr || FindTensor(file, "B") != nullptr) {
    conditions = GetTensor(file, "A", std::array<Index, 2>{visible, -1}).shape[1];
    GetTensor(file, "B", std::array<Index, 2>{hidden, conditions});
  }
  Parameters parameters(visible, hidden, conditions);
  CopyTensors(file, "", parameters);
  return parameters;
}

Parameters GetParameters(const TensorFile& file, const std::string& prefix, const Parameters& shapes) {
  Parameters parameters = shapes;
  CopyTensors(file, prefix, parameters);
  return parameters;
}

}  // namespace grbm
