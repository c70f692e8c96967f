// What experiments are made of.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "grbm/report/figure.h"
#include "grbm/reproduce/reproduce.h"
#include "grbm/store/model_file.h"
#include "grbm/train/run.h"

namespace grbm {

// The experiments, one file each.
extern const Experiment kGmm;
extern const Experiment kMnistTable;
extern const Experiment kMnistSamples;
extern const Experiment kCdTable;
extern const Experiment kLangevinTable;
extern const Experiment kVarianceCurve;
extern const Experiment kFilters;
extern const Experiment kSampling;
extern const Experiment kFashion;
extern const Experiment kCelebA32;
extern const Experiment kCelebA2k64;
extern const Experiment kNoiseStart;
extern const Experiment kClip;
extern const Experiment kTemperature;

// How much is drawn to judge a cell.
Index SampleCount(Scale scale);
Index FidSamples(Scale scale);
Index FidRows(Scale scale);
// The paper's tap where the weights have it and the scale is the paper's.
int FidTap(const ReproduceOptions& options);
inline constexpr double kFidCost = 1.1e10;  // operations per image

bool HasMetric(const Cell& cell, const std::string& metric);
// Trained, and judged by all of its metrics that can be had.
bool IsFinished(const PlannedCell& cell, const ReproduceOptions& options);

// A value for each scale.
template <typename T>
T Choose(Scale scale, T quick, T small, T paper) {
  return scale == Scale::kQuick ? quick : scale == Scale::kSmall ? small : paper;
}

// Digits: the paper's MNIST with Gibbs-Langevin, or the smaller model of the scale, and settings in which a cell differs.
Cell Digits(const ReproduceOptions& options, const std::vector<std::string>& settings = {});
// The one model of digits that is looked at closely: trained longer, where that is cheap.
Cell LongDigits(const ReproduceOptions& options);
// What adjusted samplers with wide proposals are accepted against: as was published (Gibbs-Langevin against exp(-E),
// Langevin against exp(-Ẽ/B)), or the other way round, which for Gibbs-Langevin is the rule of the repaired program.
enum class Target { kPublished, kOther };
// With one of the paper's presets, as the authors' program treats the cell's sampler. Energies are divided by the batch size B
// in steps of Langevin and Gibbs-Langevin, which makes their temperature B; never in Gibbs, whose temperature is 1; in rules of
// acceptance as `target` says. A rate of 0.01 and a clip of 10 are per unit of E there, where training counts per unit of E/τ if
// the sampler has a law.                                                                         [math.md (31), (53)]
Cell AsPublished(Cell cell, Target target = Target::kPublished);
// The last part alone, for a cell at a temperature of its own.
Cell AtPaperRate(Cell cell);
// Contrastive-divergence steps of Digits, and half of them; its step size; its batch size; its bound of the gradient.
std::int64_t DigitSteps(Scale scale);
std::int64_t HalfSteps(Scale scale);
double DigitStepSize(Scale scale);
std::int64_t DigitBatch(Scale scale);
double DigitClip(Scale scale);
// "mnist" or "fashion-mnist"; at quick scale "strokes" where that was not downloaded.
std::string SourceAtHand(const std::string& name, Scale scale);

// A row with what became of it.
struct RowResult {
  Row row;
  std::uint64_t seed;
  std::string folder;
  std::optional<CellResult> result;

  bool trained() const { return result && result->trained(); }
  ModelFile ReadModelFile() const { return ReadModel(ModelPath(folder)); }
  // "not run yet", "diverged at update 7", or nothing.
  std::string Trouble() const;
};

// A number of ours in a table. floor: the score of held-out data, or empty.
struct Column {
  std::string header;
  std::string metric;
  std::string score;
  std::string floor;
};

// Labels joined: "Gibbs-Langevin, with adjustment".
std::string RowName(const Row& row);

// One number of the lines of metrics.jsonl that have it, against the update.
Curve ReadCurve(const std::string& name, const std::string& metrics, const std::string& key);

// index.md as it grows, with the files that belong to it.
class Page {
 public:
  Page(const Experiment& experiment, const ReproduceOptions& options, ThreadPool& pool);

  const ReproduceOptions& options() const { return options_; }
  ThreadPool& pool() const { return pool_; }
  // Of the first seed, and of all.
  std::span<const RowResult> rows() const { return {rows_.data(), rows_.size() / options_.seeds}; }
  std::span<const RowResult> all_rows() const { return rows_; }

  void Text(const std::string& paragraph) { text_ += paragraph + "\n\n"; }
  // All rows: the names of their labels, the seed where there are several, the published numbers under `published`, and ours. Without columns of ours: the
  // quick distance, and Inception's where a cell asks for it. The same and more goes into table.csv.
  void Table(std::vector<std::string> labels, const std::string& published, std::vector<Column> columns = {});
  // name.png, name.svg and name.pdf.
  void Draw(const std::string& name, const Figure& figure, const std::string& description);
  void Animate(const std::string& name, std::span<const Image> frames, const std::string& description);

  // samples.png, .svg and .pdf: 64 samples of each row under its title, so many panels beside each other (0: all).
  void DrawSamples(const std::string& description, int columns = 0,
                   const std::function<std::string(const Row&)>& title = RowName, double size = 220);
  // Samples of a row from noise, or an empty panel that says why there are none.
  ImagePanel Samples(const RowResult& row, const std::string& title, Index count, Index columns) const;

  // The rest that every page has: commands, times, the machine. Returns the page's path.
  std::string Write();

 private:
  // All rows as tables have them: the seeds of each below each other.
  std::vector<const RowResult*> TableRows() const;
  std::vector<std::string> TableLabels(const RowResult& row) const;

  const Experiment& experiment_;
  const ReproduceOptions& options_;
  ThreadPool& pool_;
  std::string folder_;
  std::vector<RowResult> rows_;
  std::string text_;
  std::string csv_;
};

// An empty panel with a caption.
ImagePanel EmptyPanel(const std::string& title, const std::string& caption);
// Rows of values from 0 to 255 (8-bit data), or of their own range, as a grid.
Image SampleGrid(const ModelFile& file, ConstMatrix rows, Index columns);

}  // namespace grbm
