#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "grader/grade_command.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

// Plays one submission of tests/grader/hostile in each way that its first lines speak of:
//   // what: what it tries
//   // graded: what ./course grade says of the task
//   // public: what is said of it on the public inputs of the first seed, which every student can see
//   // namespaces: what is said when it is played past the audit in namespaces; user, none: the same in that
//   isolation. "none" protects nothing but the grader's time and memory; where an attack would harm more than
//   its own folder the line says "not played: why".
//   // with: a file of tests/grader/hostile that goes before it
// "passed" means that the answer counts: the attack is harmless or has succeeded. Anything else is a part of
// the diagnosis; "|" stands between alternatives. A file of hostile/solo defines attack(), which returns
// whether it has gained anything: only then the answer to task 1 of lesson 01 is right. In hostile/ring it is
// attack(MPI_Comm), and task 2 of lesson 05; in hostile/gpu it is attack(), and task 1 of lesson 09. A file
// with the lesson's own namespace is a whole submission. Exit code 77: this machine cannot play some way.

using namespace course;
using namespace course::program::grader;
using program::Checkout;
namespace fs = std::filesystem;

namespace {

constexpr int skipped = 77;

/// What an attack of one of the folders spoils.
struct Target {
  const char* lesson;
  const char* task;
  const char* call;  ///< of the attack, where the task's answer begins
};                   // its files end as those of its lesson
const std::map<std::string, Target> targets{
    {"solo", {"01", "1", "::attack()"}},
    {"ring", {"05", "2", "::attack(comm)"}},
    {"gpu", {"09", "1", "::attack()"}},
};

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
  return text;
}

/// The values of the first lines "// key: value".
std::map<std::string, std::string> expectations(const std::string& text) {
  std::map<std::string, std::string> found;
  for (const std::string& line : lines_of(text)) {
    const std::size_t colon = line.find(": ");
    if (!line.starts_with("// ") || colon == std::string::npos) break;
    found[line.substr(3, colon - 3)] = line.substr(colon + 2);
  }
  return found;
}

/// The attack, and the solution of the lesson with a task that depends on it.
std::string hostile_text(const Checkout& checkout, const LessonInfo& lesson, const Target& target,
                         const std::string& attack) {
  if (attack.find("namespace lesson" + lesson.id) != std::string::npos) return attack;
  const std::string solution =
      read_text(checkout.root / Checkout::solution_file(lesson, lesson.files.front()));
  const std::string body = fmt::format("\n  //> task {}\n", target.task);
  if (solution.find(body) == std::string::npos)
    throw std::runtime_error(fmt::format("the solution's task {} has no body", target.task));
  const std::map<std::string, std::string> keys = expectations(attack);
  const std::string before = keys.contains("with") ? read_text(fs::path(HOSTILE_DIR) / keys.at("with")) : "";
  return before + replaced(attack, "@ROOT@", checkout.root) + "\n" +
         replaced(solution, body, fmt::format("\n  if (!{}) return;\n", target.call));
}

/// One submission to a lesson, and how it is played.
class Played {
 public:
  Played(const Checkout& checkout, const LessonInfo& lesson, std::string task, std::string text)
      : checkout_(checkout), lesson_(lesson), task_(std::move(task)), text_(std::move(text)) {}

  /// As ./course grade has it.
  program::TaskStatus graded() const {
    const TemporaryFolder folder;
    write_text(folder.path() / lesson_.files.front(), text_);
    return task_of(
        grade_lesson(checkout_, lesson_, folder.path(), {4711, strongest_isolation(), "", "", "", ""})
            .lesson_status);
  }

  /// Without having been examined.
  program::TaskStatus unexamined(Isolation isolation) const { return play(isolation, 4711, true); }

  /// On the inputs that a student's own check draws.
  program::TaskStatus on_public_inputs() const { return play(strongest_isolation(), 1, false); }

 private:
  program::TaskStatus play(Isolation isolation, std::uint64_t seed, bool hidden) const {
    Workshop workshop(checkout_, lesson_, isolation);
    const std::string obstacle =
        workshop.make({{{lesson_.files.front(), text_}}, {}, {}, ""}, Examination::Skipped);
    if (!obstacle.empty())
      return task_of(program::lesson_status_as_a_whole(lesson_, program::Status::Failed, obstacle));
    program::GradingOrder order =
        grading_order(checkout_, lesson_, workshop, {seed, isolation, "", "", "", ""});
    order.hidden = hidden;
    order.limits = limits_;
    return task_of(program::lesson_status_of(lesson_, program::grade(checkout_, order)));
  }

  program::TaskStatus task_of(const program::LessonStatus& lesson_status) const {
    return *std::ranges::find_if(lesson_status.tasks,
                                 [&](const program::TaskStatus& task) { return task.task->id == task_; });
  }

  const Checkout& checkout_;
  const LessonInfo& lesson_;
  std::string task_;
  std::string text_;
  /// Less than a grade allows: how long an attack takes to use up its time, memory and processes says
  /// nothing. mpirun and eight ranks take 50 processes.
  const std::vector<std::string> limits_{"--case-limit",    "4",
                                         "--memory-limit",  std::to_string(512 << 20),
                                         "--process-limit", lesson_.needs_mpi() ? "64" : "8"};
};

/// Processes that outlived what started them: orphans end up with the subreaper that this process is.
bool leaves_processes() {
  const std::vector<pid_t> left = descendants(getpid());
  return !left.empty();
}

bool fits(const program::TaskStatus& lesson_status, const std::string& expected) {
  const bool passed = lesson_status.status == program::Status::Passed;
  std::istringstream alternatives(expected);
  for (std::string part; std::getline(alternatives, part, '|');) {
    if (passed ? part == "passed" : lesson_status.diagnosis.find(part) != std::string::npos) return true;
  }
  return false;
}

/// Whether a user made up for submissions can read the solutions depends on where this checkout lies.
std::string for_this_place(const Checkout& checkout, const std::string& expected) {
  if (expected != "@READABLE@") return expected;
  const Confinement confinement(Isolation::User, {});
  const bool readable =
      readable_confined(confinement, checkout.root / "solutions" / "01_safe_softmax" / "safe_softmax.cpp");
  return readable ? "passed" : "should be|does not compile";
}

class HostileTest {
 public:
  /// @param path "ring/sleeping_rank"
  explicit HostileTest(const fs::path& path)
      : checkout_(Checkout::find()),
        target_(targets.at(path.parent_path())),
        lesson_(find_lesson(checkout_.lessons, target_.lesson)),
        attack_(read_text(
            (fs::path(HOSTILE_DIR) / path).concat(fs::path(lesson_.files.front()).extension().string()))),
        expected_(expectations(attack_)),
        submission_(checkout_, lesson_, target_.task, hostile_text(checkout_, lesson_, target_, attack_)) {}

  int run() {
    if (!expected_.contains("what") || !expected_.contains("graded") || !expected_.contains("none")) {
      throw std::runtime_error("the file lacks one of the lines // what:, // graded: and // none:");
    }
    fmt::print("{}\n", expected_["what"]);
    check("graded", [&] { return submission_.graded(); });
    if (expected_.contains("public")) check("public", [&] { return submission_.on_public_inputs(); });
    for (const Isolation isolation : {Isolation::Namespaces, Isolation::User, Isolation::None})
      play_in(isolation);
    return failures_ > 0 ? 1 : skips_ > 0 ? skipped : 0;
  }

 private:
  void play_in(Isolation isolation) {
    const std::string way = to_string(isolation);
    if (!expected_.contains(way)) return;
    if (expected_.at(way).starts_with("not played: ")) {
      fmt::print("      {}: {}\n", way, expected_.at(way));
      return;
    }
    if (const std::string why = obstacle(isolation); !why.empty()) {
      fmt::print("SKIP  {}: {}\n", way, why);
      ++skips_;
      return;
    }
    check(way, [&] { return submission_.unexamined(isolation); });
  }

  template <class Play>
  void check(const std::string& way, const Play& play) {
    const std::string expected = for_this_place(checkout_, expected_.at(way));
    const program::TaskStatus lesson_status = play();
    const std::string said =
        lesson_status.status == program::Status::Passed ? "passed" : lesson_status.diagnosis;
    const bool clean = !leaves_processes();
    const bool right = fits(lesson_status, expected) && clean;
    fmt::print("{}  {}: {}\n", right ? "PASS" : "FAIL", way, said);
    if (!fits(lesson_status, expected)) fmt::print("      expected: {}\n", expected);
    if (!clean) fmt::print("      processes are left behind\n");
    if (!right) ++failures_;
  }

  Checkout checkout_;
  Target target_;
  const LessonInfo& lesson_;
  std::string attack_;
  std::map<std::string, std::string> expected_;
  Played submission_;
  int failures_ = 0;
  int skips_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2)
      throw std::runtime_error("usage: hostile_test FOLDER/NAME, a file below tests/grader/hostile");
    return HostileTest(argv[1]).run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "hostile_test: {}\n", error.what());
    return 2;
  }
}
