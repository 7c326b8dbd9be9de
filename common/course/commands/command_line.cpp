#include "course/commands/command_line.hpp"

#include <algorithm>

#include "course/terminal/terminal.hpp"
#include "protocol/errors.hpp"
#include "runner/interruption.hpp"

namespace course::program {

CommandLine::CommandLine(Action without_command) : action_(std::move(without_command)) {
  app_.require_subcommand(0, 1);
  app_.name("./course");
  app_.add_flag("--json", json_, "one JSON object on stdout and nothing else");
}

CLI::App* CommandLine::add_command(const std::string& name, const std::string& what, Action action) {
  CLI::App* command = app_.add_subcommand(name, what);
  command->callback([this, action = std::move(action)] { action_ = action; });
  return command;
}

/// Returns an exit code when there is nothing left to do: help was asked for, or the arguments are wrong.
std::optional<int> CommandLine::parse(int argc, char** argv) {
  try {
    app_.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& asked) {
    return app_.exit(asked);
  } catch (const CLI::ParseError& error) {
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    const std::vector<CLI::App*> chosen = app_.get_subcommands();
    complain(text + "; " +
             (chosen.empty() ? commands() + "; ./course" : "./course " + chosen[0]->get_name()) +
             " --help says more");
    return wrong_usage;
  }
}

std::string CommandLine::commands() const {
  return "the commands are " + joined(app_.get_subcommands({}), &CLI::App::get_name);
}

int CommandLine::run(int argc, char** argv) {
  try {
    if (const std::optional<int> over = parse(argc, argv)) return *over;
    return action_(Checkout::find());
  } catch (const Interrupted& interrupted) {
    return interrupted.exit_code;
  } catch (...) {
    return report_exception();
  }
}

}  // namespace course::program
