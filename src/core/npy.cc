#include "core/npy.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "core/bytes.h"
#include "core/number.h"
#include "grbm/core/error.h"

namespace grbm {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;
constexpr std::uint32_t kMaxHeader = 65536;
constexpr std::size_t kMaxRank = 64;
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kTypes = {{
    {"<f4", "F32"},
    {"<f8", "F64"},
    {"<f2", "F16"},
    {"|u1", "U8"},
    {"|i1", "I8"},
    {"|b1", "BOOL"},
    {"<u2", "U16"},
    {"<i2", "I16"},
    {"<u4", "U32"},
    {"<i4", "I32"},
    {"<u8", "U64"},
    {"<i8", "I64"},
}};

struct Description {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<Index>> shape;
};

// The header is a literal of Python: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class LiteralParser {
 public:
  LiteralParser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Description Parse() {
    Description result;
    Expect('{');
    while (!Accept('}')) {
      const std::string key = String();
      Expect(':');
      if (key == "descr" && !result.descr) {
        result.descr = String();
      } else if (key == "fortran_order" && !result.fortran_order) {
        result.fortran_order = Boolean();
      } else if (key == "shape" && !result.shape) {
        result.shape = Tuple();
      } else {
        Refuse("the key " + Quoted(key) + ", unknown or there twice");
      }
      if (!Accept(',')) {
        Expect('}');
        break;
      }
    }
    SkipSpace();
    if (position_ != text_.size()) Refuse("text after the description");
    if (!result.descr || !result.fortran_order || !result.shape) {
      Refuse("without 'descr', 'fortran_order' or 'shape'");
    }
    return result;
  }

 private:
  [[noreturn]] void Refuse(const std::string& what) const {
    throw DataError(fmt::format("{}: the array's description, character {}: {}", where_, position_, what));
  }
  void SkipSpace() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) {
      ++position_;
    }
  }
  bool Accept(char c) {
    SkipSpace();
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  void Expect(char c) {
    if (!Accept(c)) Refuse(fmt::format("expected is '{}'", c));
  }
  bool AcceptWord(std::string_view word) {
    SkipSpace();
    if (!text_.substr(position_).starts_with(word)) return false;
    position_ += word.size();
    return true;
  }
  std::string String() {
    const char quote = Accept('"') ? '"' : '\'';
    if (quote == '\'') {
      if (!Accept('\'')) Refuse("expected is text (records of several fields are not supported)");
    }
    const std::size_t end = text_.find(quote, position_);
    if (end == std::string_view::npos) Refuse("the text does not end");
    const std::string_view content = text_.substr(position_, end - position_);
    if (content.find('\\') != std::string_view::npos) Refuse("a backslash");
    position_ = end + 1;
    return std::string(content);
  }
  bool Boolean() {
    if (AcceptWord("True")) return true;
    if (!AcceptWord("False")) Refuse("expected is True or False");
    return false;
  }
  std::vector<Index> Tuple() {
    std::vector<Index> numbers;
    Expect('(');
    while (!Accept(')')) {
      SkipSpace();
      Index number = 0;
      const char* begin = text_.data() + position_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
      if (error != std::errc() || number < 0) Refuse("expected is a whole number from 0 on");
      if (numbers.size() == kMaxRank) Refuse(fmt::format("more than {} dimensions", kMaxRank));
      numbers.push_back(number);
      position_ += static_cast<std::size_t>(end - begin);
      AcceptWord("L");  // Python 2
      if (!Accept(',')) {
        Expect(')');
        break;
      }
    }
    return numbers;
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t position_ = 0;
};

// Bytes of one element of text, "<U5": 5 characters of 4 bytes, "|S5": 5 bytes; 0: no text.
std::size_t TextWidth(std::string_view descr) {
  const bool wide = descr.starts_with("<U");
  if (!wide && !descr.starts_with("|S")) return 0;
  const std::optional<std::size_t> length = NumberIn<std::size_t>(descr.substr(2));
  return length && *length <= 65536 ? *length * (wide ? 4 : 1) : 0;
}

// Bytes that an array takes; nothing where that is not known.
std::optional<Index> SizeOf(const Tensor& tensor) {
  const auto width = static_cast<Index>(TextWidth(tensor.dtype));
  if (width == 0) return ByteCount(tensor.dtype, tensor.shape);
  const std::optional<Index> count = ElementCount(tensor.shape);
  Index size = 0;
  if (!count || __builtin_mul_overflow(*count, width, &size)) return {};
  return size;
}

void AppendUtf8(std::string& text, std::uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes of six bits each behind the first
  constexpr std::array<std::uint32_t, 4> kOpens = {0, 0xc0, 0xe0, 0xf0};
  text += static_cast<char>(kOpens[static_cast<std::size_t>(more)] | code >> 6 * more);
  for (int k = more - 1; k >= 0; --k) text += static_cast<char>(0x80 | (code >> 6 * k & 0x3f));
}

std::string DtypeOf(std::string descr, const std::string& where, bool text) {
  if (text && TextWidth(descr) > 0) return descr;
  const std::string original = descr;
  if (descr.size() == 3 && descr[2] == '1') descr[0] = '|';  // one byte has no order
  const auto found = std::ranges::find(kTypes, descr, [](const auto& pair) { return pair.first; });
  if (found == kTypes.end()) {
    throw DataError(
        fmt::format("{}: element type {}: allowed are little-endian numbers and booleans{}: convert it, for "
                    "example with .astype('<f4'){}",
                    where, Quoted(original), text ? ", and text" : "", text ? ", or text with .astype('U')" : ""));
  }
  return std::string(found->second);
}

// From Fortran's order (the first index runs fastest) to C's; elements of `width` bytes.
std::string ToRowMajor(std::string_view bytes, const std::vector<Index>& shape, std::size_t width) {
  std::vector<std::size_t> stride(shape.size());  // in bytes, of `bytes`
  std::size_t step = width;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    stride[d] = step;
    step *= static_cast<std::size_t>(shape[d]);
  }
  std::string result;
  result.reserve(bytes.size());
  std::vector<Index> index(shape.size());
  std::size_t offset = 0;
  while (result.size() < bytes.size()) {
    result.append(bytes.substr(offset, width));
    for (std::size_t d = shape.size(); d-- > 0;) {
      offset += stride[d];
      if (++index[d] < shape[d]) break;
      offset -= stride[d] * static_cast<std::size_t>(shape[d]);
      index[d] = 0;
    }
  }
  return result;
}

}  // namespace

std::string NpyHeader(const Tensor& tensor, const std::string& where) {
  const auto type = std::ranges::find(kTypes, tensor.dtype, [](const auto& pair) { return pair.second; });
  if (type == kTypes.end()) {
    throw DataError(
        fmt::format("{}: array {}: NumPy has no element type {}", where, Quoted(tensor.name), Quoted(tensor.dtype)));
  }
  if (ByteCount(tensor.dtype, tensor.shape) != static_cast<Index>(tensor.bytes.size())) {
    throw DataError(fmt::format("{}: array {}: {} bytes do not fit shape {} of {}", where, Quoted(tensor.name),
                                tensor.bytes.size(), ShapeText(tensor.shape), tensor.dtype));
  }
  std::string description = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type->first,
                                        fmt::join(tensor.shape, ", "), tensor.shape.size() == 1 ? "," : "");
  std::string header(kMagic);
  header += std::string("\x01\x00", 2);
  const std::size_t used = header.size() + sizeof(std::uint16_t) + description.size() + 1;
  description.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  description += '\n';
  GRBM_CHECK(description.size() <= 65535);
  AppendNumber(header, static_cast<std::uint16_t>(description.size()));
  return header + description;
}

void AppendNpy(TensorFile& file, std::string name, std::string_view contents, const std::string& where, bool text) {
  ByteReader reader(contents, where);
  if (reader.Take(std::min(kMagic.size(), contents.size()), "the magic number") != kMagic) {
    throw DataError(where + ": byte 0: not a NumPy array");
  }
  const int major = reader.Number<std::uint8_t>("the version");
  reader.Number<std::uint8_t>("the version");
  if (major < 1 || major > 3) {
    throw DataError(fmt::format("{}: byte 6: version {} of the format: allowed are 1 to 3", where, major));
  }
  const std::uint32_t length = major == 1 ? reader.Number<std::uint16_t>("the header's length")
                                          : reader.Number<std::uint32_t>("the header's length");
  if (length > kMaxHeader) {
    throw DataError(fmt::format("{}: byte 8: a header of {} bytes: allowed are {}", where, length, kMaxHeader));
  }
  const Description description = LiteralParser(reader.Take(length, "the header"), where).Parse();
  Tensor tensor = {std::move(name), DtypeOf(*description.descr, where, text), *description.shape, {}};
  tensor.bytes = contents.substr(reader.position());
  const std::optional<Index> size = SizeOf(tensor);
  if (!size || static_cast<std::size_t>(*size) != tensor.bytes.size()) {
    throw DataError(fmt::format("{}: byte {}: {} bytes of data do not fit shape {} of {}: truncated?", where,
                                reader.position(), tensor.bytes.size(), ShapeText(tensor.shape), tensor.dtype));
  }
  if (*description.fortran_order && tensor.shape.size() > 1) {
    const std::size_t width =
        IsNpyText(tensor) ? TextWidth(tensor.dtype) : static_cast<std::size_t>(DtypeBits(tensor.dtype)) / 8;
    file.storage.push_back(std::make_shared<const std::string>(ToRowMajor(tensor.bytes, tensor.shape, width)));
    tensor.bytes = *file.storage.back();
  }
  file.tensors.push_back(std::move(tensor));
}

bool IsNpyText(const Tensor& tensor) { return TextWidth(tensor.dtype) > 0; }

std::vector<std::string> NpyTexts(const Tensor& tensor, const std::string& where) {
  const std::size_t width = TextWidth(tensor.dtype);
  GRBM_CHECK(width > 0);
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < tensor.bytes.size(); at += width) {
    const std::string_view element = tensor.bytes.substr(at, width);
    std::string& text = texts.emplace_back();
    if (tensor.dtype.starts_with("|S")) {
      text = element;
    } else {
      ByteReader reader(element, where);
      for (std::size_t k = 0; k < width / 4; ++k) {
        const auto code = reader.Number<std::uint32_t>("a character");
        if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
          throw DataError(fmt::format("{}: element {} (counted from 0) has {}, which is no character", where,
                                      texts.size() - 1, code));
        }
        AppendUtf8(text, code);
      }
    }
    text.erase(text.find_last_not_of('\0') + 1);  // the padding
  }
  return texts;
}

}  // namespace grbm
