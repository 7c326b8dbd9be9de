#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "test_checkout.hpp"

/// Runs the program as a user does: what it prints, what it writes, how it ends, and what it leaves behind.
namespace course {

namespace fs = std::filesystem;

inline const std::string demo = RING_DEMO;
inline const std::string open_mpi_as_root =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 "
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 ";

class RingDemo : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_ / "tmp"); }

  /// Whatever happened: no temporary file and no rank is left.
  void TearDown() override {
    EXPECT_TRUE(fs::is_empty(folder_ / "tmp")) << "something was left in the temporary folder";
    EXPECT_FALSE(is_running(marker())) << "a rank still runs";
  }

  /// In every rank's command line, since --status is below it.
  std::string marker() const { return folder_ / "tmp"; }

  Finished run(const std::string& arguments, const std::string& program = demo) const {
    return run_shell("TMPDIR='" + marker() + "' " + checkout_.environment() + program + " demo " + arguments,
                     folder_);
  }

  nlohmann::json run_json(const std::string& arguments) const {
    const Finished finished = run("--json " + arguments);
    EXPECT_EQ(finished.code, 0) << finished.err;
    return nlohmann::json::parse(finished.out);
  }

  TestFolder folder_;
  TestCheckout checkout_{folder_ / "root"};
};

/// Cases that are written for another launcher.
class Prepared : public RingDemo {
 protected:
  const std::string sizes_ = "--ranks 2 --seq 9 --heads 2 --dim 4 ";

  /// The line that plays them, as --prepare prints it.
  std::string prepare(const std::string& arguments) const {
    const Finished finished = run(arguments + " --prepare cases");
    EXPECT_EQ(finished.code, 0) << finished.err;
    const std::size_t begin = finished.out.find("\nmpirun ") + 1;
    EXPECT_NE(begin, 0u) << finished.out;
    return finished.out.substr(begin, finished.out.find('\n', begin) - begin);
  }

  Finished play(std::string line) const {
    line.insert(std::string("mpirun").size(), " --map-by :OVERSUBSCRIBE");
    return run_shell("TMPDIR='" + marker() + "' " + open_mpi_as_root + line, folder_);
  }
};

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline bool is_one_line(const std::string& text) {
  return !text.empty() && text.find('\n') == text.size() - 1;
}

/// Nothing, or how far a slow machine is: "course: blocking ring, forward: 1 of 4 blocks done".
inline bool is_progress(const std::string& text) {
  return std::regex_match(text, std::regex("(course: [^\n]*\n)*"));
}

}  // namespace course
