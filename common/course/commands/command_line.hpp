#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>

#include "course/workspace/checkout.hpp"

namespace course::program {

/// What the command lines of the programs that ./course is made of have in common.
class CommandLine {
 public:
  /// Does what the arguments ask for. Returns the exit code; what is thrown on the way is told on stderr.
  int run(int argc, char** argv);

 protected:
  /// What a command does; returns the exit code.
  using Action = std::function<int(const Checkout&)>;

  /// @param without_command what is done where no command is given; by default that is an error
  explicit CommandLine(Action without_command = nullptr);

  CLI::App* add_command(const std::string& name, const std::string& what, Action action);

  CLI::App app_{"The ring attention course: where you are, and a command for each thing to do."};
  bool json_ = false;

 private:
  std::optional<int> parse(int argc, char** argv);
  std::string commands() const;

  Action action_;  ///< of the command that was chosen
};

}  // namespace course::program
