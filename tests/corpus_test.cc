// The corpora of the fuzz targets, read without a fuzzer: seeds, and every input that ever broke something.
#include <gtest/gtest.h>

#include "../fuzz/checkpoint_fuzz.cc"
#include "../fuzz/csv_fuzz.cc"
#include "../fuzz/evaluation_fuzz.cc"
#include "../fuzz/gif_fuzz.cc"
#include "../fuzz/gzip_fuzz.cc"
#include "../fuzz/http_fuzz.cc"
#include "../fuzz/idx_fuzz.cc"
#include "../fuzz/jpeg_fuzz.cc"
#include "../fuzz/manifest_fuzz.cc"
#include "../fuzz/metrics_fuzz.cc"
#include "../fuzz/model_fuzz.cc"
#include "../fuzz/npy_fuzz.cc"
#include "../fuzz/npz_fuzz.cc"
#include "../fuzz/png_fuzz.cc"
#include "../fuzz/safetensors_fuzz.cc"
#include "../fuzz/sparse_fuzz.cc"
#include "../fuzz/toml_fuzz.cc"

namespace grbm {
namespace {

struct Reader {
  const char* name;
  void (*read)(std::string_view);
};
constexpr Reader kReaders[] = {
    {"checkpoint", TryCheckpoint},
    {"csv", TryCsv},
    {"evaluation", TryEvaluation},
    {"gif", TryGif},
    {"gzip", TryGzip},
    {"http", TryHttp},
    {"idx", TryIdx},
    {"jpeg", TryJpeg},
    {"manifest", TryManifest},
    {"metrics", TryMetrics},
    {"model", TryModel},
    {"npy", TryNpy},
    {"npz", TryNpz},
    {"png", TryPng},
    {"safetensors", TrySafetensors},
    {"sparse", TrySparse},
    {"toml", TryToml},
};

// Each file is read, or refused with an Error; what a fuzzer would see as a crash ends the test.
class Corpus : public ::testing::TestWithParam<Reader> {};

TEST_P(Corpus, IsReadOrRefused) {
  const std::filesystem::path folder = std::filesystem::path(GRBM_CORPUS) / GetParam().name;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string contents = ReadFile(entry.path().string());
    SCOPED_TRACE(entry.path().string());
    EXPECT_NO_THROW(Fuzz(reinterpret_cast<const std::uint8_t*>(contents.data()), contents.size(), GetParam().read));
    ++files;
  }
  EXPECT_GT(files, 0);
}

INSTANTIATE_TEST_SUITE_P(Readers, Corpus, ::testing::ValuesIn(kReaders),
                         [](const auto& reader) { return std::string(reader.param.name); });

}  // namespace
}  // namespace grbm
