// Features of images on the Inception network of 2015-12-05, on which Fréchet Inception distances are defined.
// docs/inception.md says what is computed and how to get the weights.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/core/tensor.h"
#include "grbm/data/image_shape.h"

namespace grbm {

class Inception {
 public:
  // Weights with batch normalisation folded in, as python/tools/convert_inception.py writes them: <layer>.weight (OIHW)
  // and <layer>.bias. A file may end early: then fewer taps work. Throws IoError where the file cannot be read, DataError
  // where it is not valid, has a tensor of another shape, or lacks what even the first tap needs.
  static Inception Load(const std::string& path);
  // The same of tensors in memory.
  explicit Inception(const TensorFile& weights);
  ~Inception();
  Inception(Inception&&) noexcept;
  Inception& operator=(Inception&&) noexcept;

  // Of 64, 192, 768 and 2048, those whose layers the file has. A tap's name is the number of its features: the spatial
  // means after the first and the second max-pool, after Mixed_6e and after Mixed_7c.
  std::vector<int> taps() const;
  // Throws DataError for a tap that is not among them: what is missing, and what works.
  void CheckTap(int tap) const;
  // Of the file's bytes; tells weights apart. Empty for tensors in memory.
  const std::string& digest() const { return digest_; }

  // images: rows × shape.size(), 1 or 3 channels, channels last. out: rows × tap. A row's features depend on its image
  // alone: neither on the other rows nor on the number of threads.
  void Features(MatrixView<const std::uint8_t> images, const ImageShape& shape, int tap, MutableMatrix out,
                ThreadPool& pool) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::string digest_;
};

}  // namespace grbm
