#include "judge/expectation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace course {

namespace {

using Status = TestVerdict::Status;

std::set<std::string> names(const std::vector<TestVerdict>& verdicts) {
  std::set<std::string> all;
  for (const TestVerdict& verdict : verdicts) all.insert(verdict.mistakes.begin(), verdict.mistakes.end());
  return all;
}

bool any_failed(const Session& session, int round, const std::string& task) {
  for (std::size_t i = 0; i < session.tests().size(); ++i) {
    const bool here = task.empty() || session.tests()[i].task->id == task;
    if (here && session.verdicts(round)[i].status == Status::Failed) return true;
  }
  return false;
}

bool everything_played(const Session& session, int round) {
  const std::vector<TestVerdict>& verdicts = session.verdicts(round);
  return std::all_of(verdicts.begin(), verdicts.end(),
                     [](const TestVerdict& verdict) { return verdict.status != Status::NotPlayed; });
}

std::string unless_all(const Session& session, int round, Status status, const char* what) {
  for (std::size_t i = 0; i < session.tests().size(); ++i) {
    const TestVerdict& verdict = session.verdicts(round)[i];
    if (verdict.status != status) {
      return fmt::format("task {} is not {}:\n{}", session.tests()[i].name(), what, verdict.text);
    }
  }
  return "";
}

std::string unless_named(const Session& session, int round, const MistakeInfo& mistake) {
  for (const std::string& task : mistake.tasks) {
    if (!any_failed(session, round, task)) return fmt::format("task {} does not fail", task);
  }
  const std::set<std::string> named = names(session.verdicts(round));
  if (named != std::set{mistake.id}) {
    return fmt::format("it should be named {}, and is named [{}]", mistake.id, fmt::join(named, ", "));
  }
  return "";
}

std::set<std::string> split(const std::string& list) {
  std::set<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');) parts.insert(part);
  return parts;
}

std::string unless_combination(const Session& session, int round, const std::set<std::string>& allowed) {
  if (!any_failed(session, round, "")) return "no test fails";
  for (const std::string& name : names(session.verdicts(round))) {
    if (!allowed.contains(name)) return fmt::format("it is misnamed {}", name);
  }
  return "";
}

}  // namespace

std::string Expectation::unmet(const Session& session, const LessonInfo& lesson) const {
  for (int round = 0; round < session.seeds(); ++round) {
    // A standstill ends its test for all later seeds: those have nothing to add.
    if (round > 0 && !everything_played(session, round)) continue;
    std::string amiss;
    if (text == "pass") {
      amiss = unless_all(session, round, Status::Passed, "passed");
    } else if (text == "todo") {
      amiss = unless_all(session, round, Status::Todo, "todo");
    } else if (text.starts_with("mistake:")) {
      amiss = unless_named(session, round, lesson.mistake(text.substr(8)));
    } else if (text.starts_with("mistakes:")) {
      amiss = unless_combination(session, round, split(text.substr(9)));
    } else {
      throw std::invalid_argument("cannot expect " + text +
                                  "; expected pass, todo, mistake:ID or mistakes:ID,ID");
    }
    if (!amiss.empty()) return fmt::format("with seed {}: {}", session.seed(round), amiss);
  }
  return "";
}

}  // namespace course
