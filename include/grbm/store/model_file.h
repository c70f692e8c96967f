// Trained models on disk: the parameters with all that is needed to draw samples from them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "grbm/data/image_shape.h"
#include "grbm/data/standardization.h"
#include "grbm/model/model.h"
#include "grbm/sampler/law.h"
#include "grbm/sampler/options.h"

namespace grbm {

struct ModelFile {
  static constexpr std::size_t kMaxName = 200;  // bytes of the name of a column

  Model model;
  SamplerOptions sampler = {};    // by which the model was trained: its chains' law is the model's
  GenerateOptions generate = {};  // how samples are drawn, where that is not as in training
  Standardization standardization = {};
  ImageShape image_shape = {};
  std::map<std::string, std::string> provenance = {};
  std::vector<std::string> classes = {};  // what each label unit of the model stands for
  Standardization conditions = {};        // of the model's conditions
  Index history = 0;                      // how many rows before a row are its conditions; 0: these are columns
  // What the data call the Gaussian units, and the conditions; none where they do not.
  std::vector<std::string> columns = {};
  std::vector<std::string> condition_columns = {};

  // The law that likelihoods and densities are of, whatever samples are drawn by.                      [math.md (54)]
  VisibleLaw law() const;
  // How samples are drawn.
  SamplerOptions generation() const;
  // The highest temperature of the law and of what samples are drawn by.
  double hottest() const;
  // The model given one of its classes, which is one without labels. Throws ConfigError, opened by `where`, for a name that is
  // none of them.                                                                                      [math.md (73)]
  ModelFile Given(std::string_view name, std::string_view where) const;

  // Whether the model's data were pixels, of 8 or 16 bits: numbers from 0 to 255.
  bool is_pixels() const {
    const auto bits = provenance.find("bits");
    return bits != provenance.end() && (bits->second == "8" || bits->second == "16");
  }
};

// A safetensors file with the tensors W (visible × hidden), b, mu, log_var, and of conditions A and B; the rest is in its
// metadata. A file with only these tensors is a model with the default sampler and no
// standardisation. Throws DataError with the file and the place where something is wrong.
ModelFile ReadModel(const std::string& path);
// The same from memory, or a NumPy archive; `source` stands for the path.
ModelFile ParseModel(std::string contents, const std::string& source);
// Atomically. A file that was read and is written again has the same bytes.
void WriteModel(const std::string& path, const ModelFile& file);

// The same as a NumPy archive: arrays W, b, mu, log_var, and `metadata`, the bytes of a JSON text.
// An archive without `metadata` is a model, too.
void ExportNpz(const std::string& path, const ModelFile& file);
ModelFile ImportNpz(const std::string& path);

}  // namespace grbm
