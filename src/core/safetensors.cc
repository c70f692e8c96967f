#include "grbm/core/safetensors.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/bytes.h"
#include "grbm/core/error.h"
#include "grbm/core/file.h"

namespace grbm {

namespace {

using nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // the format's own limit
constexpr std::size_t kMaxRank = 64;
constexpr std::string_view kMetadataName = "__metadata__";

// A tensor as the header declares it; its offsets count from the end of the header.
struct Entry {
  Tensor tensor;
  std::vector<Index> offsets;
  bool has_dtype = false;
  bool has_shape = false;
};

// Takes the header's JSON piece by piece and allows nothing but the structure of the format, so
// neither depth nor size of the input can exhaust anything. A method that returns false ends the
// parse; `error` then says why.
class HeaderHandler : public json::json_sax_t {
 public:
  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;
  std::string error;

  bool null() override { return Unexpected("null"); }
  bool boolean(bool) override { return Unexpected("a boolean"); }
  bool number_integer(number_integer_t value) override { return Unexpected(fmt::format("{}", value)); }
  bool number_float(number_float_t, const string_t& text) override { return Unexpected(Quoted(text)); }
  bool binary(binary_t&) override { return Unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (state_ != State::kShape && state_ != State::kOffsets) {
      return Unexpected(fmt::format("{}", value));
    }
    if (!std::in_range<Index>(value)) return Refuse(fmt::format("the number {} is too large", value));
    std::vector<Index>& numbers = state_ == State::kShape ? entries.back().tensor.shape : entries.back().offsets;
    if (numbers.size() == kMaxRank) {
      return Refuse(fmt::format("more than {} numbers in one list", kMaxRank));
    }
    numbers.push_back(static_cast<Index>(value));
    return true;
  }

  bool string(string_t& value) override {
    if (state_ == State::kMetadata) {
      if (!metadata.emplace(key_, std::move(value)).second) {
        return Refuse("the key " + Quoted(key_) + " is there twice");
      }
      return true;
    }
    if (state_ == State::kTensor && key_ == "dtype") {
      if (DtypeBits(value) == 0) return Refuse("unknown dtype " + Quoted(value));
      entries.back().tensor.dtype = std::move(value);
      return true;
    }
    return Unexpected("text");
  }

  bool key(string_t& value) override {
    key_ = std::move(value);
    if (state_ == State::kHeader) {
      if (!names_.insert(key_).second) return Refuse("the name is there twice");
    } else if (state_ == State::kTensor) {
      Entry& entry = entries.back();
      const bool twice = (key_ == "dtype" && std::exchange(entry.has_dtype, true)) ||
                         (key_ == "shape" && std::exchange(entry.has_shape, true)) ||
                         (key_ == "data_offsets" && !entry.offsets.empty());
      if (twice) return Refuse("the key " + Quoted(key_) + " is there twice");
      if (key_ != "dtype" && key_ != "shape" && key_ != "data_offsets") {
        return Refuse("unknown key " + Quoted(key_) + ": allowed are 'dtype', 'shape' and 'data_offsets'");
      }
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (state_ == State::kStart) {
      state_ = State::kHeader;
    } else if (state_ == State::kHeader && key_ == kMetadataName) {
      state_ = State::kMetadata;
    } else if (state_ == State::kHeader) {
      entries.emplace_back().tensor.name = key_;
      state_ = State::kTensor;
    } else {
      return Unexpected("an object");
    }
    return true;
  }
  bool end_object() override {
    if (state_ == State::kTensor) {
      const Entry& entry = entries.back();
      if (!entry.has_dtype) return Refuse("dtype is missing");
      if (!entry.has_shape) return Refuse("shape is missing");
      if (entry.offsets.empty()) return Refuse("data_offsets is missing");
    }
    state_ = state_ == State::kHeader ? State::kEnd : State::kHeader;
    return true;
  }

  bool start_array(std::size_t) override {
    if (state_ != State::kTensor || key_ == "dtype") return Unexpected("a list");
    state_ = key_ == "shape" ? State::kShape : State::kOffsets;
    return true;
  }
  bool end_array() override {
    if (state_ == State::kOffsets && entries.back().offsets.size() != 2) {
      return Refuse(fmt::format("data_offsets has {} numbers: expected are 2", entries.back().offsets.size()));
    }
    state_ = State::kTensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    error = fmt::format("byte {}: the header is not valid JSON", kLengthBytes + (position > 0 ? position - 1 : 0));
    return false;
  }

 private:
  enum class State { kStart, kHeader, kMetadata, kTensor, kShape, kOffsets, kEnd };

  bool Refuse(const std::string& what) {
    if (state_ == State::kStart) {
      error = "header: " + what;
    } else if (state_ == State::kMetadata) {
      error = "header: " + std::string(kMetadataName) + ": " + what;
    } else {
      error = "tensor " + Quoted(state_ == State::kHeader ? key_ : entries.back().tensor.name) + ": " + what;
    }
    return false;
  }
  bool Unexpected(const std::string& found) {
    switch (state_) {
      case State::kMetadata:
        return Refuse(Quoted(key_) + " is " + found + ": expected is text");
      case State::kTensor:
        return Refuse(fmt::format("{} is {}: expected is {}", Quoted(key_), found,
                                  key_ == "dtype" ? "text" : "a list of numbers"));
      case State::kShape:
      case State::kOffsets:
        return Refuse(fmt::format("{} has {}: expected are whole numbers from 0 on", Quoted(key_), found));
      default:
        return Refuse("found " + found + ": expected is an object");
    }
  }

  State state_ = State::kStart;
  std::string key_;
  std::set<std::string> names_;
};

// The data of an entry within the payload, checked against its type and shape.
std::string_view EntryBytes(const Entry& entry, std::string_view payload, const std::string& where) {
  const auto refuse = [&](const std::string& what) {
    throw DataError(fmt::format("{}: tensor {}: {}", where, Quoted(entry.tensor.name), what));
  };
  const Index begin = entry.offsets[0];
  const Index end = entry.offsets[1];
  if (begin > end || !std::in_range<Index>(payload.size()) || end > static_cast<Index>(payload.size())) {
    refuse(fmt::format("data_offsets [{}, {}] do not lie within the {} bytes of data: truncated?", begin, end,
                       payload.size()));
  }
  const std::optional<Index> size = ByteCount(entry.tensor.dtype, entry.tensor.shape);
  if (size != end - begin) {
    refuse(fmt::format("data_offsets [{}, {}] do not fit shape {} of {}, which is {} bytes", begin, end,
                       ShapeText(entry.tensor.shape), entry.tensor.dtype,
                       size ? std::to_string(*size) : "not a whole number of"));
  }
  return payload.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

// The tensors must cover the payload: each begins where the one before it ends.
void CheckCoverage(const std::vector<Entry>& sorted, std::size_t payload_size, const std::string& where) {
  Index covered = 0;
  for (const Entry& entry : sorted) {
    if (entry.offsets[0] != covered) {
      throw DataError(fmt::format("{}: tensor {}: its data begin at {}, those before it end at {}: {}", where,
                                  Quoted(entry.tensor.name), entry.offsets[0], covered,
                                  entry.offsets[0] < covered ? "an overlap" : "a hole"));
    }
    covered = entry.offsets[1];
  }
  if (static_cast<std::size_t>(covered) != payload_size) {
    throw DataError(fmt::format("{}: {} bytes after the last tensor's data belong to no tensor", where,
                                payload_size - static_cast<std::size_t>(covered)));
  }
}

// The header's text, as claimed by the first eight bytes.
std::string_view HeaderText(std::string_view contents, const std::string& where) {
  ByteReader reader(contents, where);
  const auto length = reader.Number<std::uint64_t>("the length of the header");
  if (length > kMaxHeader) {
    throw DataError(fmt::format("{}: byte 0: a header of {} bytes: allowed are {}: is this a safetensors file?", where,
                                length, kMaxHeader));
  }
  const std::string_view header = reader.Take(length, "the header");
  if (!header.starts_with('{')) {
    throw DataError(fmt::format("{}: byte {}: the header does not begin with '{{': is this a safetensors file?", where,
                                kLengthBytes));
  }
  // The JSON parser would take it for the end of the input and leave the rest unread.
  if (const std::size_t zero = header.find('\0'); zero != std::string_view::npos) {
    throw DataError(fmt::format("{}: byte {}: the header has a zero byte", where, kLengthBytes + zero));
  }
  return header;
}

std::string JsonText(const std::string& text, const std::string& where) {
  try {
    return json(text).dump();
  } catch (const json::exception&) {
    throw DataError(fmt::format("{}: {} is not valid UTF-8", where, Quoted(text)));
  }
}

// The first bytes of a file with these tensors, up to their data.
std::string MakeHeader(const std::vector<const Tensor*>& tensors, const TensorFile& file, const std::string& where) {
  std::string header = "{";
  if (!file.metadata.empty()) {
    header += fmt::format("\"{}\":{{", kMetadataName);
    for (const auto& [key, value] : file.metadata) {
      header += JsonText(key, where) + ":" + JsonText(value, where) + ",";
    }
    header.back() = '}';
    header += ',';
  }
  std::set<std::string_view> names = {kMetadataName};
  std::size_t offset = 0;
  for (const Tensor* tensor : tensors) {
    if (!names.insert(tensor->name).second) {
      throw DataError(fmt::format("{}: two tensors, or a reserved one, with the name {}", where, Quoted(tensor->name)));
    }
    if (ByteCount(tensor->dtype, tensor->shape) != static_cast<Index>(tensor->bytes.size())) {
      throw DataError(fmt::format("{}: tensor {}: {} bytes do not fit shape {} of {}", where, Quoted(tensor->name),
                                  tensor->bytes.size(), ShapeText(tensor->shape), Quoted(tensor->dtype)));
    }
    header +=
        fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}},", JsonText(tensor->name, where),
                    tensor->dtype, fmt::join(tensor->shape, ","), offset, offset + tensor->bytes.size());
    offset += tensor->bytes.size();
  }
  if (header.back() == ',') header.pop_back();
  header += '}';
  header.append((8 - header.size() % 8) % 8, ' ');
  if (header.size() > kMaxHeader) {
    throw DataError(fmt::format("{}: a header of {} bytes: allowed are {}", where, header.size(), kMaxHeader));
  }
  std::string prefix;
  AppendNumber(prefix, static_cast<std::uint64_t>(header.size()));
  return prefix + header;
}

}  // namespace

TensorFile ParseTensors(std::string contents, const std::string& source) {
  TensorFile file;
  file.source = source;
  file.storage.push_back(std::make_shared<const std::string>(std::move(contents)));
  const std::string_view bytes = *file.storage.front();
  const std::string_view header = HeaderText(bytes, source);
  HeaderHandler handler;
  if (!json::sax_parse(header, &handler)) {
    throw DataError(fmt::format("{}: {}", source, handler.error));
  }
  const std::string_view payload = bytes.substr(kLengthBytes + header.size());
  for (Entry& entry : handler.entries) entry.tensor.bytes = EntryBytes(entry, payload, source);
  std::ranges::stable_sort(handler.entries, {}, &Entry::offsets);
  CheckCoverage(handler.entries, payload.size(), source);
  for (Entry& entry : handler.entries) file.tensors.push_back(std::move(entry.tensor));
  file.metadata = std::move(handler.metadata);
  return file;
}

TensorFile ReadTensors(const std::string& path) { return ParseTensors(ReadFile(path), path); }

void WriteTensors(const std::string& path, const TensorFile& file) {
  std::vector<const Tensor*> tensors;
  for (const Tensor& tensor : file.tensors) tensors.push_back(&tensor);
  std::ranges::stable_sort(tensors, std::ranges::greater(),
                           [](const Tensor* tensor) { return DtypeBits(tensor->dtype); });
  const std::string header = MakeHeader(tensors, file, path);
  std::vector<std::string_view> pieces = {header};
  for (const Tensor* tensor : tensors) pieces.push_back(tensor->bytes);
  WriteFileAtomically(path, pieces);
}

}  // namespace grbm
