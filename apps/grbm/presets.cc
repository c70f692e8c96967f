// grbm presets
#include "grbm/train/presets.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "core/json.h"
#include "streams.h"

namespace grbm::app {

namespace {

// "# Digits in minutes." → "Digits in minutes."
std::string FirstLine(std::string_view text) {
  std::string_view line = text.substr(0, text.find('\n'));
  line.remove_prefix(std::min(line.find_first_not_of("# "), line.size()));
  return std::string(line);
}

}  // namespace

void AddPresets(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("presets", "List the experiments that ship with the program, or print one");
  const auto name = std::make_shared<std::string>();
  command.AddOption("NAME", *name, "Print this one's settings, as TOML");
  command.SetFooter("Example: grbm presets mnist > my.toml");
  command.SetCallback([=, &common, &action] {
    action = [=, &common] {
      if (!name->empty()) {
        Print("{}", FindPreset(*name).text);
      } else if (common.json) {
        nlohmann::ordered_json list;
        for (const Preset& preset : Presets()) list[std::string(preset.name)] = FirstLine(preset.text);
        Print("{}\n", JsonText(list));
      } else {
        for (const Preset& preset : Presets()) Print("{:18} {}\n", preset.name, FirstLine(preset.text));
      }
      return 0;
    };
  });
}

}  // namespace grbm::app
