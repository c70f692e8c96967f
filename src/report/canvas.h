// Drawing with Cairo, in points from the top left.
#pragma once

#include <cairo.h>

#include <memory>
#include <string>
#include <vector>

#include "grbm/report/color_map.h"
#include "grbm/report/figure.h"

namespace grbm {

struct Point {
  double x = 0;
  double y = 0;
};

struct Rectangle {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

enum class Align { kLeft, kCenter, kRight };

struct Font {
  double size = 9;
  bool bold = false;
};

// A page of the given size on which one figure is drawn.
class Canvas {
 public:
  // `title` goes to the document's metadata where the format has them.
  Canvas(FigureFormat format, double width, double height, const std::string& title);
  // For measuring text only.
  Canvas() : Canvas(FigureFormat::kPng, 1, 1, "") {}

  double TextWidth(const std::string& text, Font font);
  // `at` is on the base line. angle: radians, clockwise.
  void Text(Point at, const std::string& text, Font font, Align align, Color color, double angle = 0);
  // The text in as few lines as hold it, each at most max_width wide where words can be parted; at most `most`.
  std::vector<std::string> Wrapped(const std::string& text, Font font, double max_width, std::size_t most);
  // Not wider than max_width: smaller, then cut.
  void FittedText(Point at, const std::string& text, Font font, Align align, Color color, double max_width,
                  double angle = 0);

  void Fill(const Rectangle& area, Color color, double alpha = 1);
  void Fill(const std::vector<Point>& polygon, Color color, double alpha);
  // dash: lengths on and off in points; empty: a full line.
  void Stroke(const std::vector<Point>& line, Color color, double width, const std::vector<double>& dash = {});
  void Outline(const Rectangle& area, Color color, double width);
  void Dot(Point center, double radius, Color color, double alpha);
  // Fills `area`; pixels stay sharp however large they become.
  void Picture(const Image& image, const Rectangle& area);

  // Drawing between the two is cut at the area's edges.
  void BeginClip(const Rectangle& area);
  void EndClip();

  // The file's bytes. Call once, last.
  std::string Finish();

 private:
  struct DestroySurface {
    void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  };
  struct DestroyContext {
    void operator()(cairo_t* context) const { cairo_destroy(context); }
  };

  void SetColor(Color color, double alpha);
  void SetFont(Font font);
  void Check(cairo_status_t status) const;

  FigureFormat format_;
  std::unique_ptr<std::string> contents_;  // where cairo writes: its address must not change
  std::unique_ptr<cairo_surface_t, DestroySurface> surface_;
  std::unique_ptr<cairo_t, DestroyContext> cairo_;
};

}  // namespace grbm
