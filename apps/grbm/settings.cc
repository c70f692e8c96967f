// grbm settings
#include "grbm/train/settings.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "core/json.h"
#include "streams.h"

namespace grbm::app {

namespace {

constexpr std::string_view kTitle = R"(# Settings

Every setting of a preset or a file of settings, and of `--set SECTION.KEY=VALUE`. This is what `grbm settings` prints;
`grbm settings train` prints a section, `grbm settings train.epochs` one setting.

)";

std::string Json(const std::vector<Setting>& settings) {
  nlohmann::ordered_json object;
  for (const Setting& setting : settings) {
    nlohmann::ordered_json entry = {{"help", setting.help}, {"allowed", setting.allowed}};
    if (!setting.words.empty()) entry["words"] = setting.words;
    std::visit([&](const auto& value) { entry["default"] = value; }, setting.value);
    entry["example"] = setting.example;
    object[setting.name] = std::move(entry);
  }
  return JsonText(object);
}

}  // namespace

void AddSettings(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("settings", "Explain settings: meaning, default, range and an example of each");
  const auto name = std::make_shared<std::string>();
  command.AddOption("NAME", *name, "One setting, such as train.epochs, or a section, such as train (default: all)");
  command.SetFooter("Example: grbm settings train.epochs");
  command.SetCallback([=, &common, &action] {
    action = [=, &common] {
      const std::vector<Setting> settings = FindSettings(*name);
      if (common.json) {
        Print("{}\n", Json(settings));
      } else {
        Print("{}{}", name->empty() ? kTitle : "", SettingsText(settings));
      }
      return 0;
    };
  });
}

}  // namespace grbm::app
