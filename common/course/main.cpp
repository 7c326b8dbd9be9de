#include <CLI/CLI.hpp>
#include <algorithm>

#include "course/bench.hpp"
#include "course/check.hpp"
#include "course/demo.hpp"
#include "course/doctor.hpp"
#include "course/drill.hpp"
#include "course/errors.hpp"
#include "course/handout.hpp"
#include "course/hint.hpp"
#include "course/interruption.hpp"
#include "course/lab.hpp"
#include "course/replay.hpp"
#include "course/reset.hpp"
#include "course/show.hpp"
#include "course/status.hpp"
#include "course/terminal.hpp"
#include "course/test_command.hpp"
#include "course/trace.hpp"
#include "course/watch.hpp"
#include "grader/grade_command.hpp"

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
    add_watch();
    add_hint();
    add_show();
    add_reset();
    add_drill();
    add_replay();
    add_trace();
    add_lab();
    add_doctor();
    add_test();
    add_demo();
    add_bench();
    add_grade();
    add_handout();
    add_release();
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
    command->add_flag("--problems", check_.problems,
                      "a line of the form FILE:LINE: error: ... a task, for editors");
  }

  void add_watch() {
    CLI::App* command =
        add_command("watch", "check at each save; on to the next lesson after a pass",
                    [this](const Checkout& checkout) { return watch(checkout, lesson_, check_.problems); });
    command->add_option("lesson", lesson_, "05 or ring_attention; without it, the first that is not passed");
    command->add_flag("--problems", check_.problems, "as for check");
  }

  void add_drill() {
    CLI::App* command = add_command("drill", "write a routine from an empty body, against the clock",
                                    [this](const Checkout& checkout) { return drill(checkout, drill_); });
    command->add_option("task", drill_.task,
                        "05.2; 05: one of its tasks; without it, one of a passed lesson");
    command->add_flag("--history", drill_.history, "the times so far, and start nothing");
  }

  void add_hint() {
    CLI::App* command = add_command("hint", "the next hint, one at a time",
                                    [this](const Checkout& checkout) { return hint(checkout, hint_); });
    command->add_option("lesson", hint_.lesson, "05 or 05.2; without a task, the first that failed")
        ->required();
    command->add_option("--task", hint_.task, "for this task");
    command->add_flag("--again", hint_.again, "the last hint once more");
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
    command
        ->add_option("--gdb-port", replay_.gdb_port,
                     "with --gdb: wait there for a debugger, such as an editor's")
        ->check(CLI::Range(1, 65535));
    command->add_option("--subject", replay_.subject, "whose code to run")
        ->check(CLI::IsMember({"student", "solution"}));
    command->add_option("--player", replay_.player,
                        "a command that plays the case in place of the built-in player");
    command->add_option("--limit", replay_.limit_s, "seconds before it is ended; not under gdb")
        ->check(CLI::PositiveNumber);
  }

  void add_trace() {
    CLI::App* command =
        add_command("trace", "run a lesson's code, draw the timeline", [this](const Checkout& checkout) {
          trace_.json = trace_.json || json_;
          return trace(checkout, trace_);
        });
    command
        ->add_option("lesson", trace_.lesson, "05 or ring_attention; 05.2: this task as the judge plays it")
        ->required();
    command->add_option("--ranks", trace_.ranks, "MPI ranks, 1 to 64 (4; 1 where there are none)");
    command->add_option("--out", trace_.out,
                        "write timeline.svg and trace.json there (.course/trace/lesson05)");
    command->add_flag("--json", trace_.json, "one JSON object on stdout and nothing else");
  }

  void add_lab() {
    CLI::App* command = add_command("lab", "a laboratory: rings on a link of a chosen speed",
                                    [this](const Checkout& checkout) {
                                      lab_.json = lab_.json || json_;
                                      return lab(checkout, lab_);
                                    });
    command->add_option("name", lab_.name, "slow-network: one host; two-hosts: two, as Open MPI sees them")
        ->required()
        ->check(CLI::IsMember({"slow-network", "two-hosts"}));
    command->add_option("--bandwidth", lab_.bandwidth,
                        "of the link: 200Mbit, 2Gbit (100Mbit for each rank that shares it)");
    command->add_option("--latency", lab_.latency, "one way, beyond the link's own: 200us, 2ms (0ms)");
    command->add_option("--ranks", lab_.ranks, "MPI ranks, 2 to 16 (4, or 2 on fewer cores)");
    command->add_option("--out", lab_.out, "write the timelines there (.course/lab/NAME)");
    command->add_flag("--json", lab_.json, "one JSON object on stdout and nothing else");
  }

  void add_doctor() {
    CLI::App* command = add_command("doctor", "what was found on this machine, what is skipped and why",
                                    [this](const Checkout& checkout) { return doctor(checkout, json_); });
    command->add_flag("--json", json_, "one JSON object on stdout and nothing else");
  }

  void add_test() {
    CLI::App* command = add_command("test", "the course's own tests",
                                    [this](const Checkout& checkout) { return test(checkout, test_); });
    CLI::Option* all = command->add_flag(
        "--all", test_.all, "sanitizers, a second compiler, a few more seeds, formatting as well");
    command
        ->add_option("--soak", test_.soak,
                     "only play all that is known to be right or wrong with so many seeds, such as 200")
        ->check(CLI::PositiveNumber)
        ->excludes(all);
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

  void add_bench() {
    CLI::App* command =
        add_command("bench", "how fast attention is, against Eigen's matrix product; exit 0 whatever it is",
                    [this](const Checkout& checkout) {
                      bench_.json = bench_.json || json_;
                      return bench(checkout, bench_);
                    });
    command->add_flag("--mine", bench_.mine, "my own lessons, where they pass");
    command->add_flag("--peers", bench_.peers,
                      "beside PyTorch's attention and a ring in PyTorch, which are installed in build/peers");
    command->add_flag("--json", bench_.json, "one JSON object on stdout and nothing else");
  }

  void add_grade() {
    CLI::App* command = add_command("grade", "the scoreboard: mine, or that of what others have handed in",
                                    [this](const Checkout& checkout) {
                                      if (json_) grade_.format = "json";
                                      return grader::grade(checkout, grade_);
                                    });
    command->add_option("lessons", grade_.lessons, "05, ring_attention, ...; without any, all");
    command->add_option("--submission", grade_.submission, "a folder with somebody's files");
    command->add_option("--submissions", grade_.submissions, "a folder of such folders");
    command->add_option("--format", grade_.format, "of one submission's report")
        ->check(CLI::IsMember({"text", "json", "junit", "gradescope"}));
    command->add_option("--output", grade_.output,
                        "the report's file; with --submissions the results' folder");
    command->add_option("--points", grade_.points, R"(a JSON file that overrides points: {"05": {"2": 80}})");
    command->add_option("--seed", grade_.seed,
                        "the seed that inputs are drawn with; without it, one is drawn");
    command->add_option("--isolation", grade_.isolation, "what keeps submissions from this machine")
        ->check(CLI::IsMember({"namespaces", "user", "none"}));
    command->add_option("-j,--jobs", grade_.jobs, "how many submissions at once")->check(CLI::PositiveNumber);
    command->add_flag("--prepared", grade_.prepared)->group("");  // for the graders of --submissions
  }

  void add_handout() {
    CLI::App* command = add_command("handout", "a copy for students, without solutions",
                                    [this](const Checkout& checkout) { return handout(checkout, handout_); });
    command->add_option("dir", handout_.folder, "a new folder, or an earlier handout to bring up to date")
        ->required();
    command->add_option("--lessons", handout_.lessons,
                        "03-05 or 01,03: what to hand out, or to add to an earlier handout; else all");
  }

  void add_release() {
    CLI::App* command =
        add_command("release", "give out a lesson's solution",
                    [this](const Checkout& checkout) { return release(checkout, lesson_, release_folder_); });
    command->add_option("lesson", lesson_, "05 or ring_attention")->required();
    command->add_option("dir", release_folder_, "the handout to add it to; else a patch on stdout");
  }

  CLI::App app_{"The ring attention course: where you are, and a command for each thing to do."};
  Action action_;
  BenchOptions bench_;
  CheckOptions check_;
  HintOptions hint_;
  DrillOptions drill_;
  ReplayOptions replay_;
  TraceOptions trace_;
  LabOptions lab_;
  TestOptions test_;
  grader::GradeOptions grade_;
  HandoutOptions handout_;
  std::string release_folder_;
  std::string lesson_;
  CLI::App* demo_ = nullptr;
  bool spoil_ = false;
  bool json_ = false;
};

int run(int argc, char** argv) {
  try {
    CommandLine line;
    if (const std::optional<int> over = line.parse(argc, argv)) return *over;
    return line.act(Checkout::find());
  } catch (const Interrupted& interrupted) {
    return interrupted.exit_code;
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
