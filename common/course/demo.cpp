#include "course/demo.hpp"

#include <algorithm>
#include <stdexcept>

#include "course/build.hpp"
#include "course/child.hpp"
#include "course/errors.hpp"
#include "course/standing.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

constexpr const char* block_lesson = "04";
constexpr const char* ring_lesson = "05";

void require_passed(const Checkout& checkout) {
  const Progress progress = read_progress(checkout);
  for (const std::string id : {block_lesson, ring_lesson}) {
    const LessonInfo& lesson = find_lesson(checkout.lessons, id);
    if (standing_of(checkout, lesson, progress).status == Status::Passed) continue;
    throw Unavailable("--mine runs your own lessons, and lesson " + id + " (" + lesson.name +
                      ") is not passed as it stands: ./course check " + id);
  }
}

std::string library_name(const std::string& lesson, const std::string& subject) {
  return "lesson" + lesson + "_" + subject;
}

}  // namespace

int demo(const Checkout& checkout, const std::vector<std::string>& arguments) {
  const bool mine = std::find(arguments.begin(), arguments.end(), "--mine") != arguments.end();
  if (mine) require_passed(checkout);
  const std::string subject = mine ? "student" : "solution";
  const std::string ring = library_name(ring_lesson, subject);
  const std::string block = library_name(block_lesson, subject);
  const BuildResult built = build({checkout.root, checkout.build(), {"ring_demo", ring, block}, "the demo"});
  if (!built.succeeded) throw std::runtime_error("the demo could not be built:\n" + failure_text(built));
  const fs::path libraries = checkout.build() / "lib";
  std::vector<std::string> command{checkout.build() / "bin" / "ring_demo", "--ring",
                                   libraries / (ring + ".so"), "--block", libraries / (block + ".so")};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run({.argv = command, .folder = {}, .environment = {}}).code;
}

}  // namespace course::program
