#include "grbm/train/settings.h"

#include <fmt/core.h>

#include <algorithm>

#include "grbm/core/error.h"
#include "grbm/train/presets.h"

namespace grbm {

namespace {

std::string_view SectionOf(std::string_view name) { return name.substr(0, name.find('.')); }
std::string_view KeyOf(std::string_view name) { return name.substr(name.find('.') + 1); }

std::string Unquoted(std::string text) {
  std::erase(text, '"');
  return text;
}

// What each section is for; opens it in the documentation.
std::string_view SectionHelp(std::string_view section) {
  constexpr std::pair<std::string_view, std::string_view> kHelp[] = {
      {"data", "Which data are taken, and how they are brought to the model."},
      {"model", "The model's size and how it starts."},
      {"sampler", "How the model's chains move, in training and, but for what [generate] says, in drawing samples."},
      {"train", "How the parameters are learned."},
      {"generate", "How samples are drawn from a trained model, where that is other than in training."},
      {"checkpoint", "What a run writes to its folder, and when. These may be changed when a run is resumed."},
      {"evaluate", "What is measured while a run trains."},
  };
  const auto* found = std::ranges::find(kHelp, section, &std::pair<std::string_view, std::string_view>::first);
  GRBM_CHECK(found != std::end(kHelp));
  return found->second;
}

// The presets that show most come first.
std::vector<std::pair<std::string, Config>> PresetsByUse() {
  std::vector<std::pair<std::string, Config>> configs;
  for (const Preset& preset : Presets()) configs.emplace_back(preset.name, LoadPreset(std::string(preset.name)));
  std::ranges::stable_sort(configs, {}, [](const auto& config) {
    return config.first == "mnist" ? 0 : config.first == "gmm-iso" ? 1 : config.first.starts_with("paper") ? 3 : 2;
  });
  return configs;
}

std::vector<std::string> WordsOf(const Field& field) {
  if (std::holds_alternative<bool*>(field.value)) return {"true", "false"};
  const auto* choice = std::get_if<Choice>(&field.value);
  if (choice == nullptr) return {};
  return {choice->words.begin(), choice->words.end()};
}

// A value other than the default: the declaration's, that of a preset, or another word.
void AddExample(Setting& setting, const Field& field, std::size_t s, std::size_t f,
                std::span<std::pair<std::string, Config>> presets) {
  setting.example = field.example;
  if (!setting.example.empty()) return;
  for (auto& [name, config] : presets) {
    const Field theirs = config.Sections()[s].fields[f];
    if (Value(theirs) == setting.value) continue;
    setting.example = Unquoted(ValueText(theirs));
    setting.preset = name;
    return;
  }
  const std::string value = Unquoted(ValueText(field));
  for (const std::string& word : setting.words) {
    if (word != value) setting.example = word;
  }
}

}  // namespace

std::vector<Setting> Settings() {
  std::vector<Setting> settings;
  Config config;
  std::vector<std::pair<std::string, Config>> presets = PresetsByUse();
  const std::vector<Config::Section> sections = config.Sections();
  for (std::size_t s = 0; s < sections.size(); ++s) {
    for (std::size_t f = 0; f < sections[s].fields.size(); ++f) {
      const Field& field = sections[s].fields[f];
      Setting setting{fmt::format("{}.{}", sections[s].name, field.name),
                      std::string(field.help),
                      AllowedText(field),
                      Value(field),
                      {},
                      {},
                      WordsOf(field)};
      AddExample(setting, field, s, f, presets);
      settings.push_back(std::move(setting));
    }
  }
  return settings;
}

std::vector<Setting> FindSettings(std::string_view name) {
  const std::vector<Setting> all = Settings();
  std::vector<Setting> found;
  std::vector<std::string_view> names;
  for (const Setting& setting : all) {
    for (const std::string_view part : {std::string_view(setting.name), SectionOf(setting.name), KeyOf(setting.name)}) {
      names.push_back(part);
    }
    const bool whole = name.empty() || setting.name == name || SectionOf(setting.name) == name;
    if (whole) found.push_back(setting);
  }
  if (found.empty()) {
    std::ranges::copy_if(all, std::back_inserter(found),
                         [&](const Setting& setting) { return KeyOf(setting.name) == name; });
  }
  if (!found.empty()) return found;
  throw ConfigError(
      fmt::format("unknown setting '{}'{}: 'grbm settings' lists them all", name, DidYouMean(name, names)));
}

std::string DefaultText(const Setting& setting) { return TomlText(setting.value); }

std::string SettingsText(std::span<const Setting> settings) {
  std::string text;
  std::string_view section;
  for (const Setting& setting : settings) {
    if (SectionOf(setting.name) != section) {
      section = SectionOf(setting.name);
      text += fmt::format("{}## [{}]\n\n{}\n", text.empty() ? "" : "\n", section, SectionHelp(section));
    }
    text += fmt::format("\n### {}\n\n{}\n\n", setting.name, setting.help);
    text += fmt::format("- takes: {}\n- default: {}\n- example: --set {}={}", setting.allowed, DefaultText(setting),
                        setting.name, setting.example);
    text += setting.preset.empty() ? "\n" : fmt::format(" (preset {})\n", setting.preset);
  }
  return text;
}

}  // namespace grbm
