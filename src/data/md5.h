#pragma once

#include <string>
#include <string_view>

namespace grbm {

// The MD5 digest of RFC 1321 in 32 hexadecimal digits. It finds damage and mix-ups, not attacks.
std::string Md5(std::string_view bytes);

}  // namespace grbm
