// grbm reconstruct, grbm inpaint: from data, through the hidden units, back to the visible ones.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "data/image.h"
#include "grbm/core/file.h"
#include "grbm/data/options.h"
#include "grbm/evaluate/codes.h"
#include "grbm/evaluate/samples.h"
#include "grbm/model/conditions.h"
#include "grbm/model/energy.h"
#include "grbm/model/labels.h"
#include "grbm/model/reach.h"
#include "grbm/sampler/inpaint.h"
#include "grbm/sampler/law.h"
#include "numbers.h"
#include "output.h"

namespace grbm::app {

namespace {

// Of rows in the model's units, as they are shown.
double MeanSquaredDifference(const ModelFile& file, Matrix a, Matrix b) {
  file.standardization.Shown(a);
  file.standardization.Shown(b);
  double sum = 0;
  for (Index r = 0; r < a.rows(); ++r) sum += SquaredDistance(a.row(r), b.row(r));
  return sum / static_cast<double>(a.rows() * a.cols());
}

// A mean of squares, with its unit.
Measure SquaredUnits(const ModelFile& file, double value) {
  return {value, file.standardization.identity() ? "squared units of the data" : "squared standardised units"};
}

constexpr Index kShown = 32;  // rows

struct Arguments {
  std::string model;
  DataArguments data;
  std::string mask;
  Index count = kShown;
  std::int64_t mean = 0;  // over how many draws; 0: one draw, as sampler.final says
  std::string deviation;
  std::vector<std::string> assignments;
  std::string out;
};

// One picture row of originals above one of results, ten to a row.
Matrix Interleave(const Matrix& first, const Matrix& second, Index columns) {
  const Index bands = (first.rows() + columns - 1) / columns;
  Matrix all(2 * bands * columns, first.cols());
  for (Index r = 0; r < first.rows(); ++r) {
    const Index at = 2 * (r / columns) * columns + r % columns;
    CopyRows(first.view().Rows(r, 1), all.view().Rows(at, 1));
    CopyRows(second.view().Rows(r, 1), all.view().Rows(at + columns, 1));
  }
  return all;
}

// Writes results, in the data's own units; a picture shows the originals above them.
void WriteBack(const ModelFile& file, const Matrix& originals, const Matrix& results, const Dataset::Names& names,
               const std::string& out) {
  CheckFinite(file, results, "results");
  if (Ending(out) != ".png") {
    WriteRows(out, results, names.columns);
  } else {
    const Index columns = std::min<Index>(16, originals.rows());
    WriteImages(out, file, {Interleave(originals, results, columns)}, static_cast<int>(columns));
  }
}

int Reconstruct(const Arguments& a, const Common& common) {
  CheckOutput(a.out, {".png", ".npy", ".csv"});
  CheckApart(a.out, {a.model, a.data.source});
  const ModelFile file = OpenModel(a.model, {}, {.labels = true, .conditions = true});
  CheckImages(a.out, file);
  const DataRows rows = ReadGiven(file, a.data, a.count);
  const Matrix& originals = rows.values;
  const Matrix data = InModelUnits(file, originals, a.data.source);
  ThreadPool pool(common.threads);
  const Codes codes(file);
  const BitMatrix h = codes.Draw({data, rows.conditions}, common.seed, pool);
  const Matrix mean = codes.Decode(h, rows.conditions, pool);
  Matrix results = mean;
  file.standardization.Invert(results);
  WriteBack(file, originals, results, rows.names, a.out);
  PrintResults(Beside(common, a.out),
               {{"reconstructions", a.out},
                {"count", std::int64_t{data.rows()}},
                {"mean_squared_error", SquaredUnits(file, MeanSquaredDifference(file, data, mean))}});
  return 0;
}

// 1 where a unit is known. As rows of one image: a file with one row, or as many rows as the data.
std::vector<std::uint8_t> ReadMask(const ModelFile& file, const std::string& path) {
  const Index visible = file.model.gaussian_units();
  if (Ending(path) == ".png" || Ending(path) == ".jpg" || Ending(path) == ".jpeg") {
    const Image image = To8Bit(DecodeImage(ReadFile(path), path));
    const ImageShape& shape = file.image_shape;
    if (image.height != shape.height || image.width != shape.width) {
      throw DataError(fmt::format("--mask {}: {} × {} pixels: the model's images have {} × {}", path, image.width,
                                  image.height, shape.width, shape.height));
    }
    // Half of the brightest: edges in a JPEG file are never quite black. Of other channels than the model's, the brightest.
    const int half = (std::ranges::max(image.pixels) + 1) / 2;
    std::vector<std::uint8_t> known;
    for (Index i = 0; i < visible; ++i) {
      const std::span<const std::uint8_t> pixel =
          std::span(image.pixels).subspan(ToSize(i / shape.channels * image.channels), ToSize(image.channels));
      const int value = image.channels == shape.channels ? pixel[ToSize(i % shape.channels)] : std::ranges::max(pixel);
      known.push_back(value > 0 && value >= half ? 1 : 0);
    }
    return known;
  }
  DataOptions options;
  options.source = path;
  options.split = "all";
  const Dataset mask = LoadDataset(options);
  if (mask.rows() == 1) mask.CheckNames(file.columns, {}, "the model");
  if (mask.visible() * mask.rows() != visible) {
    throw DataError(fmt::format("--mask {}: {} values, but the model has {} visible units: they must be as many", path,
                                mask.visible() * mask.rows(), visible));
  }
  std::vector<std::uint8_t> known;
  const Matrix values = mask.ReadAll();
  for (const float v : values.values()) known.push_back(v != 0 ? 1 : 0);
  return known;
}

// Of every row, what its mask, where there is one, and its values leave known.
BasicMatrix<std::uint8_t> KnownUnits(const Matrix& rows, const std::vector<std::uint8_t>& mask) {
  BasicMatrix<std::uint8_t> known(rows.rows(), rows.cols());
  for (Index r = 0; r < rows.rows(); ++r) {
    for (Index i = 0; i < rows.cols(); ++i) {
      known(r, i) = !std::isnan(rows(r, i)) && (mask.empty() || mask[static_cast<std::size_t>(i)] != 0) ? 1 : 0;
    }
  }
  return known;
}

// Rows in the model's units, 0 where a value is missing.
Matrix GapsAtMean(const ModelFile& file, Matrix rows, const std::string& source) {
  file.standardization.Apply(rows);
  std::ranges::replace_if(
      rows.values(), [](float value) { return std::isnan(value); }, 0.0f);
  CheckReach(file.model, rows, source);
  return rows;
}

// What is filled in of rows in the model's units, and how far values lie from it where a mean is asked for. A class is
// unknown, and drawn with the values; conditions are known.                                    [math.md (65), (68), (81)]
Imputed FillIn(const Arguments& a, const ModelFile& file, DataRows rows, const BasicMatrix<std::uint8_t>& known,
               std::uint64_t seed, ThreadPool& pool) {
  const bool conditions = file.model.conditions() > 0;
  const Model model = conditions ? WithConditionUnits(file.model) : file.model;
  if (conditions) {
    rows.values = WithConditions(rows.values, rows.conditions);
    TakeShift(file.model, rows.values, pool);
  }
  if (!file.classes.empty()) rows.values = WithRoomForLabels(file.model, rows.values);
  BasicMatrix<std::uint8_t> of_states(rows.values.rows(), rows.values.cols());
  for (Index r = 0; r < of_states.rows(); ++r) {
    std::ranges::fill(of_states.row(r), static_cast<std::uint8_t>(conditions ? 1 : 0));
    std::ranges::copy(known.row(r), of_states.row(r).begin());
  }
  const SamplerOptions options = ShownSampler(file);
  Imputed filled;
  if (a.mean > 0) {
    Matrix least;  // that is shown, in the units of the chains: less what conditions shift
    if (!file.standardization.margin.empty()) {
      least = rows.values;
      const MutableMatrix all = least;
      const MutableMatrix values(all.data(), all.rows(), file.model.gaussian_units(), all.stride());
      for (Index r = 0; r < values.rows(); ++r) {
        std::ranges::fill(values.row(r), -std::numeric_limits<float>::infinity());
      }
      file.standardization.Shown(values);
      if (conditions) TakeShift(file.model, least, pool);
    }
    filled = InpaintMean(model, options, rows.values, of_states, a.mean, seed, pool, least);
    filled.deviation = WithoutLabels(model, filled.deviation);
  } else {
    filled.mean = Inpaint(model, options, rows.values, of_states, seed, pool);
  }
  if (conditions) AddShift(file.model, filled.mean, pool);
  filled.mean = WithoutLabels(model, filled.mean);
  return filled;
}

int RunInpaint(const Arguments& a, const Common& common) {
  CheckOutput(a.out, {".png", ".npy", ".csv"});
  CheckApart(a.out, {a.model, a.data.source, a.mask});
  if (!a.deviation.empty()) {
    CheckOutput(a.deviation, {".npy", ".csv"}, "--deviation");
    CheckApart(a.deviation, {a.model, a.data.source, a.mask, a.out}, "--deviation");
    if (a.mean == 0) throw ConfigError("--deviation: it is that of a mean: say by --mean over how many draws");
  }
  ModelFile file = ReadAnyModel(a.model);
  CheckTaken(file, a.model, {.labels = true, .conditions = true});
  const auto given = [&](std::string_view setting) {
    return std::ranges::any_of(a.assignments, [&](const std::string& text) { return text.starts_with(setting); });
  };
  const bool chosen = given("sampler.method=") || given("sampler.adjust=");
  const auto leave_unadjusted = [&] {
    file.sampler.adjust = Adjust::kNone;
    file.sampler.proposal_temperature = file.generate.proposal_temperature = 0;
  };
  if (chosen) leave_unadjusted();
  ApplySet(file, a.model, a.assignments);
  if (!chosen) {
    file.sampler.method = InpaintSampler(file.generation()).method;
    leave_unadjusted();
  }
  CheckImages(a.out, file);
  WarnUnstable(file);
  const std::vector<std::uint8_t> mask = a.mask.empty() ? std::vector<std::uint8_t>() : ReadMask(file, a.mask);
  const Index count = a.count == 0 && !mask.empty() ? kShown : a.count;
  DataRows rows = ReadGiven(file, a.data, count, Gaps::kSample);
  Matrix originals = rows.values;
  const BasicMatrix<std::uint8_t> known = KnownUnits(originals, mask);
  const std::int64_t gaps = std::ranges::count_if(originals.values(), [](float value) { return std::isnan(value); });
  if (mask.empty() && gaps == 0) {
    throw ConfigError(
        fmt::format("inpaint: {} has no missing value: say by --mask which units to fill in", a.data.source));
  }
  const Matrix data = GapsAtMean(file, originals, a.data.source);
  ThreadPool pool(common.threads);
  rows.values = data;
  auto [filled, deviation] = FillIn(a, file, rows, known, common.seed, pool);
  Matrix results = filled;
  file.standardization.Invert(results);
  if (!a.deviation.empty()) {
    for (Index r = 0; r < deviation.rows() && !file.standardization.identity(); ++r) {
      for (std::size_t i = 0; i < deviation.row(r).size(); ++i) {
        deviation.row(r)[i] *= file.standardization.deviation[i];
      }
    }
    CheckFinite(file, deviation, "deviations");
    WriteRows(a.deviation, deviation, rows.names.columns);
  }
  PutBack(originals, known, results);
  if (gaps > 0) {  // of which a picture shows the mean
    originals = data;
    file.standardization.Invert(originals);
  }
  WriteBack(file, originals, results, rows.names, a.out);
  Results printed = {{"inpainted", a.out}, {"count", std::int64_t{data.rows()}}};
  if (!mask.empty()) printed.emplace_back("known_units", static_cast<std::int64_t>(std::ranges::count(mask, 1)));
  if (gaps > 0) printed.emplace_back("missing_values", gaps);
  printed.emplace_back("final", a.mean > 0 ? fmt::format("mean of {} draws", a.mean) : FinalText(file));
  if (!a.deviation.empty()) printed.emplace_back("deviations", a.deviation);
  // Against the truth, where there is one.
  if (gaps == 0)
    printed.emplace_back("mean_squared_error", SquaredUnits(file, MeanSquaredDifference(file, data, filled)));
  PrintResults(Beside(common, a.out), printed);
  return 0;
}

void AddShared(Command command, Arguments& a, Common& common, const std::string& count_help) {
  command.AddOption("MODEL", a.model, "A model file, or a run's folder").Required();
  AddData(command, a.data);
  AddNumber<Index>(command, "-n,--count", a.count, count_help, a.count == 0 ? 0 : 1, 100'000'000).ShowDefault();
  command
      .AddOption(
          "-o,--out", a.out,
          "A picture (.png), originals above results, an array (.npy) or a table (.csv, or - for standard output)")
      .Required();
  AddThreads(command, common.threads);
  AddSeed(command, common.seed);
}

}  // namespace

void AddReconstruct(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("reconstruct", "Data through the hidden units and back");
  const auto a = std::make_shared<Arguments>();
  AddShared(command, *a, common, "How many rows, from the first on");
  command.SetFooter("Example: grbm reconstruct run/model.safetensors --data mnist -o reconstructions.png");
  command.SetCallback([=, &common, &action] { action = [=, &common] { return Reconstruct(*a, common); }; });
}

void AddInpaint(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("inpaint", "Fill in visible units given the others");
  const auto a = std::make_shared<Arguments>();
  a->count = 0;
  AddShared(command, *a, common, "How many rows, from the first on; 0: all, or with a mask 32");
  command.AddOption(
      "--mask", a->mask,
      "What is known: a picture (.png, .jpg), an array or a table of one row, as large as the model's; 0, "
      "or black, where to fill in. Without it, values that are missing are filled in");
  AddNumber<std::int64_t>(command, "--mean", a->mean,
                          "Fill in what is expected: the mean over so many draws of each row, one a step after the "
                          "sampler's; 0: one draw, as sampler.final says",
                          0, 100'000'000)
      .ShowDefault();
  command
      .AddOption("--deviation", a->deviation,
                 "With --mean: also how far values lie from it, their standard deviation given what is known (.npy, "
                 ".csv)")
      .SetTypeName("FILE");
  AddSet(command, a->assignments);
  command.SetFooter(
      "Example: grbm inpaint run/model.safetensors --data mnist --mask upper-half.npy -o filled.png\n"
      "         grbm inpaint runs/table --data gaps.csv --split all --mean 100 -o filled.csv --deviation sure.csv");
  command.SetCallback([=, &common, &action] { action = [=, &common] { return RunInpaint(*a, common); }; });
}

}  // namespace grbm::app
