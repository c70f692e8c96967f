// What commands write and print.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "commands.h"
#include "grbm/core/matrix.h"
#include "grbm/data/options.h"
#include "grbm/evaluate/evaluation.h"
#include "grbm/store/model_file.h"

namespace grbm::app {

// Named results, in order: lines for people, with four digits of what is not whole, and one object for programs, with all
// that there are.
struct Measure {
  double value = 0;
  std::string unit;  // said to people
};
// Names, or the sizes of an image: a list for programs, and for people a line, "none" where it is empty.
using Names = std::vector<std::string>;
using Sizes = std::vector<std::int64_t>;
using Result = std::variant<std::string, bool, double, std::int64_t, Measure, Names, Sizes>;
using Results = std::vector<std::pair<std::string, Result>>;
void PrintResults(const Common& common, const Results& results);

// Height, width and channels, where the rows are images.
Sizes SizesOf(const ImageShape& shape);

// A line for each score, under the name of its metric.
void PrintScores(const std::vector<MetricScores>& metrics);

// For a command that writes to `out`: where that is standard output, results are not printed beside it.
Common Beside(const Common& common, const std::string& out);

// ".png" of "a/b.png", in lower case; of "-", standard output, ".csv".
std::string Ending(const std::string& path);
// Throws ConfigError unless the path ends in one of those. `option` opens the message.
void CheckEnding(const std::string& path, const std::vector<std::string>& allowed, const char* option = "-o");
// The same, and IoError unless its folder exists: before the work, not after it.
void CheckOutput(const std::string& path, const std::vector<std::string>& allowed, const char* option = "-o");
// Throws ConfigError where an output is one of the other files that the command has: it would be lost. Others may be empty.
void CheckApart(const std::string& path, const std::vector<std::string>& others, const char* option = "-o");

// Throws ConfigError where a picture is asked for and the model's rows are not images.
void CheckImages(const std::string& path, const ModelFile& file);

// Rows as an array (.npy) or a table (.csv, or "-": standard output) with the names, where there are any, in its first line.
void WriteRows(const std::string& path, const Matrix& rows, std::span<const std::string> names = {});

// Rows in the data's own units, as a grid of images. Values from 0 to 255 where the data were 8-bit; otherwise the range
// of the rows themselves.
void WriteImages(const std::string& path, const ModelFile& file, const std::vector<Matrix>& frames, int columns);

// How to read data for a model: the crop and size of the images that it was trained on, and the same subset where these
// are the very data.
DataOptions ModelData(const ModelFile& file, const std::string& source);

// --data and what says more of it.
struct DataArguments {
  std::string source;
  std::string split = {};  // empty: "test" where there is such a part, otherwise "train"
  std::string columns = {};
  std::string label = {};
  std::string key = {};
  std::string held_out = {};

  // Where it is given, it is put in its place.
  void Put(DataOptions& options) const;
};
Option AddData(Command command, DataArguments& data, const std::string& help = "Data");
// The same without --data.
void AddDataDetails(Command command, DataArguments& data);
// ModelData with what was given.
DataOptions GivenData(const ModelFile& file, const DataArguments& data);

struct DataRows {
  Matrix values;
  Matrix conditions;  // in the model's units; of models without them, no columns
  Dataset::Names names;
  std::vector<int> labels;  // one per row, or none
};
// The rows of a data set that fit the model, in their own units; at most `limit` of them (0: all).
DataRows ReadGiven(const ModelFile& file, const DataArguments& data, Index limit, Gaps gaps = Gaps::kRefuse);
// Rows of their own units in those of the model. `source` opens messages.
Matrix InModelUnits(const ModelFile& file, Matrix values, const std::string& source);
// The same, in the model's units.
DataRows ReadRows(const ModelFile& file, const DataArguments& data, Index limit);

// Adds `--set sampler.key=value` and `--set generate.key=value`, which may be repeated.
void AddSet(Command command, std::vector<std::string>& assignments);
// The file that is meant: a run's folder means the model in it.
std::string ModelFileAt(const std::string& path);
// A model as it is, of a .safetensors or .npz file, or of a run's folder.
ModelFile ReadAnyModel(const std::string& path);
// A model to compute with: its file with these settings; one of the sampler takes the place of one of generation, too. Throws
// ConfigError where the settings make a step diverge for more units than the file's own, NumericError where the parameters are so
// large that floats do not suffice.
// One with labels or with conditions, where such are not taken, is refused in words that say what to do.
struct Taken {
  bool labels = false;
  bool conditions = false;
};
ModelFile OpenModel(const std::string& path, const std::vector<std::string>& assignments = {}, Taken taken = {});
void CheckTaken(const ModelFile& file, const std::string& path, Taken taken = {});
// The same of a file that was read from `path`.
void ApplySet(ModelFile& file, const std::string& path, const std::vector<std::string>& assignments);
// A line on standard error where the sampler's step overshoots for some units.
void WarnUnstable(const ModelFile& file);
// "mean" or "sample": what of v was written, for the results.
std::string FinalText(const ModelFile& file);

}  // namespace grbm::app
