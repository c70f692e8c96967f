#include "grbm/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace grbm {
namespace {

TEST(Error, IsOfOneLineWhateverItQuotes) {
  EXPECT_STREQ(ConfigError("a\nb\tc\x7f").what(), "a\\x0ab\\x09c\\x7f");
  EXPECT_STREQ(IoError("π × 'x'").what(), "π × 'x'");
  const std::string cut = DataError(std::string(3000, 'x')).what();
  EXPECT_LE(cut.size(), 2000u);
  EXPECT_TRUE(cut.ends_with("x..."));
  // No letter of several bytes is cut in half.
  std::string letters;
  for (int i = 0; i < 2000; ++i) letters += "π";
  for (const std::string start : {"", "x"}) {
    std::string text = DataError(start + letters).what();
    text.resize(text.size() - 3);
    EXPECT_EQ((text.size() - start.size()) % 2, 0u);
  }
}

}  // namespace
}  // namespace grbm
