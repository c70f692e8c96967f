// HDF5 files, of which arrays, texts and attributes are read. Only where libhdf5 is.
#pragma once

#include <fmt/core.h>
#include <hdf5.h>

#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/row_store.h"
#include "grbm/core/error.h"
#include "grbm/core/matrix.h"

namespace grbm {

// An identifier of the HDF5 library, closed at its end.
class Hdf5Handle {
 public:
  Hdf5Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&&) = delete;
  ~Hdf5Handle() {
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
  bool IsArray(const std::string& name) const { return Is(H5I_DATASET, name); }
  bool IsGroup(const std::string& name) const { return Is(H5I_GROUP, name); }

  // Of what lies in a group; "/": at the top.
  std::vector<std::string> Names(const std::string& group) const {
    std::vector<std::string> names;
    H5Literate_by_name(
        file_, group.c_str(), H5_INDEX_NAME, H5_ITER_INC, nullptr,
        [](hid_t, const char* name, const H5L_info_t*, void* list) -> herr_t {
          static_cast<std::vector<std::string>*>(list)->emplace_back(name);
          return 0;
        },
        &names, H5P_DEFAULT);
    return names;
  }

  int Rank(const std::string& name) const {
    const Hdf5Handle array = OpenArray(name);
    const Hdf5Handle space(H5Dget_space(array), H5Sclose);
    return H5Sget_simple_extent_ndims(space);
  }
  std::vector<Index> Shape(const std::string& name) const {
    const Hdf5Handle array = OpenArray(name);
    const Hdf5Handle space(H5Dget_space(array), H5Sclose);
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

  // What the elements of an array are.
  struct Elements {
    H5T_class_t kind;
    std::size_t size;  // bytes
    bool is_unsigned;

    bool text() const { return kind == H5T_STRING; }
    bool floats() const { return kind == H5T_FLOAT; }
    bool numbers() const { return kind == H5T_INTEGER || kind == H5T_FLOAT || kind == H5T_ENUM; }
    bool bytes() const { return kind == H5T_INTEGER && size == 1 && is_unsigned; }
    bool wide_floats() const { return floats() && size > 4; }
    bool wide_integers() const { return kind == H5T_INTEGER && size >= 4; }
  };
  Elements ElementsOf(const std::string& name) const {
    const Hdf5Handle array = OpenArray(name);
    const Hdf5Handle type(H5Dget_type(array), H5Tclose);
    const H5T_class_t kind = H5Tget_class(type);
    return {kind, H5Tget_size(type), kind == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE};
  }

  // All elements, as numbers of one kind.
  template <typename T>
  std::vector<T> Numbers(const std::string& name, hid_t kind) const {
    const Hdf5Handle array = OpenNumbers(name);
    const std::vector<Index> shape = Shape(name);
    const Index count = std::accumulate(shape.begin(), shape.end(), Index{1}, std::multiplies<>());
    std::vector<T> values(static_cast<std::size_t>(count));
    if (count > 0 && H5Dread(array, kind, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) RefuseRead(name);
    return values;
  }

  // Calls take(values) for the rows of an array of rank 2 or more, some at a time.
  template <typename T, typename Take>
  void ForRows(const std::string& name, hid_t kind, Index visible, Take take) const {
    const Hdf5Handle array = OpenNumbers(name);
    const Hdf5Handle space(H5Dget_space(array), H5Sclose);
    const std::vector<Index> shape = Shape(name);
    std::vector<hsize_t> start(shape.size(), 0);
    std::vector<hsize_t> sizes(shape.begin(), shape.end());
    std::vector<T> values;
    ForRowBlocks(shape[0], visible, [&](Index first, Index count) {
      start[0] = static_cast<hsize_t>(first);
      sizes[0] = static_cast<hsize_t>(count);
      values.resize(ToSize(count * visible));
      const Hdf5Handle room(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose);
      if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, sizes.data(), nullptr) < 0 ||
          H5Dread(array, kind, room, space, H5P_DEFAULT, values.data()) < 0) {
        RefuseRead(name);
      }
      take(std::span<const T>(values));
    });
  }

  std::vector<std::string> Texts(const std::string& name) const {
    const Hdf5Handle array = OpenArray(name);
    const Hdf5Handle type(H5Dget_type(array), H5Tclose);
    const std::vector<Index> shape = Shape(name);
    if (shape.size() != 1) Refuse(name, "not a list");
    const auto count = static_cast<std::size_t>(shape[0]);
    std::vector<std::string> texts;
    if (H5Tis_variable_str(type) > 0) {
      std::vector<char*> words(count, nullptr);
      if (count > 0 && H5Dread(array, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, words.data()) < 0)
        Refuse(name, "cannot be read");
      for (const char* word : words) texts.emplace_back(word == nullptr ? "" : word);
      const Hdf5Handle space(H5Dget_space(array), H5Sclose);
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
    const Hdf5Handle attribute(H5Aopen_by_name(file_, object.c_str(), name, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    if (!attribute.valid()) return {};
    const Hdf5Handle type(H5Aget_type(attribute), H5Tclose);
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
    const Hdf5Handle attribute(H5Aopen_by_name(file_, object.c_str(), name, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    if (!attribute.valid()) return {};
    const Hdf5Handle space(H5Aget_space(attribute), H5Sclose);
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
  bool Is(H5I_type_t kind, const std::string& name) const {
    const Hdf5Handle object(H5Oopen(file_, name.c_str(), H5P_DEFAULT), H5Oclose);
    return object.valid() && H5Iget_type(object) == kind;
  }
  Hdf5Handle OpenArray(const std::string& name) const {
    Hdf5Handle array(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!array.valid()) Refuse(name, "no such array");
    return array;
  }
  Hdf5Handle OpenNumbers(const std::string& name) const {
    if (!ElementsOf(name).numbers()) Refuse(name, "not numbers");
    return OpenArray(name);
  }
  [[noreturn]] void RefuseRead(const std::string& name) const {
    Refuse(name, "cannot be read: truncated, or compressed in a way that is not known here");
  }

  const std::string& path_;
  Hdf5Handle file_;
};

}  // namespace grbm
