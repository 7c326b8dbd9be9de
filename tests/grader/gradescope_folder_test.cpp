#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "results_shape.hpp"
#include "runner/subprocess.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program::grader {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// A folder like Gradescope's /autograder whose course program is a script.
class Autograder : public testing::Test {
 protected:
  fs::path root() const { return temporary_.path() / "auto grader"; }
  fs::path results() const { return root() / "results"; }
  fs::path source() const { return root() / "source"; }

  void SetUp() override {
    fs::create_directories(root() / "submission");
    write_text(root() / "submission_metadata.json", "{}");
  }

  void program_is(const std::string& script) const {
    const fs::path path = source() / "course" / "build" / "bin" / "course-program";
    write_text(path, "#!/bin/bash\nwhile [ \"$1\" != --output ]; do args+=\"<$1>\"; shift; done\n" + script);
    fs::permissions(path, fs::perms::owner_all);
  }

  /// Runs run_autograder; returns results.json.
  Json run(int limit_s = 60) const {
    const std::string command = "AUTOGRADER_ROOT='" + root().string() +
                                "' AUTOGRADER_LIMIT_S=" + std::to_string(limit_s) +
                                " bash '" GRADESCOPE_FOLDER "/run_autograder' >'" +
                                (temporary_.path() / "stdout").string() + "' 2>&1";
    const int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    const std::string text = read_text(results() / "results.json");
    EXPECT_EQ(wrong_in_results(text), "");
    return Json::parse(text, nullptr, false);
  }

  static void expect_apology(const Json& results, const std::string& reason) {
    EXPECT_EQ(results.at("score"), 0);
    EXPECT_NE(results.at("output").get<std::string>().find("not your fault"), std::string::npos);
    EXPECT_EQ(results.at("output").get<std::string>().find(reason), std::string::npos);
    EXPECT_NE(results.at("extra_data").at("reason").get<std::string>().find(reason), std::string::npos)
        << results.dump();
    EXPECT_EQ(results.at("stdout_visibility"), "hidden");
  }

 private:
  TemporaryFolder temporary_;
};

TEST_F(Autograder, TheGradersReportIsTheResult) {
  program_is(R"(echo '{"score": 7, "tests": []}' >"$2")");
  EXPECT_EQ(run().at("score"), 7);
  EXPECT_FALSE(fs::exists(results() / "graded.json"));
}

TEST_F(Autograder, LessonsAndPointsArePassedOn) {
  program_is(R"(echo "{\"score\": 7, \"output\": \"$args$COURSE_ROOT\"}" >"$2")");
  write_text(source() / "lessons.txt", "01 ring_attention\n");
  write_text(source() / "points.json", "{}");
  EXPECT_EQ(run().at("output"), "<grade><01><ring_attention><--points><" +
                                    (source() / "points.json").string() + "><--prepared><--submission><" +
                                    (root() / "submission").string() + "><--format><gradescope>" +
                                    (source() / "course").string());
  write_text(source() / "lessons.txt", "\n");
  fs::remove(source() / "points.json");
  EXPECT_TRUE(run().at("output").get<std::string>().starts_with("<grade><--prepared>"));
}

TEST_F(Autograder, AFailureBecomesAnApology) {
  program_is(R"(printf 'no "judge" \\ here\n\001\377\033[31m' >&2; exit 3)");
  const Json results = run();
  expect_apology(results, R"(exit code 3; no "judge" \ here)");
}

TEST_F(Autograder, AMissingProgramBecomesAnApology) {
  expect_apology(run(), "exit code 127");
}

TEST_F(Autograder, ACrashBecomesAnApology) {
  program_is("kill -SEGV $$");
  expect_apology(run(), "exit code 139");
}

TEST_F(Autograder, ASuccessWithoutAReportBecomesAnApology) {
  program_is("exit 0");
  expect_apology(run(), "exit code 0");
}

TEST_F(Autograder, WhatNeverEndsIsEnded) {
  program_is("trap '' TERM\nsleep 5 & exec sleep 600");
  const auto begin = std::chrono::steady_clock::now();
  expect_apology(run(1), "grading took more than 1 s");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(120));
}

TEST_F(Autograder, WhatWasGradedBeforeTheTimeWasUpKeepsItsPoints) {
  program_is(R"(echo '{"score": 40, "tests": [], "output": "ended at lesson 05"}' >"$2"; exec sleep 600)");
  const Json results = run(1);
  EXPECT_EQ(results.at("score"), 40);
  EXPECT_EQ(results.at("output"), "ended at lesson 05");
}

TEST_F(Autograder, TheCourseMayLieElsewhere) {
  program_is(R"(echo "{\"score\": 7, \"output\": \"$COURSE_ROOT\"}" >"$2")");
  const fs::path elsewhere = root() / "elsewhere";
  fs::rename(source() / "course", elsewhere);
  fs::create_directory_symlink(elsewhere, source() / "course");
  EXPECT_EQ(run().at("output"), elsewhere.string());
  EXPECT_EQ(fs::status(elsewhere).permissions() & (fs::perms::group_all | fs::perms::others_all),
            fs::perms::none);
}

TEST_F(Autograder, ThereIsAValidResultWhileGradingGoesOn) {
  program_is(R"(cp "${2%/*}/results.json" "${2%/*}/seen"; echo '{"score": 1}' >"$2")");
  run();
  const std::string seen = read_text(results() / "seen");
  EXPECT_EQ(wrong_in_results(seen), "");
  expect_apology(Json::parse(seen), "ended from outside");
}

TEST_F(Autograder, AnEarlierResultIsNotTakenForThisOne) {
  program_is("exit 0");
  write_text(results() / "graded.json", R"({"score": 100})");
  write_text(results() / "results.json", R"({"score": 100})");
  expect_apology(run(), "exit code 0");
}

TEST_F(Autograder, OthersSeeNeitherSolutionsNorEarlierResults) {
  program_is(R"(echo '{"score": 1}' >"$2")");
  run();
  for (const fs::path& path :
       {source(), results(), root() / "submission", root() / "submission_metadata.json"}) {
    EXPECT_EQ(fs::status(path).permissions() & (fs::perms::group_all | fs::perms::others_all),
              fs::perms::none)
        << path;
  }
}

class Zip : public testing::Test {
 protected:
  void SetUp() override {
    if (capture({.argv = {"git", "-c", "safe.directory=*", "-C", GRADESCOPE_FOLDER, "rev-parse", "HEAD"}})
            .exit.code != 0)
      GTEST_SKIP() << "there is no git, or no history";
  }

  TemporaryFolder temporary;
};

/// Gradescope's image has the zip's files without their run bits.
TEST_F(Zip, UnpackedWithoutRunBitsIsTheCommitItself) {
  const fs::path zip = temporary.path() / "autograder.zip", course = temporary.path() / "course";
  const Captured packed = capture({.argv = {"bash", GRADESCOPE_FOLDER "/pack.sh", zip, "01"}});
  ASSERT_EQ(packed.exit.code, 0) << packed.output;
  ASSERT_EQ(capture({.argv = {"cmake", "-E", "tar", "xf", zip}, .folder = temporary.path()}).exit.code, 0);
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(course)) {
    if (entry.is_regular_file()) fs::permissions(entry.path(), fs::perms(0644));
  }
  const Captured described =
      capture({.argv = {"git", "-c", "safe.directory=*", "-C", course, "describe", "--always", "--dirty"}});
  EXPECT_EQ(described.exit.code, 0) << described.output;
  EXPECT_EQ(described.output.find("-dirty"), std::string::npos) << described.output;
}

TEST_F(Zip, IsOfLessonsThatThereAre) {
  const fs::path zip = temporary.path() / "autograder.zip";
  const auto pack = [&](std::vector<std::string> lessons) {
    lessons.insert(lessons.begin(), {"bash", GRADESCOPE_FOLDER "/pack.sh", zip});
    return capture({.argv = lessons});
  };
  for (const char* unknown : {"99", "01,99", "01-99", "softmax", "01.1", ""}) {
    const Captured refused = pack({"01", unknown});
    EXPECT_EQ(refused.exit.code, 2) << unknown;
    EXPECT_NE(refused.output.find("there is no lesson '"), std::string::npos) << refused.output;
    EXPECT_FALSE(fs::exists(zip)) << unknown;
  }
  const Captured packed =
      pack({"01", "1", "safe_softmax", "01_safe_softmax", "lessons/01_safe_softmax/", "01-03", "01,03"});
  EXPECT_EQ(packed.exit.code, 0) << packed.output;
}

/// Packs a course of lesson 01 whose launcher is a script, with points that it looks at.
class ZipWithPoints : public testing::Test {
 protected:
  Captured packed(const std::string& script) const {
    const fs::path course = temporary.path() / "course";
    fs::create_directories(course / "common" / "gradescope");
    for (const char* file : {"pack.sh", "setup.sh", "run_autograder"}) {
      fs::copy(fs::path(GRADESCOPE_FOLDER) / file, course / "common" / "gradescope",
               fs::copy_options::overwrite_existing);
    }
    write_text(course / "lessons" / "01_safe_softmax" / "README.md", "");
    write_text(course / "course", "#!/bin/bash\n" + script);
    fs::permissions(course / "course", fs::perms::owner_all);
    write_text(temporary.path() / "points.json", "{}");
    capture({.argv = {"git", "init", "--quiet", course}});
    capture({.argv = {"git", "-C", course, "add", "--all"}});
    capture({.argv = {"git", "-C", course, "-c", "user.name=a", "-c", "user.email=a@localhost", "commit",
                      "--quiet", "--message", "a course"}});
    return capture({.argv = {"bash", course / "common" / "gradescope" / "pack.sh", zip, "--points",
                             temporary.path() / "points.json", "01"}});
  }

  TemporaryFolder temporary;
  const fs::path zip = temporary.path() / "autograder.zip";
};

TEST_F(ZipWithPoints, HasNoneThatTheGraderRefuses) {
  const Captured refused = packed("echo 'course: --points: lesson 01 has no task 9' >&2; exit 2");
  EXPECT_EQ(refused.exit.code, 2);
  EXPECT_TRUE(refused.output.ends_with("pack.sh: --points: lesson 01 has no task 9\n")) << refused.output;
  EXPECT_FALSE(fs::exists(zip));
}

TEST_F(ZipWithPoints, HasThoseThatItTakesOrCannotLookAt) {
  for (const char* script : {"exit 0", "echo 'course: there is no compiler' >&2; exit 3"}) {
    const Captured taken = packed(script);
    EXPECT_EQ(taken.exit.code, 0) << taken.output;
    const Captured files = capture({.argv = {"cmake", "-E", "tar", "tf", zip}});
    EXPECT_NE(files.output.find("points.json"), std::string::npos) << files.output;
    EXPECT_EQ(files.output.find("nobody"), std::string::npos) << files.output;
  }
}

}  // namespace

}  // namespace course::program::grader
