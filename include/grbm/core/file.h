// Whole files in and out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace grbm {

// What of a file to read, and how much of it its reader can bear.
struct ReadPart {
  std::uint64_t offset = 0;
  std::uint64_t max_bytes = std::uint64_t{1} << 62;  // from there on
};
// All bytes of a regular file, or a part of them. Throws IoError with the path and the system's reason; so also for
// folders, and for pipes and devices, which could keep a reader for ever or never end. Only what is named as a descriptor
// that is open already (/dev/stdin, /dev/fd/N, /proc/self/fd/N) may be a pipe, of at most 1 GiB: a user's own choice, to
// which nothing in a folder can lead.
std::string ReadFile(const std::string& path, const ReadPart& part = {});

// The pieces, one after the other, become the file `path`: written under a temporary name in the
// same folder, flushed to disk, renamed. On failure throws IoError; then no temporary is left and
// an old file is as it was. A symbolic link stays one, and an old file's permissions are kept. A
// device or a pipe cannot be replaced and is written into.
void WriteFileAtomically(const std::string& path, std::span<const std::string_view> pieces);
void WriteFileAtomically(const std::string& path, std::string_view contents);

// Whether there is something, and a folder, of that name. Throw IoError where the system does not tell: a folder above that
// may not be entered, a name that is too long, links that lead in a circle.
bool Exists(const std::string& path);
bool IsFolder(const std::string& path);

// The folder and those above it, where they are missing. Throws IoError with the path and the system's reason.
void MakeFolder(const std::string& path);

}  // namespace grbm
