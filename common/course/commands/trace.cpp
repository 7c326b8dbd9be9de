#include "course/commands/trace.hpp"

#include <fmt/core.h>

#include <stdexcept>

#include "course/build/build.hpp"
#include "course/workspace/judging.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "protocol/errors.hpp"
#include "runner/subprocess.hpp"
#include "runner/temporary_folder.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

constexpr const char* trace_command = "./course trace";
constexpr int default_trace_ranks = 4;
constexpr int most_trace_ranks = 64;

/// One call of ./course trace.
class Trace {
 public:
  Trace(const Checkout& checkout, const TraceOptions& options)
      : checkout_(checkout),
        options_(options),
        choice_(choose_lesson(checkout.lessons, options.lesson)),
        lesson_(*choice_.lesson),
        ranks_(checked_ranks()) {}

  int run() {
    if (const std::string obstacle = checkout_.obstacle(lesson_); !obstacle.empty())
      throw Unavailable("lesson " + lesson_.id + " cannot be traced: " + obstacle);
    const Progress progress = read_progress(checkout_);
    subject_ = runnable_subject(checkout_, lesson_, progress, trace_command);
    if (is_ring()) {
      const LessonInfo& block = held_lesson(checkout_, Role::Block, trace_command);
      block_subject_ = runnable_subject(checkout_, block, progress, trace_command);
      block_target_ = subject_target(block, block_subject_);
    }
    build_all();
    const TemporaryFolder temporary;
    std::vector<std::string> command = tracer();
    if (is_ring()) {
      command.insert(command.end(),
                     {"--ring", lesson_.ring, "--ranks", std::to_string(ranks_), "--block",
                      library(block_target_), "--blocks", block_subject_, "--what", lesson_.name});
    } else {
      write_case(temporary.path() / "case");
      command.insert(command.end(),
                     {"--case", temporary.path() / "case", "--what", lesson_.name + ", task " + task()});
    }
    return course::run({.argv = command}).code;
  }

 private:
  int checked_ranks() const {
    const bool one_rank = !is_ring() && lesson_.task(task()).ranks.empty();
    const int ranks = options_.ranks.value_or(one_rank ? 1 : default_trace_ranks);
    if (one_rank && ranks != 1) {
      const std::string what = choice_.task.empty() ? "" : fmt::format("task {} of ", choice_.task);
      throw UsageError(fmt::format("--ranks {}: {}lesson {} runs on one rank", ranks, what, lesson_.id));
    }
    if (ranks < 1 || ranks > most_trace_ranks)
      throw UsageError(fmt::format("--ranks {}: expected a number from 1 to {}", ranks, most_trace_ranks));
    return ranks;
  }

  /// Whether to run the lesson's forward ring, on more than the judge's small inputs.
  bool is_ring() const { return !lesson_.ring.empty() && choice_.task.empty(); }

  /// The last task is the lesson's goal.
  std::string task() const { return choice_.task.empty() ? lesson_.tasks.back().id : choice_.task; }

  std::string judge() const { return "judge_" + lesson_.tag(); }
  std::string library(const std::string& target) const {
    return checkout_.build() / "lib" / (target + ".so");
  }

  void build_all() const {
    std::vector<std::string> targets{"ring_lab", subject_target(lesson_, subject_)};
    targets.push_back(is_ring() ? block_target_ : judge());
    const BuildResult built =
        build({checkout_.root, checkout_.build(), targets, "the trace of lesson " + lesson_.id});
    if (!built.succeeded) throw std::runtime_error("the trace could not be built:\n" + failure_text(built));
  }

  std::vector<std::string> tracer() const {
    std::vector<std::string> command{checkout_.build() / "bin" / "ring_lab",
                                     "trace",
                                     "--subject",
                                     library(subject_target(lesson_, subject_)),
                                     "--lesson",
                                     lesson_.id,
                                     "--code",
                                     subject_,
                                     "--out",
                                     out()};
    if (options_.json) command.push_back("--json");
    return command;
  }

  std::string out() const {
    return options_.out.empty() ? checkout_.state() / "trace" / lesson_.tag() : fs::path(options_.out);
  }

  void write_case(const fs::path& folder) const {
    const Captured said = capture({.argv = {checkout_.build() / "bin" / judge(), "--registry",
                                            checkout_.root / "lessons" / "registry.json", "--write-case",
                                            folder, "--task", task(), "--ranks", std::to_string(ranks_)}});
    if (said.exit.code != 0) throw std::runtime_error(judge() + " has drawn no input: " + said.output);
  }

  const Checkout& checkout_;
  const TraceOptions& options_;
  LessonChoice choice_;
  const LessonInfo& lesson_;
  int ranks_;
  std::string subject_;
  std::string block_subject_;
  std::string block_target_;
};

}  // namespace

int trace(const Checkout& checkout, const TraceOptions& options) {
  return Trace(checkout, options).run();
}

}  // namespace course::program
