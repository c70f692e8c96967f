// Errors that a user can cause. Each message is one line: what, where, the value, what was allowed, what to do.
#pragma once

#include <stdexcept>
#include <string>

namespace grbm {

// The text as one line of at most 2,000 bytes: control characters as \xNN, what is longer cut.
std::string OneLine(const std::string& text);

// The base of the family. `exit_code` is the sysexits code with which the command line ends. Whatever text of files, paths
// or settings a message quotes, it is one line.
class Error : public std::runtime_error {
 public:
  Error(const std::string& message, int exit_code) : std::runtime_error(OneLine(message)), exit_code_(exit_code) {}
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

// A setting, a command line or a combination of them that cannot work.
class ConfigError : public Error {
 public:
  explicit ConfigError(const std::string& message) : Error(message, 64) {}
};

// Input that is not what it should be: shapes, types, corrupt files.
class DataError : public Error {
 public:
  explicit DataError(const std::string& message) : Error(message, 65) {}
};

// A computation that left the finite numbers.
class NumericError : public Error {
 public:
  explicit NumericError(const std::string& message) : Error(message, 70) {}
};

// A file that cannot be read or written.
class IoError : public Error {
 public:
  explicit IoError(const std::string& message) : Error(message, 74) {}
};

// A call that cannot be right, or a mistake in this library. Never an abort: the library lives in other programs.
class InternalError : public Error {
 public:
  explicit InternalError(const std::string& message) : Error(message, 70) {}
};

namespace internal {
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);
}  // namespace internal

// What must hold whatever a user does; throws InternalError.
#define GRBM_CHECK(condition) ((condition) ? (void)0 : ::grbm::internal::CheckFailed(#condition, __FILE__, __LINE__))

}  // namespace grbm
