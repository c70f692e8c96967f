#include "fuzz.h"
#include "grbm/train/config.h"

// Configurations, and settings as after --set: one a line, behind a first byte of '='. Settings that are read come back
// as they were when they are written and read again.
GRBM_FUZZ_TARGET(Toml, input) {
  grbm::Config config;
  if (!input.starts_with('=')) {
    config = grbm::ParseConfig(input, "input");
  } else {
    for (input.remove_prefix(1); !input.empty();) {
      const std::string_view line = input.substr(0, input.find('\n'));
      input.remove_prefix(std::min(input.size(), line.size() + 1));
      grbm::SetOption(config, line);
    }
  }
  const std::string text = grbm::ConfigText(config);
  if (grbm::ConfigText(grbm::ParseConfig(text, "written")) != text) std::abort();
}
