// Commands and their options, as the command line gives them. CLI11 reads it; it is named in one file alone, because it
// takes seconds to compile in each that includes it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace grbm::app {

// An option or an argument; each setter returns the same one.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option Required() const;
  Option ShowDefault() const;  // in the help: the value that it has now
  Option OneEach() const;      // one value after each use of its name, which may be repeated
  Option SetTypeName(const std::string& name) const;
  Option SetEnvironment(const std::string& variable) const;  // which gives the value where the command line does not
  Option OneOf(const std::vector<std::string>& words) const;
  bool given() const;

 private:
  CLI::Option* option_;
};

// A command, or the program. What options refer to must outlive it.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  Command AddCommand(const std::string& name, const std::string& help) const;
  // Names such as "-o,--out", or "MODEL" for an argument.
  Option AddOption(const std::string& names, std::string& value, const std::string& help) const;
  Option AddOption(const std::string& names, std::vector<std::string>& values, const std::string& help) const;
  // Read by `parse`, which throws where it cannot; `shown` gives the default.
  Option AddOption(const std::string& names, const std::function<void(const std::string&)>& parse,
                   const std::function<std::string()>& shown, const std::string& help) const;
  Option AddFlag(const std::string& names, bool& value, const std::string& help) const;
  void RequireCommand() const;
  void FallThrough() const;  // options that are not its own may be those of the command that it belongs to
  void SetFooter(const std::string& text) const;
  void SetCallback(const std::function<void()>& callback) const;  // when it was asked for

  std::string name() const;
  std::string Help() const;
  std::vector<Command> Commands() const;
  std::vector<std::string> LongOptions() const;

 private:
  CLI::App* app_;
};

// The program's whole command line.
class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& about, const std::function<std::string()>& version);
  ~CommandLine();

  Command root() const { return Command(app_.get()); }
  // True: that was all. Otherwise there is a text to print, for --help or --version. Throws ConfigError.
  bool Parse(int argc, char** argv, std::string& text);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace grbm::app
