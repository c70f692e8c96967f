// What can be said about data at a glance.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "grbm/data/dataset.h"

namespace grbm {

struct DataInfo {
  std::string source;
  Index rows = 0;
  Index visible = 0;
  ImageShape shape;
  std::string dtype;  // "u8", "u16" (images, on the scale of 0 to 255) or "f32"
  // Of all values together, in the data's own units.
  double min = 0;
  double max = 0;
  double mean = 0;
  double deviation = 0;
  std::int64_t bytes = 0;       // that its values take in memory while a model is trained
  Index constant_units = 0;     // visible units with the same value in every row
  std::vector<double> missing;  // by visible unit the share of rows without its value; empty where all are known
  std::string warning;          // what whoever trains on them should know; mostly empty
  std::map<int, Index> labels;  // how many rows have each; empty where unknown
};

// Reads all of the data, twice. `data` has at least one row.
DataInfo Describe(const Dataset& data);

}  // namespace grbm
