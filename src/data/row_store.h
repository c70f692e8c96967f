// Rows as a reader makes them: in memory or, where they would take much of it, in a file without a name, from which the
// system reads what is looked at. So data that must be decoded may be larger than the memory, too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/descriptor.h"
#include "grbm/data/dataset.h"

namespace grbm {

// How many bytes of rows stay in memory: half of the machine's, or GRBM_ROWS_IN_MEMORY of them.
std::uint64_t RowsInMemory();

class RowStore {
 public:
  // Of floats, or of bytes.
  explicit RowStore(Index visible, bool is_8bit = false, std::uint64_t in_memory = RowsInMemory());

  // So many rows will come, as the file says: makes room for them, or throws IoError now where there is none.
  void Expect(Index rows);

  // Further values, row after row; whole rows by the end. Throws IoError where there is no room for the file, in TMPDIR or,
  // without that, /var/tmp.
  void Append(std::span<const float> values) {
    AppendBytes({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  void Append(std::span<const std::uint8_t> values) {
    AppendBytes({reinterpret_cast<const char*>(values.data()), values.size()});
  }

  // What a Dataset is made of. Nothing can be appended then.
  Dataset::Storage Finish(ImageShape shape, const std::string& source);

  bool in_file() const { return file_.ok(); }

 private:
  void AppendBytes(std::string_view bytes);
  void Flush();

  Index visible_;
  bool is_8bit_;
  std::uint64_t in_memory_;
  std::uint64_t size_ = 0;   // bytes in all
  std::vector<char> bytes_;  // all of them, or those that the file does not have yet
  std::string path_;         // the file's, for messages
  Descriptor file_;
};

// Calls body(first, count) for all rows, some megabytes of values at a time.
template <typename Body>
void ForRowBlocks(Index rows, Index visible, Body body) {
  const Index at_once = std::max<Index>(1, (Index{1} << 20) / std::max<Index>(1, visible));
  for (Index first = 0; first < rows; first += at_once) body(first, std::min(at_once, rows - first));
}

}  // namespace grbm
