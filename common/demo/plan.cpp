#include <fmt/format.h>

#include "course/workspace/judging.hpp"
#include "course/workspace/lesson_status.hpp"
#include "demo/demonstration.hpp"
#include "protocol/errors.hpp"

namespace course::demo {

namespace {

using program::Status;

constexpr const char* demo_command = "./course demo";

/// Whose lessons can be played.
class Lessons {
 public:
  Lessons(const program::Checkout& checkout, bool asked_for_mine)
      : checkout_(checkout), progress_(program::read_progress(checkout)), asked_for_mine_(asked_for_mine) {}

  /// Takes the student's own lessons unless these, without which there is no demo, all have solutions. Throws
  /// Unavailable where one of them is not there, or not passed.
  void require(const std::vector<Role>& needed) {
    for (const Role role : needed)
      mine |= asked_for_mine_ || !checkout_.has_solution(held_lesson(checkout_, role, demo_command));
    for (const Role role : needed) {
      const LessonInfo& lesson = held_lesson(checkout_, role, demo_command);
      if (!mine || status(lesson) == Status::Passed) continue;
      throw Unavailable(fmt::format("{}, and lesson {} ({}) is not passed as it stands: ./course check {}",
                                    asked_for_mine_ ? "--mine runs your own lessons"
                                                    : "without the solutions the demo runs your own lessons",
                                    lesson.id, lesson.name, lesson.id));
    }
  }

  /// Why one of these lessons cannot be run; empty when all can.
  std::string hindrance(const std::vector<Role>& roles) const {
    for (const Role role : roles) {
      const LessonInfo* lesson = lesson_with(checkout_.lessons, role);
      if (lesson == nullptr) return "the lesson of " + in_words(role) + " is not here";
      const std::string name = "lesson " + lesson->id + " (" + lesson->name + ")";
      if (!mine && !checkout_.has_solution(*lesson)) return "the solution of " + name + " is not here";
      if (!mine || status(*lesson) == Status::Passed) continue;
      return name + (status(*lesson) == Status::Todo ? " is not written yet" : " is not passed as it stands");
    }
    return "";
  }

  bool mine = false;

 private:
  Status status(const LessonInfo& lesson) const {
    return lesson_status_of(checkout_, lesson, progress_).status;
  }

  const program::Checkout& checkout_;
  const program::Progress progress_;
  bool asked_for_mine_;
};

}  // namespace

Demonstration demonstration_of(const program::Checkout& checkout, const std::vector<std::string>& rings,
                               int ranks, bool backward, bool mine) {
  const auto code = [&](Role role) {
    return timed::code_of(checkout, held_lesson(checkout, role, demo_command), mine ? "student" : "solution");
  };
  Demonstration shown{.block = code(Role::Block), .backward = backward, .mine = mine, .ranks = ranks};
  if (backward) shown.block_backward = code(Role::BlockBackward);
  for (const std::string& name : rings) {
    const RingKind& kind = ring_kind(name);
    shown.causal |= kind.causal;
    Ring& ring = shown.rings.emplace_back(Ring{name, code(kind.forward)});
    if (backward) ring.backward = code(kind.backward);
  }
  return shown;
}

Demonstration plan(const program::Checkout& checkout, const Options& options) {
  if (options.causal && !options.ring.empty()) {
    throw UsageError(fmt::format("--ring {}: with --causal there is one ring, {}; expected no --ring",
                                 options.ring, in_words(Role::RingLayout)));
  }
  std::vector<std::string> rings;
  for (const RingKind& kind : ring_kinds) {
    if (kind.causal != options.causal) continue;
    if (options.ring.empty() || options.ring == "both" || options.ring == kind.name)
      rings.push_back(kind.name);
  }
  Lessons lessons(checkout, options.mine);
  lessons.require({Role::Block, ring_kind(rings.front()).forward});
  if (const std::string why_not = lessons.hindrance({ring_kind(rings.back()).forward}); !why_not.empty()) {
    // The first ring is what the demo is for; another is shown beside it where it can be.
    if (!options.ring.empty())
      throw Unavailable(fmt::format("--ring asks for the {} ring, and {}", rings.back(), why_not));
    fmt::print(stderr, "The demo shows the {} ring alone: {}\n", rings.front(), why_not);
    rings.pop_back();
  }
  if (!options.backward()) return demonstration_of(checkout, rings, options.ranks, false, lessons.mine);
  std::vector<Role> roles{Role::BlockBackward};
  for (const std::string& name : rings) roles.push_back(ring_kind(name).backward);
  const std::string why_not = lessons.hindrance(roles);
  if (!why_not.empty() && options.files) throw Unavailable("--do asks for the backward pass, and " + why_not);
  if (!why_not.empty()) fmt::print(stderr, "The demo leaves the backward pass out: {}\n", why_not);
  return demonstration_of(checkout, rings, options.ranks, why_not.empty(), lessons.mine);
}

}  // namespace course::demo
