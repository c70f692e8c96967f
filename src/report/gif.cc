#include <fmt/core.h>
#include <gif_lib.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "grbm/report/image.h"
#include "report/image_check.h"
#include "report/palette.h"

namespace grbm {

namespace {

constexpr Index kMaxSide = 65535;
constexpr int kMaxDelay = 65535;

struct FreeMap {
  void operator()(ColorMapObject* map) const { GifFreeMapObject(map); }
};
struct CloseWriter {
  void operator()(GifFileType* gif) const { EGifCloseFile(gif, nullptr); }
};
struct CloseReader {
  void operator()(GifFileType* gif) const { DGifCloseFile(gif, nullptr); }
};
using Reader = std::unique_ptr<GifFileType, CloseReader>;

std::string Reason(int code) {
  const char* text = GifErrorString(code);
  return text != nullptr ? text : fmt::format("giflib error {}", code);
}

// giflib is C: no exception may pass through it.
int Append(GifFileType* gif, const GifByteType* bytes, int count) noexcept {
  try {
    static_cast<std::string*>(gif->UserData)
        ->append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
  } catch (const std::bad_alloc&) {
    return 0;
  }
  return count;
}

int Take(GifFileType* gif, GifByteType* bytes, int count) noexcept {
  auto& rest = *static_cast<std::string_view*>(gif->UserData);
  const std::size_t taken = std::min(rest.size(), static_cast<std::size_t>(count));
  std::memcpy(bytes, rest.data(), taken);
  rest.remove_prefix(taken);
  return static_cast<int>(taken);
}

void CheckFrames(std::span<const Image> frames, const GifTiming& timing) {
  if (frames.empty()) throw DataError("GIF animation: no frames: at least one is needed");
  for (const auto& [name, value] : {std::pair{"delay", timing.delay}, {"pause", timing.pause}}) {
    if (value >= 1 && value <= kMaxDelay) continue;
    throw ConfigError(
        fmt::format("GIF animation: {} = {} hundredths of a second: allowed is 1 to {}", name, value, kMaxDelay));
  }
  const Image& first = frames.front();
  if (first.height > kMaxSide || first.width > kMaxSide) {
    throw DataError(fmt::format("GIF animation: {}×{} pixels: allowed is at most {} per side", first.height,
                                first.width, kMaxSide));
  }
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Image& frame = frames[i];
    CheckImage(frame, fmt::format("GIF animation: frame {}", i));
    if (frame.height != first.height || frame.width != first.width || frame.channels != first.channels) {
      throw DataError(fmt::format("GIF animation: frame {} is {}×{}×{}: all must be like the first, {}×{}×{}", i,
                                  frame.height, frame.width, frame.channels, first.height, first.width,
                                  first.channels));
    }
  }
}

// A colour table has a power of two entries; those past the palette are black.
std::unique_ptr<ColorMapObject, FreeMap> MakeColorMap(const std::vector<Color>& palette) {
  int size = 2;
  while (static_cast<std::size_t>(size) < palette.size()) size *= 2;
  std::unique_ptr<ColorMapObject, FreeMap> map(GifMakeMapObject(size, nullptr));
  if (map == nullptr) throw std::bad_alloc();
  for (std::size_t i = 0; i < palette.size(); ++i) map->Colors[i] = {palette[i][0], palette[i][1], palette[i][2]};
  return map;
}

class Encoder {
 public:
  Encoder() {
    int code = 0;
    gif_.reset(EGifOpen(&contents_, Append, &code));
    if (gif_ == nullptr) throw std::bad_alloc();
    EGifSetGifVersion(gif_.get(), true);  // 89a: with delays
  }

  void Screen(int width, int height, const ColorMapObject* map) {
    Check(EGifPutScreenDesc(gif_.get(), width, height, 8, 0, map));
  }
  void LoopForEver() {
    const std::string_view name = "NETSCAPE2.0";
    const GifByteType count[] = {1, 0, 0};  // sub-block 1: repetitions, 0 is without end
    Check(EGifPutExtensionLeader(gif_.get(), APPLICATION_EXT_FUNC_CODE));
    Check(EGifPutExtensionBlock(gif_.get(), static_cast<int>(name.size()), name.data()));
    Check(EGifPutExtensionBlock(gif_.get(), sizeof count, count));
    Check(EGifPutExtensionTrailer(gif_.get()));
  }
  void Frame(int width, int height, std::vector<std::uint8_t>& indices, int delay_centiseconds) {
    const GraphicsControlBlock control = {DISPOSE_DO_NOT, false, delay_centiseconds, NO_TRANSPARENT_COLOR};
    GifByteType bytes[4];
    const std::size_t size = EGifGCBToExtension(&control, bytes);
    Check(EGifPutExtension(gif_.get(), GRAPHICS_EXT_FUNC_CODE, static_cast<int>(size), bytes));
    Check(EGifPutImageDesc(gif_.get(), 0, 0, width, height, false, nullptr));
    for (int y = 0; y < height; ++y) Check(EGifPutLine(gif_.get(), indices.data() + std::ptrdiff_t{y} * width, width));
  }
  std::string Finish() {
    int code = 0;
    if (EGifCloseFile(gif_.release(), &code) != GIF_OK) throw IoError("GIF animation: cannot encode: " + Reason(code));
    return std::move(contents_);
  }

 private:
  void Check(int status) const {
    if (status != GIF_OK) throw IoError("GIF animation: cannot encode: " + Reason(gif_->Error));
  }

  std::string contents_;
  std::unique_ptr<GifFileType, CloseWriter> gif_;
};

[[noreturn]] void Damaged(const std::string& where, const std::string& reason) {
  throw DataError(fmt::format("{}: damaged GIF image: {}", where, reason));
}

// Applies the delays' extension: which index, if any, leaves the screen as it was (-1: none).
int ReadExtension(GifFileType* gif, const std::string& where, int transparent) {
  int function = 0;
  GifByteType* block = nullptr;
  if (DGifGetExtension(gif, &function, &block) != GIF_OK) Damaged(where, Reason(gif->Error));
  while (block != nullptr) {
    GraphicsControlBlock control;
    if (function == GRAPHICS_EXT_FUNC_CODE && DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK) {
      transparent = control.TransparentColor;
    }
    if (DGifGetExtensionNext(gif, &block) != GIF_OK) Damaged(where, Reason(gif->Error));
  }
  return transparent;
}

// Draws the next image of the file upon `screen`, which is of 3 channels.
void DrawImage(GifFileType* gif, const std::string& where, int transparent, Image& screen) {
  if (DGifGetImageDesc(gif) != GIF_OK) Damaged(where, Reason(gif->Error));
  const GifImageDesc& place = gif->Image;
  if (place.Left < 0 || place.Top < 0 || place.Width < 1 || place.Height < 1 ||
      place.Left + place.Width > screen.width || place.Top + place.Height > screen.height) {
    Damaged(where, fmt::format("a frame of {}×{} at ({}, {}) leaves the screen of {}×{}", place.Height, place.Width,
                               place.Top, place.Left, screen.height, screen.width));
  }
  const ColorMapObject* map = place.ColorMap != nullptr ? place.ColorMap : gif->SColorMap;
  if (map == nullptr) Damaged(where, "no colour table");
  // Interlaced lines come in four passes.
  static constexpr int kFirst[] = {0, 4, 2, 1}, kStep[] = {8, 8, 4, 2};
  std::vector<GifPixelType> line(static_cast<std::size_t>(place.Width));
  for (int pass = 0; pass < (place.Interlace ? 4 : 1); ++pass) {
    for (int y = place.Interlace ? kFirst[pass] : 0; y < place.Height; y += place.Interlace ? kStep[pass] : 1) {
      if (DGifGetLine(gif, line.data(), place.Width) != GIF_OK) Damaged(where, Reason(gif->Error));
      std::uint8_t* out = screen.pixels.data() + ((place.Top + y) * screen.width + place.Left) * 3;
      for (const GifPixelType index : line) {
        if (index >= map->ColorCount) Damaged(where, fmt::format("colour {} of {}", index, map->ColorCount));
        const GifColorType& color = map->Colors[index];
        if (index != transparent) out[0] = color.Red, out[1] = color.Green, out[2] = color.Blue;
        out += 3;
      }
    }
  }
}

bool IsGrey(const Image& image) {
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    if (image.pixels[i] != image.pixels[i + 1] || image.pixels[i] != image.pixels[i + 2]) return false;
  }
  return true;
}

void DropColor(Image& image) {
  for (std::size_t i = 0; i < image.pixels.size() / 3; ++i) image.pixels[i] = image.pixels[3 * i];
  image.pixels.resize(image.pixels.size() / 3);
  image.channels = 1;
}

}  // namespace

std::string EncodeGif(std::span<const Image> frames, const GifTiming& timing) {
  CheckFrames(frames, timing);
  IndexedFrames indexed = ToPalette(frames);
  const auto map = MakeColorMap(indexed.palette);
  const int width = static_cast<int>(frames.front().width);
  const int height = static_cast<int>(frames.front().height);
  Encoder encoder;
  encoder.Screen(width, height, map.get());
  if (timing.loop) encoder.LoopForEver();
  for (std::vector<std::uint8_t>& indices : indexed.frames) {
    const bool last = &indices == &indexed.frames.back();
    encoder.Frame(width, height, indices, last ? timing.pause : timing.delay);
  }
  return encoder.Finish();
}

void WriteGif(const std::string& path, std::span<const Image> frames, const GifTiming& timing) {
  WriteFileAtomically(path, EncodeGif(frames, timing));
}

std::vector<Image> DecodeGif(std::string_view contents, const std::string& where) {
  int code = 0;
  const Reader gif(DGifOpen(&contents, Take, &code));
  if (gif == nullptr) throw DataError(fmt::format("{}: not a GIF image: {}", where, Reason(code)));
  Image screen = {gif->SHeight, gif->SWidth, 3, {}};
  const Index values = ImageValues(screen.height, screen.width, screen.channels);
  if (values < 0) Damaged(where, fmt::format("{}×{} pixels", screen.height, screen.width));
  screen.pixels.assign(static_cast<std::size_t>(values), 255);

  std::vector<Image> frames;
  int transparent = NO_TRANSPARENT_COLOR;
  for (GifRecordType type = UNDEFINED_RECORD_TYPE; type != TERMINATE_RECORD_TYPE;) {
    if (DGifGetRecordType(gif.get(), &type) != GIF_OK) Damaged(where, Reason(gif->Error));
    if (type == EXTENSION_RECORD_TYPE) transparent = ReadExtension(gif.get(), where, transparent);
    if (type != IMAGE_DESC_RECORD_TYPE) continue;
    if (values * static_cast<Index>(frames.size() + 1) > kMaxImageValues) Damaged(where, "too many frames");
    DrawImage(gif.get(), where, std::exchange(transparent, NO_TRANSPARENT_COLOR), screen);
    frames.push_back(screen);
  }
  if (frames.empty()) Damaged(where, "no frames");
  if (std::all_of(frames.begin(), frames.end(), IsGrey)) std::for_each(frames.begin(), frames.end(), DropColor);
  return frames;
}

std::vector<Image> ReadGif(const std::string& path) { return DecodeGif(ReadFile(path), path); }

}  // namespace grbm
