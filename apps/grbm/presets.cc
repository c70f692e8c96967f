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

// All settings by section, numbers as numbers.
nlohmann::ordered_json Json(Config config) {
  nlohmann::ordered_json object;
  for (const Config::Section& section : config.Sections()) {
    for (const Field& field : section.fields) {
      std::visit([&](const auto& value) { object[std::string(section.name)][std::string(field.name)] = value; },
                 Value(field));
    }
  }
  return object;
}

}  // namespace

void AddPresets(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("presets", "List the experiments that ship with the program, or print one");
  const auto name = std::make_shared<std::string>();
  command.AddOption("NAME", *name, "Print this one's settings, as TOML (--json: and all others)");
  command.SetFooter("Example: grbm presets mnist > my.toml");
  command.SetCallback([=, &common, &action] {
    action = [=, &common] {
      if (!name->empty() && common.json) {
        Print("{}\n", JsonText(Json(LoadPreset(*name))));
      } else if (!name->empty()) {
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
