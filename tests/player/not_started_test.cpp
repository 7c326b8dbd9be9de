#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "protocol/errors.hpp"
#include "runner/launcher.hpp"
#include "runner/temporary_folder.hpp"

/// A launch in which no rank came as far as to load what was submitted is this machine's failure; one in
/// which a rank did is the submission's, whatever that does to look like the other.
namespace course {

namespace {

namespace fs = std::filesystem;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class NotStarted : public testing::Test {
 protected:
  void SetUp() override { setenv("PATH", (temporary_.path().string() + ":" + path_).c_str(), 1); }
  void TearDown() override { setenv("PATH", path_.c_str(), 1); }

  /// A program of this name that comes first in PATH.
  std::string program(const std::string& name, const std::string& script) const {
    const fs::path path = temporary_.path() / name;
    std::ofstream(path) << "#!/bin/sh\n" << script << '\n';
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }

  static LauncherOptions options(bool mpi) {
    return {.subject = SUBJECT, .player = {mpi ? PLAYER_MPI : PLAYER_SOLO}, .mpi = mpi};
  }

  static std::vector<Outcome> play(LauncherOptions options) {
    Case one{{"no_such_function"}, "1", "1", {{{"x", Tensor({1, 1})}}}};
    if (options.mpi) one.inputs.push_back(one.inputs.front());
    options.quiet_limit_s = 1;
    return Launcher(std::move(options)).play({one});
  }

  /// Why nothing could be played; empty where something was.
  static std::string machine_failure(LauncherOptions options) {
    try {
      play(std::move(options));
      return "";
    } catch (const Unavailable& error) {
      return error.what();
    }
  }

 private:
  TemporaryFolder temporary_;
  std::string path_ = getenv("PATH");
};

TEST_F(NotStarted, MpirunSaysWhyFirst) {
  program("mpirun", "echo ------------; echo 'no interface is up'; echo; echo 'more of it'; exit 1");
  for (const bool timed : {false, true}) {
    LauncherOptions launch = options(true);
    if (timed) launch.timed.emplace();
    EXPECT_TRUE(has(machine_failure(launch), "could not start 2 MPI ranks: no interface is up")) << timed;
  }
}

TEST_F(NotStarted, MpirunIsAnotherMpis) {
  // Each process is alone then.
  program("mpirun",
          "if [ \"$1\" = --version ]; then echo 'HYDRA build details:'; echo ' Version: 4.0.2'; exit; fi\n"
          "while [ \"$1\" != none ]; do shift; done; shift; \"$@\" & \"$@\"; code=$?; wait; exit $code");
  const std::string why = machine_failure(options(true));
  EXPECT_TRUE(has(why, "is for 2 ranks, but 1 were started")) << why;
  EXPECT_TRUE(has(why, "mpirun is that of MPICH 4.0.2, and the course was built with")) << why;
}

TEST_F(NotStarted, APlayerSaysNothing) {
  const std::string silent = program("silent", "exit 9");
  EXPECT_TRUE(has(machine_failure({.subject = SUBJECT, .player = {silent}}),
                  "the player did not start: " + silent + " ended with exit code 9 and said nothing"));
  EXPECT_FALSE(machine_failure({.subject = SUBJECT, .player = {"no such player"}}).empty());
}

TEST_F(NotStarted, APlayerNeverComesToTheSubmission) {
  const std::string why = machine_failure({.subject = SUBJECT, .player = {program("idle", "exec sleep 60")}});
  EXPECT_TRUE(has(why, "nothing happened for 1 s")) << why;
}

TEST_F(NotStarted, TheSubmissionCannotBeRead) {
  LauncherOptions launch = options(false);
  launch.subject = "/nowhere/subject.so";
  EXPECT_TRUE(has(machine_failure(launch), "cannot read /nowhere/subject.so"));
}

TEST_F(NotStarted, WhatASubmissionDoesWhileItIsLoadedIsItsOwnFailure) {
  for (const bool mpi : {false, true}) {
    for (const char* what : {"leaves", "aborts", "sleeps", "seals and leaves"}) {
      setenv("AT_LOAD", what, 1);
      const std::vector<Outcome> outcomes = play(options(mpi));
      ASSERT_EQ(outcomes.size(), 1u);
      EXPECT_NE(outcomes[0].ending, Outcome::Ending::Finished) << what;
      EXPECT_FALSE(outcomes[0].text.empty()) << what;
    }
  }
}

TEST(TemporaryFolder, NamesTmpdirAndItsPath) {
  const char* before = getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  for (const auto& [path, what] : {std::pair{"/no/where", "not there"}, {"/dev/null", "no folder"}}) {
    setenv("TMPDIR", path, 1);
    try {
      TemporaryFolder folder;
      ADD_FAILURE() << path;
    } catch (const Unavailable& error) {
      EXPECT_TRUE(has(error.what(), std::string("TMPDIR is ") + path + ", which is " + what)) << error.what();
    }
  }
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
}

}  // namespace

}  // namespace course
