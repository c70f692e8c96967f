// What every maker and reader of images asks.
#pragma once

#include <string>

#include "grbm/report/image.h"

namespace grbm {

// 256 Mi values: far above any figure, far below what a damaged header can ask for.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
inline constexpr Index kMaxImageValues = Index{1} << 16;  // so that a header's claim costs a fuzzer no time
#else
inline constexpr Index kMaxImageValues = Index{1} << 28;
#endif

// height × width × channels, or -1 where that is not between 1 and kMaxImageValues.
inline Index ImageValues(Index height, Index width, Index channels) {
  if (height < 1 || width < 1 || channels < 1 || height > kMaxImageValues || width > kMaxImageValues / height)
    return -1;
  return channels > kMaxImageValues / (height * width) ? -1 : height * width * channels;
}

// Throws DataError, opened by `where`, unless channels are 1 or 3 and the pixels as many as the size says.
void CheckImage(const Image& image, const std::string& where);

}  // namespace grbm
