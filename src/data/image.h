// Single images: decoding, cropping, resizing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "grbm/data/image.h"

namespace grbm {

bool IsPng(std::string_view bytes);
bool IsJpeg(std::string_view bytes);

// The values of an image, channels last: of 8 bits as they are, of 16 bits as floats on the same scale, 0 to 255 in steps
// of 1/257.
struct DecodedImage {
  ImageShape shape;
  std::variant<std::vector<std::uint8_t>, std::vector<float>> values;

  bool is_16bit() const { return values.index() == 1; }
};

// An image of a PNG or JPEG file, by its first bytes. Palettes become colours, fewer bits 8, and an alpha channel that is
// opaque everywhere is left out. Throws DataError, opened by `path`, for transparent pixels, and for anything that is not
// a whole, valid image of at most 2^26 pixels.
DecodedImage DecodeImage(std::string_view bytes, const std::string& path);
DecodedImage DecodePng(std::string_view bytes, const std::string& path);
DecodedImage DecodeJpeg(std::string_view bytes, const std::string& path);

// In 8 bits, rounded.
Image To8Bit(const DecodedImage& decoded);

// Height and width by a file's first bytes, and nothing decoded; zero where they do not tell.
ImageShape PeekSize(std::string_view bytes);

// Throws DataError where the size is 0 or above 2^26 pixels.
void CheckImageSize(std::uint64_t width, std::uint64_t height, const std::string& path);

// The shape after the centre crop to crop × crop pixels and the change of size to resize × resize; 0 leaves out either.
// Throws DataError, opened by `where`, for an image smaller than the crop, or one that is not square and to be resized.
ImageShape TransformedShape(const ImageShape& shape, Index crop, Index resize, const std::string& where);

// Does so; out has TransformedShape(shape, crop, resize).size() values, values may be of 1 to 4 channels. Where an odd
// number of pixels goes, the right and bottom lose one more. Resizing is by a triangle filter as wide as the reduction
// asks for (antialiased), on the values as they are: no gamma.
void TransformImage(const std::uint8_t* values, const ImageShape& shape, Index crop, Index resize, std::uint8_t* out);
void TransformImage(const float* values, const ImageShape& shape, Index crop, Index resize, float* out);

}  // namespace grbm
