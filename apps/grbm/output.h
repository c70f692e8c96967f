// What commands write and print.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "commands.h"
#include "grbm/core/matrix.h"
#include "grbm/data/options.h"
#include "grbm/store/model_file.h"

namespace grbm::app {

// Named results, in order: lines for people, with four digits of what is not whole, and one object for programs, with all
// that there are.
struct Measure {
  double value = 0;
  std::string unit;  // said to people
};
using Result = std::variant<std::string, double, std::int64_t, Measure>;
void PrintResults(const Common& common, const std::vector<std::pair<std::string, Result>>& results);

// ".png" of "a/b.png", in lower case.
std::string Ending(const std::string& path);
// Throws ConfigError unless the path ends in one of those.
void CheckEnding(const std::string& path, const std::vector<std::string>& allowed);
// The same, and IoError unless its folder exists: before the work, not after it.
void CheckOutput(const std::string& path, const std::vector<std::string>& allowed);

// Throws ConfigError where a picture is asked for and the model's rows are not images.
void CheckImages(const std::string& path, const ModelFile& file);

// Rows in the data's own units, as a grid of images. Values from 0 to 255 where the data were 8-bit; otherwise the range
// of the rows themselves.
void WriteImages(const std::string& path, const ModelFile& file, const std::vector<Matrix>& frames, int columns);

// How to read data for a model: the crop and size of the images that it was trained on, and the same subset where these
// are the very data.
DataOptions ModelData(const ModelFile& file, const std::string& source);
// The rows of a data set that fit the model, in their own units; at most `limit` of them (0: all).
Matrix ReadGiven(const ModelFile& file, const std::string& source, const std::string& split, Index limit);
// Rows of their own units in those of the model. `source` opens messages.
Matrix InModelUnits(const ModelFile& file, Matrix values, const std::string& source);

// Adds `--set sampler.key=value` and `--set generate.key=value`, which may be repeated.
void AddSet(Command command, std::vector<std::string>& assignments);
// A model to compute with: its file with these settings; one of the sampler takes the place of one of generation, too. Throws
// ConfigError where the settings make a step diverge for more units than the file's own, NumericError where the parameters are so
// large that floats do not suffice.
ModelFile OpenModel(const std::string& path, const std::vector<std::string>& assignments = {});
// The same of a file that was read from `path`.
void ApplySet(ModelFile& file, const std::string& path, const std::vector<std::string>& assignments);
// A line on standard error where the sampler's step overshoots for some units.
void WarnUnstable(const ModelFile& file);
// "mean" or "sample": what of v was written, for the results.
std::string FinalText(const ModelFile& file);

}  // namespace grbm::app
