#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include "course/terminal/terminal.hpp"
#include "course/workspace/checkout.hpp"
#include "protocol/errors.hpp"
#include "runner/subprocess.hpp"
#include "text/nearest.hpp"

namespace course::program {

/// For options that count something.
inline const CLI::Validator whole_number_from_1{
    [](std::string& text) {
      const bool counts = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos &&
                          text.find_first_not_of('0') != std::string::npos;
      return counts ? std::string() : "expected a whole number from 1, found '" + text + "'";
    },
    ""};

/// For seeds, which have 64 bits.
inline const CLI::Validator whole_number_from_0{
    [](std::string& text) {
      const bool counts =
          !text.empty() && text.size() <= 19 && text.find_first_not_of("0123456789") == std::string::npos;
      return counts ? std::string()
                    : "expected a whole number from 0, at most 19 digits, found '" + text.substr(0, 40) + "'";
    },
    ""};

/// For limits of time.
inline const CLI::Validator more_than_0_seconds{
    [](std::string& text) {
      double seconds = 0;
      const bool is_limit = CLI::detail::lexical_cast(text, seconds) && seconds > 0 && std::isfinite(seconds);
      return is_limit ? std::string() : "expected more than 0 seconds, found '" + text + "'";
    },
    ""};

/// From `least` to `most`, which the option's own text tells, not the kind of its value.
template <class Number>
CLI::Validator between(Number least, Number most) {
  return CLI::Range(least, most).description("");
}

/// --block 20, for what computes with lessons' blocks; `lesson` stays empty without it.
inline CLI::Option* add_block_option(CLI::App& command, std::string& lesson) {
  return command
      .add_option("--block", lesson,
                  "20: the blocks of lesson 20, in vector registers, in place of lessons 04 and 06")
      ->check(CLI::IsMember({"20"}));
}

/// What the command lines of the programs that ./course is made of have in common.
class CommandLine {
 public:
  /// Does what the arguments ask for. Returns the exit code; what is thrown on the way is told on stderr.
  int run(int argc, char** argv) {
    try {
      if (const std::optional<int> over = parse(argc, argv)) return *over;
      return action_(Checkout::find());
    } catch (const Interrupted& interrupted) {
      return interrupted.exit_code;
    } catch (...) {
      return report_exception();
    }
  }

 protected:
  /// What a command does; returns the exit code.
  using Action = std::function<int(const Checkout&)>;

  /// @param without_command what is done where no command is given; by default that is an error
  explicit CommandLine(Action without_command = nullptr) : action_(std::move(without_command)) {
    app_.require_subcommand(action_ ? 0 : 1, 1);
    app_.name("./course");
    for (const char* type : {"INT", "UINT", "FLOAT"}) app_.get_formatter()->label(type, "NUMBER");
    app_.add_flag("--json", json_, "one JSON object on stdout and nothing else");
  }

  CLI::App* add_command(const std::string& name, const std::string& what, Action action) {
    CLI::App* command = app_.add_subcommand(name, what);
    command->callback([this, action = std::move(action)] { action_ = action; });
    return command;
  }

  /// A command that looks at json_: before any other, --json is refused.
  void print_as_json(const CLI::App* command) { with_json_.insert(command); }

  CLI::App app_{"The ring attention course: where you are, and a command for each thing to do."};
  bool json_ = false;

 private:
  /// Returns an exit code when there is nothing left to do: help was asked for, or the arguments are wrong.
  std::optional<int> parse(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
      for (const CLI::App* command : app_.get_subcommands()) {
        if (!json_ || with_json_.contains(command)) continue;
        complain("--json: ./course " + command->get_name() + " prints none; ./course " + command->get_name() +
                 " --help says more");
        return wrong_usage;
      }
      return std::nullopt;
    } catch (const CLI::Success& asked) {
      std::ostringstream help;
      const int code = app_.exit(asked, help, std::cerr);
      std::fputs(fitted(help.str()).c_str(), stdout);
      return code;
    } catch (const CLI::ParseError& error) {
      std::string text = error.what();
      std::ranges::replace(text, '\n', ' ');
      const std::vector<CLI::App*> chosen = app_.get_subcommands();
      if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
        text += did_you_mean(text.substr(text.rfind(' ') + 1), words_of(chosen.empty() ? app_ : *chosen[0]));
      const std::string more =
          chosen.empty()
              ? "the commands are " + joined(app_.get_subcommands({}), &CLI::App::get_name) + "; ./course"
              : "./course " + chosen[0]->get_name();
      complain(text + "; " + more + " --help says more");
      return wrong_usage;
    }
  }

  /// What may be typed: commands and options.
  static std::vector<std::string> words_of(const CLI::App& app) {
    std::vector<std::string> words;
    for (const CLI::App* command : app.get_subcommands({})) words.push_back(command->get_name());
    for (const CLI::Option* option : app.get_options({})) {
      for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    }
    return words;
  }

  Action action_;  ///< of the command that was chosen
  std::set<const CLI::App*> with_json_;
};

}  // namespace course::program
