#include <CLI/CLI.hpp>

#include "course/check.hpp"
#include "course/demo.hpp"
#include "course/doctor.hpp"
#include "course/errors.hpp"
#include "course/hint.hpp"
#include "course/replay.hpp"
#include "course/reset.hpp"
#include "course/show.hpp"
#include "course/status.hpp"
#include "course/terminal.hpp"
#include "course/test_command.hpp"

namespace course::program {

namespace {

/// What the command line asks for.
using Action = std::function<int(const Checkout&)>;

/// The command line; `action` is set by the command that is chosen.
class CommandLine {
 public:
  CommandLine() {
    app_.require_subcommand(0, 1);
    app_.name("./course");
    app_.add_flag("--json", json_, "one JSON object on stdout and nothing else");
    action_ = [this](const Checkout& checkout) { return show_status(checkout, json_); };
    add_check();
    add_hint();
    add_show();
    add_reset();
    add_replay();
    add_doctor();
    add_test();
    add_demo();
  }

  /// Returns an exit code when there is nothing left to do: help was asked for, or the arguments are wrong.
  std::optional<int> parse(int argc, char** argv) {
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

  int act(const Checkout& checkout) const { return action_(checkout); }

 private:
  CLI::App* add_command(const std::string& name, const std::string& what, Action action) {
    CLI::App* command = app_.add_subcommand(name, what);
    command->callback([this, action = std::move(action)] { action_ = action; });
    return command;
  }

  std::string commands() const {
    std::string names;
    for (const CLI::App* command : app_.get_subcommands({}))
      names += (names.empty() ? "" : ", ") + command->get_name();
    return "the commands are " + names;
  }

  void add_check() {
    CLI::App* command = add_command("check", "grade my answer to a lesson", [this](const Checkout& checkout) {
      check_.json = check_.json || json_;
      return check(checkout, check_);
    });
    command->add_option("lesson", check_.lesson, "05, 05.2, ring_attention or a path in its folder")
        ->required();
    command->add_option("--task", check_.task, "only this task");
    command->add_option("--ranks", check_.ranks, "only on so many ranks");
    command->add_option("--seed", check_.seed, "the seed that inputs are drawn with")
        ->check(CLI::NonNegativeNumber);
    command->add_option("--player", check_.player,
                        "a command that plays cases in place of the built-in player");
    command->add_flag("--sanitize", check_.sanitize, "with address and undefined-behaviour sanitizers");
    command->add_flag("--json", check_.json, "one JSON object on stdout and nothing else");
  }

  void add_hint() {
    CLI::App* command = add_command("hint", "the next hint, one at a time", [this](const Checkout& checkout) {
      return hint(checkout, lesson_, again_);
    });
    command->add_option("lesson", lesson_, "05 or 05.2; without a task, the first that is not passed")
        ->required();
    command->add_flag("--again", again_, "the last hint once more");
  }

  void add_show() {
    CLI::App* command = add_command("show", "the solution beside mine", [this](const Checkout& checkout) {
      return show(checkout, lesson_, spoil_);
    });
    command->add_option("lesson", lesson_, "05 or ring_attention")->required();
    command->add_flag("--spoil", spoil_, "before a pass, too");
  }

  void add_reset() {
    CLI::App* command = add_command("reset", "back to the skeleton; keeps a backup",
                                    [this](const Checkout& checkout) { return reset(checkout, lesson_); });
    command->add_option("lesson", lesson_, "05 or ring_attention")->required();
  }

  void add_replay() {
    CLI::App* command = add_command("replay", "play a kept case again",
                                    [this](const Checkout& checkout) { return replay(checkout, replay_); });
    command->add_option("case", replay_.case_name, "a name in .course/cases, or a case's folder")->required();
    command->add_option("--gdb", replay_.gdb_rank, "run this rank under gdb");
    command->add_option("--subject", replay_.subject, "whose code to run")
        ->check(CLI::IsMember({"student", "solution"}));
    command->add_option("--limit", replay_.limit_s, "seconds before it is ended; not under gdb")
        ->check(CLI::PositiveNumber);
  }

  void add_doctor() {
    CLI::App* command = add_command("doctor", "what was found on this machine, what is skipped and why",
                                    [this](const Checkout& checkout) { return doctor(checkout, json_); });
    command->add_flag("--json", json_, "one JSON object on stdout and nothing else");
  }

  void add_test() {
    CLI::App* command = add_command("test", "the course's own tests",
                                    [this](const Checkout& checkout) { return test(checkout, test_); });
    command->add_flag("--all", test_.all, "sanitizers, a second compiler, many seeds, formatting as well");
    command->add_option("--lesson", test_.lesson, "only what is about this lesson");
    command->add_option("-j,--jobs", test_.jobs, "how many at once")->check(CLI::PositiveNumber);
  }

  void add_demo() {
    CLI::App* command =
        add_command("demo", "ring attention on real data over four MPI ranks",
                    [this](const Checkout& checkout) { return demo(checkout, demo_->remaining()); });
    // The demo reads its own arguments, --help among them.
    command->prefix_command();
    command->set_help_flag();
    demo_ = command;
  }

  CLI::App app_{"The ring attention course: where you are, and a command for each thing to do."};
  Action action_;
  CheckOptions check_;
  ReplayOptions replay_;
  TestOptions test_;
  std::string lesson_;
  CLI::App* demo_ = nullptr;
  bool again_ = false;
  bool spoil_ = false;
  bool json_ = false;
};

int run(int argc, char** argv) {
  try {
    CommandLine line;
    if (const std::optional<int> over = line.parse(argc, argv)) return *over;
    return line.act(Checkout::find());
  } catch (const UsageError& error) {
    complain(error.what());
    return wrong_usage;
  } catch (const Unavailable& error) {
    complain(error.what());
    return unavailable;
  } catch (const std::exception& error) {
    complain(error.what());
    return failed;
  }
}

}  // namespace

}  // namespace course::program

int main(int argc, char** argv) {
  return course::program::run(argc, argv);
}
