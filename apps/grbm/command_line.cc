#include "command_line.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "grbm/core/error.h"

namespace grbm::app {

Option Option::Required() const { return Option(option_->required()); }
Option Option::ShowDefault() const { return Option(option_->capture_default_str()); }
Option Option::OneEach() const { return Option(option_->allow_extra_args(false)); }
Option Option::SetTypeName(const std::string& name) const { return Option(option_->type_name(name)); }
Option Option::SetEnvironment(const std::string& variable) const { return Option(option_->envname(variable)); }
Option Option::OneOf(const std::vector<std::string>& words) const {
  return Option(option_->check(CLI::IsMember(words)));
}
bool Option::given() const { return option_->count() > 0; }

Command Command::AddCommand(const std::string& name, const std::string& help) const {
  return Command(app_->add_subcommand(name, help));
}

Option Command::AddOption(const std::string& names, std::string& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}

Option Command::AddOption(const std::string& names, std::vector<std::string>& values, const std::string& help) const {
  return Option(app_->add_option(names, values, help));
}

Option Command::AddOption(const std::string& names, const std::function<void(const std::string&)>& parse,
                          const std::function<std::string()>& shown, const std::string& help) const {
  CLI::Option* option = app_->add_option_function<std::string>(names, parse, help);
  option->default_function(shown);
  return Option(option);
}

Option Command::AddFlag(const std::string& names, bool& value, const std::string& help) const {
  return Option(app_->add_flag(names, value, help));
}

void Command::RequireCommand() const { app_->require_subcommand(1); }
void Command::FallThrough() const { app_->fallthrough(); }
void Command::SetFooter(const std::string& text) const { app_->footer(text); }
void Command::SetCallback(const std::function<void()>& callback) const { app_->callback(callback); }

std::string Command::name() const { return app_->get_name(); }
std::string Command::Help() const { return app_->help(); }

std::vector<Command> Command::Commands() const {
  std::vector<Command> commands;
  for (CLI::App* app : app_->get_subcommands({})) commands.emplace_back(app);
  return commands;
}

std::vector<std::string> Command::LongOptions() const {
  std::vector<std::string> words;
  for (const CLI::Option* option : app_->get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  }
  return words;
}

CommandLine::CommandLine(const std::string& name, const std::string& about, const std::function<std::string()>& version)
    : app_(std::make_unique<CLI::App>(about, name)) {
  app_->set_version_flag("--version", version, "Print the version and the CPU target");
  app_->require_subcommand(0, 1);  // what follows a command is never another one: grbm reproduce filters
}

CommandLine::~CommandLine() = default;

bool CommandLine::Parse(int argc, char** argv, std::string& text) {
  try {
    app_->parse(argc, argv);
    return true;
  } catch (const CLI::Success& request) {
    std::ostringstream out;
    app_->exit(request, out);
    text = out.str();
    return false;
  } catch (const CLI::ParseError& error) {
    const auto used = app_->get_subcommands();
    throw ConfigError(fmt::format("{}: see '{} {}--help'", error.what(), app_->get_name(),
                                  used.empty() ? "" : used.front()->get_name() + " "));
  }
}

}  // namespace grbm::app
