#include "grbm/train/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grbm/train/config.h"
#include "support/errors.h"

namespace grbm {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Settings, AreThoseOfTheConfiguration) {
  Config config;
  std::vector<std::string> names;
  for (const Config::Section& section : config.Sections()) {
    for (const grbm::Field& field : section.fields) {
      names.push_back(std::string(section.name) + "." + std::string(field.name));
    }
  }
  std::vector<std::string> told;
  for (const Setting& setting : Settings()) told.push_back(setting.name);
  EXPECT_EQ(told, names);
}

TEST(Settings, EveryExampleIsTakenAndChangesSomething) {
  for (const Setting& setting : Settings()) {
    Config config;
    ASSERT_THAT(setting.example, Not(IsEmpty())) << setting.name;
    SetOption(config, setting.name + "=" + setting.example);
    EXPECT_EQ(Differences(config, {}).size(), setting.name.starts_with("checkpoint.") ? 0u : 1u) << setting.name;
  }
}

TEST(Settings, AreFoundByNameSectionAndKey) {
  EXPECT_EQ(FindSettings("").size(), Settings().size());
  EXPECT_THAT(FindSettings("model"), Each(Field(&Setting::name, StartsWith("model."))));
  EXPECT_EQ(FindSettings("train.epochs").at(0).name, "train.epochs");
  EXPECT_EQ(FindSettings("step_size").size(), 2u);  // sampler's and generate's
  EXPECT_THAT(grbm::testing::ErrorOf([] { FindSettings("train.epohcs"); }), HasSubstr("did you mean 'train.epochs'?"));
  EXPECT_THAT(grbm::testing::ErrorOf([] { FindSettings("smapler"); }), HasSubstr("did you mean 'sampler'?"));
  EXPECT_THAT(grbm::testing::ErrorOf([] { FindSettings("."); }), HasSubstr("unknown setting '.'"));
}

TEST(Settings, AreToldWithAllThatIsKnown) {
  const std::string text = SettingsText(FindSettings("train.epochs"));
  EXPECT_EQ(text,
            "## [train]\n\nHow the parameters are learned.\n\n### train.epochs\n\nhow often each row is used\n\n"
            "- takes: a number above 0\n- default: 10.0\n- example: --set train.epochs=180 (preset mnist)\n");
}

}  // namespace
}  // namespace grbm
