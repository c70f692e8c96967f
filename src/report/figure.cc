#include "grbm/report/figure.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>

#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "report/drawing.h"

namespace grbm {

namespace {

constexpr double kBorder = 14;     // about the figure
constexpr double kGap = 16;        // between panels
constexpr double kTitleRoom = 19;  // of a line
constexpr double kTitleLine = 13;  // of each further one
constexpr std::size_t kMostTitleLines = 3;
constexpr double kCaptionRoom = 17;
constexpr double kFigureTitleRoom = 24;
constexpr Font kFigureTitleFont = {12.5, true};

bool IsUtf8Line(const std::string& text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x20 || lead == 0x7f) return false;
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xc2 && lead < 0xe0 ? 2
                               : lead >= 0xe0 && lead < 0xf0 ? 3
                               : lead >= 0xf0 && lead < 0xf5 ? 4
                                                             : 0;
    if (length == 0 || i + length > text.size()) return false;
    unsigned code = length == 1 ? lead : lead & (0x7fu >> length);
    for (std::size_t k = 1; k < length; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + k]);
      if ((byte & 0xc0) != 0x80) return false;
      code = code << 6 | (byte & 0x3fu);
    }
    static constexpr unsigned kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < kSmallest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    if ((code >= 0x80 && code < 0xa0) || code == 0xfffe || code == 0xffff) return false;  // XML has no such characters
    i += length;
  }
  return true;
}

// Every text of a panel, in reading order, empty ones too.
std::vector<std::string> Texts(const Panel& panel) {
  return std::visit(
      [](const auto& p) {
        std::vector<std::string> texts = {p.title};
        if constexpr (requires { p.x; }) texts.insert(texts.end(), {p.x.label, p.y.label});
        if constexpr (requires { p.value; }) texts.push_back(p.value.label);
        if constexpr (requires { p.samples; }) {
          for (const Sample& sample : p.samples) texts.push_back(sample.name);
        }
        if constexpr (requires { p.curves; }) {
          for (const Curve& curve : p.curves) texts.push_back(curve.name);
        }
        texts.push_back(p.caption);
        return texts;
      },
      panel);
}

void CheckFigure(const Figure& figure) {
  if (figure.panels.empty()) throw DataError("figure: no panels: at least one is needed");
  if (figure.columns < 0) throw ConfigError(fmt::format("figure: columns = {}: allowed is 0 or more", figure.columns));
  for (const auto& [name, size] : {std::pair{"plot_width", figure.plot_width}, {"plot_height", figure.plot_height}}) {
    if (!(size >= 20 && size <= 5000)) {
      throw ConfigError(fmt::format("figure: {} = {}: allowed is 20 to 5000 points", name, size));
    }
  }
  std::vector<std::string> texts = {figure.title};
  for (const Panel& panel : figure.panels) {
    for (std::string& text : Texts(panel)) texts.push_back(std::move(text));
  }
  for (const std::string& text : texts) {
    if (!IsUtf8Line(text)) throw DataError("figure: a label is not one line of UTF-8 text without control characters");
  }
}

struct Cell {
  std::vector<std::string> title;  // lines
  std::string caption;
  std::unique_ptr<Drawing> drawing;
};

// Panels in columns and rows: the plots of a column have the same left and right margins, those of a row the same above
// and below, so that all plots are equally large and in line.
class Layout {
 public:
  explicit Layout(const Figure& figure)
      : figure_(figure),
        style_(StyleOf(figure.theme)),
        columns_(std::min(figure.panels.size(),
                          figure.columns > 0 ? static_cast<std::size_t>(figure.columns) : figure.panels.size())) {
    Canvas canvas;
    const std::size_t rows = (figure.panels.size() + columns_ - 1) / columns_;
    left_.resize(columns_), right_.resize(columns_), top_.resize(rows), bottom_.resize(rows);
    for (std::size_t i = 0; i < figure.panels.size(); ++i) {
      const PanelContext context = {style_, figure.plot_width, figure.plot_height, canvas,
                                    fmt::format("figure: panel {}", i)};
      Cell cell = std::visit(
          [&](const auto& p) {
            return Cell{{p.title}, p.caption, Prepare(p, context)};
          },
          figure.panels[i]);
      const Margins room = cell.drawing->Measure(canvas);
      Raise(left_[i % columns_], room.left);
      Raise(right_[i % columns_], room.right);
      Raise(bottom_[i / columns_], room.bottom + (cell.caption.empty() ? 0 : kCaptionRoom));
      rooms_.push_back(room);
      cells_.push_back(std::move(cell));
    }
    for (std::size_t i = 0; i < cells_.size(); ++i) {  // now that the columns' widths are known
      std::vector<std::string>& title = cells_[i].title;
      title = canvas.Wrapped(title[0], kTitleFont, Widest(i), kMostTitleLines);
      const double more = kTitleLine * static_cast<double>(title.size() - 1);
      Raise(top_[i / columns_], rooms_[i].top + (title[0].empty() ? 0 : kTitleRoom + more));
    }
  }

  // Whole points, so that no pixel of the page is covered in part.
  double width() const { return std::ceil(2 * kBorder + Sum(left_, right_, figure_.plot_width)); }
  double height() const { return std::ceil(2 * kBorder + TitleRoom() + Sum(top_, bottom_, figure_.plot_height)); }

  void Draw(Canvas& canvas) const {
    canvas.Fill({0, 0, width(), height()}, style_.background);
    if (!figure_.title.empty()) {
      canvas.FittedText({width() / 2, kBorder + kFigureTitleFont.size}, figure_.title, kFigureTitleFont, Align::kCenter,
                        style_.text, width() - 2 * kBorder);
    }
    double y = kBorder + TitleRoom();
    for (std::size_t row = 0; row < top_.size(); ++row) {
      double x = kBorder;
      for (std::size_t column = 0; column < columns_ && row * columns_ + column < cells_.size(); ++column) {
        const Rectangle plot = {x + left_[column], y + top_[row], figure_.plot_width, figure_.plot_height};
        DrawCell(canvas, row * columns_ + column, plot, y + kTitleFont.size);
        x = plot.right() + right_[column] + kGap;
      }
      y += top_[row] + figure_.plot_height + bottom_[row] + kGap;
    }
  }

 private:
  static void Raise(double& room, double wanted) { room = std::max(room, wanted); }
  static double Sum(const std::vector<double>& before, const std::vector<double>& after, double plot) {
    double sum = kGap * static_cast<double>(before.size() - 1);
    for (std::size_t i = 0; i < before.size(); ++i) sum += before[i] + plot + after[i];
    return sum;
  }
  // Of a text in the middle above or below a plot, whose neighbours it must not meet.
  double Widest(std::size_t index) const {
    return figure_.plot_width + 2 * std::min(left_[index % columns_], right_[index % columns_]);
  }
  double TitleRoom() const { return figure_.title.empty() ? 0 : kFigureTitleRoom; }

  // title: the base line of its first line, the same along a row.
  void DrawCell(Canvas& canvas, std::size_t index, const Rectangle& plot, double title) const {
    const Cell& cell = cells_[index];
    const Margins& room = rooms_[index];
    const double center = plot.x + plot.width / 2;
    const double widest = Widest(index);
    for (const std::string& line : cell.title) {
      canvas.FittedText({center, title}, line, kTitleFont, Align::kCenter, style_.text, widest);
      title += kTitleLine;
    }
    cell.drawing->Draw(canvas, plot);
    canvas.FittedText({center, plot.bottom() + room.bottom + kCaptionRoom - 3}, cell.caption, kLabelFont,
                      Align::kCenter, style_.muted, widest);
  }

  const Figure& figure_;
  const Style& style_;
  std::size_t columns_;
  std::vector<double> left_, right_, top_, bottom_;  // per column, per row
  std::vector<Margins> rooms_;                       // per panel
  std::vector<Cell> cells_;
};

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// cairo numbers surfaces and images through the life of the process; here they count from 0. Names stand after `id="` or
// `#`, which data in base 64 cannot contain.
std::string Renumbered(const std::string& svg) {
  std::map<std::string, std::size_t> numbers;
  std::string out;
  std::size_t at = 0;
  while (at < svg.size()) {
    const std::size_t prefix = svg.compare(at, 4, "id=\"") == 0 ? 4 : svg[at] == '#' ? 1 : 0;
    std::size_t name_end = at + prefix;
    if (prefix > 0) {
      for (const std::string_view name : {"surface", "image", "source"}) {
        if (svg.compare(at + prefix, name.size(), name) == 0) name_end += name.size();
      }
    }
    std::size_t end = name_end;
    while (end > at + prefix && end < svg.size() && svg[end] >= '0' && svg[end] <= '9') ++end;
    if (end == name_end || name_end == at + prefix) {
      out += svg[at++];
      continue;
    }
    const std::size_t number =
        numbers.try_emplace(svg.substr(at + prefix, end - at - prefix), numbers.size()).first->second;
    out += svg.substr(at, name_end - at) + std::to_string(number);
    at = end;
  }
  return out;
}

// Says the labels in words, for readers and for search: cairo draws letters as outlines.
std::string WithDescription(const std::string& svg, const Figure& figure) {
  std::string lines;
  for (const Panel& panel : figure.panels) {
    std::string line;
    for (const std::string& text : Texts(panel)) {
      if (!text.empty()) line += (line.empty() ? "" : "; ") + Escaped(text);
    }
    if (!line.empty()) lines += line + "\n";
  }
  const std::size_t root = svg.find("<svg");
  const std::size_t end = root == std::string::npos ? root : svg.find('>', root);
  GRBM_CHECK(end != std::string::npos);
  const std::string title = figure.title.empty() ? "" : "<title>" + Escaped(figure.title) + "</title>\n";
  return svg.substr(0, end + 1) + "\n" + title + "<desc>" + lines + "</desc>" + svg.substr(end + 1);
}

}  // namespace

std::string RenderFigure(const Figure& figure, FigureFormat format) {
  CheckFigure(figure);
  const Layout layout(figure);
  constexpr double kMaxSide = 14400;  // points: the most that PDF allows, and well within cairo's images
  const double width = layout.width(), height = layout.height();
  if (width > kMaxSide || height > kMaxSide) {
    throw ConfigError(
        fmt::format("figure: {}×{} points: allowed is at most {} per side; show fewer panels, or set "
                    "columns, plot_width or plot_height",
                    width, height, kMaxSide));
  }
  Canvas canvas(format, width, height, figure.title);
  layout.Draw(canvas);
  const std::string contents = canvas.Finish();
  return format == FigureFormat::kSvg ? WithDescription(Renumbered(contents), figure) : contents;
}

void WriteFigure(const std::string& path, const Figure& figure) {
  static const std::map<std::string, FigureFormat, std::less<>> formats = {
      {".png", FigureFormat::kPng}, {".svg", FigureFormat::kSvg}, {".pdf", FigureFormat::kPdf}};
  const std::string ending = std::filesystem::path(path).extension().string();
  const auto format = formats.find(ending);
  if (format == formats.end()) {
    throw ConfigError(fmt::format("{}: a figure cannot have the ending \"{}\": allowed are .png, .svg and .pdf",
                                  path.empty() ? "(empty path)" : path, ending));
  }
  WriteFileAtomically(path, RenderFigure(figure, format->second));
}

}  // namespace grbm
