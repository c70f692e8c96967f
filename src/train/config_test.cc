#include "grbm/train/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grbm/train/presets.h"
#include "support/errors.h"

namespace grbm {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;

std::string Refusal(std::string_view text) {
  return ErrorOf([&] { ParseConfig(text, "x.toml"); });
}

TEST(Config, WhatIsNotNamedKeepsItsDefault) {
  const Config config = ParseConfig("[train]\nepochs = 3\n[sampler]\nmethod = \"gibbs\"\n", "x.toml");
  EXPECT_EQ(config.train.epochs, 3);
  EXPECT_EQ(config.sampler.method, Method::kGibbs);
  EXPECT_EQ(config.train.batch_size, TrainOptions().batch_size);
  EXPECT_EQ(config.model, ModelOptions());
}

TEST(Config, EveryPresetReadsBackTheSame) {
  for (const Preset& preset : Presets()) {
    const std::string text = ConfigText(ParseConfig(preset.text, std::string(preset.name)));
    EXPECT_EQ(ConfigText(ParseConfig(text, "again")), text) << preset.name;
  }
}

TEST(Config, GenerationIsAsTrainingButForWhatItSets) {
  Config config = ParseConfig("[sampler]\nsteps = 20\ntemperature = 2\n[generate]\nsteps = 80\n", "x.toml");
  SamplerOptions drawn = config.generate.Apply(config.sampler);
  EXPECT_EQ(drawn.steps, 80);
  EXPECT_EQ(drawn.temperature, 2);
  SetOption(config, "generate.step_size=0.3");
  SetOption(config, "generate.steps=0");
  drawn = config.generate.Apply(config.sampler);
  EXPECT_EQ(drawn.steps, 20);
  EXPECT_EQ(drawn.step_size, 0.3);
  EXPECT_THAT(ErrorOf([&] { SetOption(config, "generate.steps=-1"); }), HasSubstr("generate.steps=-1"));
}

TEST(Config, TextIsQuoted) {
  Config config;
  config.data.source = "a \"b\" \\ c\n\x7f";
  EXPECT_EQ(ParseConfig(ConfigText(config), "x.toml").data.source, config.data.source);
}

TEST(Config, MistakesAreNamedWithTheirLine) {
  EXPECT_THAT(Refusal("[train]\nepoch = 3\n"), HasSubstr("x.toml:2: [train]: unknown key 'epoch'"));
  EXPECT_THAT(Refusal("[train]\nepoch = 3\n"), HasSubstr("epochs"));
  EXPECT_THAT(Refusal("\n[trian]\n"), HasSubstr("x.toml:2: unknown section 'trian'"));
  EXPECT_THAT(Refusal("epochs = 3\n"), HasSubstr("x.toml:1: 'epochs' stands outside a section"));
  EXPECT_THAT(Refusal("[train]\nepochs = [3]\n"), HasSubstr("x.toml:2: [train]: epochs: allowed is a number"));
  EXPECT_THAT(Refusal("[train]\nepochs = -3\n"), HasSubstr("x.toml:2"));
  EXPECT_THAT(Refusal("[train\n"), HasSubstr("x.toml:1: not valid TOML"));
}

// The parser would end with the stack.
TEST(Config, KeysOfManyPartsAreRefused) {
  std::string key = "a";
  for (int k = 0; k < 200'000; ++k) key += k % 2 == 0 ? ".a" : " . \"b\"";
  for (const std::string& text : {key + " = 1", "[" + key + "]", "[[" + key + "]]", "x = {" + key + " = 1}",
                                  "x = [\n[\n{" + key + " = 1}]]", "x = 1 # \"\n" + key + " = 1"}) {
    EXPECT_THAT([&] { ParseConfig(text, "x.toml"); },
                ThrowsMessage<ConfigError>(HasSubstr("a key of more than 9 parts: settings are section.key")));
  }
  EXPECT_EQ(ParseConfig("[data]\nsource = \"a.b.c.d.e.f.g.h.i.j.k.l\" # ............\n", "x").data.source,
            "a.b.c.d.e.f.g.h.i.j.k.l");
}

TEST(Config, OneSettingBySet) {
  Config config;
  SetOption(config, "train.learning_rate=0.5");
  SetOption(config, "data.source=a=b");
  EXPECT_EQ(config.train.learning_rate, 0.5);
  EXPECT_EQ(config.data.source, "a=b");
  EXPECT_THAT(ErrorOf([&] { SetOption(config, "epochs=3"); }), HasSubstr("allowed is section.key=value"));
  EXPECT_THAT(ErrorOf([&] { SetOption(config, "train.epochs"); }), HasSubstr("allowed is section.key=value"));
  EXPECT_THAT(ErrorOf([&] { SetOption(config, "train.epochs=many"); }), HasSubstr("--set train.epochs=many"));
  EXPECT_THAT(ErrorOf([&] { SetOption(config, "tarin.epochs=3"); }), HasSubstr("unknown section 'tarin'"));
}

}  // namespace
}  // namespace grbm
