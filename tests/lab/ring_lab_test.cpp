#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "../demo/running.hpp"
#include "runner/subprocess.hpp"

/// Runs of ring_lab: what it starts, writes and leaves behind. Nothing here looks at how long anything took.
namespace course {

namespace {

namespace fs = std::filesystem;

std::string library(const std::string& name) {
  return std::string(LIBRARIES) + "/" + name + ".so";
}

std::string trace_of_ring(const std::string& subject, const std::string& function, const std::string& more) {
  return std::string(RING_LAB) + " trace --ring " + function +
         " --lesson 05 --what ring --code solution --blocks solution --subject " + library(subject) +
         " --block " + library("lesson04_solution") + " " + more;
}

/// A task's case for so many ranks in the folder `case`, and its trace in `out`.
Finished trace_of_task(const std::string& judge, const std::string& subject, const std::string& task,
                       int ranks, const TestFolder& folder) {
  const Finished drawn = run_shell(judge + " --registry " + REGISTRY + " --write-case case --task " + task +
                                       " --ranks " + std::to_string(ranks),
                                   folder);
  EXPECT_EQ(drawn.code, 0) << drawn.err;
  return run_shell(std::string(RING_LAB) +
                       " trace --case case --lesson 03 --what task --code student --subject " +
                       library(subject) + " --out out",
                   folder);
}

std::set<int> threads_in(const fs::path& chrome_trace) {
  std::set<int> threads;
  for (const auto& event : nlohmann::json::parse(file_text(chrome_trace))) {
    if (event["ph"] == "X") threads.insert(event["tid"].get<int>());
  }
  return threads;
}

TEST(Trace, DrawsBothRingsOnEveryRank) {
  for (const auto& [subject, function] : {std::pair{"lesson05_solution", "ring_attention"},
                                          std::pair{"lesson08_solution", "overlapped_ring_attention"}}) {
    const TestFolder folder;
    const Finished run = run_shell(trace_of_ring(subject, function, "--ranks 3 --out out --json"), folder);
    ASSERT_EQ(run.code, 0) << run.err;
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_EQ(json["ranks"], 3);
    ASSERT_EQ(json["per_rank"].size(), 3u);
    for (const auto& rank : json["per_rank"]) {
      EXPECT_GT(rank["compute_s"].get<double>(), 0);
      EXPECT_GT(rank["bytes_sent"].get<std::int64_t>(), 0);
    }
    EXPECT_EQ(threads_in(folder / "out" / "trace.json"), (std::set<int>{0, 1, 2}));
    const std::string svg = file_text(folder / "out" / "timeline.svg");
    EXPECT_NE(svg.find("Lesson 05, ring, on 3 ranks"), std::string::npos);
    for (const char* label : {"block of rank 0", "block of rank 1", "block of rank 2"}) {
      EXPECT_NE(svg.find(label), std::string::npos) << label << " of " << subject;
    }
  }
}

TEST(Trace, PlaysACaseOfATask) {
  const TestFolder folder;
  const Finished run = trace_of_task(JUDGE03, "lesson03_solution", "2", 3, folder);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("Lesson 03, task, on 3 ranks: your own code"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("rank 2"), std::string::npos) << run.out;
  const std::string svg = file_text(folder / "out" / "timeline.svg");
  for (const char* label : {"between MPI calls", "MPI_Send", "MPI_Recv"}) {
    EXPECT_NE(svg.find(label), std::string::npos) << label;
  }
}

TEST(Trace, PlaysATaskOnOneRank) {
  const TestFolder folder;
  const Finished run = trace_of_task(JUDGE08, "lesson08_solution", "1", 1, folder);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(threads_in(folder / "out" / "trace.json"), std::set<int>{0});
}

TEST(Trace, RefusesAFolderThatIsAFile) {
  const TestFolder folder;
  std::ofstream(folder / "out") << "mine";
  const Finished run =
      run_shell(trace_of_ring("lesson05_solution", "ring_attention", "--ranks 2 --out out"), folder);
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("out: is not a folder"), std::string::npos) << run.err;
  EXPECT_EQ(file_text(folder / "out"), "mine");
}

TEST(Trace, SaysWhatARankSaidAndLeavesNothing) {
  const TestFolder folder;
  const Finished run =
      run_shell(trace_of_ring("lesson03_solution", "ring_attention", "--ranks 2 --out out"), folder);
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.err.find("threw: the adapter has no function ring_attention"), std::string::npos) << run.err;
  EXPECT_FALSE(fs::exists(folder / "out"));
}

TEST(Judge, WritesNoCaseForRanksThatATaskDoesNotHave) {
  const TestFolder folder;
  const Finished run = run_shell(
      std::string(JUDGE08) + " --registry " + REGISTRY + " --write-case case --task 1 --ranks 4", folder);
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("--ranks 4: task 1 draws its inputs for one rank"), std::string::npos) << run.err;
  EXPECT_FALSE(fs::exists(folder / "case"));
}

TEST(Judge, RefusesATaskThatItDoesNotHave) {
  const TestFolder folder;
  const Finished run = run_shell(
      std::string(JUDGE03) + " --registry " + REGISTRY + " --write-case case --task 7 --ranks 3", folder);
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("has no task '7'"), std::string::npos) << run.err;
}

// ---- the network that a laboratory makes ----

/// The network namespaces that processes of this machine are in; those of one program if it is named.
std::set<std::string> networks(const std::string& program = "") {
  std::set<std::string> all;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::error_code gone;
    if (!program.empty() && fs::read_symlink(entry.path() / "exe", gone).filename() != program) continue;
    const std::string network = fs::read_symlink(entry.path() / "ns" / "net", gone).string();
    if (!gone && !network.empty()) all.insert(network);
  }
  return all;
}

bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 1200; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

bool can_shape(const std::string& shape) {
  std::vector<std::string> trial{"unshare", "--net", "sh", "-c",
                                 "ip link set lo up && tc qdisc add dev lo root " + shape};
  if (geteuid() != 0) trial.insert(trial.begin() + 1, {"--user", "--map-root-user"});
  return capture({.argv = trial, .limit_s = 30}).exit.code == 0;
}

constexpr const char* token_bucket = "tbf rate 500mbit burst 128kb limit 1mb";

std::vector<std::string> laboratory(const std::string& name, const fs::path& out,
                                    const std::string& bandwidth = "500Mbit") {
  return {RING_LAB,
          "laboratory",
          name,
          "--ranks",
          "2",
          "--bandwidth",
          bandwidth,
          "--out",
          out,
          "--block",
          library("lesson04_solution"),
          "--block-code",
          "solution",
          "--ring",
          library("lesson05_solution"),
          "--ring-code",
          "solution",
          "--overlap",
          library("lesson08_solution"),
          "--overlap-code",
          "solution"};
}

pid_t start(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  EXPECT_EQ(posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ), 0);
  return pid;
}

std::string joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += word + " ";
  return line;
}

class Whole : public testing::TestWithParam<const char*> {};

TEST_P(Whole, RunsToItsEnd) {
  if (!can_shape(token_bucket)) GTEST_SKIP() << "this machine allows no shaped network of one's own";
  const TestFolder folder;
  const Finished run = run_shell(joined(laboratory(GetParam(), "out", "5Gbit")) + "--json", folder);
  ASSERT_EQ(run.code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_TRUE(json["shaped"].get<bool>());
  EXPECT_EQ(json["targets"].size(), 3u);
  ASSERT_EQ(json["settings"].size(), 2u);
  for (const auto& setting : json["settings"]) {
    EXPECT_GT(setting["hop_s"].get<double>(), 0) << setting;
    ASSERT_EQ(setting["rings"].size(), 3u);
    for (const auto& ring : setting["rings"]) {
      EXPECT_GT(ring["seconds"].get<double>(), 0) << ring;
      const std::int64_t hop = 2 * 4 * setting["heads"].get<std::int64_t>() *
                               setting["tokens"].get<std::int64_t>() *
                               setting["head_dim"].get<std::int64_t>();
      for (const auto& rank : ring["per_rank"]) EXPECT_EQ(rank["bytes_sent"], hop) << ring["name"];
    }
  }
  ASSERT_FALSE(json["files"].empty());
  for (const auto& file : json["files"]) EXPECT_TRUE(fs::exists(folder / file.get<std::string>())) << file;
}

INSTANTIATE_TEST_SUITE_P(Laboratory, Whole, testing::Values("slow-network", "two-hosts"));

class Interrupted : public testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(Interrupted, LeavesNoRankAndNoNetwork) {
  if (!can_shape(token_bucket)) GTEST_SKIP() << "this machine allows no shaped network of one's own";
  const auto [name, signal] = GetParam();
  const TestFolder folder;
  const std::set<std::string> before = networks();
  const fs::path out = folder / "out";
  const pid_t pid = start(laboratory(name, out));
  const std::size_t hosts = std::string(name) == "two-hosts" ? 2 : 1;
  std::set<std::string> made;
  EXPECT_TRUE(comes_true([&] {
    made = networks("player_mpi");  // where ranks run
    for (const std::string& network : before) made.erase(network);
    return made.size() >= hosts;
  }));
  kill(pid, signal);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  if (signal == SIGKILL) {
    EXPECT_TRUE(WIFSIGNALED(status));
  } else {
    EXPECT_EQ(WEXITSTATUS(status), 128 + signal);
    EXPECT_FALSE(fs::exists(out));
  }
  EXPECT_TRUE(comes_true([&] {
    const std::set<std::string> now = networks();
    return std::none_of(made.begin(), made.end(),
                        [&](const std::string& network) { return now.contains(network); });
  }));
}

INSTANTIATE_TEST_SUITE_P(Laboratory, Interrupted,
                         testing::Combine(testing::Values("slow-network", "two-hosts"),
                                          testing::Values(SIGINT, SIGTERM, SIGKILL)));

TEST(Laboratory, RefusesTwoHostsWhereThereAreNoNamespaces) {
  if (!can_shape(token_bucket)) GTEST_SKIP() << "this machine allows no shaped network of one's own";
  const TestFolder folder;
  const Finished run = run_shell(
      "printf '#!/bin/sh\\necho not permitted; exit 1\\n' >unshare && "
      "chmod +x unshare && PATH=.:$PATH " +
          joined(laboratory("two-hosts", "out")),
      folder);
  EXPECT_EQ(run.code, 3);
  EXPECT_NE(run.err.find("two hosts cannot be made here"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("(not permitted)"), std::string::npos) << run.err;
  EXPECT_FALSE(fs::exists(folder / "out"));
}

TEST(Laboratory, RefusesTwoHostsWhereTcpCannotBeSet) {
  const std::string read_only = "mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys";
  const TestFolder folder;
  if (run_shell("unshare --mount sh -c '" + read_only + "'", folder).code != 0)
    GTEST_SKIP() << "this user may not mount";
  if (!can_shape(token_bucket)) GTEST_SKIP() << "this machine allows no shaped network of one's own";
  const Finished run = run_shell(
      "unshare --mount sh -c '" + read_only + " && exec " + joined(laboratory("two-hosts", "out")) + "'",
      folder);
  EXPECT_EQ(run.code, 3);
  EXPECT_NE(run.err.find("two hosts cannot be made here"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("/proc/sys/net/ipv4/tcp_congestion_control"), std::string::npos) << run.err;
  EXPECT_FALSE(fs::exists(folder / "out"));
}

TEST(Laboratory, DelaysMessagesOnlyWhereTheKernelCan) {
  if (!can_shape(token_bucket)) GTEST_SKIP() << "this machine allows no shaped network of one's own";
  const TestFolder folder;
  const Finished run =
      run_shell(joined(laboratory("slow-network", "out", "5Gbit")) + "--latency 1ms --json", folder);
  if (can_shape("netem delay 1ms")) {
    ASSERT_EQ(run.code, 0) << run.err;
    for (const auto& setting : nlohmann::json::parse(run.out)["settings"])
      EXPECT_GE(setting["hop_s"].get<double>(), 0.001) << setting;
    return;
  }
  EXPECT_EQ(run.code, 3);
  EXPECT_NE(run.err.find("--latency needs the kernel's netem"), std::string::npos) << run.err;
  EXPECT_FALSE(fs::exists(folder / "out"));
}

}  // namespace

}  // namespace course

/// A case that this machine cannot play must not count as passed: 77 then, unless another failed.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int code = RUN_ALL_TESTS();
  constexpr int skipped = 77;
  return code == 0 && testing::UnitTest::GetInstance()->skipped_test_count() > 0 ? skipped : code;
}
