#include <fmt/core.h>
// clang-format off
#include <cstdio>  // before jpeglib.h, which needs FILE
#include <jpeglib.h>
// clang-format on

#include <csetjmp>

#include "data/image.h"
#include "grbm/core/error.h"

namespace grbm {

namespace {

// What libjpeg's callbacks see. They leave by longjmp, so the functions that call setjmp hold nothing that has a
// destructor.
struct ErrorState {
  jpeg_error_mgr manager;  // first: libjpeg hands out a pointer to it
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void Fail(j_common_ptr common) {
  auto* state = reinterpret_cast<ErrorState*>(common->err);
  common->err->format_message(common, state->message);
  std::longjmp(state->jump, 1);
}

// Level -1 is a warning of damaged data, which libjpeg would fill with grey: an error here.
void Emit(j_common_ptr common, int level) {
  if (level < 0) Fail(common);
}

// A decompressor that is zero at first and destroyed in any case.
struct Decoder {
  jpeg_decompress_struct info{};
  ErrorState errors{};

  Decoder() {
    info.err = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = Fail;
    errors.manager.emit_message = Emit;
  }
  ~Decoder() { jpeg_destroy_decompress(&info); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
};

// All return false after an error, which then is in the decoder's message.
bool ReadHeader(Decoder* decoder, const unsigned char* bytes, unsigned long size) {
  if (setjmp(decoder->errors.jump) != 0) return false;
  jpeg_create_decompress(&decoder->info);
  jpeg_mem_src(&decoder->info, bytes, size);
  jpeg_read_header(&decoder->info, TRUE);
  decoder->info.out_color_space = decoder->info.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  decoder->info.dct_method = JDCT_ISLOW;
  return true;
}

bool ReadPixels(Decoder* decoder, unsigned char* out) {
  if (setjmp(decoder->errors.jump) != 0) return false;
  jpeg_start_decompress(&decoder->info);
  const std::size_t stride =
      std::size_t{decoder->info.output_width} * static_cast<std::size_t>(decoder->info.output_components);
  while (decoder->info.output_scanline < decoder->info.output_height) {
    JSAMPROW row = out + decoder->info.output_scanline * stride;
    jpeg_read_scanlines(&decoder->info, &row, 1);
  }
  jpeg_finish_decompress(&decoder->info);
  return true;
}

}  // namespace

DecodedImage DecodeJpeg(std::string_view bytes, const std::string& path) {
  Decoder decoder;
  const auto refuse = [&] { throw DataError(fmt::format("{}: damaged JPEG image: {}", path, decoder.errors.message)); };
  if (!ReadHeader(&decoder, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size())) refuse();
  CheckImageSize(decoder.info.image_width, decoder.info.image_height, path);
  if (decoder.info.num_components != 1 && decoder.info.num_components != 3) {
    throw DataError(fmt::format("{}: a JPEG image of {} components: allowed are 1 (grey) and 3 (colour): convert it",
                                path, decoder.info.num_components));
  }
  DecodedImage image;
  image.shape = {Index{decoder.info.image_height}, Index{decoder.info.image_width}, Index{decoder.info.num_components}};
  std::vector<std::uint8_t>& values = image.values.emplace<0>(static_cast<std::size_t>(image.shape.size()));
  if (!ReadPixels(&decoder, values.data())) refuse();
  return image;
}

}  // namespace grbm
