// What a call throws.
#pragma once

#include <string>

#include "grbm/core/error.h"

namespace grbm::testing {

// The message of the library's error, or "no error".
template <typename Call>
std::string ErrorOf(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace grbm::testing
