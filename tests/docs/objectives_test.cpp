// What each lesson is for: the registry's objectives, which its page and the instructor's repeat word for
// word.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "text/text_file.hpp"

namespace course {
namespace {

const std::filesystem::path root = COURSE_ROOT;

nlohmann::json lessons() {
  return nlohmann::json::parse(read_text(root / "lessons/registry.json")).at("lessons");
}

std::vector<std::string> objectives_of(const nlohmann::json& lesson) {
  return lesson.value("objectives", std::vector<std::string>{});
}

/// The items of the first list after a line.
std::vector<std::string> list_after(const std::filesystem::path& page, const std::string& line) {
  const std::vector<std::string> lines = lines_of(read_text(root / page));
  std::vector<std::string> items;
  for (auto at = std::ranges::find(lines, line); at != lines.end(); ++at) {
    if (at->starts_with("- "))
      items.push_back(at->substr(2));
    else if (!items.empty())
      break;
  }
  return items;
}

/// A lesson of one's own may do without: then neither page has a list.
TEST(Objectives, AreThreeToFiveThingsThatOneSees) {
  const std::set<std::string> unseen{"appreciate", "be",     "have", "know",
                                     "learn",      "master", "see",  "understand"};
  for (const nlohmann::json& lesson : lessons()) {
    const std::vector<std::string> objectives = objectives_of(lesson);
    if (objectives.empty()) continue;
    EXPECT_GE(objectives.size(), 3U) << lesson["id"];
    EXPECT_LE(objectives.size(), 5U) << lesson["id"];
    for (const std::string& objective : objectives)
      EXPECT_FALSE(unseen.contains(objective.substr(0, objective.find(' '))))
          << lesson["id"] << ": " << objective;
  }
}

TEST(Objectives, StandOnTheLessonsPage) {
  for (const nlohmann::json& lesson : lessons()) {
    const std::string folder = lesson["id"].get<std::string>() + "_" + lesson["name"].get<std::string>();
    EXPECT_EQ(list_after("lessons/" + folder + "/README.md", "## What you will be able to do"),
              objectives_of(lesson))
        << folder;
  }
}

TEST(Objectives, StandOnTheInstructorsPage) {
  for (const nlohmann::json& lesson : lessons()) {
    const std::string title = lesson["id"].get<std::string>() + " " + lesson["title"].get<std::string>();
    EXPECT_EQ(list_after("docs/instructor.md", "**" + title + "**"), objectives_of(lesson)) << title;
  }
}

}  // namespace
}  // namespace course
