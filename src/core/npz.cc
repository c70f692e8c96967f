#include "grbm/core/npz.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <set>

#include "core/bytes.h"
#include "core/npy.h"
#include "core/zip.h"
#include "grbm/core/error.h"
#include "grbm/core/file.h"

namespace grbm {

namespace {

constexpr std::uint64_t kMaxInflated = std::uint64_t{1} << 32;  // in memory; elsewhere, what is there is the limit
constexpr std::string_view kExtension = ".npy";

TensorFile FileOf(std::string contents, const std::string& source) {
  TensorFile file;
  file.source = source;
  file.storage.push_back(std::make_shared<const std::string>(std::move(contents)));
  return file;
}

void AppendMembers(TensorFile& file, std::string_view archive, std::uint64_t large,
                   const std::function<InflatedBytes()>& elsewhere, bool text) {
  std::set<std::string> names;
  std::uint64_t inflated = 0;
  for (const ZipMember& member : ListZip(archive, file.source)) {
    const std::string where = fmt::format("{}: member {}", file.source, Quoted(member.name));
    if (!member.name.ends_with(kExtension)) throw DataError(where + ": expected is an .npy array");
    if (!names.insert(member.name).second) throw DataError(where + ": the name is there twice");
    std::string_view content = member.data;
    if (member.deflated && member.size >= large) {
      const InflatedBytes bytes = elsewhere();
      Inflate(member, member.size, file.source, bytes.take);
      content = bytes.finish();
    } else if (member.deflated) {
      file.storage.push_back(
          std::make_shared<const std::string>(Inflate(member, kMaxInflated - inflated, file.source)));
      content = *file.storage.back();
      inflated += content.size();
    }
    CheckCrc(content, member, file.source);
    AppendNpy(file, member.name.substr(0, member.name.size() - kExtension.size()), content, where, text);
  }
}

void AppendAll(TensorFile& file, std::string_view archive, std::uint64_t large,
               const std::function<InflatedBytes()>& elsewhere, bool text) {
  try {
    AppendMembers(file, archive, large, elsewhere, text);
  } catch (const std::bad_alloc&) {
    throw DataError(file.source + ": its content does not fit into memory");
  }
}

}  // namespace

TensorFile ParseNpy(std::string contents, const std::string& source) {
  TensorFile file = FileOf(std::move(contents), source);
  AppendNpy(file, "", *file.storage.front(), source);
  return file;
}

TensorFile ParseNpz(std::string contents, const std::string& source) {
  TensorFile file = FileOf(std::move(contents), source);
  const std::string_view archive = *file.storage.front();
  AppendAll(file, archive, std::numeric_limits<std::uint64_t>::max(), {}, false);
  return file;
}

TensorFile ParseNpzAt(std::string_view archive, const std::string& source, std::uint64_t large,
                      const std::function<InflatedBytes()>& inflated) {
  TensorFile file;
  file.source = source;
  AppendAll(file, archive, std::min(large, kMaxInflated), inflated, true);
  return file;
}

TensorFile ReadNpy(const std::string& path) { return ParseNpy(ReadFile(path), path); }
TensorFile ReadNpz(const std::string& path) { return ParseNpz(ReadFile(path), path); }

void WriteNpy(const std::string& path, const Tensor& tensor) {
  const std::string header = NpyHeader(tensor, path);
  WriteFileAtomically(path, std::array<std::string_view, 2>{header, tensor.bytes});
}

void WriteNpz(const std::string& path, std::span<const Tensor> tensors) {
  ZipWriter writer(path);
  std::set<std::string_view> names;
  for (const Tensor& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      throw DataError(fmt::format("{}: two arrays with the name {}", path, Quoted(tensor.name)));
    }
    writer.Add(tensor.name + std::string(kExtension), NpyHeader(tensor, path), tensor.bytes);
  }
  WriteFileAtomically(path, writer.Finish());
}

}  // namespace grbm
