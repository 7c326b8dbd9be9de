#include "grader/grading_manifest.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "course/commands/machine_facts.hpp"
#include "course/workspace/judging.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

namespace course::grader {

std::uint64_t drawn_seed() {
  constexpr std::uint64_t exact_in_a_double = std::uint64_t{1} << 53;
  std::random_device device;
  return std::uniform_int_distribution<std::uint64_t>(1, exact_in_a_double - 1)(device);
}

std::string commit_of(const program::Checkout& checkout) {
  const auto said = capture({.argv = {"git", "-c", "safe.directory=*", "-C", checkout.root, "describe",
                                      "--always", "--dirty", "--abbrev=12", "--exclude=*"}});
  return said.exit.code == 0 ? said.first_line() : "unknown";
}

std::string judges_hash(const program::Checkout& checkout) {
  std::vector<std::string> programs;
  for (const LessonInfo& lesson : checkout.lessons) {
    const std::filesystem::path judge = program::judge_of(checkout.build(), lesson);
    // A lesson that this machine cannot grade may have none.
    programs.push_back(std::filesystem::exists(judge) ? read_text(judge) : "");
  }
  return content_hash(programs);
}

std::string compiler_version(const program::Checkout& checkout) {
  const std::string cache = read_text(checkout.build() / "CMakeCache.txt");
  const std::string compiler = program::cache_entry(cache, "CMAKE_CXX_COMPILER");
  return capture({.argv = {compiler, "--version"}}).first_line();
}

std::string scope_of(const std::vector<LessonInfo>& lessons) {
  std::string text;
  for (const LessonInfo& lesson : lessons) {
    for (const TaskInfo& task : lesson.tasks) {
      text += fmt::format("{}{}.{}={}", text.empty() ? "" : " ", lesson.id, task.id, task.points);
    }
  }
  return text;
}

nlohmann::ordered_json to_json(const GradingManifest& manifest) {
  return {{"seed", manifest.seed},         {"isolation", to_string(manifest.isolation)},
          {"commit", manifest.commit},     {"judges", manifest.judges},
          {"compiler", manifest.compiler}, {"scope", manifest.scope}};
}

GradingManifest manifest_from(const nlohmann::ordered_json& json) {
  return {json.at("seed"),     isolation_named(json.at("isolation")),
          json.at("commit"),   json.at("judges"),
          json.at("compiler"), json.at("scope")};
}

}  // namespace course::grader
