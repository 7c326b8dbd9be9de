#include "own_sequence.hpp"
#include "ring/layout.hpp"

namespace course {
namespace {

class Layouts : public OwnSequence {};

TEST_F(Layouts, LeaveTheOrderOfRowsAsItWas) {
  write_own();
  const int ranks = 3;
  for (const std::string name : layout_names) {
    const std::string where = ", " + name;
    const nlohmann::json json = run_json(own_files_ + "--ranks 3 --layout " + name);
    EXPECT_EQ(json.at("layout"), name);
    EXPECT_EQ(json.at("causal"), false);
    const std::vector<int> tokens = Layout::named(name, 11, ranks).shard_tokens();
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(json.at("per_rank").at(rank).at("tokens"), tokens[rank]) << rank << where;
    expect_saved({}, where);
  }
}

TEST_F(Layouts, OfACausalRingLeaveTheOrderOfRowsAsItWas) {
  write_own();
  for (const std::string name : layout_names) {
    for (const int ranks : {3, 5}) {
      const std::string where = ", " + name + " on " + std::to_string(ranks) + " ranks";
      const nlohmann::json json =
          run_json(own_files_ + "--causal --layout " + name + " --ranks " + std::to_string(ranks));
      EXPECT_EQ(json.at("causal"), true);
      EXPECT_EQ(json.at("layout"), name);
      ASSERT_EQ(json.at("rings").size(), 1u);
      EXPECT_TRUE(json.at("rings").at(0).at("passed")) << where;
      expect_saved(reference::Mask::causal(), where);
    }
  }
}

TEST_F(Layouts, OfACausalRingAreBalancedOrNot) {
  for (const auto& [name, slowest] :
       {std::pair{"contiguous", 1.75}, std::pair{"striped", 1.0}, std::pair{"zigzag", 1.0}}) {
    const nlohmann::json load = run_json("--causal --forward --layout " + std::string(name)).at("load");
    EXPECT_NEAR(load.at("slowest_steps"), slowest, 0.01) << name;
    EXPECT_GE(load.at("slowest_steps_measured"), 1 - 1e-9) << name << ": 0 where no block was timed";
  }
}

TEST_F(Layouts, OfACausalRingFitOnOneScreen) {
  const Finished finished = run("--causal --layout zigzag");
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_LE(std::count(finished.out.begin(), finished.out.end(), '\n'), 24) << finished.out;
  EXPECT_TRUE(has(finished.out, "Right in every query row")) << finished.out;
  for (const char* rank : {"0", "1", "2", "3"}) {
    EXPECT_TRUE(
        std::regex_search(finished.out, std::regex(std::string("\n") + rank + " +128 +32832 +8256 +1\\.00 ")))
        << finished.out;
  }
  EXPECT_TRUE(has(file_text(folder_ / "root/.course/demo/timeline.svg"), "Causal ring attention on 4 ranks"));
}

TEST_F(Layouts, OfACausalRingNeedItsLesson) {
  const Finished ring = run("--causal --ring blocking");
  EXPECT_EQ(ring.code, 2);
  EXPECT_TRUE(is_one_line(ring.err) && has(ring.err, "--ring blocking: with --causal there is one ring"))
      << ring.err;
  fs::remove(folder_ / "root/solutions/14_striped_and_zigzag");
  const Finished finished = run("--causal");
  EXPECT_EQ(finished.code, 3);
  EXPECT_TRUE(is_one_line(finished.err) && has(finished.err, "lesson 04 (blockwise_attention) is not passed"))
      << finished.err;
  EXPECT_EQ(run("--layout zigzag").code, 0) << "full attention does without it";
}

TEST_F(Layouts, HaveRoomForMoreRanksThanTokens) {
  for (const std::string name : layout_names) {
    const nlohmann::json json = run_json("--causal --seq 2 --heads 2 --dim 3 --ranks 5 --layout " + name);
    EXPECT_LT(json.at("relative_error").at("o"), 1e-5) << name;
    EXPECT_EQ(json.at("per_rank").at(4).at("tokens"), 0) << name;
  }
}

}  // namespace
}  // namespace course
