#include "data/hdf5.h"

#include "grbm/core/error.h"

#ifdef GRBM_HAS_HDF5
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "data/column_steps.h"
#include "data/columns.h"
#include "data/hdf5_file.h"
#include "data/idx.h"
#include "data/sparse.h"
#endif

namespace grbm {

bool IsHdf5(std::string_view bytes) { return bytes.starts_with("\x89HDF\r\n\x1a\n"); }

#ifndef GRBM_HAS_HDF5

Dataset ReadHdf5Rows(const std::string& path, const ArrayOptions&) {
  throw DataError(path +
                  ": an HDF5 file: this build of grbm does not read them: build it where libhdf5-dev is installed");
}

#else

namespace {

// "csr_matrix", "csc_matrix" or, as older versions wrote it, "csr", "csc"; something else or nothing: no sparse matrix.
std::string SparseFormat(const Hdf5File& file, const std::string& group) {
  const std::string format = file.TextAttribute(group, "encoding-type");
  return format.empty() ? file.TextAttribute(group, "h5sparse_format") : format;
}
bool ByRows(const std::string& format) { return format.starts_with("csr"); }
bool ByColumns(const std::string& format) { return format.starts_with("csc"); }

// The arrays and sparse matrices of a file or of a group, by their full paths.
class Contents {
 public:
  explicit Contents(const Hdf5File& file, const std::string& group = "") : file_(file) { Collect(group, 0); }

  const std::vector<std::string>& of_rows() const { return of_rows_; }  // of numbers, of rank 2 to 4
  const std::vector<std::string>& all() const { return all_; }
  bool whole() const { return seen_ <= kMostSeen; }

  static std::string Text(const std::vector<std::string>& names) {
    constexpr std::size_t kShown = 12;
    if (names.empty()) return "none";
    const auto shown = std::span(names).first(std::min(kShown, names.size()));
    return fmt::format("{}{}", fmt::join(shown, ", "),
                       names.size() > kShown ? fmt::format(" and {} more", names.size() - kShown) : "");
  }

 private:
  void Collect(const std::string& group, int depth) {
    for (const std::string& name : file_.Names(group.empty() ? "/" : group)) {
      if (++seen_ > kMostSeen) return;
      const std::string path = group.empty() ? name : fmt::format("{}/{}", group, name);
      if (file_.IsArray(path)) {
        all_.push_back(path);
        const int rank = file_.Rank(path);
        if (rank >= 2 && rank <= 4 && file_.ElementsOf(path).numbers()) of_rows_.push_back(path);
      } else if (file_.IsGroup(path)) {
        const std::string format = SparseFormat(file_, path);
        if (ByRows(format) || ByColumns(format)) {
          all_.push_back(path);
          of_rows_.push_back(path);
        } else if (depth < kMostDepth) {
          Collect(path, depth + 1);
        }
      }
    }
  }

  // A group may hold itself: there is an end.
  static constexpr int kMostDepth = 8;
  static constexpr int kMostSeen = 1000;

  const Hdf5File& file_;
  std::vector<std::string> of_rows_;
  std::vector<std::string> all_;
  int seen_ = 0;
};

// What is meant where no key is given.
std::string DefaultKey(const Hdf5File& file, const std::string& path) {
  if (file.Has("X") && file.Has("obs")) return "X";
  const Contents contents(file);
  const std::vector<std::string>& arrays = contents.of_rows();
  if (!contents.whole() && arrays.size() < 2) {
    throw ConfigError(fmt::format("{}: more arrays and groups than are looked through: say which by data.key", path));
  }
  if (arrays.size() == 1) return arrays[0];
  if (arrays.empty()) {
    throw DataError(fmt::format("{}: no array of numbers whose rank is 2 to 4: there are {}", path,
                                Contents::Text(contents.all())));
  }
  throw ConfigError(fmt::format("{}: {} arrays of rows and values: say which by data.key: there are {}", path,
                                arrays.size(), Contents::Text(arrays)));
}

Dataset::Storage ReadSparse(const Hdf5File& file, const std::string& key, const std::string& path) {
  const std::string format = SparseFormat(file, key);
  std::vector<std::int64_t> shape = file.NumbersAttribute(key, "shape");
  if (shape.empty()) shape = file.NumbersAttribute(key, "h5sparse_shape");
  const bool columns = ByColumns(format);
  if ((!ByRows(format) && !columns) || shape.size() != 2 || shape[0] < 1 || shape[1] < 1) {
    const Contents contents(file, key);
    if (!contents.all().empty() && !ByRows(format) && !columns) {
      file.Refuse(key, "a group: name an array of it: there are " + Contents::Text(contents.all()));
    }
    file.Refuse(key,
                "a group that is no sparse matrix: expected are the attributes encoding-type, csr_matrix or "
                "csc_matrix, and shape");
  }
  if (shape[0] > (std::int64_t{1} << 40) / shape[1]) file.Refuse(key, "more than 2^40 elements");
  const std::vector<float> values = file.Numbers<float>(key + "/data", H5T_NATIVE_FLOAT);
  const auto indices = file.Numbers<std::int64_t>(key + "/indices", H5T_NATIVE_INT64);
  const auto indptr = file.Numbers<std::int64_t>(key + "/indptr", H5T_NATIVE_INT64);
  RowStore store(shape[1]);
  AppendDense({static_cast<Index>(shape[0]), static_cast<Index>(shape[1]), columns, values, indices, indptr},
              path + ": " + key, store);
  return store.Finish({}, path);
}

// Where an array of one element per row, or a column of obs, lies; `setting` asked for it.
std::string PlaceOf(const Hdf5File& file, const std::string& name, const char* setting, const std::string& path) {
  const std::string place = file.Has(name) ? name : "obs/" + name;
  if (file.Has(place)) return place;
  throw ConfigError(fmt::format("{}: data.{} = {}: no such array, and no such column of obs", path, setting, name));
}

// Numbers as names of classes: whole ones without a point, others as short as they can be told apart.
template <typename T>
std::vector<std::string> NumberTexts(const Hdf5File& file, const std::string& name, hid_t kind, bool fractions) {
  std::vector<std::string> texts;
  for (const T number : file.Numbers<T>(name, kind)) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::abs(number) < T{0x1p53} && number == std::floor(number)) {
        texts.push_back(fmt::format("{}", static_cast<std::int64_t>(number)));
        continue;
      }
      if (!fractions || !std::isfinite(number)) {
        file.Refuse(name,
                    fmt::format("{} is no label: allowed are whole numbers below 2^53, text and categories", number));
      }
    }
    texts.push_back(fmt::format("{}", number));
  }
  return texts;
}

// The elements of a list as names of classes; `fractions`: whether numbers that are not whole may be.
std::vector<std::string> ClassTexts(const Hdf5File& file, const std::string& name, bool fractions) {
  const Hdf5File::Elements elements = file.ElementsOf(name);
  if (elements.text()) return file.Texts(name);
  if (elements.floats() && elements.size <= 4) return NumberTexts<float>(file, name, H5T_NATIVE_FLOAT, fractions);
  if (elements.floats()) return NumberTexts<double>(file, name, H5T_NATIVE_DOUBLE, fractions);
  if (elements.is_unsigned) return NumberTexts<std::uint64_t>(file, name, H5T_NATIVE_UINT64, fractions);
  return NumberTexts<std::int64_t>(file, name, H5T_NATIVE_INT64, fractions);
}

std::vector<int> ReadLabels(const Hdf5File& file, const std::string& label, const std::string& path,
                            std::vector<std::string>& names) {
  const std::string place = PlaceOf(file, label, "label", path);
  if (file.IsArray(place)) return NumberLabels(ClassTexts(file, place, false), names);
  // AnnData's categories
  const auto codes = file.Numbers<std::int64_t>(place + "/codes", H5T_NATIVE_INT64);
  const std::vector<std::string> categories = ClassTexts(file, place + "/categories", true);
  std::vector<std::string> texts;
  for (const std::int64_t code : codes) {
    if (code < 0 || code >= std::ssize(categories)) {
      file.Refuse(place,
                  fmt::format("code {}: a label is missing, or not among the {} categories", code, categories.size()));
    }
    texts.push_back(categories[static_cast<std::size_t>(code)]);
  }
  return NumberLabels(texts, names);
}

std::vector<double> ReadWeights(const Hdf5File& file, const std::string& weight, const std::string& path) {
  const std::string place = PlaceOf(file, weight, "weight", path);
  std::vector<double> weights = file.Numbers<double>(place, H5T_NATIVE_DOUBLE);
  if (weights.empty()) file.Refuse(place, "no weights: expected is one for each row");
  return weights;
}

// Rows of a type that tells more apart than floats do. The warning where that is lost.
template <typename T>
std::string AppendWide(const Hdf5File& file, const std::string& key, hid_t kind, Index visible, RowStore& store,
                       const std::string& path) {
  ColumnSteps<T> steps(visible);
  std::vector<float> floats;
  file.ForRows<T>(key, kind, visible, [&](std::span<const T> values) {
    for (std::size_t at = 0; at < values.size(); at += ToSize(visible)) steps.Add(values.subspan(at, ToSize(visible)));
    floats.resize(values.size());
    std::ranges::transform(values, floats.begin(), [](T value) { return static_cast<float>(value); });
    store.Append(floats);
  });
  return steps.Warning(path);
}

Dataset::Storage ReadValues(const Hdf5File& file, const std::string& key, const std::string& path) {
  if (!file.IsArray(key)) return ReadSparse(file, key, path);
  const std::vector<Index> sizes = file.Shape(key);
  const ImageShape shape = ShapeOfRows(sizes, path + ": " + key);
  const Index visible = shape.known() ? shape.size() : sizes[1];
  const Hdf5File::Elements elements = file.ElementsOf(key);
  RowStore store(visible, elements.bytes());
  store.Expect(sizes[0]);
  std::string warning;
  if (elements.wide_floats()) {
    warning = AppendWide<double>(file, key, H5T_NATIVE_DOUBLE, visible, store, path);
  } else if (elements.wide_integers() && elements.is_unsigned) {
    warning = AppendWide<std::uint64_t>(file, key, H5T_NATIVE_UINT64, visible, store, path);
  } else if (elements.wide_integers()) {
    warning = AppendWide<std::int64_t>(file, key, H5T_NATIVE_INT64, visible, store, path);
  } else if (elements.bytes()) {
    file.ForRows<std::uint8_t>(key, H5T_NATIVE_UINT8, visible, [&](auto values) { store.Append(values); });
  } else {
    file.ForRows<float>(key, H5T_NATIVE_FLOAT, visible, [&](auto values) { store.Append(values); });
  }
  Dataset::Storage storage = store.Finish(shape, path);
  storage.warning = std::move(warning);
  return storage;
}

}  // namespace

Dataset ReadHdf5Rows(const std::string& path, const ArrayOptions& options) {
  const Hdf5File file(path);
  const std::string name = options.key.empty() ? DefaultKey(file, path) : options.key;
  if (!file.Has(name)) {
    throw ConfigError(fmt::format("{}: data.key = {}: no such array: there are {}", path, name,
                                  Contents::Text(Contents(file).all())));
  }
  Dataset::Names names;
  std::vector<int> labels;
  if (!options.label.empty()) labels = ReadLabels(file, options.label, path, names.labels);
  Dataset::Storage values = ReadValues(file, name, path);
  values.gaps = options.gaps;
  Dataset data(std::move(values), std::move(labels));
  if (name == "X" && file.Has("var")) {
    std::string index = file.TextAttribute("var", "_index");
    if (index.empty()) index = "_index";
    const std::string place = "var/" + index;
    if (file.Has(place) && file.IsArray(place) && file.ElementsOf(place).text()) names.columns = file.Texts(place);
    if (std::ssize(names.columns) != data.visible()) names.columns.clear();
  }
  data = data.WithNames(std::move(names));
  return options.weight.empty() ? data : data.WithWeights(ReadWeights(file, options.weight, path));
}

#endif

}  // namespace grbm
