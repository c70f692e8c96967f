// grbm completion: words for the shell. The scripts ask the program, which knows its commands, settings and names.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ranges>
#include <span>

#include "commands.h"
#include "core/json.h"
#include "grbm/core/error.h"
#include "grbm/data/options.h"
#include "grbm/evaluate/curves.h"
#include "grbm/evaluate/evaluation.h"
#include "grbm/reproduce/reproduce.h"
#include "grbm/train/presets.h"
#include "grbm/train/settings.h"
#include "streams.h"

namespace grbm::app {

namespace {

using Words = std::vector<std::string>;

// Bash cuts words at "=" and ":"; the line is cut at spaces instead, and what is before the last "=" taken off again.
constexpr std::string_view kBash = R"sh(_grbm() {
  local line=${COMP_LINE:0:COMP_POINT} words=() reply=()
  read -r -a words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  local current=${words[-1]}
  mapfile -t reply < <("${words[0]/#\~/$HOME}" completion words -- "${words[@]:1}" 2>/dev/null)
  [[ ${reply[0]} == *= ]] && compopt -o nospace
  if [[ ${words[-2]} != --set && $current != -* ]]; then
    compopt -o filenames
    mapfile -t -O ${#reply[@]} reply < <(compgen -f -- "$current")
  fi
  [[ $current == *=* && $COMP_WORDBREAKS == *=* ]] && reply=("${reply[@]#"${current%=*}="}")
  COMPREPLY=("${reply[@]}")
}
complete -F _grbm grbm
)sh";

constexpr std::string_view kZsh = R"sh(#compdef grbm
_grbm() {
  local -a reply
  reply=(${(f)"$(${~words[1]} completion words -- ${words[2,CURRENT-1]} "$PREFIX" 2>/dev/null)"})
  if [[ ${words[CURRENT-1]} == --set ]]; then
    compadd -S '' -a reply
  else
    compadd -a reply
    [[ $PREFIX != -* ]] && _files
  fi
}
(( $+functions[compdef] )) || { autoload -U compinit && compinit }
compdef _grbm grbm
)sh";

constexpr std::string_view kFish = R"sh(function _grbm
  set -l before (commandline -opc)
  set -l current (commandline -ct)
  $before[1] completion words -- $before[2..-1] "$current" 2>/dev/null
end
complete -c grbm -a '(_grbm)'
)sh";

// "quick,lik" as "quick,likelihood": what is before the last comma stays.
template <typename Names>
Words ListWords(const Names& names, const std::string& current) {
  const std::size_t comma = current.rfind(',');
  const std::string before = comma == std::string::npos ? "" : current.substr(0, comma + 1);
  Words words;
  for (const std::string_view name : names) words.push_back(before + std::string(name));
  return words;
}

// "section.key=", or where that is typed all that the key takes, as far as it is words. A trained model takes settings
// of the sampler alone.
Words SettingWords(const std::string& command, const std::string& current) {
  const bool all = command == "train" || command == "search" || command == "reproduce";
  Words words;
  for (const Setting& setting : Settings()) {
    if (!all && !setting.name.starts_with("sampler.") && !setting.name.starts_with("generate.")) continue;
    const std::string start = setting.name + "=";
    if (!current.starts_with(start)) {
      words.push_back(start);
    } else if (setting.name == "data.source") {
      for (const std::string_view name : DataNames()) words.push_back(start + std::string(name));
    } else if (setting.name == "evaluate.metrics") {
      for (const std::string& list : ListWords(CurveNames(), current.substr(start.size())))
        words.push_back(start + list);
    } else if (setting.words.empty()) {
      words.push_back(start + setting.example);
    } else {
      for (const std::string& word : setting.words) words.push_back(start + word);
    }
  }
  return words;
}

Words DataWords() {
  const auto names = DataNames();
  return {names.begin(), names.end()};
}

// What may stand in the place of a command's arguments.
Words ArgumentWords(const std::string& command, const std::string& nested) {
  Words words;
  if (command == "train" || command == "presets") {
    for (const Preset& preset : Presets()) words.emplace_back(preset.name);
  } else if (command == "settings") {
    for (const Setting& setting : Settings()) {
      const std::string section = setting.name.substr(0, setting.name.find('.'));
      if (std::ranges::find(words, section) == words.end()) words.push_back(section);
      words.push_back(setting.name);
    }
  } else if (command == "completion") {
    words = {"bash", "zsh", "fish"};
  } else if (command == "reproduce") {
    for (const Experiment& experiment : Experiments()) words.emplace_back(experiment.name);
  } else if (nested == "get") {
    words = {"mnist", "fashion-mnist"};
  } else if (nested == "info" || command == "distance") {
    words = DataWords();
  }
  return words;
}

Words AllWords(Command app, std::span<const std::string> line) {
  const std::string current = line.empty() ? "" : line.back();
  Words words;
  if (line.size() < 2) {
    for (const Command command : app.Commands()) words.push_back(command.name());
    words.insert(words.end(), {"--help", "--version"});
    return words;
  }
  if (const std::size_t equals = current.find('='); current.starts_with("--") && equals != std::string::npos) {
    Words whole(line.begin(), line.end() - 1);
    whole.insert(whole.end(), {current.substr(0, equals), current.substr(equals + 1)});
    words = AllWords(app, whole);
    for (std::string& word : words) word = current.substr(0, equals + 1) + word;
    return words;
  }
  const std::string& before = line[line.size() - 2];
  const std::string& name = line[0];
  if (before == "--set") return SettingWords(name, current);
  if (before == "--metrics") return ListWords(std::views::transform(Metrics(), &Metric::name), current);
  if (before == "--data" || before == "--held-out") return DataWords();
  if (before == "--kind") return {"coupling", "precision", "partial"};
  if (before == "--split") return {"train", "valid", "test", "all"};
  for (Command command : app.Commands()) {
    if (command.name() != name) continue;
    std::string nested;
    for (const Command inner : command.Commands()) {
      if (line.size() == 2) words.push_back(inner.name());
      if (line.size() > 2 && line[1] == inner.name()) {
        nested = line[1];
        words = inner.LongOptions();
      }
    }
    const Words options = command.LongOptions();
    words.insert(words.end(), options.begin(), options.end());
    const Words arguments = ArgumentWords(name, nested);
    words.insert(words.end(), arguments.begin(), arguments.end());
  }
  return words;
}

Words FittingWords(Command app, std::span<const std::string> line) {
  const std::string current = line.empty() ? "" : line.back();
  Words words = AllWords(app, line);
  std::erase_if(words, [&](const std::string& word) {
    // Options crowd out what is asked for, unless they are.
    return !word.starts_with(current) || (word.starts_with('-') && !current.starts_with('-'));
  });
  return words;
}

}  // namespace

void AddCompletion(Command app, Common& common, Action& action) {
  const Command command = app.AddCommand("completion", "Print a script that completes commands in the shell");
  const auto shell = std::make_shared<std::string>("bash");
  const auto line = std::make_shared<Words>();
  command.AddOption("SHELL", *shell, "bash, zsh or fish; words: what may follow a line, for these scripts")
      .OneOf({"bash", "zsh", "fish", "words"})
      .ShowDefault();
  command.AddOption("LINE", *line, "words: the line so far, without the program; its last word is the one to complete");
  command.SetFooter(
      "Example: source <(grbm completion bash)\n"
      "         source <(grbm completion zsh)\n"
      "         grbm completion fish > ~/.config/fish/completions/grbm.fish");
  command.SetCallback([=, &common, &action] {
    action = [=, &common] {
      const bool asked = *shell == "words";
      const Words words = asked ? FittingWords(app, *line) : Words();
      const std::string script(*shell == "bash" ? kBash : *shell == "zsh" ? kZsh : kFish);
      if (common.json) {
        Print("{}\n", JsonText(asked ? nlohmann::json(words) : nlohmann::json{{"script", script}}));
      } else if (asked) {
        for (const std::string& word : words) Print("{}\n", word);
      } else {
        Print("{}", script);
      }
      return 0;
    };
  });
}

}  // namespace grbm::app
