#include "course/commands/demo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "course/build/build.hpp"
#include "course/build/child.hpp"
#include "course/workspace/lesson_status.hpp"
#include "course/workspace/whose_code.hpp"
#include "demo/options.hpp"
#include "protocol/errors.hpp"

namespace course::program {

namespace {

using course::demo::ring_kinds;
using course::demo::RingKind;

constexpr const char* block_lesson = "04";
constexpr const char* block_backward_lesson = "06";

bool contains(const std::vector<std::string>& arguments, const std::string& argument) {
  return std::find(arguments.begin(), arguments.end(), argument) != arguments.end();
}

/// Whether the option is there, with its value in the same argument or the next.
bool gives(const std::vector<std::string>& arguments, const std::string& option) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
    return argument == option || argument.starts_with(option + "=");
  });
}

/// The program goes back where it has a gradient to start from: --do, or the one of the course's own input.
bool wants_backward(const std::vector<std::string>& arguments) {
  const auto none = [&](std::initializer_list<const char*> options) {
    return std::none_of(options.begin(), options.end(),
                        [&](const char* option) { return gives(arguments, option); });
  };
  return none({"--forward"}) &&
         (gives(arguments, "--do") || none({"--q", "--k", "--v", "--seq", "--heads", "--dim"}));
}

/// The rings that --ring picks, as the program does; none for a word that the program refuses.
std::vector<RingKind> picked_rings(const std::vector<std::string>& arguments) {
  std::string word = "both";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].starts_with("--ring=")) word = arguments[i].substr(std::string_view("--ring=").size());
    if (arguments[i] == "--ring" && i + 1 < arguments.size()) word = arguments[i + 1];
  }
  std::vector<RingKind> picked;
  std::copy_if(ring_kinds.begin(), ring_kinds.end(), std::back_inserter(picked),
               [&](const RingKind& ring) { return word == "both" || word == ring.name; });
  return picked;
}

/// What the demo shows, which decides what is built and what the program is told.
class Plan {
 public:
  Plan(const Checkout& checkout, const std::vector<std::string>& arguments, std::vector<RingKind> rings)
      : checkout_(checkout),
        progress_(read_progress(checkout)),
        given_(arguments),
        rings_(std::move(rings)),
        asked_for_mine_(contains(arguments, "--mine")) {
    const std::vector<std::string> needed{block_lesson, std::string(rings_.front().lesson)};
    for (const std::string& id : needed) require_held(id);
    mine_ = asked_for_mine_ || std::any_of(needed.begin(), needed.end(), [&](const std::string& id) {
              return !checkout.has_solution(*find_lesson(checkout, id));
            });
    if (mine_) std::for_each(needed.begin(), needed.end(), [&](const auto& id) { require_passed(id); });
    choose_rings();
    choose_passes();
  }

  const std::vector<std::string>& targets() const { return targets_; }
  const std::vector<std::string>& arguments() const { return arguments_; }

 private:
  void require_held(const std::string& id) const {
    if (find_lesson(checkout_, id) != nullptr) return;
    throw Unavailable(fmt::format("the demo runs lessons {} and {}, and this handout does not hold lesson {}",
                                  block_lesson, rings_.front().lesson, id));
  }

  void require_passed(const std::string& id) const {
    const LessonInfo& lesson = *find_lesson(checkout_, id);
    if (lesson_status_of(checkout_, lesson, progress_).status == Status::Passed) return;
    throw Unavailable(fmt::format("{}, and lesson {} ({}) is not passed as it stands: ./course check {}",
                                  asked_for_mine_ ? "--mine runs your own lessons"
                                                  : "without the solutions the demo runs your own lessons",
                                  id, lesson.name, id));
  }

  /// Why one of these lessons cannot be run; empty when all can.
  std::string hindrance(const std::vector<std::string>& ids) const {
    for (const std::string& id : ids) {
      const LessonInfo* lesson = find_lesson(checkout_, id);
      if (lesson == nullptr) return "lesson " + id + " is not here";
      const std::string name = "lesson " + id + " (" + lesson->name + ")";
      if (!mine_ && !checkout_.has_solution(*lesson)) return "the solution of " + name + " is not here";
      if (!mine_) continue;
      const Status status = lesson_status_of(checkout_, *lesson, progress_).status;
      if (status == Status::Todo) return name + " is not written yet";
      if (status != Status::Passed) return name + " is not passed as it stands";
    }
    return "";
  }

  /// The first ring is what the demo is for; another is shown beside it where it can be.
  void choose_rings() {
    for (auto ring = rings_.begin() + 1; ring != rings_.end(); ++ring) {
      const std::string why_not = hindrance({std::string(ring->lesson)});
      if (why_not.empty()) continue;
      if (gives(given_, "--ring"))
        throw Unavailable(fmt::format("--ring asks for the {} ring, and {}", ring->name, why_not));
      std::fprintf(stderr, "The demo shows the %s ring alone: %s\n", std::string(rings_.front().name).c_str(),
                   why_not.c_str());
      rings_.resize(1);
      arguments_ = {"--ring", std::string(rings_.front().name)};
      break;
    }
    add("--block", block_lesson);
    for (const RingKind& ring : rings_) add(fmt::format("--{}-ring", ring.name), ring.lesson);
    if (mine_ && !asked_for_mine_) arguments_.push_back("--mine");
  }

  /// Throws Unavailable where the backward pass was asked for and cannot be run.
  void choose_passes() {
    if (!wants_backward(given_)) return;
    std::vector<std::string> ids{block_backward_lesson};
    for (const RingKind& ring : rings_) ids.emplace_back(ring.backward_lesson);
    const std::string why_not = hindrance(ids);
    if (!why_not.empty()) {
      if (gives(given_, "--do")) throw Unavailable("--do asks for the backward pass, and " + why_not);
      std::fprintf(stderr, "The demo leaves the backward pass out: %s\n", why_not.c_str());
      arguments_.push_back("--forward");
      return;
    }
    add("--block-backward", block_backward_lesson);
    for (const RingKind& ring : rings_) {
      if (ring.backward_lesson != ring.lesson)
        add(fmt::format("--{}-ring-backward", ring.name), ring.backward_lesson);
    }
  }

  /// A lesson's shared object, as the value of an option of the program.
  void add(const std::string& option, std::string_view lesson) {
    targets_.push_back(fmt::format("lesson{}_{}", lesson, mine_ ? "student" : "solution"));
    arguments_.insert(arguments_.end(), {option, checkout_.build() / "lib" / (targets_.back() + ".so")});
  }

  const Checkout& checkout_;
  const Progress progress_;
  const std::vector<std::string>& given_;
  std::vector<RingKind> rings_;
  bool asked_for_mine_;
  bool mine_ = false;
  std::vector<std::string> targets_, arguments_;
};

}  // namespace

int demo(const Checkout& checkout, const std::vector<std::string>& arguments) {
  std::vector<std::string> targets{"ring_demo"};
  std::vector<std::string> command{checkout.build() / "bin" / "ring_demo"};
  std::vector<RingKind> rings = picked_rings(arguments);
  const bool runs_lessons =
      !contains(arguments, "--help") && !contains(arguments, "-h") && !gives(arguments, "--report");
  if (runs_lessons && !rings.empty()) {
    const Plan plan(checkout, arguments, std::move(rings));
    targets.insert(targets.end(), plan.targets().begin(), plan.targets().end());
    command.insert(command.end(), plan.arguments().begin(), plan.arguments().end());
  }
  const BuildResult built = build({checkout.root, checkout.build(), targets, "the demo"});
  if (!built.succeeded) throw std::runtime_error("the demo could not be built:\n" + failure_text(built));
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run({.argv = command, .folder = {}, .environment = {}}).code;
}

}  // namespace course::program
