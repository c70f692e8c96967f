#include "data/hdf5.h"

#include "grbm/core/error.h"

#ifdef GRBM_HAS_HDF5
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <hdf5.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "data/columns.h"
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

// An identifier of the HDF5 library, closed at its end.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }
  bool valid() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

class Hdf5File {
 public:
  explicit Hdf5File(const std::string& path) : path_(path), file_(Open(path), H5Fclose) {
    if (!file_.valid()) throw DataError(path_ + ": not a valid HDF5 file: truncated?");
  }

  bool Has(const std::string& name) const {
    // Every part of the path is asked for by itself: the library says nothing of those below one that is not there.
    for (std::size_t at = 0; at != std::string::npos;) {
      at = name.find('/', at + 1);
      if (H5Lexists(file_, name.substr(0, at).c_str(), H5P_DEFAULT) <= 0) return false;
    }
    return true;
  }
  bool IsArray(const std::string& name) const {
    const Handle object(H5Oopen(file_, name.c_str(), H5P_DEFAULT), H5Oclose);
    return object.valid() && H5Iget_type(object) == H5I_DATASET;
  }

  std::vector<std::string> TopNames() const {
    std::vector<std::string> names;
    H5Literate(
        file_, H5_INDEX_NAME, H5_ITER_INC, nullptr,
        [](hid_t, const char* name, const H5L_info_t*, void* list) -> herr_t {
          static_cast<std::vector<std::string>*>(list)->emplace_back(name);
          return 0;
        },
        &names);
    return names;
  }

  std::vector<Index> Shape(const std::string& name) const {
    const Handle array = OpenArray(name);
    const Handle space(H5Dget_space(array), H5Sclose);
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 0) Refuse(name, "not a plain array");
    std::vector<hsize_t> sizes(static_cast<std::size_t>(rank));
    if (rank > 0) H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
    std::uint64_t elements = 1;
    std::vector<Index> shape;
    for (const hsize_t size : sizes) {
      if (size > (std::uint64_t{1} << 40) || (size > 0 && elements > (std::uint64_t{1} << 40) / size)) {
        Refuse(name, "more than 2^40 elements");
      }
      elements *= size;
      shape.push_back(static_cast<Index>(size));
    }
    return shape;
  }

  bool IsByte(const std::string& name) const {
    const Handle array = OpenArray(name);
    const Handle type(H5Dget_type(array), H5Tclose);
    return H5Tget_class(type) == H5T_INTEGER && H5Tget_size(type) == 1 && H5Tget_sign(type) == H5T_SGN_NONE;
  }
  bool IsText(const std::string& name) const {
    const Handle array = OpenArray(name);
    const Handle type(H5Dget_type(array), H5Tclose);
    return H5Tget_class(type) == H5T_STRING;
  }

  // All elements, as numbers of one kind.
  template <typename T>
  std::vector<T> Numbers(const std::string& name, hid_t kind) const {
    const Handle array = OpenNumbers(name);
    const std::vector<Index> shape = Shape(name);
    const Index count = std::accumulate(shape.begin(), shape.end(), Index{1}, std::multiplies<>());
    std::vector<T> values(static_cast<std::size_t>(count));
    if (count > 0 && H5Dread(array, kind, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) RefuseRead(name);
    return values;
  }

  // The rows of an array of rank 2 or more, some at a time.
  template <typename T>
  void AppendRows(const std::string& name, hid_t kind, Index visible, RowStore& store) const {
    const Handle array = OpenNumbers(name);
    const Handle space(H5Dget_space(array), H5Sclose);
    const std::vector<Index> shape = Shape(name);
    store.Expect(shape[0]);
    std::vector<hsize_t> start(shape.size(), 0);
    std::vector<hsize_t> sizes(shape.begin(), shape.end());
    std::vector<T> values;
    ForRowBlocks(shape[0], visible, [&](Index first, Index count) {
      start[0] = static_cast<hsize_t>(first);
      sizes[0] = static_cast<hsize_t>(count);
      values.resize(static_cast<std::size_t>(count * visible));
      const Handle room(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose);
      if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, sizes.data(), nullptr) < 0 ||
          H5Dread(array, kind, room, space, H5P_DEFAULT, values.data()) < 0) {
        RefuseRead(name);
      }
      store.Append(std::span<const T>(values));
    });
  }

  std::vector<std::string> Texts(const std::string& name) const {
    const Handle array = OpenArray(name);
    const Handle type(H5Dget_type(array), H5Tclose);
    const std::vector<Index> shape = Shape(name);
    if (shape.size() != 1) Refuse(name, "not a list");
    const auto count = static_cast<std::size_t>(shape[0]);
    std::vector<std::string> texts;
    if (H5Tis_variable_str(type) > 0) {
      std::vector<char*> words(count, nullptr);
      if (count > 0 && H5Dread(array, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, words.data()) < 0)
        Refuse(name, "cannot be read");
      for (const char* word : words) texts.emplace_back(word == nullptr ? "" : word);
      const Handle space(H5Dget_space(array), H5Sclose);
      H5Dvlen_reclaim(type, space, H5P_DEFAULT, words.data());
      return texts;
    }
    const std::size_t width = H5Tget_size(type);
    if (width == 0 || width > 65536) Refuse(name, "text of a length that is not known");
    std::string bytes(count * width, '\0');
    if (count > 0 && H5Dread(array, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0)
      Refuse(name, "cannot be read");
    for (std::size_t i = 0; i < count; ++i) texts.emplace_back(bytes.substr(i * width, width).c_str());
    return texts;
  }

  // An attribute of an object; empty where it has none.
  std::string TextAttribute(const std::string& object, const char* name) const {
    const Handle attribute(H5Aopen_by_name(file_, object.c_str(), name, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    if (!attribute.valid()) return {};
    const Handle type(H5Aget_type(attribute), H5Tclose);
    if (H5Tget_class(type) != H5T_STRING) return {};
    if (H5Tis_variable_str(type) > 0) {
      char* text = nullptr;
      if (H5Aread(attribute, type, &text) < 0 || text == nullptr) return {};
      std::string copy = text;
      H5free_memory(text);
      return copy;
    }
    std::string text(H5Tget_size(type), '\0');
    if (H5Aread(attribute, type, text.data()) < 0) return {};
    return text.c_str();
  }
  std::vector<std::int64_t> NumbersAttribute(const std::string& object, const char* name) const {
    const Handle attribute(H5Aopen_by_name(file_, object.c_str(), name, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    if (!attribute.valid()) return {};
    const Handle space(H5Aget_space(attribute), H5Sclose);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    if (count <= 0 || count > 16) return {};
    std::vector<std::int64_t> values(static_cast<std::size_t>(count));
    if (H5Aread(attribute, H5T_NATIVE_INT64, values.data()) < 0) return {};
    return values;
  }

  [[noreturn]] void Refuse(const std::string& name, const std::string& what) const {
    throw DataError(fmt::format("{}: {}: {}", path_, name, what));
  }

 private:
  static hid_t Open(const std::string& path) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // the library is told what to say, and says nothing by itself
    return H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  }
  Handle OpenArray(const std::string& name) const {
    Handle array(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!array.valid()) Refuse(name, "no such array");
    return array;
  }
  Handle OpenNumbers(const std::string& name) const {
    Handle array = OpenArray(name);
    const Handle type(H5Dget_type(array), H5Tclose);
    const H5T_class_t type_class = H5Tget_class(type);
    if (type_class != H5T_INTEGER && type_class != H5T_FLOAT && type_class != H5T_ENUM) Refuse(name, "not numbers");
    return array;
  }
  [[noreturn]] void RefuseRead(const std::string& name) const {
    Refuse(name, "cannot be read: truncated, or compressed in a way that is not known here");
  }

  const std::string& path_;
  Handle file_;
};

// What is meant where no key is given.
std::string DefaultKey(const Hdf5File& file, const std::string& path) {
  std::vector<std::string> arrays;
  const std::vector<std::string> names = file.TopNames();
  if (std::ranges::find(names, "X") != names.end() && std::ranges::find(names, "obs") != names.end()) return "X";
  for (const std::string& name : names) {
    if (!file.IsArray(name)) continue;
    const std::size_t rank = file.Shape(name).size();
    if (rank >= 2 && rank <= 4) arrays.push_back(name);
  }
  if (arrays.size() == 1) return arrays[0];
  throw ConfigError(fmt::format("{}: {} arrays of rows and values: say which by data.key: there are {}", path,
                                arrays.size(), fmt::join(names, ", ")));
}

Dataset::Storage ReadSparse(const Hdf5File& file, const std::string& key, const std::string& path) {
  std::string format = file.TextAttribute(key, "encoding-type");
  if (format.empty()) format = file.TextAttribute(key, "h5sparse_format");  // as older versions wrote it
  std::vector<std::int64_t> shape = file.NumbersAttribute(key, "shape");
  if (shape.empty()) shape = file.NumbersAttribute(key, "h5sparse_shape");
  const bool rows = format.starts_with("csr");
  const bool columns = format.starts_with("csc");
  if ((!rows && !columns) || shape.size() != 2 || shape[0] < 1 || shape[1] < 1) {
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

std::vector<int> ReadLabels(const Hdf5File& file, const std::string& label, const std::string& path,
                            std::vector<std::string>& names) {
  const std::string place = PlaceOf(file, label, "label", path);
  std::vector<std::string> texts;
  if (!file.IsArray(place)) {  // AnnData's categories
    const auto codes = file.Numbers<std::int64_t>(place + "/codes", H5T_NATIVE_INT64);
    std::vector<std::string> categories;
    if (file.IsText(place + "/categories")) {
      categories = file.Texts(place + "/categories");
    } else {
      for (const auto number : file.Numbers<std::int64_t>(place + "/categories", H5T_NATIVE_INT64)) {
        categories.push_back(fmt::format("{}", number));
      }
    }
    for (const std::int64_t code : codes) {
      if (code < 0 || code >= std::ssize(categories)) {
        file.Refuse(
            place, fmt::format("code {}: a label is missing, or not among the {} categories", code, categories.size()));
      }
      texts.push_back(categories[static_cast<std::size_t>(code)]);
    }
  } else if (file.IsText(place)) {
    texts = file.Texts(place);
  } else {
    for (const auto number : file.Numbers<std::int64_t>(place, H5T_NATIVE_INT64)) {
      texts.push_back(fmt::format("{}", number));
    }
  }
  return NumberLabels(texts, names);
}

std::vector<double> ReadWeights(const Hdf5File& file, const std::string& weight, const std::string& path) {
  const std::string place = PlaceOf(file, weight, "weight", path);
  std::vector<double> weights = file.Numbers<double>(place, H5T_NATIVE_DOUBLE);
  if (weights.empty()) file.Refuse(place, "no weights: expected is one for each row");
  return weights;
}

Dataset::Storage ReadValues(const Hdf5File& file, const std::string& key, const std::string& path) {
  if (!file.IsArray(key)) return ReadSparse(file, key, path);
  const std::vector<Index> sizes = file.Shape(key);
  const ImageShape shape = ShapeOfRows(sizes, path + ": " + key);
  const Index visible = shape.known() ? shape.size() : sizes[1];
  const bool bytes = file.IsByte(key);
  RowStore store(visible, bytes);
  if (bytes) {
    file.AppendRows<std::uint8_t>(key, H5T_NATIVE_UINT8, visible, store);
  } else {
    file.AppendRows<float>(key, H5T_NATIVE_FLOAT, visible, store);
  }
  return store.Finish(shape, path);
}

}  // namespace

Dataset ReadHdf5Rows(const std::string& path, const ArrayOptions& options) {
  const Hdf5File file(path);
  const std::string name = options.key.empty() ? DefaultKey(file, path) : options.key;
  if (!file.Has(name)) {
    throw ConfigError(
        fmt::format("{}: data.key = {}: no such array: there are {}", path, name, fmt::join(file.TopNames(), ", ")));
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
    if (file.Has(place) && file.IsArray(place) && file.IsText(place)) names.columns = file.Texts(place);
    if (std::ssize(names.columns) != data.visible()) names.columns.clear();
  }
  data = data.WithNames(std::move(names));
  return options.weight.empty() ? data : data.WithWeights(ReadWeights(file, options.weight, path));
}

#endif

}  // namespace grbm
