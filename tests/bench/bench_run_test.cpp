#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "../demo/test_checkout.hpp"

namespace course::bench {

namespace {

constexpr const char* of_rings = "--heads 2 --ring-head-dim 4";

/// course_bench on small problems.
class Bench : public testing::Test {
 protected:
  /// @param sizes those that the options leave a meaning
  Finished run(const std::string& options,
               const std::string& sizes = "--heads 2 --ring-head-dim 4 --head-dims 8") const {
    return run_shell(checkout_.environment() + COURSE_BENCH +
                         " bench --tokens 40 --repetitions 1 --min-seconds 0.001 " + sizes + " " + options,
                     folder_);
  }

  /// Leaves these lessons out.
  void without(const std::vector<std::string>& lessons) const {
    for (const std::string& lesson : lessons) std::filesystem::remove(folder_ / ("root/solutions/" + lesson));
  }

  /// Peers that answer at once, and as is expected.
  void put_peers() const {
    const std::filesystem::path peers = folder_ / "root/build/peers";
    std::filesystem::create_directories(peers / "bin");
    std::filesystem::copy(std::filesystem::path(COURSE_SOURCE_DIR) / "common/bench/python/requirements.txt",
                          peers);
    std::ofstream(peers / "bin/python")
        << "#!/bin/sh\n"
           "while read -r verb rest; do [ \"$verb\" = time ] && echo 0.001 || echo 0; done\n";
    std::filesystem::permissions(peers / "bin/python", std::filesystem::perms::owner_all);
  }

  TestFolder folder_;
  TestCheckout checkout_{folder_ / "root"};
};

TEST_F(Bench, TimesEveryLesson) {
  const Finished all = run("--json");
  ASSERT_EQ(all.code, 0) << all.err;
  std::set<std::string> names;
  std::set<std::string> against;
  const nlohmann::json report = nlohmann::json::parse(all.out);
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

TEST_F(Bench, NeedsADeviceForItsRates) {
  const Finished none = run_shell(
      checkout_.environment() + "CUDA_VISIBLE_DEVICES=-1 " + COURSE_BENCH + " bench --backend cuda --json",
      folder_);
  EXPECT_EQ(none.code, 3) << none.out;
  EXPECT_NE(none.err.find("--backend cuda: "), std::string::npos) << none.err;
  EXPECT_EQ(none.out, "");
  const Finished wrong = run("--backend tpu");
  EXPECT_EQ(wrong.code, 2) << wrong.out;
}

TEST_F(Bench, LeavesOutWhatIsNotHere) {
  without({"05_ring_attention", "06_attention_backward"});
  const Finished some = run("");
  EXPECT_EQ(some.code, 0) << some.err;
  EXPECT_NE(some.out.find("forward, d = 8"), std::string::npos) << some.out;
  EXPECT_EQ(some.out.find("backward, d = 8"), std::string::npos) << some.out;
  EXPECT_EQ(some.out.find("rank  "), std::string::npos) << some.out;
  EXPECT_NE(some.err.find("course: lesson 06 is left out: yours is not passed as it stands"),
            std::string::npos)
      << some.err;
  without({"04_blockwise_attention"});
  const Finished nothing = run("");
  EXPECT_EQ(nothing.code, 3);
  EXPECT_NE(nothing.err.find("there is nothing to time"), std::string::npos) << nothing.err;
}

TEST_F(Bench, DoesNotTimeAWrongAnswer) {
  checkout_.replace("lesson04_solution", "lesson04_mutant_scale_missing");
  const Finished wrong = run("");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("course: forward, d = 8: the answer's relative error is"), std::string::npos)
      << wrong.err;
}

TEST_F(Bench, ChecksARingsGradients) {
  checkout_.replace("lesson07_solution", "lesson07_mutant_delta_left_out");
  const Finished wrong = run("");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("course: one rank, forward and backward: the answer's relative error is"),
            std::string::npos)
      << wrong.err;
}

TEST_F(Bench, TimesCausalRings) {
  put_peers();
  const Finished all = run("--causal --ring-ranks 3 --peers --json", of_rings);
  ASSERT_EQ(all.code, 0) << all.err;
  const nlohmann::json report = nlohmann::json::parse(all.out);
  std::set<std::string> names;
  std::map<std::string, std::string> published;
  for (const nlohmann::json& row : report.at("rows")) {
    names.insert(row.at("name"));
    EXPECT_GT(row.at("value"), 0) << row;
    if (row.contains("published") && row.at("against") == "one rank, causal")
      published[row.at("name")] = row.at("published");
  }
  std::set<std::string> expected;
  for (const std::string pass : {"", ", forward and backward"}) {
    for (const std::string one :
         {"one core, all keys", "one core, causal", "one rank, causal", "zigzag ring of 2 by the clock",
          "ring-attention-pytorch, causal, by the clock"})
      expected.insert(one + pass);
    expected.insert("3 ranks at once, each by itself" + pass);
    for (const std::string ring : {"ring with all keys", "contiguous ring", "striped ring", "zigzag ring"})
      expected.insert(ring + " of 3" + pass);
  }
  EXPECT_EQ(names, expected);
  EXPECT_EQ(published["zigzag ring of 3"], "85.2 % on eight H800");
}

TEST_F(Bench, TimesRingsOfFewKeyHeadsAndOfAWindow) {
  const Finished all = run("--packed --ring-ranks 2 --json", of_rings);
  ASSERT_EQ(all.code, 0) << all.err;
  const nlohmann::json report = nlohmann::json::parse(all.out);
  std::set<std::string> names;
  for (const nlohmann::json& row : report.at("rows")) {
    names.insert(row.at("name"));
    EXPECT_GT(row.at("value"), 0) << row;
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"ring of 2, 32/32 heads", "ring of 2, 32/8 heads", "causal ring of 2",
                                   "ring, window 21, of 2", "gather, window 21, of 2"}));
}

TEST_F(Bench, TimesWhatTakesTheRingsPlace) {
  const Finished all = run("--exchange --ring-ranks 2,4 --json", "--ring-head-dim 4");
  ASSERT_EQ(all.code, 0) << all.err;
  const nlohmann::json report = nlohmann::json::parse(all.out);
  std::map<std::string, std::int64_t> bytes;
  for (const nlohmann::json& row : report.at("rows")) {
    EXPECT_GT(row.at("value"), 0) << row;
    bytes[row.at("name")] = row.at("bytes_sent");
  }
  EXPECT_EQ(bytes.size(), 2u * (3 + 5)) << all.out;
  EXPECT_EQ(bytes.at("ring, 4 ranks, 32/8 heads"), 4 * 2 * 8 * 10 * 4 * 3);
  EXPECT_EQ(bytes.at("double ring, 4 ranks, 32/8 heads"), bytes.at("gather, 4 ranks, 32/8 heads"));
  EXPECT_LT(bytes.at("Ulysses, 4 ranks, 32/32 heads"), bytes.at("grid, 4 ranks, 32/32 heads"));
  EXPECT_EQ(report.at("4 ranks, 32/32 heads"), "4 > 1 + 32/32: Ulysses");
}

TEST_F(Bench, HoldsBlocksInRegistersAgainstMultiplyAdds) {
  const Finished all = run("--lesson 20 --json", "--head-dims 8,12");
  ASSERT_EQ(all.code, 0) << all.err;
  const nlohmann::json report = nlohmann::json::parse(all.out);
  std::set<std::string> names;
  for (const nlohmann::json& row : report.at("rows")) {
    const std::string name = row.at("name");
    if (name.find("by lesson") != std::string::npos) continue;  // where it was not too noisy
    names.insert(name);
    EXPECT_GT(row.at("bound"), 0.5) << row;
  }
  EXPECT_EQ(names, (std::set<std::string>{"forward, d = 8", "backward, d = 8", "forward, d = 12",
                                          "backward, d = 12"}));
  EXPECT_TRUE(report.contains("level") && report.contains("lanes")) << all.out;
}

TEST_F(Bench, TakesBlocksInRegisters) {
  const Finished all = run("--block 20 --json", "--head-dims 8 --ring-head-dim 8");
  ASSERT_EQ(all.code, 0) << all.err;
  std::set<std::string> names;
  const nlohmann::json report = nlohmann::json::parse(all.out);
  for (const nlohmann::json& row : report.at("rows")) names.insert(row.at("name"));
  for (const char* const name : {"forward, d = 8", "backward, d = 8", "a ring of two, each rank"})
    EXPECT_TRUE(names.contains(name)) << name << "\n" << all.out;
  const Finished causal = run("--block 20 --causal --json", "--ring-head-dim 8");
  ASSERT_EQ(causal.code, 0) << causal.err;
  EXPECT_NE(causal.out.find("zigzag ring of 2"), std::string::npos) << causal.out;
}

TEST_F(Bench, TimesASimulatedGpu) {
  const Finished all = run("--simulated --json", "--head-dims 32");
  ASSERT_EQ(all.code, 0) << all.err;
  const nlohmann::json report = nlohmann::json::parse(all.out);
  std::map<std::string, double> rates;
  for (const nlohmann::json& row : report.at("rows")) rates[row.at("name")] = row.at("value");
  ASSERT_EQ(rates.size(), 3u) << all.out;
  EXPECT_GT(rates.at("multiply-adds without memory"), rates.at("forward, unchecked, d = 32"));
  EXPECT_GT(rates.at("forward, each access checked, d = 32"), 0);
}

TEST_F(Bench, DoesNotTimeAWrongCausalRing) {
  checkout_.replace("lesson14_solution", "lesson14_mutant_exclusive_diagonal");
  const Finished wrong = run("--causal", of_rings);
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("course: one core, causal: the answer's relative error is"), std::string::npos)
      << wrong.err;
}

TEST_F(Bench, TimesNoCausalRingsWithoutTheirLesson) {
  without({"14_striped_and_zigzag"});
  const Finished nothing = run("--causal", of_rings);
  EXPECT_EQ(nothing.code, 3);
  EXPECT_NE(nothing.err.find("there is nothing to time without the causal ring on any layout"),
            std::string::npos)
      << nothing.err;
}

TEST_F(Bench, RefusesOptionsThatWouldDoNothing) {
  for (const char* options :
       {"--ring-ranks 3", "--causal --head-dims 8", "--simulated --peers", "--simulated --heads 2",
        "--simulated --ring-head-dim 4", "--simulated --causal", "--packed --causal", "--lesson 20 --causal",
        "--lesson 20 --backend sim", "--exchange --packed", "--exchange --heads 2", "--exchange --peers",
        "--lesson 20 --heads 2", "--packed --head-dims 8", "--lesson 4"})
    EXPECT_EQ(run(options, "").code, 2) << options;
}

TEST_F(Bench, RefusesWhatIsNoLesson) {
  checkout_.replace("lesson04_solution", "lesson06_solution");
  const Finished wrong = run("");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("course: forward, d = 8: threw: the adapter has no function blockwise_attention"),
            std::string::npos)
      << wrong.err;
}

TEST_F(Bench, RefusesWrongOptions) {
  for (const auto& [options, named] : std::vector<std::pair<std::string, std::string>>{
           {"--heads 0", "--heads"}, {"--fast", "--fast"}, {"extra", "extra"}}) {
    const Finished wrong = run(options);
    EXPECT_EQ(wrong.code, 2) << options;
    EXPECT_NE(wrong.err.find(named), std::string::npos) << wrong.err;
    EXPECT_EQ(wrong.err.find('\n'), wrong.err.size() - 1) << wrong.err;
  }
}

TEST_F(Bench, KeepsItsPeersWhilePlayersComeAndGo) {
  put_peers();
  without({"06_attention_backward"});
  const Finished all = run("--peers");
  EXPECT_EQ(all.code, 0) << all.err;
  for (const char* row : {"torch forward, d = 8 ", "% of torch forward, d = 8", "ring-attention-pytorch"})
    EXPECT_NE(all.out.find(row), std::string::npos) << row << " is not in\n" << all.out;
}

}  // namespace

}  // namespace course::bench
