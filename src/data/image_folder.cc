#include "data/image_folder.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>

#include "core/bytes.h"
#include "data/image.h"
#include "data/mapped_file.h"
#include "grbm/core/error.h"
#include "grbm/core/file.h"

namespace grbm {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartition = "list_eval_partition.txt";
constexpr std::array<std::string_view, 3> kSplits = {"train", "valid", "test"};  // 0, 1, 2 in the file
constexpr Index kBlock = 1024;                                                   // images between calls of progress

std::string Extension(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension;
}

bool OneOf(const std::string& word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

std::string Join(const std::string& folder, const std::string& name) { return (fs::path(folder) / name).string(); }

// Lines of "name split". Empty where there is no such file.
std::map<std::string, int> ReadPartition(const std::string& folder) {
  fs::path parent = fs::path(folder).lexically_normal();
  if (!parent.has_filename()) parent = parent.parent_path();  // "folder/"
  std::map<std::string, int> partition;
  for (const fs::path& place : {fs::path(folder), parent.parent_path()}) {
    const std::string path = (place / kPartition).string();
    std::error_code error;
    if (!fs::is_regular_file(path, error)) continue;
    const std::string contents = ReadFile(path);
    std::string_view text = contents;
    for (int number = 1; !text.empty(); ++number) {
      std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
      if (line.empty()) continue;
      const std::size_t space = line.find_last_of(" \t");
      const std::string_view split = space == std::string_view::npos ? "" : line.substr(space + 1);
      if (split != "0" && split != "1" && split != "2") {
        throw DataError(fmt::format("{}: line {}: {}: expected is a file's name and 0 (train), 1 (valid) or 2 (test)",
                                    path, number, Quoted(line)));
      }
      const std::size_t end = line.find_last_not_of(" \t", space);
      if (end == std::string_view::npos) {
        throw DataError(fmt::format("{}: line {}: {}: expected is a file's name first", path, number, Quoted(line)));
      }
      partition[std::string(line.substr(0, end + 1))] = split[0] - '0';
    }
    return partition;
  }
  return partition;
}

std::string SizeText(const ImageShape& shape) {
  return fmt::format("{} × {} pixels of {} channel{}", shape.width, shape.height, shape.channels,
                     shape.channels == 1 ? "" : "s");
}

}  // namespace

std::vector<std::string> ListImages(const std::string& folder) {
  std::vector<std::string> names;
  std::size_t others = 0;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const fs::path& path = entries->path();
    const std::string name = path.filename().string();
    const std::string extension = Extension(path);
    std::error_code ignored;
    if (name.starts_with('.') || name == kPartition) continue;
    if (OneOf(extension, {".bmp", ".gif", ".webp", ".tif", ".tiff", ".jp2", ".avif", ".heic"})) {
      throw DataError(
          fmt::format("{}: images of this format are not read: allowed are PNG and JPEG: convert it", path.string()));
    }
    if (OneOf(extension, {".png", ".jpg", ".jpeg"}) && !fs::is_directory(path, ignored)) {
      names.push_back(name);
    } else {
      ++others;
    }
  }
  if (error) throw IoError(fmt::format("{}: cannot read the folder: {}", folder, error.message()));
  if (names.empty()) {
    throw DataError(
        fmt::format("{}: no PNG or JPEG image in this folder ({} other files or folders): expected are "
                    "images whose names end in .png, .jpg or .jpeg",
                    folder, others));
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> SelectSplit(const std::string& folder, std::vector<std::string> names,
                                     const std::string& split) {
  if (split == "all") return names;
  const auto known = std::ranges::find(kSplits, split);
  if (known == kSplits.end()) {
    throw ConfigError(
        fmt::format("data: split = \"{}\": allowed for images are \"train\", \"valid\", \"test\" and "
                    "\"all\"",
                    split));
  }
  const std::map<std::string, int> partition = ReadPartition(folder);
  if (partition.empty()) {
    if (split == "train") return names;
    throw ConfigError(
        fmt::format("data: split = \"{}\": neither in {} nor beside it is a file {}: allowed are "
                    "\"train\" and \"all\", which are all images",
                    split, folder, kPartition));
  }
  std::vector<std::string> selected;
  for (std::string& name : names) {
    const auto entry = partition.find(name);
    if (entry == partition.end()) {
      throw DataError(fmt::format("{}: the image is not listed in {}: add it, or use split \"all\"", Join(folder, name),
                                  kPartition));
    }
    if (entry->second == known - kSplits.begin()) selected.push_back(std::move(name));
  }
  if (selected.empty()) {
    throw DataError(fmt::format("{}: no image of split \"{}\" among {}", folder, split, names.size()));
  }
  return selected;
}

Dataset LoadImages(const std::string& folder, const std::vector<std::string>& names, Index crop, Index resize,
                   ThreadPool& pool, const LoadProgress& progress) {
  GRBM_CHECK(!names.empty());
  const auto path = [&](Index i) { return Join(folder, names[static_cast<std::size_t>(i)]); };
  const auto decode = [&](Index i) { return DecodeImage(MapFile(path(i)).bytes, path(i)); };

  const Image first = decode(0);
  const ImageShape shape = TransformedShape(first.shape(), crop, resize, path(0));
  const auto count = static_cast<Index>(names.size());
  std::vector<std::uint8_t> values(static_cast<std::size_t>(shape.size() * count));
  const auto place = [&](const Image& image, Index i) {
    const ImageShape found = TransformedShape(image.shape(), crop, resize, path(i));
    if (found != shape) {
      throw DataError(fmt::format("{}: {}: expected are {}, as the first image {} has{}", path(i), SizeText(found),
                                  SizeText(shape), names[0],
                                  found.channels == shape.channels ? ": use data.crop or data.resize" : ""));
    }
    TransformImage(image.pixels.data(), image.shape(), crop, resize, values.data() + shape.size() * i);
  };
  place(first, 0);
  for (Index done = 1; done < count;) {
    if (progress) progress(done, count);
    const Index block = std::min(kBlock, count - done);
    pool.ParallelFor(block, [&](Index i) { place(decode(done + i), done + i); });
    done += block;
  }
  if (progress) progress(count, count);
  return {std::move(values), shape.size(), shape, folder};
}

Dataset TransformImages(const Dataset& data, Index crop, Index resize, ThreadPool& pool) {
  if (!data.is_8bit() || !data.shape().known()) {
    throw ConfigError(fmt::format("data: crop = {}, resize = {}: {} holds {}: allowed with 8-bit images only", crop,
                                  resize, data.source(), data.is_8bit() ? "no images" : "floats"));
  }
  const ImageShape shape = TransformedShape(data.shape(), crop, resize, data.source());
  std::vector<std::uint8_t> values(static_cast<std::size_t>(shape.size() * data.rows()));
  pool.ParallelFor(data.rows(), [&](Index i) {
    TransformImage(static_cast<const std::uint8_t*>(data.row(i)), data.shape(), crop, resize,
                   values.data() + shape.size() * i);
  });
  const std::span<const int> labels = data.labels();
  return {std::move(values), shape.size(), shape, data.source(), {labels.begin(), labels.end()}};
}

}  // namespace grbm
