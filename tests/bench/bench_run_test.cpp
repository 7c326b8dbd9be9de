#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "runner/temporary_folder.hpp"

namespace course::bench {

namespace {

struct Finished {
  int code;
  std::string output;
};

/// course_bench on small problems, stdout and, with `and_errors`, stderr.
Finished run(const std::string& options, bool and_errors = false) {
  const TemporaryFolder work;
  const std::string command = std::string(COURSE_BENCH) + " --work " + work.path().string() +
                              " --heads 2 --tokens 40 --head-dims 8 --ring-head-dim 4 --repetitions 1 "
                              "--min-seconds 0.001 " +
                              options + (and_errors ? " 2>&1" : "");
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  char buffer[4096];
  while (const std::size_t count = fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, count);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

std::string library(const std::string& lesson) {
  return std::string(LESSONS) + "/" + lesson + ".so";
}

TEST(Bench, TimesEveryLessonThatItIsGiven) {
  const Finished all =
      run("--json --forward " + library("lesson04_solution") + " --backward " + library("lesson06_solution") +
          " --ring " + library("lesson05_solution") + " --block " + library("lesson04_solution") +
          " --ring-backward " + library("lesson07_solution") + " --eigen-forward " +
          library("lesson04_eigen_maps") + " --eigen-backward " + library("lesson06_eigen_maps"));
  ASSERT_EQ(all.code, 0) << all.output;
  std::set<std::string> names;
  std::set<std::string> against;
  const nlohmann::json report = nlohmann::json::parse(all.output);
  for (const nlohmann::json& row : report.at("rows")) {
    names.insert(row.at("name"));
    if (!row.at("against").is_null()) against.insert(row.at("against"));
    EXPECT_GT(row.at("value"), 0) << row;
    EXPECT_EQ(row.at("against").is_null(), row.at("ratio").is_null()) << row;
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"Eigen's product, 1024^3", "forward, d = 8", "backward, d = 8", "one rank",
                                   "two ranks at once, each by itself", "a ring of two, each rank",
                                   "a ring of two with spans, each rank", "one rank, forward and backward",
                                   "two ranks at once, each by itself, forward and backward",
                                   "a ring of two, each rank, forward and backward",
                                   "a ring of two with spans, each rank, forward and backward"}));
  EXPECT_EQ(against.count("forward with Eigen's maps, d = 8"), 1u);
  EXPECT_EQ(against.count("backward with Eigen's maps, d = 8"), 1u);
}

TEST(Bench, DoesNotTimeAWrongAnswer) {
  const Finished wrong = run("--forward " + library("lesson04_mutant_scale_missing"), true);
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.output.find("bench: forward, d = 8: the answer's relative error is"), std::string::npos)
      << wrong.output;
}

TEST(Bench, ChecksARingsGradients) {
  const Finished wrong = run("--backward " + library("lesson06_solution") + " --ring " +
                                 library("lesson05_solution") + " --block " + library("lesson04_solution") +
                                 " --ring-backward " + library("lesson07_mutant_delta_left_out"),
                             true);
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.output.find("bench: one rank, forward and backward: the answer's relative error is"),
            std::string::npos)
      << wrong.output;
}

TEST(Bench, RefusesWhatIsNoLesson) {
  const Finished wrong = run("--forward " + library("lesson06_solution"), true);
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(
      wrong.output.find("bench: forward, d = 8: threw: the adapter has no function blockwise_attention"),
      std::string::npos)
      << wrong.output;
}

TEST(Bench, KeepsItsPeersWhilePlayersComeAndGo) {
  const TemporaryFolder folder;
  const std::filesystem::path peer = folder.path() / "python";
  std::ofstream(peer) << "#!/bin/sh\n"
                         "while read -r verb rest; do [ \"$verb\" = time ] && echo 0.001 || echo 0; done\n";
  std::filesystem::permissions(peer, std::filesystem::perms::owner_all);
  const Finished all =
      run("--peers " + peer.string() + " --forward " + library("lesson04_solution") + " --ring " +
          library("lesson05_solution") + " --block " + library("lesson04_solution"));
  EXPECT_EQ(all.code, 0) << all.output;
  for (const char* row : {"torch forward, d = 8 ", "% of torch forward, d = 8", "ring-attention-pytorch"})
    EXPECT_NE(all.output.find(row), std::string::npos) << row << " is not in\n" << all.output;
}

}  // namespace

}  // namespace course::bench
