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

std::vector<std::string> LongOptions(const CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  }
  return words;
}

std::string BashScript(const CLI::App& app) {
  std::vector<std::string> commands;
  std::string cases;
  for (const CLI::App* command : app.get_subcommands({})) {
    commands.push_back(command->get_name());
    std::vector<std::string> words = LongOptions(*command);
    for (const CLI::App* nested : command->get_subcommands({})) words.push_back(nested->get_name());
    if (command->get_name() == "train" || command->get_name() == "presets") {
      for (const Preset& preset : Presets()) words.emplace_back(preset.name);
    }
    cases += fmt::format("    {}) words=\"{}\" ;;\n", command->get_name(), fmt::join(words, " "));
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

void AddCompletion(CLI::App& app, Common&, Action& action) {
  CLI::App* command = app.add_subcommand("completion", "Print a script that completes commands in the shell");
  const auto shell = std::make_shared<std::string>("bash");
  command->add_option("SHELL", *shell, "bash or zsh")->check(CLI::IsMember({"bash", "zsh"}))->capture_default_str();
  command->footer("Example: source <(grbm completion bash)");
  command->callback([=, &app, &action] {
    action = [=, &app] {
      if (*shell == "zsh") Print("autoload -U +X bashcompinit && bashcompinit\n");
      Print("{}", BashScript(app));
      return 0;
    };
  });
}

}  // namespace grbm::app
