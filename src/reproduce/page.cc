// Pages: Markdown with tables and figures, from whatever cells are finished.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cells/table.h"
#include "core/json.h"
#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "grbm/evaluate/samples.h"
#include "grbm/report/samples.h"
#include "reproduce/experiment.h"

namespace grbm {

namespace {

// What stands between these numbers and the paper's.
std::string ScaleText(const Experiment& experiment, const ReproduceOptions& options) {
  if (options.scale == Scale::kPaper) return "**Scale paper**: the paper's own settings, where it states them.";
  ReproduceOptions paper = options;
  paper.scale = Scale::kPaper;
  const Config ours = CellConfig(experiment.rows(options).at(0).cell);
  const Config theirs = CellConfig(experiment.rows(paper).at(0).cell);
  const std::vector<std::string> values = Differences(ours, theirs);
  const std::vector<std::string> published = Differences(theirs, ours);
  std::string text =
      options.scale == Scale::kQuick
          ? "**Scale quick**: tiny models, trained for seconds to see that everything works. Their numbers "
            "mean nothing, and cannot be compared with the paper's."
          : "**Scale small**: not the paper's size, so compare orders within a column, never numbers across "
            "columns.";
  text += " The first row's settings, and the paper's where they differ: ";
  for (std::size_t k = 0; k < values.size(); ++k) {
    const std::string& other = published[k];
    text += fmt::format("{}`{}` ({})", k > 0 ? ", " : "", values[k], other.substr(other.find('=') + 1));
  }
  return text + ".";
}

std::string QuickText(Scale scale) {
  return fmt::format(
      "The quick distance is a Fréchet distance on 64 features made from the data, of {} samples from noise against as "
      "many training rows (docs/evaluate.md). The floor is what held-out data score.",
      SampleCount(scale));
}

std::string FidText(const ReproduceOptions& options) {
  return fmt::format(
      "FID is the Fréchet distance on {} features of the Inception network, of {} samples against {} training images; "
      "the paper's is on 2048 features{}. Distances on other features or of other numbers of samples are on other "
      "scales: only numbers of one column can be compared.{}",
      FidTap(options), FidSamples(options.scale), FidRows(options.scale),
      FidTap(options) == 2048 ? ", of a number of samples that it does not say" : "",
      options.inception.empty()
          ? " It was not measured where the weights were not at hand: GRBM_INCEPTION or --inception "
            "names them (docs/inception.md)."
          : "");
}

// One number of ours, or why there is none.
std::string OurText(const RowResult& row, const Column& column) {
  if (!row.trained()) return row.Trouble();
  if (const Score* score = row.result->Find(column.metric, column.score)) return ScoreText(*score);
  if (const Score* failed = row.result->Find(column.metric, "failed")) return "failed: " + failed->note;
  return "not measured";
}

}  // namespace

std::string RowName(const Row& row) {
  std::string name;
  for (const std::string& label : row.labels) name += (name.empty() ? "" : ", ") + label;
  return name;
}

Curve ReadCurve(const std::string& name, const std::string& metrics, const std::string& key) {
  Curve curve;
  curve.name = name;
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json entry = ParseJson(line, 1 << 16, "metrics.jsonl");
    const auto value = entry.find(key);
    if (value == entry.end()) continue;
    curve.x.push_back(entry.at("update"));
    curve.y.push_back(value->is_number() ? value->get<double>() : std::numeric_limits<double>::quiet_NaN());
  }
  return curve;
}

std::string RowResult::Trouble() const {
  if (!result) return "not run yet";
  return result->trained() ? "" : fmt::format("diverged at update {}", result->updates + 1);
}

ImagePanel EmptyPanel(const std::string& title, const std::string& caption) {
  return {title, caption, {1, 1, 1, {224}}};
}

Image SampleGrid(const ModelFile& file, ConstMatrix rows, Index columns) {
  GridOptions options = ShownRange(file, rows);
  options.columns = columns;
  options.gap = 2;
  options.scale = 2;
  return ImageGrid(rows, file.image_shape, options);
}

Page::Page(const Experiment& experiment, const ReproduceOptions& options, ThreadPool& pool)
    : experiment_(experiment),
      options_(options),
      pool_(pool),
      folder_(options.out + "/" + std::string(experiment.name)) {
  MakeFolder(folder_);
  for (std::uint64_t k = 0; k < options.seeds; ++k) {
    const std::uint64_t seed = options.seed + k;
    for (const Row& row : experiment.rows(options)) {
      const std::string folder = CellFolder(options, row.cell, seed);
      rows_.push_back({row, seed, folder, ReadResult(folder)});
    }
  }
}

std::vector<const RowResult*> Page::TableRows() const {
  std::vector<const RowResult*> rows;
  const std::size_t count = this->rows().size();
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t at = r; at < rows_.size(); at += count) rows.push_back(&rows_[at]);
  }
  return rows;
}

std::vector<std::string> Page::TableLabels(const RowResult& row) const {
  std::vector<std::string> labels = row.row.labels;
  if (options_.seeds > 1) labels.push_back(std::to_string(row.seed));
  return labels;
}

void Page::Table(std::vector<std::string> labels, const std::string& published, std::vector<Column> columns) {
  if (options_.seeds > 1) labels.emplace_back("seed");
  if (columns.empty()) {
    columns = {{"ours: quick distance", "quick", "frechet", "frechet_held_out"}};
    if (std::ranges::any_of(rows_, [](const RowResult& row) { return HasMetric(row.row.cell, "fid"); })) {
      columns.push_back({fmt::format("ours: FID, {} features", FidTap(options_)), "fid", "fid", "fid_floor"});
    }
    Text(QuickText(options_.scale) + (columns.size() > 1 ? " " + FidText(options_) : ""));
  }
  std::vector<std::string> header = labels;
  header.push_back(published);
  for (const Column& column : columns) header.push_back(column.header);
  header.insert(header.end(), {"updates", "training"});
  std::string table = MarkdownHeader(header);
  for (const RowResult* row : TableRows()) {
    std::vector<std::string> line = TableLabels(*row);
    line.push_back(row->row.published.empty() ? "—" : row->row.published);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::string text = c == 0 || row->trained() ? OurText(*row, columns[c]) : "—";
      // What is wrong with a metric is said once.
      const bool said = c > 0 && text.starts_with("failed: ") && columns[c].metric == columns[c - 1].metric &&
                        text == OurText(*row, columns[c - 1]);
      line.push_back(said ? "—" : text);
    }
    line.push_back(row->result ? std::to_string(row->result->updates) : "—");
    line.push_back(row->result ? MinutesText(row->result->seconds) : "—");
    table += MarkdownRow(line);
  }
  // The last row: what held-out data score.
  std::vector<std::string> floor(header.size());
  bool any = false;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    for (const RowResult& row : rows_) {
      const Score* score = row.result ? row.result->Find(columns[c].metric, columns[c].floor) : nullptr;
      if (score == nullptr) continue;
      floor[labels.size() + 1 + c] = ScoreText(*score);
      any = true;
      break;
    }
  }
  floor[0] = "*floor: held-out data*";
  if (any) table += MarkdownRow(floor);
  Text(table);

  std::vector<std::string> names = labels;
  names.insert(names.end(), {"paper", "outcome", "updates", "seconds", "cell"});
  std::vector<const CellResult*> results;
  for (const RowResult& row : rows_) results.push_back(row.result ? &*row.result : nullptr);
  const std::vector<ScoreName> scores = AllScores(results);
  AddScoreNames(names, scores);
  csv_ = CsvRow(names);
  for (const RowResult* row : TableRows()) {
    std::vector<std::string> line = TableLabels(*row);
    line.push_back(row->row.published);
    line.push_back(row->result ? row->result->outcome : "not run");
    line.push_back(row->result ? std::to_string(row->result->updates) : "");
    line.push_back(row->result ? fmt::format("{:.1f}", row->result->seconds) : "");
    line.push_back(std::filesystem::path(row->folder).filename());
    AddScores(line, scores, row->result ? &*row->result : nullptr);
    csv_ += CsvRow(line);
  }
}

void Page::Draw(const std::string& name, const Figure& figure, const std::string& description) {
  for (const char* ending : {".png", ".svg", ".pdf"}) WriteFigure(folder_ + "/" + name + ending, figure);
  Text(fmt::format("![{}]({}.png)\n\n([SVG]({}.svg), [PDF]({}.pdf))", description, name, name, name));
}

void Page::Animate(const std::string& name, std::span<const Image> frames, const std::string& description) {
  WriteGif(folder_ + "/" + name + ".gif", frames);
  Text(fmt::format("![{}]({}.gif)", description, name));
}

void Page::DrawSamples(const std::string& description, int columns, const std::function<std::string(const Row&)>& title,
                       double size) {
  Figure figure;
  figure.columns = columns;
  figure.plot_width = figure.plot_height = size;
  for (const RowResult& row : rows()) figure.panels.push_back(Samples(row, title(row.row), 64, 8));
  Draw("samples", figure, description);
}

ImagePanel Page::Samples(const RowResult& row, const std::string& title, Index count, Index columns) const {
  if (!row.trained()) return EmptyPanel(title, row.Trouble());
  const ModelFile file = row.ReadModelFile();
  const Score* score = row.result->Find("quick", "frechet");
  return {title, score != nullptr ? fmt::format("distance {}", ScoreText(*score)) : "",
          SampleGrid(file, grbm::DrawSamples(file, count, row.seed, pool_), columns)};
}

std::string Page::Write() {
  std::string head =
      fmt::format("# {}: {}\n\n{}\n\n", experiment_.name, experiment_.summary, ScaleText(experiment_, options_));
  head += fmt::format("Made by `grbm reproduce {} --scale {} --seed {}{}`", experiment_.name, ScaleName(options_.scale),
                      options_.seed, options_.seeds > 1 ? fmt::format(" --seeds {}", options_.seeds) : "");
  const auto finished = std::ranges::find_if(rows_, [](const RowResult& row) { return row.result.has_value(); });
  if (finished != rows_.end()) {
    head += fmt::format("; the first cell ran with grbm {}, CPU target {}, {} threads", finished->result->version,
                        finished->result->cpu_target, finished->result->threads);
  }
  head += ".\n\n";
  if (!rows_.empty() && CellConfig(rows_[0].row.cell).data.source == "strokes") {
    head +=
        "**The data are made up** (`data.source = \"strokes\"`), because the real images are not in the cache: `grbm "
        "data get mnist` and `grbm data get fashion-mnist` get them.\n\n";
  }
  std::string tail = "## Run a cell again\n\n";
  std::vector<std::string> shown;
  for (const RowResult& row : rows_) {
    if (std::ranges::find(shown, row.folder) != shown.end()) continue;
    shown.push_back(row.folder);
    tail += fmt::format("**{}{}**", RowName(row.row), options_.seeds > 1 ? fmt::format(", seed {}", row.seed) : "");
    if (!row.Trouble().empty()) tail += fmt::format(": {}", row.Trouble());
    if (row.result && !row.result->message.empty()) tail += fmt::format(" ({})", row.result->message);
    tail += fmt::format("\n```sh\n{}\n{}\n```\n\n", TrainCommand(row.row.cell, row.seed, row.folder),
                        EvaluateCommand(row.row.cell, options_, row.seed, row.folder));
  }
  WriteFileAtomically(folder_ + "/table.csv", csv_);
  const std::string path = folder_ + "/index.md";
  WriteFileAtomically(path, head + text_ + "All numbers: [table.csv](table.csv).\n\n" + tail);
  return path;
}

std::string RenderPage(const Experiment& experiment, const ReproduceOptions& options, ThreadPool& pool) {
  Page page(experiment, options, pool);
  experiment.render(page);
  return page.Write();
}

}  // namespace grbm
