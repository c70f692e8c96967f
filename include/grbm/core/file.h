// Whole files in and out.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace grbm {

// All bytes of a file. Throws IoError with the path and the system's reason.
std::string ReadFile(const std::string& path);

// The pieces, one after the other, become the file `path`: written under a temporary name in the
// same folder, flushed to disk, renamed. On failure throws IoError; then no temporary is left and
// an old file is as it was. A symbolic link stays one, and an old file's permissions are kept. A
// device or a pipe cannot be replaced and is written into.
void WriteFileAtomically(const std::string& path, std::span<const std::string_view> pieces);
void WriteFileAtomically(const std::string& path, std::string_view contents);

// The folder and those above it, where they are missing. Throws IoError with the path and the system's reason.
void MakeFolder(const std::string& path);

}  // namespace grbm
