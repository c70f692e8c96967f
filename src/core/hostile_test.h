// What every reader of files must survive: damage of a valid file, byte by byte and cut by cut.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "grbm/core/error.h"

namespace grbm {

// The message of the DataError that `action` throws.
template <typename Action>
std::string DataMessage(Action action) {
  try {
    action();
  } catch (const DataError& error) {
    return error.what();
  }
  return "(nothing was thrown)";
}

// Reads `contents` through `read`, which either succeeds or throws a DataError of one line.
template <typename Read>
void ExpectReadOrRefused(Read read, const std::string& contents, const std::string& what) {
  try {
    read(contents);
  } catch (const DataError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << what;
    EXPECT_LT(std::string(error.what()).size(), 1000u) << what;
  } catch (const std::exception& error) {
    ADD_FAILURE() << what << ": " << error.what();
  }
}

// Every truncation, every byte replaced by several values, every byte doubled or left out.
template <typename Read>
void ExpectSurvivesDamage(Read read, const std::string& valid) {
  ASSERT_NO_THROW(read(valid));
  for (std::size_t i = 0; i < valid.size(); ++i) {
    const std::string at = " at byte " + std::to_string(i);
    EXPECT_THROW(read(valid.substr(0, i)), DataError) << "cut" << at;
    for (const int flip : {0x01, 0x02, 0x10, 0x20, 0x80, 0xff}) {
      std::string damaged = valid;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      ExpectReadOrRefused(read, damaged, "flip " + std::to_string(flip) + at);
    }
    for (const char replacement : {'\0', '\x7f', '\xff', '9', '-', '"', '[', '{', ']', '}'}) {
      std::string damaged = valid;
      damaged[i] = replacement;
      ExpectReadOrRefused(read, damaged, std::string("replacement ") + replacement + at);
    }
    ExpectReadOrRefused(read, valid.substr(0, i) + valid.substr(i + 1), "left out" + at);
    ExpectReadOrRefused(read, valid.substr(0, i + 1) + valid.substr(i), "doubled" + at);
  }
}

// From here on the process gets no more than so many further MiB; for a child that ends soon. Of no
// use under the sanitizers, which reserve terabytes.
inline void LimitMemory(rlim_t mebibytes) {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(::getpagesize()) + (mebibytes << 20);
  const rlimit limits = {bytes, bytes};
  if (::setrlimit(RLIMIT_AS, &limits) != 0) ::_exit(3);
  constexpr std::size_t kTooMuch = std::size_t{1} << 30;
  if (::mmap(nullptr, kTooMuch, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {
    ::_exit(4);  // the system does not keep to the limit
  }
}

}  // namespace grbm
