#include <algorithm>
#include <stdexcept>

#include "course/commands/command_line.hpp"
#include "course/commands/commands.hpp"
#include "course/commands/tools.hpp"
#include "course/selftest/new_lesson.hpp"
#include "grader/grade_command.hpp"

namespace course::program {

namespace {

/// The commands that a student seldom needs. course-program becomes this program for them.
class ToolsLine : public CommandLine {
 public:
  ToolsLine() {
    add_doctor();
    add_test();
    add_new_lesson();
    add_grade();
    add_handout();
    add_release();
    add_pack();
  }

 private:
  CLI::App* add_tool(const std::string& name, Action action) {
    const auto tool = std::find_if(tool_commands.begin(), tool_commands.end(),
                                   [&](const ToolCommand& known) { return known.name == name; });
    if (tool == tool_commands.end()) throw std::logic_error(name + " is not in tools.hpp");
    return add_command(name, tool->what, std::move(action));
  }

  void add_doctor() {
    CLI::App* command =
        add_tool("doctor", [this](const Checkout& checkout) { return doctor(checkout, json_); });
    print_as_json(command);
    command->add_flag("--json", json_, "one JSON object on stdout and nothing else");
  }

  void add_test() {
    CLI::App* command = add_tool("test", [this](const Checkout& checkout) { return test(checkout, test_); });
    CLI::Option* all = command->add_flag(
        "--all", test_.all, "sanitizers, a second compiler, a few more seeds, formatting, pages as well");
    command
        ->add_option("--soak", test_.soak,
                     "only play all that is known to be right or wrong with so many seeds, such as 200")
        ->check(whole_number_from_1)
        ->excludes(all);
    command->add_option("--lesson", test_.lesson, "only what is about this lesson");
    command->add_flag("--record", test_.record, "write what comes of the lesson into tests/ledger");
    command->add_option("-j,--jobs", test_.jobs, "how many at once")->check(whole_number_from_1);
  }

  void add_new_lesson() {
    CLI::App* command = add_tool(
        "new-lesson", [this](const Checkout& checkout) { return new_lesson(checkout, lesson_, family_); });
    command->add_option("name", lesson_, "such as reversed_ring")->required();
    command
        ->add_option(
            "--family", family_,
            "the role in the registry of the lesson that it is like, such as ring_forward; list: all of them")
        ->required();
  }

  void add_grade() {
    CLI::App* command = add_tool("grade", [this](const Checkout& checkout) {
      if (json_) {
        if (grade_.format.value_or("json") != "json")
          throw UsageError("--json contradicts --format " + *grade_.format);
        grade_.format = "json";
        grade_.as_json = true;
      }
      return grader::grade(checkout, grade_);
    });
    print_as_json(command);
    command->add_option("lessons", grade_.lessons, "05, 03-05, ring_attention, ...; without any, all");
    command->add_option("--submission", grade_.submission, "a folder with somebody's files");
    command->add_option("--submissions", grade_.submissions, "a folder of such folders");
    command->add_option("--format", grade_.format, "of one submission's report")
        ->check(CLI::IsMember({"text", "json", "html", "markdown", "junit", "gradescope"}));
    command->add_option("--output", grade_.output,
                        "the report's file; with --submissions the results' folder");
    command->add_option("--points", grade_.points, R"(a JSON file that overrides points: {"05": {"2": 80}})");
    command
        ->add_option("--seed", grade_.seed, "the seed that inputs are drawn with; without it, one is drawn")
        ->check(whole_number_from_0);
    command->add_option("--lesson-seed", grade_.lesson_seeds)->group("");  // of --submissions, as --prepared
    command->add_option("--isolation", grade_.isolation, "what keeps submissions from this machine")
        ->check(CLI::IsMember({"namespaces", "user", "none"}));
    command->add_option("--roster", grade_.roster,
                        "with --submissions: a CSV file with the columns submission and id");
    command->add_option("--due", grade_.due,
                        "with --submissions: when these lessons are due, 2026-10-12 or 2026-10-12T18:00");
    command->add_option("-j,--jobs", grade_.jobs, "with --submissions: how many at once")
        ->check(whole_number_from_1);
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

  void add_pack() {
    CLI::App* command = add_tool("pack", [this](const Checkout& checkout) { return pack(checkout, pack_); });
    command->add_option("dir", pack_.folder, "a new folder")->required();
    command->add_option("--lessons", pack_.lessons, "09-12 or 09,12: what to pack; else all that need a GPU");
  }

  TestOptions test_;
  PackOptions pack_;
  grader::GradeOptions grade_;
  HandoutOptions handout_;
  std::string release_folder_;
  std::string lesson_;
  std::string family_;
};

}  // namespace

}  // namespace course::program

int main(int argc, char** argv) {
  return course::program::ToolsLine().run(argc, argv);
}
