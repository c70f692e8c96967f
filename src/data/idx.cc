#include "data/idx.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <optional>

#include "core/bytes.h"
#include "data/column_steps.h"
#include "data/gzip.h"
#include "data/row_store.h"
#include "grbm/core/error.h"
#include "grbm/core/tensor.h"

namespace grbm {

namespace {

constexpr std::size_t kMaxHeader = 4 + 4 * 255;

struct Header {
  int type = 0;
  std::vector<Index> dimensions;
  std::size_t size = 0;  // of the header itself
};

// Bytes of one element; 0 for an unknown type.
std::size_t Width(int type) {
  switch (type) {
    case 0x08:  // unsigned
    case 0x09:  // signed
      return 1;
    case 0x0b:
      return 2;
    case 0x0c:
    case 0x0d:  // float
      return 4;
    case 0x0e:  // double
      return 8;
    default:
      return 0;
  }
}

template <typename T>
T BigEndian(const char* bytes) {
  char reversed[sizeof(T)];
  std::reverse_copy(bytes, bytes + sizeof(T), reversed);
  T value;
  std::memcpy(&value, reversed, sizeof(T));
  return value;
}

double Element(const char* bytes, int type) {
  switch (type) {
    case 0x08:
      return static_cast<std::uint8_t>(*bytes);
    case 0x09:
      return static_cast<std::int8_t>(*bytes);
    case 0x0b:
      return BigEndian<std::int16_t>(bytes);
    case 0x0c:
      return BigEndian<std::int32_t>(bytes);
    case 0x0d:
      return double{BigEndian<float>(bytes)};
    default:
      return BigEndian<double>(bytes);
  }
}

Header ReadHeader(std::string_view bytes, const std::string& where) {
  ByteReader reader(bytes, where);
  const std::string_view magic = reader.Take(4, "the magic number");
  Header header;
  header.type = static_cast<std::uint8_t>(magic[2]);
  if (magic[0] != 0 || magic[1] != 0 || Width(header.type) == 0 || magic[3] == 0) {
    throw DataError(fmt::format("{}: byte 0: {}: not an IDX file: expected are two zeros, an element type and a rank",
                                where, Quoted(magic)));
  }
  for (int d = 0; d < static_cast<std::uint8_t>(magic[3]); ++d) {
    header.dimensions.push_back(Index{BigEndian<std::uint32_t>(reader.Take(4, "a dimension").data())});
  }
  header.size = reader.position();
  return header;
}

struct Array {
  Header header;
  FileBytes elements;
};

Array ReadArray(const FileBytes& file, const std::string& path) {
  const bool compressed = IsGzip(file.bytes);
  const std::string start =
      compressed ? GunzipStart(file.bytes, kMaxHeader, path) : std::string(file.bytes.substr(0, kMaxHeader));
  Array array;
  array.header = ReadHeader(start, path);
  const Header& header = array.header;
  const std::optional<Index> count = ElementCount(header.dimensions);
  std::size_t expected = 0;
  if (!count || __builtin_mul_overflow(static_cast<std::size_t>(*count), Width(header.type), &expected) ||
      __builtin_add_overflow(expected, header.size, &expected)) {
    throw DataError(fmt::format("{}: byte 4: dimensions {}: more elements than any file holds", path,
                                ShapeText(header.dimensions)));
  }
  FileBytes content = file;
  if (compressed) {
    auto inflated = std::make_shared<const std::string>(Gunzip(file.bytes, expected, path));
    content = {inflated, *inflated};
  }
  if (content.bytes.size() != expected) {
    throw DataError(fmt::format("{}: byte {}: {} bytes of data do not fit dimensions {}: expected are {}: truncated?",
                                path, header.size, content.bytes.size() - header.size, ShapeText(header.dimensions),
                                expected - header.size));
  }
  array.elements = {content.owner, content.bytes.substr(header.size)};
  return array;
}

// "dir/train-labels-idx1-ubyte" for "dir/train-images-idx3-ubyte", with or without ".gz"; nothing where no such file
// is there.
std::optional<std::string> LabelsBeside(const std::string& path) {
  const std::filesystem::path images(path);
  std::string name = images.filename().string();
  const std::size_t at = name.rfind("images");
  if (at == std::string::npos) return {};
  name.replace(at, 6, "labels");
  if (const std::size_t rank = name.rfind("idx3"); rank != std::string::npos) name.replace(rank, 4, "idx1");
  const bool compressed = name.ends_with(".gz");
  const std::string other = compressed ? name.substr(0, name.size() - 3) : name + ".gz";
  for (const std::string& candidate : {name, other}) {
    const std::filesystem::path labels = images.parent_path() / candidate;
    std::error_code error;
    if (std::filesystem::is_regular_file(labels, error)) return labels.string();
  }
  return {};
}

}  // namespace

bool IsIdx(std::string_view bytes) {
  return bytes.size() >= 4 && bytes[0] == 0 && bytes[1] == 0 && Width(static_cast<std::uint8_t>(bytes[2])) != 0 &&
         bytes[3] != 0;
}

ImageShape ShapeOfRows(const std::vector<Index>& dimensions, const std::string& where) {
  if (!dimensions.empty() && dimensions[0] == 0) {  // the others could then be anything
    throw DataError(fmt::format("{}: an array of shape {} has no rows", where, ShapeText(dimensions)));
  }
  switch (dimensions.size()) {
    case 2:
      return {};
    case 3:
      if (dimensions[1] > 0 && dimensions[2] > 0) return {dimensions[1], dimensions[2], 1};
      break;
    case 4:
      if (dimensions[1] > 0 && dimensions[2] > 0 && (dimensions[3] == 1 || dimensions[3] == 3 || dimensions[3] == 4)) {
        return {dimensions[1], dimensions[2], dimensions[3]};
      }
      break;
    default:
      break;
  }
  throw DataError(
      fmt::format("{}: an array of shape {}: allowed are rows × values, rows × height × width, and rows × height × "
                  "width × channels "
                  "with 1, 3 or 4 channels",
                  where, ShapeText(dimensions)));
}

Dataset ReadIdx(const FileBytes& file, const std::string& path, std::vector<int> labels) {
  const Array array = ReadArray(file, path);
  const std::vector<Index>& dimensions = array.header.dimensions;
  const ImageShape shape = ShapeOfRows(dimensions, path);
  const Index rows = dimensions[0];
  const Index visible = shape.known() ? shape.size() : dimensions[1];
  if (array.header.type == 0x08) {
    return Dataset({array.elements.owner, array.elements.bytes.data(), true, rows, visible, shape, path},
                   std::move(labels));
  }
  RowStore store(visible);
  store.Expect(rows);
  std::vector<float> row(static_cast<std::size_t>(visible));
  const std::size_t width = Width(array.header.type);
  ColumnSteps<double> steps(visible);
  const char* at = array.elements.bytes.data();
  for (Index r = 0; r < rows; ++r) {
    for (std::size_t i = 0; i < row.size(); ++i, at += width) {
      const double element = Element(at, array.header.type);
      row[i] = static_cast<float>(element);
      steps.Add(i, element);
    }
    store.Append(row);
  }
  Dataset::Storage storage = store.Finish(shape, path);
  storage.warning = steps.Warning(path);
  return Dataset(std::move(storage), std::move(labels));
}

std::vector<int> ReadIdxLabels(const FileBytes& file, const std::string& path) {
  const Array array = ReadArray(file, path);
  const Header& header = array.header;
  if (header.dimensions.size() != 1 || header.type == 0x0d || header.type == 0x0e) {
    throw DataError(fmt::format("{}: an array of shape {} and element type {}: expected is a list of whole numbers",
                                path, ShapeText(header.dimensions), header.type));
  }
  std::vector<int> labels(static_cast<std::size_t>(header.dimensions[0]));
  const std::size_t width = Width(header.type);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    labels[i] = static_cast<int>(Element(array.elements.bytes.data() + i * width, header.type));
  }
  return labels;
}

Dataset ReadIdxWithLabels(const std::string& path) {
  std::vector<int> labels;
  if (const std::optional<std::string> beside = LabelsBeside(path)) labels = ReadIdxLabels(MapFile(*beside), *beside);
  return ReadIdx(MapFile(path), path, std::move(labels));
}

}  // namespace grbm
