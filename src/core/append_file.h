// A file that grows at its end.
#pragma once

#include <string>
#include <string_view>

#include "core/descriptor.h"

namespace grbm {

class AppendFile {
 public:
  // Made where it is missing. Throws IoError, as all of these do.
  explicit AppendFile(const std::string& path);

  // With the system when it returns, and so safe from a kill, but not on the disk. Where it fails, a part of the text may
  // be in the file.
  void Append(std::string_view text);
  // Puts what was appended on the disk: it outlasts a loss of power.
  void Sync();
  // Reports what the system reports of writes only now.
  void Close();

 private:
  std::string path_;
  Descriptor file_;
};

}  // namespace grbm
