// Files as bytes in memory, without reading what is not looked at.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace grbm {

struct FileBytes {
  std::shared_ptr<const void> owner;
  std::string_view bytes;  // valid while `owner` lives
};

// The file's bytes: mapped where it is a regular file, otherwise by ReadFile, which refuses most of the rest. Throws IoError with the path and the
// system's reason.
FileBytes MapFile(const std::string& path);

// The first `size` bytes of an open file, which may be closed then; `path` is for messages. Throws IoError.
FileBytes MapDescriptor(int file, std::size_t size, const std::string& path);

}  // namespace grbm
