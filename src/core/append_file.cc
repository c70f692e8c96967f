#include "core/append_file.h"

#include <fcntl.h>
#include <unistd.h>

namespace grbm {

AppendFile::AppendFile(const std::string& path) : path_(path) {
  if (!file_.Open(path, O_WRONLY | O_CREAT | O_APPEND)) FailIo(path_, "write", errno);
}

void AppendFile::Append(std::string_view text) { WriteAll(file_, path_, std::span(&text, 1)); }

void AppendFile::Sync() {
  if (Retry([&] { return ::fdatasync(file_.get()); }) != 0 && errno != EINVAL) FailIo(path_, "write", errno);
}

void AppendFile::Close() {
  if (!file_.Close()) FailIo(path_, "write", errno);
}

}  // namespace grbm
