#include <algorithm>
#include <stdexcept>

#include "course/commands/bench.hpp"
#include "course/commands/command_line.hpp"
#include "course/commands/commands.hpp"
#include "course/commands/demo.hpp"
#include "course/commands/lab.hpp"
#include "course/commands/tools.hpp"
#include "course/commands/trace.hpp"
#include "grader/grade_command.hpp"
#include "protocol/errors.hpp"

namespace course::program {

namespace {

/// The commands that a student seldom needs. course-program becomes this program for them.
class ToolsLine : public CommandLine {
 public:
  ToolsLine()
      : CommandLine([](const Checkout&) -> int { throw UsageError("course-tools needs a command"); }) {
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

 private:
  CLI::App* add_tool(const std::string& name, Action action) {
    const auto tool = std::find_if(tool_commands.begin(), tool_commands.end(),
                                   [&](const ToolCommand& known) { return known.name == name; });
    if (tool == tool_commands.end()) throw std::logic_error(name + " is not in tools.hpp");
    return add_command(name, tool->what, std::move(action));
  }

  void add_trace() {
    CLI::App* command = add_tool("trace", [this](const Checkout& checkout) {
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
    CLI::App* command = add_tool("lab", [this](const Checkout& checkout) {
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
    CLI::App* command =
        add_tool("doctor", [this](const Checkout& checkout) { return doctor(checkout, json_); });
    command->add_flag("--json", json_, "one JSON object on stdout and nothing else");
  }

  void add_test() {
    CLI::App* command = add_tool("test", [this](const Checkout& checkout) { return test(checkout, test_); });
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
        add_tool("demo", [this](const Checkout& checkout) { return demo(checkout, demo_->remaining()); });
    // The demo reads its own arguments, --help among them.
    command->prefix_command();
    command->set_help_flag();
    demo_ = command;
  }

  void add_bench() {
    CLI::App* command = add_tool("bench", [this](const Checkout& checkout) {
      bench_.json = bench_.json || json_;
      return bench(checkout, bench_);
    });
    command->add_flag("--mine", bench_.mine, "my own lessons, where they pass");
    command->add_flag("--peers", bench_.peers,
                      "beside PyTorch's attention and a ring in PyTorch, which are installed in build/peers");
    command->add_flag("--json", bench_.json, "one JSON object on stdout and nothing else");
  }

  void add_grade() {
    CLI::App* command = add_tool("grade", [this](const Checkout& checkout) {
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
    CLI::App* command =
        add_tool("handout", [this](const Checkout& checkout) { return handout(checkout, handout_); });
    command->add_option("dir", handout_.folder, "a new folder, or an earlier handout to bring up to date")
        ->required();
    command->add_option("--lessons", handout_.lessons,
                        "03-05 or 01,03: what to hand out, or to add to an earlier handout; else all");
  }

  void add_release() {
    CLI::App* command = add_tool(
        "release", [this](const Checkout& checkout) { return release(checkout, lesson_, release_folder_); });
    command->add_option("lesson", lesson_, "05 or ring_attention")->required();
    command->add_option("dir", release_folder_, "the handout to add it to; else a patch on stdout");
  }

  BenchOptions bench_;
  TraceOptions trace_;
  LabOptions lab_;
  TestOptions test_;
  grader::GradeOptions grade_;
  HandoutOptions handout_;
  std::string release_folder_;
  std::string lesson_;
  CLI::App* demo_ = nullptr;
};

}  // namespace

}  // namespace course::program

int main(int argc, char** argv) {
  return course::program::ToolsLine().run(argc, argv);
}
