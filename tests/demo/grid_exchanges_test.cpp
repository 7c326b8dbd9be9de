#include "exchanges.hpp"

namespace course {
namespace {

/// Lesson 18's, which --exchange names beside that of lesson 17.
class GridExchanges : public Exchanges {
 protected:
  /// Own tensors forward and, if `backward`, back: the saved tensors, and what every rank sent, which is what
  /// the ways add up to.
  nlohmann::json expect_right(const std::string& arguments, Index heads, Index kv_heads, bool backward,
                              const std::vector<std::string>& ways) const {
    std::string own = own_tensors(heads, kv_heads);
    if (!backward) own = own.substr(0, own.find("--do"));
    const std::string where = ", " + std::to_string(heads) + "/" + std::to_string(kv_heads) + " " + arguments;
    nlohmann::json json = run_json(own + "--out out " + arguments);
    EXPECT_TRUE(json.at("rings").at(0).at("passed")) << where;
    EXPECT_EQ(json.at("relative_error").contains("dk"), backward) << where;
    expect_saved(heads, kv_heads, has(arguments, "--causal"), backward, where);
    std::int64_t all = 0;
    for (const nlohmann::json& rank : json.at("per_rank")) {
      std::int64_t said = 0;
      for (const std::string& way : ways) said += rank.at("bytes_" + way).get<std::int64_t>();
      EXPECT_EQ(rank.at("bytes_sent"), said) << rank << where;
      all += said;
    }
    EXPECT_EQ(json.at("bytes_needed"), all) << where;
    return json;
  }

  void expect_refusal(const std::string& arguments, const std::string& expected) const {
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.code, 2) << arguments;
    EXPECT_TRUE(is_one_line(finished.err)) << arguments << "\n" << finished.err;
    EXPECT_TRUE(has(finished.err, expected)) << arguments << "\n" << finished.err;
  }
};

TEST_F(GridExchanges, OfGroupsAndRingsAreRightBothWays) {
  const std::vector<std::string> ways{"inside", "between"};
  expect_right("--exchange grid --ranks 4 --grid 2x2 --causal --layout zigzag", 4, 2, true, ways);
  expect_right("--exchange grid --ranks 4 --grid 2x2", 3, 1, true, ways);
  expect_right("--exchange grid --ranks 6 --grid 2x3 --causal", 6, 2, true, ways);
  expect_right("--exchange grid --ranks 6 --grid 2x3 --layout striped", 10, 2, true, ways);
  expect_right("--exchange grid --ranks 6 --grid 3x2 --causal --layout zigzag", 4, 2, false, ways);
}

/// A grid of one group is lesson 17's exchange, and one of groups of one rank is a ring.
TEST_F(GridExchanges, OfOneGroupOrOneRingSendOneWayOnly) {
  const nlohmann::json group =
      expect_right("--exchange grid --ranks 3 --grid 3x1", 6, 2, false, {"inside", "between"});
  const nlohmann::json ulysses = run_json("--exchange ulysses --ranks 3 --q q.npy --k k.npy --v v.npy");
  EXPECT_EQ(group.at("bytes_needed"), ulysses.at("bytes_needed"));
  const nlohmann::json rings =
      expect_right("--exchange grid --ranks 3 --grid 1x3 --causal", 6, 2, true, {"inside", "between"});
  for (const nlohmann::json& rank : rings.at("per_rank")) EXPECT_EQ(rank.at("bytes_inside"), 0);
}

TEST_F(GridExchanges, OfGatheredKeysAreRightBothWays) {
  for (const std::string at_once : {"", " --kv-heads-at-once 2"}) {
    const nlohmann::json json =
        expect_right("--exchange gather --ranks 3 --causal" + at_once, 4, 2, true, {"gathered", "scattered"});
    EXPECT_EQ(json.at("exchange_sizes").at("kv_heads_at_once"), at_once.empty() ? 1 : 2);
    expect_right("--exchange gather --ranks 5 --layout zigzag" + at_once, 6, 6, true,
                 {"gathered", "scattered"});
    expect_right("--exchange gather --ranks 2 --layout striped" + at_once, 8, 2, false, {"gathered"});
  }
}

/// Contiguous shards of a causal row: rank r's queries see r + 1 shards.
TEST_F(GridExchanges, OfGatheredKeysWaitForTheLastRank) {
  const nlohmann::json json = run_json("--exchange gather --ranks 4 --seq 64 --heads 4 --dim 4 --causal");
  EXPECT_NEAR(json.at("load").at("slowest_steps"), 2 - 1.0 / 4, 0.05);
  EXPECT_EQ(json.at("per_rank").at(0).at("heads"), 4);
}

TEST_F(GridExchanges, OfRingsOfRingsAreRightForward) {
  const std::vector<std::string> ways{"inside", "between"};
  for (const int ranks : {2, 4, 6}) {
    for (int node = 1; node <= ranks; ++node) {
      if (ranks % node != 0) continue;
      const std::string sizes =
          "--exchange double-ring --ranks " + std::to_string(ranks) + " --node " + std::to_string(node);
      expect_right(sizes + (node % 2 == 0 ? " --causal --layout zigzag" : ""), 4, 2, false, ways);
    }
  }
}

TEST_F(GridExchanges, LeaveOutTheBackwardPassThatADoubleRingHasNot) {
  const Finished finished = run("--exchange double-ring --ranks 4");
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(has(finished.err, "The demo leaves the backward pass out: the double-ring exchange has none\n"))
      << finished.err;
  EXPECT_TRUE(has(finished.out, "Double-ring attention, forward, not causal")) << finished.out;
  own_tensors(4, 2);
  expect_refusal("--exchange double-ring --q q.npy --k k.npy --v v.npy --do do.npy",
                 "--exchange double-ring --do: it has no backward pass; leave out one of the two");
}

TEST_F(GridExchanges, HaveSizesThatDivideTheRanks) {
  const auto sizes = [&](const std::string& arguments) {
    return run_json(arguments + " --seq 16 --heads 4 --dim 4").at("exchange_sizes");
  };
  EXPECT_EQ(sizes("--exchange grid --ranks 4").at("ulysses"), 2);
  EXPECT_EQ(sizes("--exchange grid --ranks 3").at("ulysses"), 3);
  EXPECT_EQ(sizes("--exchange grid --ranks 1").at("ulysses"), 1);
  EXPECT_EQ(sizes("--exchange double-ring --ranks 6").at("node"), 2);
}

TEST_F(GridExchanges, SayTheirSizesAndUnevenShares) {
  const Finished uneven = run("--exchange grid --grid 2x2 --ranks 4 --seq 16 --heads 5 --dim 4");
  ASSERT_EQ(uneven.code, 0) << uneven.err;
  EXPECT_TRUE(has(uneven.out, "groups of 2 ranks, in rings of 2")) << uneven.out;
  EXPECT_TRUE(has(uneven.out, "5 heads are uneven shares: 2 to 3 a rank\n")) << uneven.out;
  EXPECT_TRUE(std::regex_search(uneven.out, std::regex("\nrank .* inside +between +ring\n"))) << uneven.out;
  EXPECT_TRUE(std::regex_search(uneven.out, std::regex("\nall +16 +5 +"))) << uneven.out;
  const Finished even = run("--exchange double-ring --ranks 4 --seq 16 --heads 4 --dim 4");
  EXPECT_TRUE(has(even.out, "2 nodes of 2 ranks")) << even.out;
  EXPECT_FALSE(has(even.out, "uneven")) << even.out;
}

TEST_F(GridExchanges, AreRefusedWhereSizesDoNotFit) {
  const std::string grid = "--exchange grid --ranks 8 --grid ";
  expect_refusal(grid + "2x3", "--grid 2x3 --ranks 8: 2 x 3 are 6 ranks, not 8");
  for (const std::string wrong : {"2by4", "0x8", "2x", "2x4x1", "2x99999999999"})
    expect_refusal(grid + wrong, "--grid " + wrong + ": expected UxR");
  expect_refusal("--exchange double-ring --ranks 8 --node 3",
                 "--node 3 --ranks 8: 3 does not divide 8 ranks, expected 1, 2, 4, 8");
  expect_refusal("--exchange double-ring --node 0", "--node");
  expect_refusal("--exchange gather --kv-heads-at-once 5",
                 "--kv-heads-at-once 5: 5 does not divide 12 key heads, expected 1, 2, 3, 4, 6, 12");
  for (const std::string other : {"ring", "ulysses", "gather", "double-ring"})
    expect_refusal("--grid 2x2 --exchange " + other,
                   "--grid --exchange " + other + ": only --exchange grid takes it");
  expect_refusal("--node 2", "--node --exchange ring: only --exchange double-ring takes it");
  expect_refusal("--exchange grid --kv-heads-at-once 2",
                 "--kv-heads-at-once --exchange grid: only --exchange gather takes it");
}

TEST_F(GridExchanges, AreMappedByNode) {
  const std::string own = own_tensors(4, 2);
  const auto told = [&](const std::string& arguments) {
    fs::remove_all(folder_ / "cases");
    return run(arguments + " --seq 16 --heads 4 --dim 4 --prepare cases").out;
  };
  const std::string grid = told("--exchange grid --ranks 8 --grid 4x2");
  EXPECT_TRUE(has(grid, "mpirun -n 8 --map-by ppr:4:node\n")) << grid;
  EXPECT_TRUE(has(grid, "srun -N 2 -n 8 --ntasks-per-node=4 --distribution=block --mpi=pmix\n")) << grid;
  const std::string nodes = told("--exchange double-ring --ranks 6 --node 3");
  EXPECT_TRUE(has(nodes, "mpirun -n 6 --map-by ppr:3:node\n")) << nodes;
  EXPECT_FALSE(has(told("--exchange gather --ranks 2"), "--map-by"));
}

class PreparedGrids : public Prepared {};

TEST_F(PreparedGrids, AreReportedOnAsTheyWerePrepared) {
  for (const char* name : {"q", "k", "v", "do"})
    write_npy(folder_ / (std::string(name) + ".npy"), own_tensor({6, 7, 4}, name[0]));
  for (const std::string exchange : {"grid --grid 3x2 --ranks 6", "gather --kv-heads-at-once 3 --ranks 2",
                                     "double-ring --node 2 --ranks 2"}) {
    fs::remove_all(folder_ / "cases");
    const bool backward = !exchange.starts_with("double-ring");
    const Finished played =
        play(prepare("--exchange " + exchange + " --q q.npy --k k.npy --v v.npy --causal" +
                     (backward ? " --do do.npy" : "")));
    ASSERT_EQ(played.code, 0) << played.err;
    const nlohmann::json json = nlohmann::json::parse(run("--json --report cases").out);
    EXPECT_EQ(json.at("exchange"), exchange.substr(0, exchange.find(' ')));
    EXPECT_TRUE(json.at("rings").at(0).at("passed")) << exchange;
    EXPECT_EQ(json.at("relative_error").contains("dk"), backward) << exchange;
    EXPECT_EQ(json.at("rings").at(0).at("bytes_sent"), json.at("bytes_needed")) << exchange;
  }
}

}  // namespace
}  // namespace course
