#include "report/canvas.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <numbers>

#include "grbm/core/error.h"

namespace grbm {

namespace {

constexpr double kPixelsPerPoint = 2;
constexpr const char* kFont = "DejaVu Sans";
constexpr const char* kDate = "2000-01-01T00:00:00Z";  // fixed: the same figure gives the same bytes

// cairo is C: no exception may pass through it.
cairo_status_t Append(void* contents, const unsigned char* bytes, unsigned int count) noexcept {
  try {
    static_cast<std::string*>(contents)->append(reinterpret_cast<const char*>(bytes), count);
  } catch (const std::bad_alloc&) {
    return CAIRO_STATUS_NO_MEMORY;
  }
  return CAIRO_STATUS_SUCCESS;
}

int Pixels(double points) { return static_cast<int>(std::lround(points * kPixelsPerPoint)); }

// Pixels of 32 bits, each pixel of `image` repeated down × across times.
void Magnify(const Image& image, int down, int across, cairo_surface_t* surface) {
  cairo_surface_flush(surface);
  unsigned char* data = cairo_image_surface_get_data(surface);
  const int stride = cairo_image_surface_get_stride(surface);
  for (Index y = 0; y < image.height * down; ++y) {
    unsigned char* out = data + y * stride;
    for (Index x = 0; x < image.width * across; ++x, out += 4) {
      const Index channel = image.channels == 3 ? 1 : 0;
      const auto value = [&](Index c) { return std::uint32_t{image.at(y / down, x / across, c)}; };
      const std::uint32_t pixel = 0xff000000u | value(0) << 16 | value(channel) << 8 | value(2 * channel);
      std::memcpy(out, &pixel, 4);
    }
  }
  cairo_surface_mark_dirty(surface);
}

// The first bytes of `text` that are `characters` code points.
std::string Prefix(const std::string& text, std::size_t characters) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xc0) != 0x80 && characters-- == 0) break;
  }
  return text.substr(0, at);
}

}  // namespace

Canvas::Canvas(FigureFormat format, double width, double height, const std::string& title)
    : format_(format), contents_(std::make_unique<std::string>()) {
  switch (format) {
    case FigureFormat::kPng:
      surface_.reset(cairo_image_surface_create(CAIRO_FORMAT_RGB24, Pixels(width), Pixels(height)));
      break;
    case FigureFormat::kSvg:
      surface_.reset(cairo_svg_surface_create_for_stream(Append, contents_.get(), width, height));
      break;
    case FigureFormat::kPdf:
      surface_.reset(cairo_pdf_surface_create_for_stream(Append, contents_.get(), width, height));
      cairo_pdf_surface_set_metadata(surface_.get(), CAIRO_PDF_METADATA_CREATE_DATE, kDate);
      if (!title.empty()) cairo_pdf_surface_set_metadata(surface_.get(), CAIRO_PDF_METADATA_TITLE, title.c_str());
      break;
  }
  Check(cairo_surface_status(surface_.get()));
  cairo_.reset(cairo_create(surface_.get()));
  Check(cairo_status(cairo_.get()));
  if (format == FigureFormat::kPng) cairo_scale(cairo_.get(), kPixelsPerPoint, kPixelsPerPoint);

  // Letters have their true shapes and widths, whatever the system's settings for its screen are.
  cairo_font_options_t* options = cairo_font_options_create();
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_set_font_options(cairo_.get(), options);
  cairo_font_options_destroy(options);
  cairo_set_line_join(cairo_.get(), CAIRO_LINE_JOIN_ROUND);
}

void Canvas::Check(cairo_status_t status) const {
  if (status == CAIRO_STATUS_NO_MEMORY) throw std::bad_alloc();
  if (status != CAIRO_STATUS_SUCCESS) {
    throw DataError(fmt::format("figure: cannot be drawn: {}", cairo_status_to_string(status)));
  }
}

void Canvas::SetColor(Color color, double alpha) {
  cairo_set_source_rgba(cairo_.get(), color[0] / 255.0, color[1] / 255.0, color[2] / 255.0, alpha);
}

void Canvas::SetFont(Font font) {
  cairo_select_font_face(cairo_.get(), kFont, CAIRO_FONT_SLANT_NORMAL,
                         font.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cairo_.get(), font.size);
}

double Canvas::TextWidth(const std::string& text, Font font) {
  SetFont(font);
  cairo_text_extents_t extents;
  cairo_text_extents(cairo_.get(), text.c_str(), &extents);
  Check(cairo_status(cairo_.get()));
  return extents.x_advance;
}

void Canvas::Text(Point at, const std::string& text, Font font, Align align, Color color, double angle) {
  const double width = TextWidth(text, font);
  cairo_save(cairo_.get());
  SetColor(color, 1);
  cairo_translate(cairo_.get(), at.x, at.y);
  cairo_rotate(cairo_.get(), angle);
  cairo_move_to(cairo_.get(), align == Align::kLeft ? 0 : align == Align::kCenter ? -width / 2 : -width, 0);
  cairo_show_text(cairo_.get(), text.c_str());
  cairo_restore(cairo_.get());
  cairo_new_path(cairo_.get());
}

std::vector<std::string> Canvas::Wrapped(const std::string& text, Font font, double max_width, std::size_t most) {
  std::vector<std::string> lines(1);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at + 1), text.size());
    const std::string word = text.substr(at, end - at);  // with the space before it
    const bool fits = TextWidth(lines.back() + word, font) <= max_width;
    if (fits || lines.back().empty() || lines.size() == most) {
      lines.back() += word;
    } else {
      lines.push_back(word.substr(1));
    }
    at = end;
  }
  return lines;
}

void Canvas::FittedText(Point at, const std::string& text, Font font, Align align, Color color, double max_width,
                        double angle) {
  constexpr double kSmallest = 0.75;
  const double width = TextWidth(text, font);
  if (width <= max_width) return Text(at, text, font, align, color, angle);
  font.size *= std::max(kSmallest, max_width / width);
  std::string shown = text;
  for (std::size_t characters = text.size(); characters > 0 && TextWidth(shown, font) > max_width + 0.01;
       --characters) {
    shown = Prefix(text, characters - 1) + "…";
  }
  Text(at, shown, font, align, color, angle);
}

void Canvas::Fill(const Rectangle& area, Color color, double alpha) {
  SetColor(color, alpha);
  cairo_rectangle(cairo_.get(), area.x, area.y, area.width, area.height);
  cairo_fill(cairo_.get());
}

void Canvas::Fill(const std::vector<Point>& polygon, Color color, double alpha) {
  SetColor(color, alpha);
  for (const Point& p : polygon) cairo_line_to(cairo_.get(), p.x, p.y);
  cairo_fill(cairo_.get());
}

void Canvas::Stroke(const std::vector<Point>& line, Color color, double width, const std::vector<double>& dash) {
  SetColor(color, 1);
  cairo_set_line_width(cairo_.get(), width);
  cairo_set_line_cap(cairo_.get(), CAIRO_LINE_CAP_BUTT);
  cairo_set_dash(cairo_.get(), dash.data(), static_cast<int>(dash.size()), 0);
  for (const Point& p : line) cairo_line_to(cairo_.get(), p.x, p.y);
  cairo_stroke(cairo_.get());
  cairo_set_dash(cairo_.get(), nullptr, 0, 0);
}

void Canvas::Outline(const Rectangle& area, Color color, double width) {
  SetColor(color, 1);
  cairo_set_line_width(cairo_.get(), width);
  cairo_rectangle(cairo_.get(), area.x, area.y, area.width, area.height);
  cairo_stroke(cairo_.get());
}

void Canvas::Dot(Point center, double radius, Color color, double alpha) {
  SetColor(color, alpha);
  cairo_set_line_width(cairo_.get(), 2 * radius);
  cairo_set_line_cap(cairo_.get(), CAIRO_LINE_CAP_ROUND);
  cairo_move_to(cairo_.get(), center.x, center.y);
  cairo_line_to(cairo_.get(), center.x, center.y);
  cairo_stroke(cairo_.get());
}

void Canvas::Picture(const Image& image, const Rectangle& area) {
  // Viewers of SVG and PDF smooth what they magnify: small images are magnified here.
  const auto factor = [](double points, Index count) {
    return std::max(1, static_cast<int>(std::ceil(kPixelsPerPoint * points / static_cast<double>(count))));
  };
  const int across = factor(area.width, image.width);
  const int down = factor(area.height, image.height);
  const bool fits = Pixels(area.width) >= image.width && Pixels(area.height) >= image.height;
  const std::unique_ptr<cairo_surface_t, DestroySurface> pixels(cairo_image_surface_create(
      CAIRO_FORMAT_RGB24, static_cast<int>(image.width) * across, static_cast<int>(image.height) * down));
  Check(cairo_surface_status(pixels.get()));
  Magnify(image, down, across, pixels.get());
  cairo_save(cairo_.get());
  cairo_rectangle(cairo_.get(), area.x, area.y, area.width, area.height);
  cairo_clip(cairo_.get());
  cairo_translate(cairo_.get(), area.x, area.y);
  cairo_scale(cairo_.get(), area.width / static_cast<double>(image.width * across),
              area.height / static_cast<double>(image.height * down));
  cairo_set_source_surface(cairo_.get(), pixels.get(), 0, 0);
  cairo_pattern_set_extend(cairo_get_source(cairo_.get()), CAIRO_EXTEND_PAD);
  // A magnified image is shown as it is; one of more pixels than the page has is averaged.
  cairo_pattern_set_filter(cairo_get_source(cairo_.get()), fits ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
  cairo_paint(cairo_.get());
  cairo_restore(cairo_.get());
}

void Canvas::BeginClip(const Rectangle& area) {
  cairo_save(cairo_.get());
  cairo_rectangle(cairo_.get(), area.x, area.y, area.width, area.height);
  cairo_clip(cairo_.get());
}

void Canvas::EndClip() { cairo_restore(cairo_.get()); }

std::string Canvas::Finish() {
  Check(cairo_status(cairo_.get()));
  cairo_.reset();
  if (format_ != FigureFormat::kPng) {
    cairo_surface_finish(surface_.get());
    Check(cairo_surface_status(surface_.get()));
    return std::move(*contents_);
  }
  cairo_surface_flush(surface_.get());
  Image image = {cairo_image_surface_get_height(surface_.get()), cairo_image_surface_get_width(surface_.get()), 3, {}};
  const unsigned char* data = cairo_image_surface_get_data(surface_.get());
  const int stride = cairo_image_surface_get_stride(surface_.get());
  image.pixels.reserve(static_cast<std::size_t>(image.height * image.width * 3));
  for (Index y = 0; y < image.height; ++y) {
    for (Index x = 0; x < image.width; ++x) {
      std::uint32_t pixel;
      std::memcpy(&pixel, data + y * stride + x * 4, 4);
      for (const int shift : {16, 8, 0}) image.pixels.push_back(static_cast<std::uint8_t>(pixel >> shift & 0xff));
    }
  }
  return EncodePng(image);
}

}  // namespace grbm
