// Single images: decoding, cropping, resizing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "grbm/data/image.h"

namespace grbm {

bool IsPng(std::string_view bytes);
bool IsJpeg(std::string_view bytes);

// An image of a PNG or JPEG file, by its first bytes. Palettes become colours, 16 bits 8, and transparency is left out.
// Throws DataError, opened by `path`, for anything that is not a whole, valid image of at most 2^26 pixels.
Image DecodeImage(std::string_view bytes, const std::string& path);
Image DecodePng(std::string_view bytes, const std::string& path);
Image DecodeJpeg(std::string_view bytes, const std::string& path);

// Throws DataError where the size is 0 or above 2^26 pixels.
void CheckImageSize(std::uint64_t width, std::uint64_t height, const std::string& path);

// The shape after the centre crop to crop × crop pixels and the change of size to resize × resize; 0 leaves out either.
// Throws DataError, opened by `where`, for an image smaller than the crop, or one that is not square and to be resized.
ImageShape TransformedShape(const ImageShape& shape, Index crop, Index resize, const std::string& where);

// Does so; out has TransformedShape(shape, crop, resize).size() values, values may be of 1 to 4 channels. Where an odd
// number of pixels goes, the right and bottom lose one more. Resizing is by a triangle filter as wide as the reduction
// asks for (antialiased), on the values as they are: no gamma.
void TransformImage(const std::uint8_t* values, const ImageShape& shape, Index crop, Index resize, std::uint8_t* out);

}  // namespace grbm
