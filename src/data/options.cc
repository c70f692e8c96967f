#include "grbm/data/options.h"

#include <algorithm>
#include <filesystem>

namespace grbm {

std::span<const std::string_view> DataNames() {
  static constexpr std::string_view kNames[] = {"mnist", "fashion-mnist", "gmm-iso", "gmm-aniso", "strokes"};
  return kNames;
}

bool IsDataName(const std::string& source) { return std::ranges::find(DataNames(), source) != DataNames().end(); }

std::string ResolveSource(const std::string& source) {
  if (source.empty() || IsDataName(source)) return source;
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(source, error);
  if (error) return source;
  // "a/link/.." need not be "a".
  const bool up = std::ranges::find(path, "..") != path.end();
  return up ? path.string() : path.lexically_normal().string();
}

std::vector<Field> DataOptions::Fields() {
  return {
      {"source", &source,
       "\"mnist\", \"fashion-mnist\", \"gmm-iso\", \"gmm-aniso\", \"strokes\" (made images), or the path of an IDX, "
       "NPY, NPZ, HDF5, h5ad, CSV or TSV file or of a folder of images"},
      {"columns",
       &columns,
       "tables: which columns are taken, by name or number (from 1), separated by commas, \"2-5\" for several; empty: "
       "all "
       "that hold numbers",
       {},
       "1-4"},
      {"label",
       &label,
       "tables, h5ad: the column of labels, by name or number; empty: of a table the one of text, where there is one",
       {},
       "species"},
      {"weight",
       &weight,
       "tables: the column of row weights, by name or number; NPZ, HDF5, h5ad: the array, or column of obs; the law of "
       "the data is then that of rows drawn in proportion to them; empty: all rows count the same",
       {},
       "weight"},
      {"condition",
       &condition,
       "columns of a table or array that are given, and are no units of the model: they shift its biases; by name or "
       "number "
       "(from 1), as columns",
       {},
       "5,6"},
      {"history",
       &history,
       "rows in the order of time: so many before each row are given with it, as conditions; 0: none",
       {.min = 0, .max = 1e6},
       "2"},
      {"key", &key, "NPZ, HDF5: which array; empty: the only one", {}, "X"},
      {"missing",
       &missing,
       "tables: marks of missing values, separated by commas, of which numbers stand for equal ones; an empty cell "
       "always is one",
       {},
       "NA,-999"},
      {"gaps",
       MakeChoice(gaps, {"refuse", "sample"}),
       "values that are missing (in tables, or NaN in arrays): refuse them, or train on what is known of a row: the "
       "rest is drawn afresh, given that, at every update",
       {},
       "sample"},
      {"standardize", MakeChoice(standardize, {"channel", "pixel", "none"}),
       "what shares one mean and deviation: a colour channel (all values, where rows are not images), each pixel or "
       "column by itself, or nothing: values as they are"},
      {"margin",
       &margin,
       "values of 0, such as black, are moved down by so many deviations, in channels or columns without any below 0, "
       "and "
       "all that a model puts at or below 0 is 0 again: where many values are 0, they come out as 0, not near it; "
       "0: as they are",
       {.min = 0, .max = 100},
       "0.3"},
      {"crop", &crop, "images: keep the centre of so many pixels a side; 0 keeps all", {.min = 0, .max = 65535}},
      {"resize",
       &resize,
       "images: change the size to so many pixels a side, after the crop; 0 keeps it",
       {.min = 0, .max = 8192}},
      {"subset",
       &subset,
       "draw so many rows at random (of a mixture and of strokes: make so many, 1000 where it is 0); 0 takes all",
       {.min = 0, .max = 1e12}},
      {"subset_seed",
       &subset_seed,
       "seed of the subset, or of a mixture's points and of strokes",
       {.min = 0, .max = 0x1p53},
       "2"},
      {"split", &split, "\"train\", \"valid\", \"test\" or \"all\", where the data come in parts"},
      {"held_out",
       &held_out,
       "data of one part: what is its part \"test\": a share of the rows, such as 0.1, drawn at random by subset_seed "
       "and "
       "left out of \"train\"; or the path of other data; empty: nothing",
       {},
       "0.1"},
      {"noise",
       &noise,
       "training: variance of the Gaussian noise that is added to each batch afresh, in the model's units (1: that of "
       "the "
       "data); the model is then one of the data with this noise, and its conditional means are without it",
       {.min = 0, .max = 1e6}},
  };
}

}  // namespace grbm
