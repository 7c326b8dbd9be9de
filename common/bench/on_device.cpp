#include "bench/on_device.hpp"

#include <algorithm>

#include "course/build/build.hpp"
#include "course/build/file_lock.hpp"
#include "course/workspace/cuda_device.hpp"
#include "protocol/errors.hpp"
#include "runner/subprocess.hpp"

namespace course::bench {

namespace {

/// Empty where the programs can be built and have a device.
std::string obstacle_to(const program::Checkout& checkout, const DeviceContest& contest) {
  const auto lesson = std::ranges::find_if(checkout.lessons, &LessonInfo::needs_gpu);
  if (lesson == checkout.lessons.end()) return "no lesson here needs a GPU";
  return contest.backend == "cuda" ? program::cuda_obstacle() : checkout.build_obstacle(*lesson);
}

bool has_solutions(const program::Checkout& checkout) {
  return std::ranges::all_of(checkout.lessons, [&](const LessonInfo& lesson) {
    return !lesson.needs_gpu() || checkout.has_solution(lesson);
  });
}

}  // namespace

int time_on_device(const program::Checkout& checkout, const DeviceContest& contest) {
  if (const std::string obstacle = obstacle_to(checkout, contest); !obstacle.empty())
    throw Unavailable("--backend " + contest.backend + ": " + obstacle);
  const std::string subject = contest.mine || !has_solutions(checkout) ? "student" : "solution";
  const std::filesystem::path tree = checkout.build();
  const std::string ending = contest.backend == "cuda" ? "_cuda" : "_sim";
  program::require_built(
      program::build({checkout.root, tree, {"device_programs_" + subject + ending}, "the bench of a device"}),
      "the bench of a device");
  const program::FileLock alone(tree / "bench.lock", "another ./course bench to finish");
  Command command{.argv = {"bash", checkout.root / "common" / "pack" / "bench.sh", "--build", tree,
                           "--backend", contest.backend, "--subject", subject}};
  if (contest.json) command.argv.push_back("--json");
  return run(command).code;
}

}  // namespace course::bench
