#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "course/build/build.hpp"
#include "course/commands/commands.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/cuda_device.hpp"
#include "course/workspace/judging.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "protocol/errors.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

/// What is built of a lesson: its judge, its players and what they play; and what times it on a device.
std::vector<std::string> targets_of(const Checkout& checkout, const LessonInfo& lesson) {
  std::vector<std::string> targets{"judge_" + lesson.tag(), lesson.player(), lesson.player(Backend::Cuda)};
  const bool for_devices = lesson.needs_gpu() && has_nvcc();
  for (const std::string subject : {"student", "solution"}) {
    if (subject == "solution" && !checkout.has_solution(lesson)) continue;
    targets.push_back(subject_target(lesson, subject));
    if (for_devices) targets.push_back(subject_target(lesson, subject + "_cuda"));
  }
  if (for_devices && lesson.needs_mpi()) targets.push_back(staged_nccl_target);
  if (lesson.needs_gpu()) targets.insert(targets.end(), {lesson.tag() + "_packed", "device_programs"});
  return targets;
}

std::vector<LessonInfo> lessons_to_pack(const Checkout& checkout, const PackOptions& options) {
  if (options.lessons) return choose_lessons(checkout.lessons, *options.lessons, "pack --lessons");
  std::vector<LessonInfo> all;
  std::ranges::copy_if(checkout.lessons, std::back_inserter(all), &LessonInfo::needs_gpu);
  if (all.empty()) throw UsageError("no lesson here needs a GPU; --lessons packs others");
  return all;
}

/// A line a lesson, as pack.sh reads it.
std::string table_of(const std::vector<LessonInfo>& lessons) {
  std::string table;
  for (const LessonInfo& lesson : lessons)
    table += fmt::format("{} {} {} {} {}\n", lesson.id, lesson.folder(), lesson.player(),
                         lesson.player(Backend::Cuda), lesson.most_ranks());
  return table;
}

}  // namespace

int pack(const Checkout& checkout, const PackOptions& options) {
  const Interruptible interruptible;
  const fs::path folder = fs::absolute(options.folder);
  if (fs::exists(folder)) throw UsageError(folder.string() + " is there already; expected a new folder");
  const std::vector<LessonInfo> lessons = lessons_to_pack(checkout, options);
  std::vector<std::string> targets;
  for (const LessonInfo& lesson : lessons) {
    if (const std::string obstacle = checkout.obstacle(lesson); !obstacle.empty())
      throw Unavailable("lesson " + lesson.id + " cannot be packed: " + obstacle);
    const std::vector<std::string> own = targets_of(checkout, lesson);
    targets.insert(targets.end(), own.begin(), own.end());
  }
  const fs::path tree = checkout.build() / "portable";
  configure(checkout.root, tree, {"--preset", "student", "-DCOURSE_PORTABLE=ON"});
  require_built(build({checkout.root, tree, targets, "what is to be packed"}), "what is to be packed");
  const fs::path table = tree / "packed_lessons";
  write_text(table, table_of(lessons));
  const Captured said = capture(
      {.argv = {"bash", checkout.root / "common" / "pack" / "pack.sh", checkout.root, tree, table, folder}});
  if (said.exit.code != 0) {
    fs::remove_all(folder);
    throw Unavailable("nothing was packed:\n" + said.output);
  }
  fmt::print("{}", said.output);
  fmt::print("{} holds lessons {}; on the other machine read README first\n", folder.string(),
             joined(lessons, &LessonInfo::id));
  return succeeded;
}

}  // namespace course::program
