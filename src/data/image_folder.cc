#include "data/image_folder.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <system_error>
#include <type_traits>

#include "core/bytes.h"
#include "data/columns.h"
#include "data/image.h"
#include "data/mapped_file.h"
#include "data/row_store.h"
#include "grbm/core/error.h"
#include "grbm/core/file.h"

namespace grbm {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartition = "list_eval_partition.txt";
constexpr std::array<std::string_view, 3> kSplits = {"train", "valid", "test"};  // 0, 1, 2 in the file
constexpr Index kBlock = 1024;                                                   // images between calls of progress
constexpr Index kMostValues = Index{1} << 24;  // of such a block, unless one image has more

std::string Extension(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension;
}

bool OneOf(const std::string& word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

std::string Join(const std::string& folder, const std::string& name) { return (fs::path(folder) / name).string(); }

std::array<fs::path, 2> PartitionPlaces(const std::string& folder) {
  fs::path parent = fs::path(folder).lexically_normal();
  if (!parent.has_filename()) parent = parent.parent_path();  // "folder/"
  return {fs::path(folder), parent.parent_path()};
}

// Lines of "name split". Empty where there is no such file.
std::map<std::string, int> ReadPartition(const std::string& folder) {
  std::map<std::string, int> partition;
  for (const fs::path& place : PartitionPlaces(folder)) {
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

// The values of an image as bytes or floats. Nothing where it has more bits than a byte.
template <typename Value>
const Value* ValuesAs(const DecodedImage& image, std::vector<Value>& space) {
  if (const auto* same = std::get_if<std::vector<Value>>(&image.values)) return same->data();
  if constexpr (std::is_same_v<Value, float>) {
    const auto& bytes = std::get<std::vector<std::uint8_t>>(image.values);
    space.assign(bytes.begin(), bytes.end());
    return space.data();
  }
  return nullptr;
}

// Decodes the images of a folder, each cropped and resized, in parallel.
class FolderReader {
 public:
  FolderReader(const std::string& folder, const std::vector<std::string>& names, Index crop, Index resize,
               ThreadPool& pool, const LoadProgress& progress)
      : folder_(folder),
        names_(names),
        crop_(crop),
        resize_(resize),
        pool_(pool),
        progress_(progress),
        first_(Decode(0)),
        shape_(TransformedShape(first_.shape, crop, resize, Path(0))) {}

  const ImageShape& shape() const { return shape_; }
  bool first_is_16bit() const { return first_.is_16bit(); }

  // All images, one after the other. Nothing where one has more bits than a Value.
  template <typename Value>
  std::optional<Dataset::Storage> Read() {
    const auto count = static_cast<Index>(names_.size());
    RowStore store(shape_.size(), std::is_same_v<Value, std::uint8_t>);
    store.Expect(count);
    std::atomic<bool> fits = true;
    std::vector<Value> values;
    for (Index done = 0; done < count && fits;) {
      if (progress_ && done > 0) progress_(done, count);
      const Index block = std::min(std::clamp<Index>(kMostValues / shape_.size(), 1, kBlock), count - done);
      values.resize(ToSize(block * shape_.size()));
      pool_.ParallelFor(block, [&](Index i) {
        const DecodedImage image = done + i == 0 ? first_ : Decode(done + i);
        if (!CopyInto(image, done + i, values.data() + shape_.size() * i)) fits = false;
      });
      if (fits) store.Append(std::span<const Value>(values));
      done += block;
    }
    if (!fits) return {};
    if (progress_) progress_(count, count);
    return store.Finish(shape_, folder_);
  }

 private:
  std::string Path(Index i) const { return Join(folder_, names_[static_cast<std::size_t>(i)]); }
  DecodedImage Decode(Index i) const { return DecodeImage(MapFile(Path(i)).bytes, Path(i)); }

  template <typename Value>
  bool CopyInto(const DecodedImage& image, Index i, Value* out) const {
    const ImageShape found = TransformedShape(image.shape, crop_, resize_, Path(i));
    if (found != shape_) {
      throw DataError(fmt::format("{}: {}: expected are {}, as the first image {} has{}", Path(i), SizeText(found),
                                  SizeText(shape_), names_[0],
                                  found.channels == shape_.channels ? ": use data.crop or data.resize" : ""));
    }
    std::vector<Value> space;
    const Value* values = ValuesAs(image, space);
    if (values == nullptr) return false;
    TransformImage(values, image.shape, crop_, resize_, out);
    return true;
  }

  const std::string& folder_;
  const std::vector<std::string>& names_;
  Index crop_;
  Index resize_;
  ThreadPool& pool_;
  const LoadProgress& progress_;
  DecodedImage first_;
  ImageShape shape_;
};

// What lies in a folder, in any order.
struct Listing {
  std::vector<std::string> images;
  std::vector<std::string> folders;
  std::size_t others = 0;
  bool run = false;  // whether it is the folder of a run, which may have pictures, too
};

// `strict`: what cannot be read, and images of other formats, are errors.
Listing List(const std::string& folder, bool strict) {
  Listing listing;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const fs::path& path = entries->path();
    const std::string name = path.filename().string();
    const std::string extension = Extension(path);
    std::error_code ignored;
    if (name.starts_with('.') || name == kPartition) continue;
    if (name == "manifest.json") listing.run = true;
    if (strict && OneOf(extension, {".bmp", ".gif", ".webp", ".tif", ".tiff", ".jp2", ".avif", ".heic"})) {
      throw DataError(
          fmt::format("{}: images of this format are not read: allowed are PNG and JPEG: convert it", path.string()));
    }
    if (OneOf(extension, {".png", ".jpg", ".jpeg"}) && !fs::is_directory(path, ignored)) {
      listing.images.push_back(name);
    } else if (fs::is_directory(path, ignored)) {
      listing.folders.push_back(name);
    } else {
      ++listing.others;
    }
  }
  if (error && strict) throw IoError(fmt::format("{}: cannot read the folder: {}", folder, error.message()));
  return listing;
}

// "cat/1.png" is of the class cat.
std::vector<int> ClassLabels(const std::vector<std::string>& names, std::vector<std::string>& classes) {
  std::vector<std::string> labels;
  for (const std::string& name : names) {
    const std::size_t slash = name.find('/');
    if (slash == std::string::npos) return {};
    labels.push_back(name.substr(0, slash));
  }
  return NumberLabels(labels, classes);
}

}  // namespace

bool HasPartition(const std::string& folder) {
  const auto places = PartitionPlaces(folder);
  std::error_code error;
  return std::ranges::any_of(places,
                             [&](const fs::path& place) { return fs::is_regular_file(place / kPartition, error); });
}

FolderImages ListImages(const std::string& folder) {
  Listing top = List(folder, true);
  FolderImages all{std::move(top.images), {}};
  std::ranges::sort(all.names);
  std::ranges::sort(top.folders);
  const std::string beside = all.names.empty() ? "" : all.names[0];
  for (const std::string& name : top.folders) {
    const auto [images, folders, others, run] = List(Join(folder, name), beside.empty());
    if (run) continue;
    if (!beside.empty() && !images.empty()) {
      throw DataError(
          fmt::format("{}: images, such as {}, beside folders of images, such as {}: allowed are either: move the "
                      "images into the folders of their classes, or give one folder",
                      folder, beside, name));
    }
    if (beside.empty() && images.empty()) all.notes.push_back(fmt::format("folder {}: no image, and no class", name));
    for (const std::string& image : images) all.names.push_back(fmt::format("{}/{}", name, image));
  }
  if (all.names.empty()) {
    throw DataError(
        fmt::format("{}: no PNG or JPEG image in this folder ({} other files or folders): expected are "
                    "images whose names end in .png, .jpg or .jpeg, or a folder of them for each class",
                    folder, top.others + top.folders.size()));
  }
  std::ranges::sort(all.names);
  return all;
}

ImageSizes MeasureImages(const std::string& folder) {
  ImageSizes sizes;
  for (const std::string& name : ListImages(folder).names) {
    const std::string path = Join(folder, name);
    const FileBytes file = MapFile(path);
    ImageShape shape = PeekSize(file.bytes);
    if (shape.height == 0 || shape.width == 0) shape = DecodeImage(file.bytes, path).shape;
    const auto [small, large] = std::minmax(shape.height, shape.width);
    sizes.smallest = sizes.count == 0 ? small : std::min(sizes.smallest, small);
    sizes.largest = std::max(sizes.largest, large);
    ++sizes.count;
  }
  return sizes;
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
  FolderReader reader(folder, names, crop, resize, pool, progress);
  Dataset::Names classes;
  std::vector<int> labels = ClassLabels(names, classes.labels);
  std::optional<Dataset::Storage> storage;
  if (!reader.first_is_16bit()) storage = reader.Read<std::uint8_t>();
  if (!storage) {
    storage = reader.Read<float>();
    storage->is_16bit = true;
  }
  return Dataset(*std::move(storage), std::move(labels)).WithNames(std::move(classes));
}

Dataset TransformImages(const Dataset& data, Index crop, Index resize, ThreadPool& pool) {
  if (!data.is_8bit() || !data.shape().known()) {
    throw ConfigError(fmt::format("data: crop = {}, resize = {}: {} holds {}: allowed with 8-bit images only", crop,
                                  resize, data.source(), data.is_8bit() ? "no images" : "floats"));
  }
  const ImageShape shape = TransformedShape(data.shape(), crop, resize, data.source());
  RowStore store(shape.size(), true);
  store.Expect(data.rows());
  std::vector<std::uint8_t> values;
  ForRowBlocks(data.rows(), shape.size(), [&](Index first, Index count) {
    values.resize(ToSize(count * shape.size()));
    pool.ParallelFor(count, [&](Index i) {
      TransformImage(static_cast<const std::uint8_t*>(data.row(first + i)), data.shape(), crop, resize,
                     values.data() + shape.size() * i);
    });
    store.Append(std::span<const std::uint8_t>(values));
  });
  const std::span<const int> labels = data.labels();
  return Dataset(store.Finish(shape, data.source()), {labels.begin(), labels.end()});
}

}  // namespace grbm
