#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <thread>

#include "../demo/test_checkout.hpp"
#include "runner/subprocess.hpp"

/// Runs of ring_lab: what it starts, writes and leaves behind. Nothing here looks at how long anything took.
namespace course {

namespace {

namespace fs = std::filesystem;

/// ring_lab in a checkout of its own.
class RingLab : public testing::Test {
 protected:
  std::string line(const std::string& arguments) const {
    return checkout_.environment() + "exec " + RING_LAB + " " + arguments;
  }
  Finished run(const std::string& arguments) const { return run_shell("(" + line(arguments) + ")", folder_); }

  TestFolder folder_;
  TestCheckout checkout_{folder_ / "root"};
};

std::set<int> threads_in(const fs::path& chrome_trace) {
  std::set<int> threads;
  for (const auto& event : nlohmann::json::parse(file_text(chrome_trace))) {
    if (event["ph"] == "X") threads.insert(event["tid"].get<int>());
  }
  return threads;
}

class Trace : public RingLab {};

TEST_F(Trace, DrawsBothRingsOnEveryRank) {
  for (const std::string lesson : {"05", "08"}) {
    const Finished traced = run("trace " + lesson + " --ranks 3 --out out --json");
    ASSERT_EQ(traced.code, 0) << traced.err;
    const auto json = nlohmann::json::parse(traced.out);
    EXPECT_EQ(json["ranks"], 3);
    EXPECT_EQ(json["lesson"], lesson);
    EXPECT_EQ(json["blocks"], "solution");
    ASSERT_EQ(json["per_rank"].size(), 3u);
    for (const auto& rank : json["per_rank"]) {
      EXPECT_GT(rank["compute_s"].get<double>(), 0);
      EXPECT_GT(rank["bytes_sent"].get<std::int64_t>(), 0);
    }
    EXPECT_EQ(threads_in(folder_ / "out/trace.json"), (std::set<int>{0, 1, 2}));
    const std::string svg = file_text(folder_ / "out/timeline.svg");
    EXPECT_NE(svg.find("Lesson " + lesson), std::string::npos);
    EXPECT_NE(svg.find("on 3 ranks: the solution"), std::string::npos);
    for (const char* label : {"block of rank 0", "block of rank 1", "block of rank 2"}) {
      EXPECT_NE(svg.find(label), std::string::npos) << label << " of lesson " << lesson;
    }
  }
}

#ifdef LESSON17
/// Three exchanges there, the blocks, two exchanges back.
TEST_F(Trace, DrawsExchangesAndTheBlocksBetween) {
  const Finished traced = run("trace 17 --ranks 3 --out out --json");
  ASSERT_EQ(traced.code, 0) << traced.err;
  const auto json = nlohmann::json::parse(traced.out);
  EXPECT_EQ(json["blocks"], "solution");
  for (const auto& rank : json["per_rank"]) {
    EXPECT_GT(rank["compute_s"].get<double>(), 0);
    EXPECT_GT(rank["transfer_s"].get<double>(), 0);
    EXPECT_GT(rank["bytes_sent"].get<std::int64_t>(), 0);
  }
  std::map<int, std::string> by_rank;
  for (const auto& event : nlohmann::json::parse(file_text(folder_ / "out/trace.json"))) {
    if (event["ph"] != "X") continue;
    const bool exchange = event["name"] == "MPI_Alltoallv";
    EXPECT_EQ(event["cat"], exchange ? "transfer" : "compute") << event;
    std::string& kinds = by_rank[event["tid"].get<int>()];
    if (exchange || !kinds.ends_with('b')) kinds += exchange ? 'x' : 'b';
  }
  EXPECT_EQ(by_rank, (std::map<int, std::string>{{0, "xxxbxx"}, {1, "xxxbxx"}, {2, "xxxbxx"}}));
}
#endif

#ifdef HAS_LESSON18
/// Exchanges in the group on either side of hops between groups, with blocks among these.
TEST_F(Trace, DrawsAGridsExchangesAndItsHops) {
  const Finished traced = run("trace 18 --ranks 4 --out out --json");
  ASSERT_EQ(traced.code, 0) << traced.err;
  std::set<std::string> groups;
  std::map<int, std::string> by_rank;
  for (const auto& event : nlohmann::json::parse(file_text(folder_ / "out/trace.json"))) {
    if (event["ph"] != "X") continue;
    const std::string name = event["name"];
    if (name == "MPI_Comm_split") continue;
    const char kind = name.starts_with("MPI_Alltoallv") ? 'x' : name.starts_with("MPI_") ? 'h' : 'b';
    EXPECT_EQ(event["cat"], kind == 'b' ? "compute" : "transfer") << event;
    if (kind == 'x') groups.insert(name);
    std::string& kinds = by_rank[event["tid"].get<int>()];
    if (!kinds.ends_with(kind)) kinds += kind;
  }
  EXPECT_EQ(groups, (std::set<std::string>{"MPI_Alltoallv of ranks 0, 1", "MPI_Alltoallv of ranks 2, 3"}));
  ASSERT_EQ(by_rank.size(), 4u);
  for (const auto& [rank, kinds] : by_rank)
    EXPECT_TRUE(std::regex_match(kinds, std::regex("x(bh)+bx"))) << rank << ": " << kinds;
}
#endif

TEST_F(Trace, PlaysACaseOfATask) {
  const Finished traced = run("trace 03.2 --ranks 3");
  ASSERT_EQ(traced.code, 0) << traced.err;
  EXPECT_NE(traced.out.find("Lesson 03, ring_softmax, task 2, on 3 ranks: the solution"), std::string::npos)
      << traced.out;
  EXPECT_NE(traced.out.find("rank 2"), std::string::npos) << traced.out;
  const std::string svg = file_text(folder_ / "root/.course/trace/lesson03/timeline.svg");
  for (const char* label : {"between MPI calls", "MPI_Send", "MPI_Recv"}) {
    EXPECT_NE(svg.find(label), std::string::npos) << label;
  }
}

#ifdef JUDGE12
struct Bar {
  std::string kind;
  double begin, end;
};

/// By thread, in order.
std::map<int, std::vector<Bar>> bars_in(const fs::path& chrome_trace) {
  std::map<int, std::vector<Bar>> bars;
  for (const auto& event : nlohmann::json::parse(file_text(chrome_trace))) {
    if (event["ph"] != "X" || event["cat"] == "wait") continue;
    const double begin = event["ts"];
    bars[event["tid"]].push_back({event["cat"], begin, begin + event["dur"].get<double>()});
  }
  return bars;
}

TEST_F(Trace, OfGpusHasALaneAStream) {
  const Finished traced = run("trace 12.2 --ranks 5 --out out");
  ASSERT_EQ(traced.code, 0) << traced.err;
  EXPECT_NE(traced.out.find("simulated GPUs"), std::string::npos) << traced.out;
  EXPECT_NE(traced.out.find("rank 4/2 │"), std::string::npos) << traced.out;
  const auto bars = bars_in(folder_ / "out/trace.json");
  ASSERT_EQ(threads_in(folder_ / "out/trace.json"),
            (std::set<int>{1, 2, 1001, 1002, 2001, 2002, 3001, 3002, 4001, 4002}));
  bool waits = false;
  for (int rank = 0; rank < 5; ++rank) {
    const std::vector<Bar>&work = bars.at(1000 * rank + 1), &transfers = bars.at(1000 * rank + 2);
    ASSERT_EQ(transfers.size(), 4u) << "hops";
    ASSERT_EQ(work.size(), 6u) << "blocks, and the division";
    constexpr double rounding = 1e-3;  // of a nanosecond, in microseconds
    for (int hop = 0; hop < 4; ++hop) {
      EXPECT_EQ(transfers[hop].kind, "transfer");
      EXPECT_EQ(work[hop].kind, "compute");
      EXPECT_LT(transfers[hop].begin, work[hop].end) << "beside the work, rank " << rank << ", hop " << hop;
      EXPECT_GE(work[hop + 1].begin, transfers[hop].end - 2 * rounding) << "behind the arrival";
      EXPECT_GE(work[hop + 1].begin, work[hop].end - 2 * rounding) << "in stream order";
      waits = waits || work[hop + 1].begin > work[hop].end + rounding;
    }
  }
  EXPECT_TRUE(waits) << "where the transfer takes longer";
}
#endif

TEST_F(Trace, PlaysATaskOnOneRank) {
  const Finished traced = run("trace 08.1 --out out");
  ASSERT_EQ(traced.code, 0) << traced.err;
  EXPECT_EQ(threads_in(folder_ / "out/trace.json"), std::set<int>{0});
}

TEST_F(Trace, RefusesAFolderThatIsAFile) {
  std::ofstream(folder_ / "out") << "mine";
  const Finished refused = run("trace 05 --ranks 2 --out out");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("out: is not a folder"), std::string::npos) << refused.err;
  EXPECT_EQ(file_text(folder_ / "out"), "mine");
}

TEST_F(Trace, SaysWhatARankSaidAndLeavesNothing) {
  checkout_.replace("lesson05_solution", "lesson03_solution");
  const Finished failed = run("trace 05 --ranks 2 --out out");
  EXPECT_EQ(failed.code, 1);
  EXPECT_NE(failed.err.find("threw: the adapter has no function ring_attention"), std::string::npos)
      << failed.err;
  EXPECT_FALSE(fs::exists(folder_ / "out"));
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

/// The arguments that make a laboratory.
std::string laboratory(const std::string& name, const std::string& bandwidth = "500Mbit") {
  return "lab " + name + " --ranks 2 --bandwidth " + bandwidth + " --out out ";
}

pid_t start(const std::string& line, const TestFolder& folder) {
  const std::string whole = "cd '" + folder.path().string() + "' && " + line;
  const char* argv[] = {"sh", "-c", whole.c_str(), nullptr};
  pid_t pid = 0;
  EXPECT_EQ(posix_spawnp(&pid, "sh", nullptr, nullptr, const_cast<char**>(argv), environ), 0);
  return pid;
}

class Whole : public RingLab, public testing::WithParamInterface<const char*> {};

TEST_P(Whole, RunsToItsEnd) {
  if (!can_shape(token_bucket)) GTEST_SKIP() << "this machine allows no shaped network of one's own";
  const Finished finished = run(laboratory(GetParam(), "5Gbit") + "--json");
  ASSERT_EQ(finished.code, 0) << finished.err;
  const auto json = nlohmann::json::parse(finished.out);
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
  for (const auto& file : json["files"]) EXPECT_TRUE(fs::exists(folder_ / file.get<std::string>())) << file;
}

INSTANTIATE_TEST_SUITE_P(Laboratory, Whole, testing::Values("slow-network", "two-hosts"));

#ifdef HAS_LESSON18
class LaboratoryCards : public RingLab {};

TEST_F(LaboratoryCards, PlayEveryWayBesideTheDerivedTimes) {
  if (!can_shape(token_bucket)) GTEST_SKIP() << "this machine allows no shaped network of one's own";
  const Finished finished = run("lab two-hosts --cards 2 --bandwidth 2Gbit --out out --json");
  ASSERT_EQ(finished.code, 0) << finished.err;
  const auto json = nlohmann::json::parse(finished.out);
  EXPECT_EQ(json["cards"], 2);
  ASSERT_EQ(json["ways"].size(), 4u);
  const auto size = [&](const char* name) { return json[name].get<std::int64_t>(); };
  const std::int64_t a_head = 4 * size("tokens") * size("head_dim");
  const std::int64_t block = 2 * size("kv_heads") * a_head;
  // A grid of 2 x 2 hops once with its share of heads, and exchanges half of q, k, v, o and lse.
  const std::int64_t exchanged =
      (2 * size("heads") * a_head + block + 4 * size("heads") * size("tokens")) / 2;
  const std::vector<std::int64_t> sent{3 * block, 3 * block, block + exchanged, block + exchanged};
  for (std::size_t way = 0; way < 4; ++way) {
    const auto& one = json["ways"][way];
    EXPECT_GT(one["seconds"].get<double>(), 0) << one;
    EXPECT_GE(one["in_turns_s"].get<double>(), one["hidden_s"].get<double>()) << one;
    for (const auto& rank : one["per_rank"]) EXPECT_EQ(rank["bytes_sent"], sent[way]) << one;
  }
  for (const auto& file : json["files"]) EXPECT_TRUE(fs::exists(folder_ / file.get<std::string>())) << file;
}

TEST_F(LaboratoryCards, RefuseWhatTheyCannotBe) {
  for (const auto& [arguments, said] :
       {std::pair{"slow-network --cards 2", "--cards goes with two-hosts"},
        {"two-hosts --cards 2 --ranks 5", "expected as many ranks on each host, two or more"},
        {"two-hosts --cards 3", "2 ranks on each host have use for no more than 2"},
        {"two-hosts --cards 2 --latency 1ms", "excludes"}}) {
    const Finished refused = run(std::string("lab ") + arguments);
    EXPECT_EQ(refused.code, 2) << arguments;
    EXPECT_NE(refused.err.find(said), std::string::npos) << refused.err;
  }
}
#endif

class Interrupted : public RingLab, public testing::WithParamInterface<std::tuple<const char*, int>> {};

TEST_P(Interrupted, LeavesNoRankAndNoNetwork) {
  if (!can_shape(token_bucket)) GTEST_SKIP() << "this machine allows no shaped network of one's own";
  const auto [name, signal] = GetParam();
  const std::set<std::string> before = networks();
  const fs::path out = folder_ / "out";
  const pid_t pid = start(line(laboratory(name)), folder_);
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

class LaboratoryNetwork : public RingLab {};

TEST_F(LaboratoryNetwork, RefusesTwoHostsWhereThereAreNoNamespaces) {
  if (!can_shape(token_bucket)) GTEST_SKIP() << "this machine allows no shaped network of one's own";
  const Finished refused = run_shell(
      "printf '#!/bin/sh\\necho not permitted; exit 1\\n' >unshare && chmod +x unshare && export "
      "PATH=$PWD:$PATH && (" +
          line(laboratory("two-hosts")) + ")",
      folder_);
  EXPECT_EQ(refused.code, 3);
  EXPECT_NE(refused.err.find("two hosts cannot be made here"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("(not permitted)"), std::string::npos) << refused.err;
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(LaboratoryNetwork, RefusesTwoHostsWhereTcpCannotBeSet) {
  const std::string read_only = "mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys";
  if (run_shell("unshare --mount sh -c '" + read_only + "'", folder_).code != 0)
    GTEST_SKIP() << "this user may not mount";
  if (!can_shape(token_bucket)) GTEST_SKIP() << "this machine allows no shaped network of one's own";
  std::ofstream(folder_ / "start") << read_only << " && " << line(laboratory("two-hosts")) << "\n";
  const Finished refused = run_shell("unshare --mount sh start", folder_);
  EXPECT_EQ(refused.code, 3);
  EXPECT_NE(refused.err.find("two hosts cannot be made here"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("/proc/sys/net/ipv4/tcp_congestion_control"), std::string::npos) << refused.err;
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(LaboratoryNetwork, DelaysMessagesOnlyWhereTheKernelCan) {
  if (!can_shape(token_bucket)) GTEST_SKIP() << "this machine allows no shaped network of one's own";
  const Finished finished = run(laboratory("slow-network", "5Gbit") + "--latency 1ms --json");
  if (can_shape("netem delay 1ms")) {
    ASSERT_EQ(finished.code, 0) << finished.err;
    for (const auto& setting : nlohmann::json::parse(finished.out)["settings"])
      EXPECT_GE(setting["hop_s"].get<double>(), 0.001) << setting;
    return;
  }
  EXPECT_EQ(finished.code, 3);
  EXPECT_NE(finished.err.find("--latency needs the kernel's netem"), std::string::npos) << finished.err;
  EXPECT_FALSE(fs::exists(folder_ / "out"));
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
