#include "grbm/core/tensor.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/bytes.h"
#include "grbm/core/error.h"

namespace grbm {

namespace {

constexpr std::array<std::pair<std::string_view, int>, 20> kDtypes = {{
    {"BOOL", 8}, {"U8", 8},   {"I8", 8},   {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F4", 4},
    {"U16", 16}, {"I16", 16}, {"F16", 16}, {"BF16", 16},   {"U32", 32},    {"I32", 32},    {"F32", 32},
    {"U64", 64}, {"I64", 64}, {"F64", 64}, {"C64", 64},    {"F6_E2M3", 6}, {"F6_E3M2", 6},
}};

// IEEE 754 binary16.
float FromHalf(std::uint16_t half) {
  const int exponent = half >> 10 & 0x1f;
  const int fraction = half & 0x3ff;
  const float sign = (half & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 0x1f) return fraction == 0 ? sign * HUGE_VALF : std::nanf("");
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(0x400 + fraction), exponent - 25);
}

float FromBfloat(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

template <typename T, typename Function>
void Convert(std::string_view bytes, std::span<float> values, Function function) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = function(element);
  }
}

template <typename T>
void Cast(std::string_view bytes, std::span<float> values) {
  Convert<T>(bytes, values, [](T element) { return static_cast<float>(element); });
}

// False for an element type without a conversion.
bool ConvertToFloats(std::string_view dtype, std::string_view bytes, std::span<float> values) {
  if (dtype == "F32") {
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  } else if (dtype == "F64") {
    Cast<double>(bytes, values);
  } else if (dtype == "F16") {
    Convert<std::uint16_t>(bytes, values, FromHalf);
  } else if (dtype == "BF16") {
    Convert<std::uint16_t>(bytes, values, FromBfloat);
  } else if (dtype == "BOOL") {
    Convert<std::uint8_t>(bytes, values, [](std::uint8_t b) { return b != 0 ? 1.0f : 0.0f; });
  } else if (dtype == "U8") {
    Cast<std::uint8_t>(bytes, values);
  } else if (dtype == "I8") {
    Cast<std::int8_t>(bytes, values);
  } else if (dtype == "U16") {
    Cast<std::uint16_t>(bytes, values);
  } else if (dtype == "I16") {
    Cast<std::int16_t>(bytes, values);
  } else if (dtype == "U32") {
    Cast<std::uint32_t>(bytes, values);
  } else if (dtype == "I32") {
    Cast<std::int32_t>(bytes, values);
  } else if (dtype == "U64") {
    Cast<std::uint64_t>(bytes, values);
  } else if (dtype == "I64") {
    Cast<std::int64_t>(bytes, values);
  } else {
    return false;
  }
  return true;
}

}  // namespace

int DtypeBits(std::string_view dtype) {
  const auto found = std::ranges::find(kDtypes, dtype, [](const auto& pair) { return pair.first; });
  return found == kDtypes.end() ? 0 : found->second;
}

std::optional<Index> ElementCount(std::span<const Index> shape) {
  Index count = 1;
  for (const Index size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) return std::nullopt;
  }
  return count;
}

std::optional<Index> ByteCount(std::string_view dtype, std::span<const Index> shape) {
  const int bits = DtypeBits(dtype);
  const std::optional<Index> count = ElementCount(shape);
  Index total = 0;
  if (bits == 0 || !count || __builtin_mul_overflow(*count, Index{bits}, &total)) return {};
  if (total % 8 != 0) return {};
  return total / 8;
}

std::string ShapeText(std::span<const Index> shape) {
  std::string text = "[";
  for (const Index size : shape) {
    if (text.size() > 1) text += ", ";
    text += size < 0 ? "any" : std::to_string(size);
  }
  return text + "]";
}

Tensor MakeTensor(std::string name, std::vector<Index> shape, std::span<const float> values) {
  GRBM_CHECK(ElementCount(shape) == static_cast<Index>(values.size()));
  return {
      std::move(name), "F32", std::move(shape), {reinterpret_cast<const char*>(values.data()), values.size_bytes()}};
}

const Tensor* FindTensor(const TensorFile& file, std::string_view name) {
  const auto found = std::ranges::find(file.tensors, name, &Tensor::name);
  return found == file.tensors.end() ? nullptr : &*found;
}

const Tensor& GetTensor(const TensorFile& file, std::string_view name, std::span<const Index> shape) {
  const Tensor* tensor = FindTensor(file, name);
  if (tensor == nullptr) {
    constexpr std::size_t kMaxNames = 8;
    std::string names;
    for (std::size_t i = 0; i < std::min(file.tensors.size(), kMaxNames); ++i) {
      names += (i > 0 ? ", " : "") + Quoted(file.tensors[i].name);
    }
    if (file.tensors.size() > kMaxNames) names += ", ...";
    throw DataError(fmt::format("{}: tensor {} is missing: the file has {}", file.source, Quoted(name),
                                names.empty() ? "none" : names));
  }
  const bool fits =
      std::ranges::equal(tensor->shape, shape, [](Index found, Index wanted) { return wanted < 0 || found == wanted; });
  if (!fits) {
    throw DataError(fmt::format("{}: tensor {} has shape {}: expected is {}", file.source, Quoted(name),
                                ShapeText(tensor->shape), ShapeText(shape)));
  }
  return *tensor;
}

void CheckFloating(const TensorFile& file, const Tensor& tensor) {
  constexpr std::array<std::string_view, 4> kFloating = {"F32", "F64", "F16", "BF16"};
  if (std::ranges::find(kFloating, tensor.dtype) != kFloating.end()) return;
  throw DataError(
      fmt::format("{}: tensor {} has dtype {}: allowed are F32, F64, F16 and BF16: convert it to one of them",
                  file.source, Quoted(tensor.name), tensor.dtype));
}

void CopyFloats(const TensorFile& file, const Tensor& tensor, std::span<float> values) {
  GRBM_CHECK(ElementCount(tensor.shape) == static_cast<Index>(values.size()) &&
             ByteCount(tensor.dtype, tensor.shape) == static_cast<Index>(tensor.bytes.size()));
  if (!ConvertToFloats(tensor.dtype, tensor.bytes, values)) {
    throw DataError(fmt::format("{}: tensor {} has dtype {}: allowed are F32, F64, F16, BF16 and the integer types",
                                file.source, Quoted(tensor.name), tensor.dtype));
  }
}

std::vector<float> GetFloats(const TensorFile& file, std::string_view name, std::span<const Index> shape) {
  const Tensor& tensor = GetTensor(file, name, shape);
  std::vector<float> values(static_cast<std::size_t>(*ElementCount(tensor.shape)));
  CopyFloats(file, tensor, values);
  return values;
}

}  // namespace grbm
