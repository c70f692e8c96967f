// A folder that belongs to one process at a time.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/descriptor.h"

namespace grbm {

// Held through a file: whoever holds it is named in it. The kernel lets go of it when the process ends in any way, a kill
// included, so that what a file says counts only while it is locked, and a file that was left behind locks nothing. It is
// never removed: another process may have opened it.
class FolderLock {
 public:
  explicit FolderLock(std::string path);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  // False where another holds it. True also on file systems that have no locks. Throws IoError where the file cannot be
  // written.
  bool Try();
  // Tries until it is held, ten times a second; false where `stop` says to give up.
  bool Wait(const std::function<bool()>& stop);
  // "process 123 on host since 2025-01-31 12:00:00 UTC", after Try has failed.
  std::string Holder() const;

 private:
  void WriteName();

  std::string path_;
  Descriptor file_;
  bool held_ = false;
};

}  // namespace grbm
