#include "grbm/store/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "core/hostile_test.h"
#include "grbm/core/file.h"
#include "grbm/core/npz.h"
#include "grbm/core/safetensors.h"
#include "store/parameter_tensors.h"
#include "support/errors.h"
#include "support/models.h"

namespace grbm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Every field away from its default, with numbers that decimal text does not hold easily.
ModelFile Example() {
  ModelFile file = {Model(grbm::testing::RandomModel(4, 3, 1).parameters(), 1.0 / 3e5)};
  file.sampler.method = Method::kLangevin;
  file.sampler.steps = 17;
  file.sampler.step_size = 1.0 / 3.0;
  file.sampler.temperature = 0.1;
  file.sampler.anneal = false;
  file.sampler.adjust = Adjust::kMetropolis;
  file.sampler.final = Final::kSample;
  file.sampler.proposal_temperature = 0.7;
  file.generate.steps = 23;
  file.generate.step_size = 1.0 / 7.0;
  file.generate.temperature = 3.1;
  file.generate.proposal_temperature = 4.3;
  file.generate.final = Final::kMean;
  file.standardization = {{0.1f, -1.0f / 3.0f, 1e-45f, 3e38f}, {1e-38f, 0.7f, 2.0f, 1.0f / 255.0f}};
  file.image_shape = {2, 2, 1};
  file.provenance = {{"data", "gmm-iso"}, {"note", "line\n\"quoted\" \\ Käse"}};
  return file;
}

void ExpectSame(const ModelFile& a, const ModelFile& b) {
  EXPECT_EQ(a.model.parameters(), b.model.parameters());
  EXPECT_EQ(a.model.variance_floor(), b.model.variance_floor());
  EXPECT_EQ(a.sampler, b.sampler);
  EXPECT_EQ(a.generate, b.generate);
  EXPECT_EQ(a.standardization, b.standardization);
  EXPECT_EQ(a.image_shape, b.image_shape);
  EXPECT_EQ(a.provenance, b.provenance);
  EXPECT_EQ(a.classes, b.classes);
  EXPECT_EQ(a.columns, b.columns);
  EXPECT_EQ(a.condition_columns, b.condition_columns);
  EXPECT_EQ(a.model.label_units(), b.model.label_units());
}

class ModelFileTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  // The message with which a file of the example's tensors and these metadata is refused, after
  // its path.
  std::string Refusal(const std::map<std::string, std::string>& metadata) {
    WriteModel(path_, Example());
    TensorFile tensors = ReadTensors(path_);
    tensors.metadata = metadata;
    WriteTensors(path_, tensors);
    return Refusal();
  }
  std::string Refusal() {
    const std::string message = DataMessage([this] { ReadModel(path_); });
    return message.starts_with(path_ + ": ") ? message.substr(path_.size() + 2) : message;
  }

  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("grbm-model-file-test-" + std::to_string(::getpid()))).string();
};

TEST_F(ModelFileTest, ReadsBackWhatWasWrittenAndWritesTheSameBytes) {
  WriteModel(path_, Example());
  const std::string first = ReadFile(path_);
  const ModelFile read = ReadModel(path_);
  ExpectSame(read, Example());
  WriteModel(path_, read);
  EXPECT_EQ(ReadFile(path_), first);
}

TEST_F(ModelFileTest, NpzKeepsEverything) {
  ExportNpz(path_, Example());
  const std::string first = ReadFile(path_);
  const ModelFile read = ImportNpz(path_);
  ExpectSame(read, Example());
  ExportNpz(path_, read);
  EXPECT_EQ(ReadFile(path_), first);
}

TEST_F(ModelFileTest, ClassesAreKeptAndGivenOneTheModelIsOneWithout) {
  ModelFile file = {grbm::testing::LabelledModel(4, 3, 2, 1), Example().sampler};
  file.classes = {"ant", "bee", "Käfer"};
  file.standardization = Example().standardization;
  file.image_shape = {2, 2, 1};
  WriteModel(path_, file);
  ExpectSame(ReadModel(path_), file);
  ExportNpz(path_, file);
  ExpectSame(ImportNpz(path_), file);

  const ModelFile given = file.Given("bee", "--label bee");
  EXPECT_EQ(given.model.visible(), 4);
  EXPECT_FLOAT_EQ(given.model.b()[1], file.model.b()[1] + file.model.W()(5, 1));
  EXPECT_TRUE(given.classes.empty());
  WriteModel(path_, given);
  ExpectSame(ReadModel(path_), given);

  const auto refused = [](const ModelFile& of, const char* name) {
    return grbm::testing::ErrorOf([&] { of.Given(name, "--label"); });
  };
  EXPECT_EQ(refused(file, "wasp"), "--label: no such class: allowed are ant, bee, Käfer");
  EXPECT_EQ(refused(given, "bee"), "--label: the model has no labels: train one with model.labels=true");
  EXPECT_THAT(Refusal({{"format", "grbm-model"}, {"classes", R"({"ant": 1})"}}),
              HasSubstr("expected is a list of names"));
  EXPECT_THAT(Refusal({{"format", "grbm-model"}, {"classes", R"(["a", 2])"}}),
              HasSubstr("expected is a list of names"));
  EXPECT_THAT(Refusal({{"format", "grbm-model"}, {"classes", R"(["a", "a"])"}}), HasSubstr("'a' stands there twice"));
  EXPECT_THAT(Refusal({{"format", "grbm-model"}, {"classes", R"(["a", "b", "c", "d"])"}}),
              HasSubstr("4 of 4 visible units are labels"));
}

TEST_F(ModelFileTest, NamesOfColumnsAreKept) {
  ModelFile file = Example();
  file.columns.assign(ToSize(file.model.visible()), "größe, \"cm\"");
  WriteModel(path_, file);
  ExpectSame(ReadModel(path_), file);
  ExpectSame(ParseModel(ReadFile(path_), path_), file);
  ExportNpz(path_, file);
  ExpectSame(ImportNpz(path_), file);
  ExpectSame(ParseModel(ReadFile(path_), path_), file);  // whatever the path is called

  file.columns.assign(ToSize(file.model.visible()), std::string(ModelFile::kMaxName, '\x01'));
  WriteModel(path_, file);
  ExpectSame(ReadModel(path_), file);
  ExportNpz(path_, file);
  ExpectSame(ImportNpz(path_), file);

  EXPECT_THAT(Refusal({{"format", "grbm-model"}, {"columns", R"(["a"])"}}), HasSubstr("1 names: expected are"));
  EXPECT_THAT(Refusal({{"format", "grbm-model"}, {"columns", "7"}}), HasSubstr("expected is a list of names"));
  EXPECT_THAT(Refusal({{"format", "grbm-model"}, {"condition_columns", R"(["a"])"}}),
              HasSubstr("1 names: expected are 0"));
}

// How samples are drawn is not what the model is.
TEST_F(ModelFileTest, ConditionsAreKeptWithTheirUnits) {
  ModelFile file{testing::ConditionedModel(2, 4, 3, 5)};
  file.conditions = {{1, 2, 3, 4}, {0.5f, 1, 2, 3}};
  file.history = 2;
  WriteModel(path_, file);
  const auto expect = [&](const ModelFile& read) {
    EXPECT_EQ(read.model.parameters(), file.model.parameters());
    EXPECT_EQ(read.conditions, file.conditions);
    EXPECT_EQ(read.history, 2);
  };
  expect(ReadModel(path_));
  ExportNpz(path_, file);
  expect(ImportNpz(path_));
  const auto refusal = [&](const char* key, const std::string& text) {
    TensorFile tensors;
    AddParameters(file.model.parameters(), "", tensors);
    tensors.metadata = {{"format", "grbm-model"}, {key, text}};
    WriteTensors(path_, tensors);
    return Refusal();
  };
  EXPECT_EQ(refusal("history", "3"), "metadata 'history': '3': expected are as many rows as make the 4 conditions");
  EXPECT_THAT(refusal("history", "two"), HasSubstr("'two': expected"));
  EXPECT_THAT(refusal("conditions", R"({"mean": [1], "deviation": [1]})"),
              HasSubstr("mean has 1 elements: expected are 4"));
}

TEST_F(ModelFileTest, GenerationHasSettingsOfItsOwnAndLeavesTheLaw) {
  WriteModel(path_, Example());
  const ModelFile file = ReadModel(path_);
  const SamplerOptions drawn = file.generation();
  EXPECT_EQ(drawn.steps, 23);
  EXPECT_EQ(drawn.step_size, 1.0 / 7.0);
  EXPECT_EQ(drawn.temperature, 3.1);
  EXPECT_EQ(drawn.proposal_temperature, 4.3);
  EXPECT_EQ(drawn.final, Final::kMean);
  EXPECT_EQ(drawn.method, Method::kLangevin);
  EXPECT_EQ(file.law().temperature, 0.1);
  EXPECT_EQ(file.hottest(), 4.3);
  // Without such settings a file says nothing of them, as those of before did not, and all is as in training.
  ModelFile plain = Example();
  plain.generate = {};
  WriteModel(path_, plain);
  EXPECT_FALSE(ReadTensors(path_).metadata.contains("generate"));
  EXPECT_EQ(ReadModel(path_).generation(), plain.sampler);
}

// As they were written before samplers knew of proposals and files of generation.
TEST_F(ModelFileTest, ReadsFilesOfBefore) {
  EXPECT_EQ(
      Refusal({{"format", "grbm-model"},
               {"format_version", "1"},
               {"sampler", R"({"adjust":"metropolis","adjust_after":0,"anneal":true,"final":"auto","final_steps":0,)"
                           R"("langevin_steps":10,"method":"gibbs-langevin","refresh":0.5,"step_scale":"unit",)"
                           R"("step_size":0.5,"steps":32,"temperature":100.0})"}}),
      "(nothing was thrown)");
  const ModelFile file = ReadModel(path_);
  EXPECT_EQ(file.generation(), file.sampler);
  EXPECT_EQ(file.sampler.move_temperature(), 100);
  EXPECT_THAT(Refusal({{"format", "grbm-model"}, {"generate", R"({"proposal_temperature":3})"}}),
              HasSubstr("[generate]: sampler: proposal_temperature = 3"));
  EXPECT_THAT(Refusal({{"format", "grbm-model"}, {"generate", R"({"step":3})"}}), HasSubstr("did you mean 'steps'"));
}

TEST_F(ModelFileTest, TheFourTensorsAloneAreAModelWithDefaults) {
  TensorFile tensors;
  const std::vector<float> w = {1, 2, 3, 4, 5, 6};
  const std::vector<float> b = {7, 8, 9};
  const std::vector<float> mu = {10, 11};
  const std::vector<float> log_var = {0.5, -0.5};
  tensors.tensors = {MakeTensor("log_var", {2}, log_var), MakeTensor("mu", {2}, mu), MakeTensor("b", {3}, b),
                     MakeTensor("W", {2, 3}, w)};
  const auto expect = [&](const ModelFile& file) {
    EXPECT_THAT(file.model.parameters().W.values(), ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_THAT(file.model.b(), ElementsAre(7, 8, 9));
    EXPECT_THAT(file.model.mu(), ElementsAre(10, 11));
    EXPECT_THAT(file.model.log_var(), ElementsAre(0.5, -0.5));
    EXPECT_EQ(file.model.variance_floor(), Model::kDefaultVarianceFloor);
    EXPECT_EQ(file.sampler, SamplerOptions());
    EXPECT_TRUE(file.standardization.identity());
    EXPECT_FALSE(file.image_shape.known());
    EXPECT_TRUE(file.provenance.empty());
  };
  WriteTensors(path_, tensors);
  expect(ReadModel(path_));
  tensors.metadata = {{"format", "pt"}, {"sampler", "another program's"}};
  WriteTensors(path_, tensors);
  expect(ReadModel(path_));
  WriteNpz(path_, tensors.tensors);
  expect(ImportNpz(path_));
}

TEST_F(ModelFileTest, RefusesTensorsThatDoNotFit) {
  const std::vector<float> six(6);
  const auto refusal = [&](std::vector<Tensor> tensors) {
    TensorFile file;
    file.tensors = std::move(tensors);
    WriteTensors(path_, file);
    return Refusal();
  };
  const std::span<const float> v(six);
  const Tensor w = MakeTensor("W", {2, 3}, v);
  const Tensor b = MakeTensor("b", {3}, v.first(3));
  const Tensor mu = MakeTensor("mu", {2}, v.first(2));
  const Tensor log_var = MakeTensor("log_var", {2}, v.first(2));
  EXPECT_EQ(refusal({w, b, mu, log_var}), "(nothing was thrown)");
  EXPECT_EQ(refusal({w, b, mu}), "tensor 'log_var' is missing: the file has 'W', 'b', 'mu'");
  EXPECT_EQ(refusal({w, MakeTensor("b", {2}, v.first(2)), mu, log_var}), "tensor 'b' has shape [2]: expected is [3]");
  EXPECT_EQ(refusal({MakeTensor("W", {6}, v), b, mu, log_var}), "tensor 'W' has shape [6]: expected is [any, any]");
  EXPECT_THAT(refusal({MakeTensor("W", {0, 3}, {}), b, MakeTensor("mu", {0}, {}), MakeTensor("log_var", {0}, {})}),
              StartsWith("tensor 'W' has shape [0, 3]"));
  EXPECT_EQ(refusal({w, b, mu, log_var, MakeTensor("c", {6}, v)}),
            "tensor 'c': a model has only W, b, mu, log_var, A, B");
  const Tensor shift = MakeTensor("A", {2, 1}, v.first(2));
  EXPECT_EQ(refusal({w, b, mu, log_var, shift}), "tensor 'B' is missing: the file has 'W', 'b', 'mu', 'log_var', 'A'");
  EXPECT_EQ(refusal({w, b, mu, log_var, shift, MakeTensor("B", {3, 2}, v)}),
            "tensor 'B' has shape [3, 2]: expected is [3, 1]");
  const std::vector<float> bad = {0, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_THAT(refusal({w, b, MakeTensor("mu", {2}, bad), log_var}), HasSubstr("mu[1] is nan"));
}

TEST_F(ModelFileTest, ParametersAreFloatingPoint) {
  const float v[2] = {1, 2};
  const std::string_view bytes(reinterpret_cast<const char*>(v), 8);
  const std::string doubles(16, '\0');
  const auto refusal = [&](const Tensor& w) {
    TensorFile file;
    file.tensors = {w, MakeTensor("b", {1}, {v, 1}), MakeTensor("mu", {2}, v), MakeTensor("log_var", {2}, v)};
    WriteTensors(path_, file);
    return DataMessage([&] { ReadModel(path_); });
  };
  EXPECT_EQ(refusal({"W", "F64", {2, 1}, doubles}), "(nothing was thrown)");
  EXPECT_EQ(refusal({"W", "I32", {2, 1}, bytes}),
            path_ + ": tensor 'W' has dtype I32: allowed are F32, F64, F16 and BF16: convert it to one of them");
  for (const char* dtype : {"U8", "I8", "BOOL", "U16", "I16", "U32", "I64", "U64"}) {
    const auto size = static_cast<std::size_t>(DtypeBits(dtype)) / 4;
    EXPECT_THAT(refusal({"W", dtype, {2, 1}, std::string_view(doubles).substr(0, size)}), HasSubstr(dtype));
  }
}

TEST_F(ModelFileTest, RefusesFormatsItDoesNotKnow) {
  EXPECT_THAT(Refusal({{"format", "grbm-model"}, {"format_version", "2"}}),
              ::testing::AllOf(StartsWith("format_version '2': this is grbm "),
                               HasSubstr("which reads version 1: use a newer grbm")));
  EXPECT_THAT(Refusal({{"format", "grbm-checkpoint"}}), HasSubstr("'grbm-checkpoint'"));
  EXPECT_EQ(Refusal({{"format", "grbm-model"}, {"sampIer", "{}"}}),
            "metadata: unknown key 'sampIer': did you mean 'sampler'?");
}

TEST_F(ModelFileTest, RefusesSamplersThatCannotBe) {
  const auto refusal = [this](const std::string& text) { return Refusal({{"sampler", text}}); };
  EXPECT_EQ(refusal("{}"), "(nothing was thrown)");
  EXPECT_EQ(refusal(R"({"step": 3})"), "metadata 'sampler': unknown key 'step': did you mean 'steps'?");
  EXPECT_EQ(refusal(R"({"steps": 0})"),
            "metadata 'sampler': steps = 0: allowed is a whole number from 1 to 1000000000");
  EXPECT_THAT(refusal(R"({"steps": 1.5})"), HasSubstr("steps = 1.5"));
  EXPECT_THAT(refusal(R"({"steps": 18446744073709551615})"), HasSubstr("steps = "));
  EXPECT_THAT(refusal(R"({"steps": null})"), HasSubstr("steps is null"));
  EXPECT_THAT(refusal(R"({"method": "a\nb"})"), HasSubstr("method = 'a\\x0ab': allowed is one of"));
  EXPECT_THAT(refusal(R"({"a\nb": 1})"), HasSubstr("unknown key 'a\\x0ab'"));
  EXPECT_THAT(refusal(R"({"method": "gibbs", "adjust": "metropolis"})"), HasSubstr("adjust"));
  EXPECT_THAT(refusal(R"({"steps": 3, "steps": 4})"), HasSubstr("'steps' is there twice"));
  EXPECT_EQ(refusal("[]"), "metadata 'sampler': array: expected is an object");
  EXPECT_EQ(refusal("{1}"), "metadata 'sampler': byte 1: not valid JSON");
  EXPECT_THAT(refusal(R"({"step_size": 1e999})"), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal(std::string("{}\0", 3)), HasSubstr("byte 2: not valid JSON"));
  EXPECT_THAT(refusal(std::string(100000, '[')), HasSubstr("more than 8 levels"));
  EXPECT_THAT(refusal(std::string(1 << 21, ' ')), HasSubstr("bytes of JSON: allowed are"));
}

TEST_F(ModelFileTest, RefusesOtherMetadataThatCannotBe) {
  EXPECT_EQ(Refusal({{"variance_floor", "0"}}), "metadata 'variance_floor': '0': allowed is a number above 0");
  EXPECT_THAT(Refusal({{"variance_floor", "1e-8x"}}), HasSubstr("'1e-8x'"));
  EXPECT_THAT(Refusal({{"image_shape", "[2,3,1]"}}), StartsWith("image_shape [2, 3, 1]: expected"));
  EXPECT_THAT(Refusal({{"image_shape", "[4,1]"}}), HasSubstr("three whole numbers"));
  EXPECT_THAT(Refusal({{"image_shape", "[-2,-2,1]"}}), HasSubstr("three whole numbers"));
  EXPECT_EQ(Refusal({{"provenance", R"({"a":1})"}}), "metadata 'provenance': 'a' is number: expected is text");
  EXPECT_THAT(Refusal({{"standardization", R"({"mean":[0]})"}}), HasSubstr("'mean' and 'deviation'"));
  EXPECT_EQ(Refusal({{"standardization", R"({"mean":[0],"deviation":[1]})"}}),
            "standardization: mean has 1 elements: expected are 4, one per visible unit");
  EXPECT_THAT(Refusal({{"standardization", R"({"mean":["a"],"deviation":[1]})"}}),
              HasSubstr("mean: expected is a list of numbers"));
  EXPECT_THAT(Refusal({{"standardization", R"({"mean":[0,0,0,0],"deviation":[1,1,1,1e300]})"}}),
              HasSubstr("deviation[3] = inf"));
  EXPECT_THAT(Refusal({{"standardization", R"({"mean":[0,0,0,0],"deviation":[1,1,1,1],"margin":[0,0,-1,0]})"}}),
              HasSubstr("margin[2] = -1: allowed is a finite number of at least 0"));
  EXPECT_THAT(Refusal({{"standardization", R"({"mean":[0,0,0,0],"deviation":[1,1,1,1],"middle":[0,0,0,0]})"}}),
              HasSubstr("'mean' and 'deviation', and maybe 'margin'"));
}

TEST_F(ModelFileTest, RefusesToWriteWhatItWouldNotRead) {
  const auto refusal = [this](auto change) {
    ModelFile file = Example();
    change(file);
    const std::string message = DataMessage([&] { WriteModel(path_, file); });
    EXPECT_THAT(message, StartsWith(path_ + ": "));
    EXPECT_FALSE(std::filesystem::exists(path_));
    return message;
  };
  EXPECT_THAT(refusal([](ModelFile& f) { f.sampler.steps = 0; }), HasSubstr("steps = 0"));
  EXPECT_THAT(refusal([](ModelFile& f) { f.standardization.mean.pop_back(); }), HasSubstr("mean has 3 elements"));
  EXPECT_THAT(refusal([](ModelFile& f) { f.image_shape = {4, 4, 1}; }), HasSubstr("image_shape [4, 4, 1]"));
  EXPECT_THAT(refusal([](ModelFile& f) { f.provenance["a"] = "\xff"; }), HasSubstr("UTF-8"));
  EXPECT_THAT(refusal([](ModelFile& f) { f.provenance["a"] = std::string(1 << 21, 'x'); }),
              HasSubstr("provenance: 2097"));
}

TEST_F(ModelFileTest, TheLongestNumbersFitTheLimitOfTheirText) {
  const Index visible = 200;
  ModelFile file = {grbm::testing::RandomModel(visible, 1, 2)};
  const float longest = -1.17549421e-38f;  // as a double: -1.1754942106924411e-38
  file.standardization = {std::vector<float>(200, longest), std::vector<float>(200, -longest),
                          std::vector<float>(200, -longest)};
  WriteModel(path_, file);
  ExpectSame(ReadModel(path_), file);
  ExportNpz(path_, file);
  ExpectSame(ImportNpz(path_), file);
}

TEST_F(ModelFileTest, SurvivesDamage) {
  WriteModel(path_, Example());
  ExpectSurvivesDamage([](const std::string& contents) { ParseModel(contents, "t"); }, ReadFile(path_));
}

}  // namespace
}  // namespace grbm
