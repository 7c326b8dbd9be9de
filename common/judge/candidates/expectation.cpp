#include "judge/candidates/expectation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>
#include <stdexcept>

namespace course {

namespace {

using Status = TestVerdict::Status;

/// The verdicts of one seed beside their tests.
class Verdicts {
 public:
  /// `first`: nothing was ended by an earlier seed.
  Verdicts(const JudgedRound& judged, bool first)
      : tests_(judged.tests), verdicts_(judged.verdicts), first_(first) {}

  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const TestVerdict& verdict : verdicts_) all.insert(verdict.mistakes.begin(), verdict.mistakes.end());
    return all;
  }

  /// Whether a test of the task fails, or was ended by an earlier seed; an empty task stands for all of them.
  bool fails(const std::string& task) const {
    for (std::size_t i = 0; i < tests_.size(); ++i) {
      const bool here = task.empty() || tests_[i]->task->id == task;
      if (here && (verdicts_[i].status == Status::Failed || ended_earlier(i))) return true;
    }
    return false;
  }

  bool complete() const {
    for (std::size_t i = 0; i < tests_.size(); ++i) {
      if (ended_earlier(i)) return false;
    }
    return true;
  }

  std::string unless_all(Status status, const char* what) const {
    for (std::size_t i = 0; i < tests_.size(); ++i) {
      if (verdicts_[i].status == status || ended_earlier(i)) continue;
      return fmt::format("task {} is not {}:\n{}", tests_[i]->name(), what, verdicts_[i].text);
    }
    return "";
  }

 private:
  bool ended_earlier(std::size_t i) const { return !first_ && verdicts_[i].status == Status::NotPlayed; }

  const std::vector<const GradedTest*>& tests_;
  const std::vector<TestVerdict>& verdicts_;
  bool first_;
};

std::string unless_named(const Verdicts& round, const MistakeInfo& mistake) {
  for (const std::string& task : mistake.tasks) {
    if (!round.fails(task)) return fmt::format("task {} does not fail", task);
  }
  const std::set<std::string> named = round.names();
  if (named == std::set{mistake.id} || (named.empty() && !round.complete())) return "";
  return fmt::format("it should be named {}, and is named [{}]", mistake.id, fmt::join(named, ", "));
}

std::set<std::string> split(const std::string& list) {
  std::set<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');) parts.insert(part);
  return parts;
}

std::string unless_combination(const Verdicts& round, const std::set<std::string>& allowed) {
  if (!round.fails("")) return "no test fails";
  for (const std::string& name : round.names()) {
    if (!allowed.contains(name)) return fmt::format("it is misnamed {}", name);
  }
  return "";
}

}  // namespace

std::string Expectation::unmet(const JudgedRound& judged, bool first, const LessonInfo& lesson) const {
  const Verdicts round(judged, first);
  if (text == "pass") return round.unless_all(Status::Passed, "passed");
  if (text == "todo") return round.unless_all(Status::Todo, "todo");
  if (text.starts_with("mistake:")) return unless_named(round, lesson.mistake(text.substr(8)));
  if (text.starts_with("mistakes:")) return unless_combination(round, split(text.substr(9)));
  throw std::invalid_argument("cannot expect " + text +
                              "; expected pass, todo, mistake:ID or mistakes:ID,ID");
}

std::string Expectation::unmet_later(const JudgedRound& round, const LessonInfo& lesson) const {
  return unmet(round, false, lesson);
}

std::string Expectation::unmet(const std::vector<JudgedRound>& rounds, const LessonInfo& lesson) const {
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const std::string amiss = unmet(rounds[i], i == 0, lesson);
    if (!amiss.empty()) return fmt::format("with seed {}: {}", rounds[i].seed, amiss);
  }
  return "";
}

}  // namespace course
