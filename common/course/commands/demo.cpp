#include "course/commands/demo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "course/build/build.hpp"
#include "course/workspace/judging.hpp"
#include "protocol/errors.hpp"
#include "runner/subprocess.hpp"

namespace course::program {

namespace {

/// A ring that the demo shows, and the lessons of its passes.
struct Ring {
  const char* name;  ///< as --ring takes it
  Role forward, backward;
};
constexpr Ring all_rings[] = {{"blocking", Role::RingForward, Role::RingBackward},
                              {"overlapped", Role::RingOverlapped, Role::RingOverlapped}};

constexpr const char* demo_command = "./course demo";

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
std::vector<Ring> picked_rings(const std::vector<std::string>& arguments) {
  std::string word = "both";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].starts_with("--ring=")) word = arguments[i].substr(std::string_view("--ring=").size());
    if (arguments[i] == "--ring" && i + 1 < arguments.size()) word = arguments[i + 1];
  }
  std::vector<Ring> picked;
  std::copy_if(std::begin(all_rings), std::end(all_rings), std::back_inserter(picked),
               [&](const Ring& ring) { return word == "both" || word == ring.name; });
  return picked;
}

/// What the demo shows, which decides what is built and what the program is told.
class Plan {
 public:
  Plan(const Checkout& checkout, const std::vector<std::string>& arguments, std::vector<Ring> rings)
      : checkout_(checkout),
        progress_(read_progress(checkout)),
        given_(arguments),
        rings_(std::move(rings)),
        asked_for_mine_(contains(arguments, "--mine")) {
    const std::array needed{&held_lesson(checkout, Role::Block, demo_command),
                            &held_lesson(checkout, rings_.front().forward, demo_command)};
    mine_ = asked_for_mine_ || !std::all_of(needed.begin(), needed.end(), [&](const LessonInfo* lesson) {
              return checkout.has_solution(*lesson);
            });
    if (mine_)
      std::for_each(needed.begin(), needed.end(), [&](const auto* lesson) { require_passed(*lesson); });
    choose_rings();
    choose_passes();
  }

  const std::vector<std::string>& targets() const { return targets_; }
  const std::vector<std::string>& arguments() const { return arguments_; }

 private:
  void require_passed(const LessonInfo& lesson) const {
    if (lesson_status_of(checkout_, lesson, progress_).status == Status::Passed) return;
    throw Unavailable(fmt::format("{}, and lesson {} ({}) is not passed as it stands: ./course check {}",
                                  asked_for_mine_ ? "--mine runs your own lessons"
                                                  : "without the solutions the demo runs your own lessons",
                                  lesson.id, lesson.name, lesson.id));
  }

  /// Why one of these lessons cannot be run; empty when all can.
  std::string hindrance(const std::vector<Role>& roles) const {
    for (const Role role : roles) {
      const LessonInfo* lesson = lesson_with(checkout_.lessons, role);
      if (lesson == nullptr) return "the lesson of " + in_words(role) + " is not here";
      const std::string name = "lesson " + lesson->id + " (" + lesson->name + ")";
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
      const std::string why_not = hindrance({ring->forward});
      if (why_not.empty()) continue;
      if (gives(given_, "--ring"))
        throw Unavailable(fmt::format("--ring asks for the {} ring, and {}", ring->name, why_not));
      std::fprintf(stderr, "The demo shows the %s ring alone: %s\n", rings_.front().name, why_not.c_str());
      rings_.resize(1);
      arguments_ = {"--ring", rings_.front().name};
      break;
    }
    add("--block", Role::Block);
    for (const Ring& ring : rings_) add(fmt::format("--{}-ring", ring.name), ring.forward);
    if (mine_ && !asked_for_mine_) arguments_.push_back("--mine");
  }

  /// Throws Unavailable where the backward pass was asked for and cannot be run.
  void choose_passes() {
    if (!wants_backward(given_)) return;
    std::vector<Role> roles{Role::BlockBackward};
    for (const Ring& ring : rings_) roles.push_back(ring.backward);
    const std::string why_not = hindrance(roles);
    if (!why_not.empty()) {
      if (gives(given_, "--do")) throw Unavailable("--do asks for the backward pass, and " + why_not);
      std::fprintf(stderr, "The demo leaves the backward pass out: %s\n", why_not.c_str());
      arguments_.push_back("--forward");
      return;
    }
    add("--block-backward", Role::BlockBackward);
    for (const Ring& ring : rings_) {
      if (ring.backward != ring.forward) add(fmt::format("--{}-ring-backward", ring.name), ring.backward);
    }
  }

  /// A lesson's shared object, as the value of an option of the program.
  void add(const std::string& option, Role role) {
    targets_.push_back(subject_target(*lesson_with(checkout_.lessons, role), mine_ ? "student" : "solution"));
    arguments_.insert(arguments_.end(), {option, checkout_.build() / "lib" / (targets_.back() + ".so")});
  }

  const Checkout& checkout_;
  const Progress progress_;
  const std::vector<std::string>& given_;
  std::vector<Ring> rings_;
  bool asked_for_mine_;
  bool mine_ = false;
  std::vector<std::string> targets_, arguments_;
};

}  // namespace

int demo(const Checkout& checkout, const std::vector<std::string>& arguments) {
  std::vector<std::string> targets{"ring_demo"};
  std::vector<std::string> command{checkout.build() / "bin" / "ring_demo"};
  std::vector<Ring> rings = picked_rings(arguments);
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
  return run({.argv = command}).code;
}

}  // namespace course::program
