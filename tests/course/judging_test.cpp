#include "course/workspace/judging.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "lessons.hpp"
#include "protocol/errors.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace {

namespace fs = std::filesystem;

/// The arguments that a judge is started with, one a line.
std::string arguments_of_judge(bool quiet) {
  const TemporaryFolder folder;
  const std::vector<LessonInfo> lessons = two_lessons();
  const Checkout checkout{folder.path(), lessons};
  const fs::path judge = judge_of(folder.path(), lessons.front());
  write_text(judge, "#!/bin/sh\nprintf '%s\\n' \"$@\" >arguments\n");
  fs::permissions(judge, fs::perms(0755));
  const GradingOrder order{.lesson = &lessons.front(), .tree = folder.path(), .quiet = quiet};
  EXPECT_THROW(grade(checkout, order), Unavailable) << "it writes no report";
  return read_text(folder.path() / "arguments");
}

TEST(Judging, TellsTheJudgeTheWidthOfWhatItShows) {
  const char* const had = std::getenv("COLUMNS");
  const std::string before = had != nullptr ? had : "";
  setenv("COLUMNS", "50", 1);
  EXPECT_NE(arguments_of_judge(false).find("--columns\n50\n"), std::string::npos);
  EXPECT_EQ(arguments_of_judge(true).find("--columns"), std::string::npos);
  if (had != nullptr)
    setenv("COLUMNS", before.c_str(), 1);
  else
    unsetenv("COLUMNS");
}

TEST(Judging, RefusesAPlayerThatThereIsNot) {
  EXPECT_EQ(own_player("sh -c 'a b'"), (std::vector<std::string>{"sh", "-c", "a b"}));
  EXPECT_THROW(own_player("no-such-player"), UsageError);
  EXPECT_THROW(own_player(""), UsageError);
}

}  // namespace

}  // namespace course::program
