#include "report/palette.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

namespace grbm {

namespace {

constexpr std::size_t kColors = 256;
constexpr int kBits = 5;  // per channel, of the histogram and of the table of nearest colours
constexpr int kLevels = 1 << kBits;
constexpr std::size_t kCells = std::size_t{1} << (3 * kBits);

std::size_t Cell(int red, int green, int blue) {
  const int shift = 8 - kBits;
  return static_cast<std::size_t>((((red >> shift) << kBits | (green >> shift)) << kBits) | (blue >> shift));
}

IndexedFrames Grey(std::span<const Image> frames) {
  IndexedFrames out;
  for (int i = 0; i < 256; ++i) {
    const auto value = static_cast<std::uint8_t>(i);
    out.palette.push_back({value, value, value});
  }
  for (const Image& frame : frames) out.frames.push_back(frame.pixels);
  return out;
}

// False where there are more than 256 colours.
bool KeepColors(std::span<const Image> frames, IndexedFrames& out) {
  std::map<Color, std::uint8_t> index;
  for (const Image& frame : frames) {
    std::vector<std::uint8_t>& indices = out.frames.emplace_back();
    indices.reserve(frame.pixels.size() / 3);
    for (std::size_t i = 0; i < frame.pixels.size(); i += 3) {
      const Color color = {frame.pixels[i], frame.pixels[i + 1], frame.pixels[i + 2]};
      auto found = index.find(color);
      if (found == index.end()) {
        if (out.palette.size() == kColors) return false;
        found = index.emplace(color, static_cast<std::uint8_t>(out.palette.size())).first;
        out.palette.push_back(color);
      }
      indices.push_back(found->second);
    }
  }
  return true;
}

// Pixels that share a cell of the histogram.
struct Bin {
  std::array<std::uint64_t, 3> sum = {};
  std::uint64_t count = 0;
  double mean(std::size_t channel) const { return static_cast<double>(sum[channel]) / static_cast<double>(count); }
};

std::vector<Bin> Histogram(std::span<const Image> frames) {
  std::vector<Bin> cells(kCells);
  for (const Image& frame : frames) {
    for (std::size_t i = 0; i < frame.pixels.size(); i += 3) {
      Bin& bin = cells[Cell(frame.pixels[i], frame.pixels[i + 1], frame.pixels[i + 2])];
      for (std::size_t c = 0; c < 3; ++c) bin.sum[c] += frame.pixels[i + c];
      ++bin.count;
    }
  }
  std::erase_if(cells, [](const Bin& bin) { return bin.count == 0; });
  return cells;
}

// Bins of one box, and the channel along which its squared deviations are largest.
struct Box {
  std::span<Bin> bins;
  std::size_t channel = 0;
  double spread = 0;
};

Box MakeBox(std::span<Bin> bins) {
  Box box = {bins};
  for (std::size_t c = 0; c < 3; ++c) {
    double weight = 0, sum = 0, squares = 0;
    for (const Bin& bin : bins) {
      const auto count = static_cast<double>(bin.count);
      weight += count;
      sum += count * bin.mean(c);
      squares += count * bin.mean(c) * bin.mean(c);
    }
    const double spread = bins.size() < 2 ? 0 : squares - sum * sum / weight;
    if (spread > box.spread) box = {bins, c, spread};
  }
  return box;
}

// Cuts the box with the largest spread at its mean until there are 256 boxes; a box's mean is its colour.
std::vector<Color> MedianCut(std::vector<Bin> bins) {
  std::vector<Box> boxes = {MakeBox(bins)};
  while (boxes.size() < kColors) {
    const auto widest =
        std::max_element(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return a.spread < b.spread; });
    if (widest->spread <= 0) break;
    const Box box = *widest;
    std::uint64_t sum = 0, count = 0;
    for (const Bin& bin : box.bins) {
      sum += bin.sum[box.channel];
      count += bin.count;
    }
    const double mean = static_cast<double>(sum) / static_cast<double>(count);
    const auto middle = std::stable_partition(box.bins.begin(), box.bins.end(),
                                              [&](const Bin& bin) { return bin.mean(box.channel) < mean; });
    const auto left = static_cast<std::size_t>(middle - box.bins.begin());
    if (left == 0 || left == box.bins.size()) break;  // equal but for rounding
    *widest = MakeBox(box.bins.first(left));
    boxes.push_back(MakeBox(box.bins.subspan(left)));
  }
  std::vector<Color> palette;
  for (const Box& box : boxes) {
    Bin total;
    for (const Bin& bin : box.bins) {
      for (std::size_t c = 0; c < 3; ++c) total.sum[c] += bin.sum[c];
      total.count += bin.count;
    }
    Color& color = palette.emplace_back();
    for (std::size_t c = 0; c < 3; ++c) color[c] = static_cast<std::uint8_t>(std::lround(total.mean(c)));
  }
  return palette;
}

// For each cell the colour of the palette that is nearest to its centre.
std::vector<std::uint8_t> NearestTable(const std::vector<Color>& palette) {
  std::vector<std::uint8_t> table(kCells);
  const int half = 1 << (7 - kBits);
  for (std::size_t cell = 0; cell < kCells; ++cell) {
    int best = std::numeric_limits<int>::max();
    for (std::size_t i = 0; i < palette.size(); ++i) {
      int distance = 0;
      for (std::size_t c = 0; c < 3; ++c) {
        const int level = static_cast<int>(cell >> (kBits * (2 - c))) & (kLevels - 1);
        const int difference = (level << (8 - kBits)) + half - palette[i][c];
        distance += difference * difference;
      }
      if (distance < best) {
        best = distance;
        table[cell] = static_cast<std::uint8_t>(i);
      }
    }
  }
  return table;
}

std::vector<std::uint8_t> Dither(const Image& frame, const std::vector<Color>& palette,
                                 const std::vector<std::uint8_t>& nearest) {
  const auto width = static_cast<std::size_t>(frame.width);
  std::vector<std::uint8_t> indices;
  indices.reserve(frame.pixels.size() / 3);
  // Errors in sixteenths, a pixel of margin at each end.
  std::vector<std::array<int, 3>> here(width + 2), below(width + 2);
  for (std::size_t i = 0; i < frame.pixels.size(); i += 3) {
    const std::size_t x = i / 3 % width + 1;
    if (x == 1 && i > 0) {
      here.swap(below);
      std::fill(below.begin(), below.end(), std::array<int, 3>{});
    }
    std::array<int, 3> wanted;
    for (std::size_t c = 0; c < 3; ++c) wanted[c] = std::clamp(frame.pixels[i + c] + here[x][c] / 16, 0, 255);
    const std::uint8_t index = nearest[Cell(wanted[0], wanted[1], wanted[2])];
    for (std::size_t c = 0; c < 3; ++c) {
      const int error = wanted[c] - palette[index][c];
      here[x + 1][c] += 7 * error;
      below[x - 1][c] += 3 * error;
      below[x][c] += 5 * error;
      below[x + 1][c] += error;
    }
    indices.push_back(index);
  }
  return indices;
}

}  // namespace

IndexedFrames ToPalette(std::span<const Image> frames) {
  if (frames.front().channels == 1) return Grey(frames);
  IndexedFrames out;
  if (KeepColors(frames, out)) return out;
  out = {MedianCut(Histogram(frames)), {}};
  const std::vector<std::uint8_t> nearest = NearestTable(out.palette);
  for (const Image& frame : frames) out.frames.push_back(Dither(frame, out.palette, nearest));
  return out;
}

}  // namespace grbm
