#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "course/commands/commands.hpp"
#include "lessons.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json read_json(const fs::path& path) {
  return json::parse(read_text(fs::path(COURSE_SOURCE_DIR) / path));
}

json task_labelled(const std::string& label) {
  const json all = read_json(".vscode/tasks.json");
  for (const json& task : all.at("tasks")) {
    if (task.at("label") == label) return task;
  }
  throw std::invalid_argument("there is no task " + label);
}

/// What a problem matcher reads from a line: file, line, severity, message; empty when it does not match.
std::vector<std::string> problem(const json& matcher, const std::string& line) {
  const json& pattern = matcher.at("pattern");
  std::smatch found;
  if (!std::regex_search(line, found, std::regex(pattern.at("regexp").get<std::string>()))) return {};
  std::vector<std::string> fields;
  for (const char* field : {"file", "line", "severity", "message"})
    fields.push_back(found[pattern.at(field).get<std::size_t>()]);
  return fields;
}

std::vector<json> matchers_of(const std::string& label) {
  return task_labelled(label).at("problemMatcher").get<std::vector<json>>();
}

const char* const checking_tasks[] = {"check this lesson", "watch this lesson"};

TEST(Editor, FindsTheCompilersLines) {
  const std::string line =
      "lessons/01_safe_softmax/safe_softmax.cpp:18:10: error: 'n' was not declared in this scope";
  for (const char* label : checking_tasks) {
    const std::vector<json> matchers = matchers_of(label);
    EXPECT_EQ(problem(matchers.at(0), line),
              (std::vector<std::string>{"lessons/01_safe_softmax/safe_softmax.cpp", "18", "error",
                                        "'n' was not declared in this scope"}));
    EXPECT_TRUE(problem(matchers.at(1), line).empty());
  }
}

TEST(Editor, FindsTheJudgesLines) {
  const LessonInfo ring = two_lessons()[1];
  const TaskStatus wrong{&ring.tasks[1], Status::Failed, "o[0] is 1, should be 2\nlooks like: a mistake", {}};
  const std::string line = problem_line({"lessons/05_ring_attention/ring_attention.cpp", 12}, ring, wrong);
  for (const char* label : checking_tasks) {
    const std::vector<json> matchers = matchers_of(label);
    EXPECT_EQ(problem(matchers.at(1), line),
              (std::vector<std::string>{"lessons/05_ring_attention/ring_attention.cpp", "12", "error",
                                        "lesson05.2: o[0] is 1, should be 2; looks like: a mistake"}));
    EXPECT_TRUE(problem(matchers.at(0), line).empty());
  }
}

TEST(Editor, CallsATaskThatIsNotWrittenAWarning) {
  const LessonInfo softmax = two_lessons()[0];
  const TaskStatus todo{&softmax.tasks[0], Status::Todo, "not written yet", {}};
  EXPECT_EQ(problem_line({"lessons/a.cpp", 1}, softmax, todo),
            "lessons/a.cpp:1: warning: lesson01.1: not written yet");
}

TEST(Editor, KnowsWhenAWatchedCheckBeginsAndEnds) {
  const json background = matchers_of("watch this lesson").at(0).at("background");
  const std::regex begins(background.at("beginsPattern").get<std::string>());
  const std::regex ends(background.at("endsPattern").get<std::string>());
  EXPECT_TRUE(std::regex_search("13:05:09  saved; checking lesson 01", begins));
  EXPECT_FALSE(
      std::regex_search("13:05:09  watching lessons/a.cpp: each save is checked; Ctrl-C ends this", begins));
  for (const char* line : {"next: task 1 (softmax) in lessons/a.cpp; a hint: ./course hint 01",
                           "13:05:09  watching lessons/a.cpp: each save is checked; Ctrl-C ends this",
                           "every lesson that this machine can play is passed"}) {
    EXPECT_TRUE(std::regex_search(line, ends)) << line;
  }
}

TEST(Editor, DebugsWhatTheReplayTaskPlays) {
  const json replay = task_labelled("replay under gdbserver");
  const json debugging = read_json(".vscode/launch.json");
  for (const json& configuration : debugging.at("configurations")) {
    EXPECT_EQ(configuration.at("preLaunchTask"), replay.at("label"));
    EXPECT_EQ(configuration.at("miDebuggerServerAddress").get<std::string>(),
              "localhost:" + replay.at("args").back().get<std::string>());
  }
  // gdbserver's own words, which VS Code waits for
  EXPECT_TRUE(std::regex_search(
      "Listening on port 2345",
      std::regex(replay.at("problemMatcher").at("background").at("endsPattern").get<std::string>())));
}

TEST(Editor, HasADevcontainerOfItsOwnDockerfile) {
  const json container = read_json(".devcontainer/devcontainer.json");
  const fs::path folder = fs::path(COURSE_SOURCE_DIR) / ".devcontainer";
  EXPECT_TRUE(fs::is_regular_file(folder / container.at("build").at("dockerfile").get<std::string>()));
  EXPECT_TRUE(
      fs::equivalent(folder / container.at("build").at("context").get<std::string>(), COURSE_SOURCE_DIR));
  EXPECT_NE(
      read_text(folder / "Dockerfile")
          .find("useradd --create-home --shell /bin/bash " + container.at("remoteUser").get<std::string>()),
      std::string::npos);
}

}  // namespace

}  // namespace course::program
