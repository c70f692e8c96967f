// grbm completion: words for the shell.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <memory>

#include "commands.h"
#include "grbm/core/error.h"
#include "grbm/train/presets.h"
#include "streams.h"

namespace grbm::app {

namespace {

std::string BashScript(Command app) {
  std::vector<std::string> commands;
  std::string cases;
  for (const Command command : app.Commands()) {
    commands.push_back(command.name());
    std::vector<std::string> words = command.LongOptions();
    for (const Command nested : command.Commands()) words.push_back(nested.name());
    if (command.name() == "train" || command.name() == "presets") {
      for (const Preset& preset : Presets()) words.emplace_back(preset.name);
    }
    cases += fmt::format("    {}) words=\"{}\" ;;\n", command.name(), fmt::join(words, " "));
  }
  return fmt::format(R"(_grbm() {{
  local words
  case "${{COMP_WORDS[1]}}" in
{}    *) words="{} --help --version" ;;
  esac
  [ "$COMP_CWORD" -eq 1 ] && words="{} --help --version"
  COMPREPLY=($(compgen -W "$words" -f -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o filenames -F _grbm grbm
)",
                     cases, fmt::join(commands, " "), fmt::join(commands, " "));
}

}  // namespace

void AddCompletion(Command app, Common&, Action& action) {
  const Command command = app.AddCommand("completion", "Print a script that completes commands in the shell");
  const auto shell = std::make_shared<std::string>("bash");
  command.AddOption("SHELL", *shell, "bash or zsh").OneOf({"bash", "zsh"}).ShowDefault();
  command.SetFooter("Example: source <(grbm completion bash)");
  command.SetCallback([=, &action] {
    action = [=] {
      if (*shell == "zsh") Print("autoload -U +X bashcompinit && bashcompinit\n");
      Print("{}", BashScript(app));
      return 0;
    };
  });
}

}  // namespace grbm::app
