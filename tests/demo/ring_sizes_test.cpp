#include <algorithm>

#include "ring/shards.hpp"
#include "ring_demo.hpp"
#include "tensor/npy.hpp"

namespace course {
namespace {

TEST_F(RingDemo, FitsOnOneScreen) {
  const Finished finished = run("");
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_LE(std::count(finished.out.begin(), finished.out.end(), '\n'), 24) << finished.out;
  EXPECT_TRUE(has(finished.out, "Right in every query row")) << finished.out;
  for (const char* ring : {"blocking", "overlapped"})
    EXPECT_TRUE(
        std::regex_search(finished.out, std::regex(std::string("\n") + ring + " .* 15\\.0 MiB( +\\S+){5}\n")))
        << finished.out;
}

TEST_F(RingDemo, ShowsFourRanksOnRealTensors) {
  const Finished finished = run("--verbose");
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(is_progress(finished.err)) << finished.err;
  EXPECT_TRUE(has(finished.out, "4 MPI ranks on one host")) << finished.out;
  for (const char* rank : {"0", "1", "2", "3"}) {
    EXPECT_TRUE(std::regex_search(finished.out, std::regex(std::string("\n") + rank + " +128 .*3\\.75 MiB")))
        << finished.out;
    EXPECT_TRUE(has(finished.out, std::string("rank ") + rank + " │")) << finished.out;
  }
  EXPECT_TRUE(has(finished.out, "o   is right")) << finished.out;
  EXPECT_TRUE(has(finished.out, "lse is right")) << finished.out;
  for (const char* gradient : {"dq  is right", "dk  is right", "dv  is right"}) {
    EXPECT_TRUE(has(finished.out, gradient)) << finished.out;
  }
  EXPECT_FALSE(has(finished.out, "\x1b")) << "colour, though this is no terminal";
  EXPECT_TRUE(has(finished.out, folder_ / "root/.course/demo/timeline.svg")) << finished.out;
}

TEST_F(RingDemo, DrawsEveryBlockOfEveryRank) {
  ASSERT_EQ(run("--ring blocking --out pictures").code, 0);
  const std::string svg = file_text(folder_ / "pictures/timeline.svg");
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n")) << svg;
  const nlohmann::json trace = nlohmann::json::parse(file_text(folder_ / "pictures/trace.json"));
  std::vector<std::vector<int>> blocks(4, std::vector<int>(4, 0));
  for (const nlohmann::json& event : trace) {
    const std::string name = event.at("name");
    if (!name.starts_with("block of rank ")) continue;
    ++blocks.at(event.at("tid").get<int>()).at(std::stoi(name.substr(14)));
    EXPECT_TRUE(has(svg, "<title>" + name));
  }
  EXPECT_TRUE(has(svg, "<title>backward, block of rank 3")) << svg;
  EXPECT_EQ(blocks, std::vector<std::vector<int>>(4, std::vector<int>(4, 1)))
      << "each rank sees each block once";
}

TEST_F(RingDemo, GoesBackOnTheRealGradient) {
  const nlohmann::json json = run_json("--ranks 3 --out out");
  for (const char* name : {"o", "lse", "dq", "dk", "dv"}) {
    EXPECT_LT(json.at("relative_error").at(name), 1e-4) << name;
    EXPECT_GT(json.at("relative_error").at(name), 0) << name;
  }
  for (const char* name : {"dq.npy", "dk.npy", "dv.npy"}) {
    EXPECT_EQ(read_npy<float>(folder_ / "out" / name).shape(), (Shape{12, 512, 32})) << name;
  }
  const nlohmann::json forward = run_json("--ranks 3 --forward --out out");
  EXPECT_FALSE(forward.at("relative_error").contains("dq"));
  EXPECT_FALSE(fs::exists(folder_ / "out/dq.npy")) << "a gradient of another run";
}

TEST_F(RingDemo, WorksOnAnyNumberOfRanks) {
  constexpr int seq = 37;
  constexpr int heads = 3;
  constexpr int dim = 8;
  for (const int ranks : {1, 2, 3, 5, 7}) {
    const nlohmann::json json = run_json("--seq 37 --heads 3 --dim 8 --ranks " + std::to_string(ranks));
    EXPECT_EQ(json.at("ranks"), ranks);
    EXPECT_LT(json.at("relative_error").at("o"), 1e-5);
    EXPECT_LT(json.at("relative_error").at("lse"), 1e-5);
    EXPECT_EQ(json.at("rows_compared"), seq);
    const std::vector<int> shards = even_shards(seq, ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      const nlohmann::json& own = json.at("per_rank").at(rank);
      EXPECT_EQ(own.at("rank"), rank);
      EXPECT_EQ(own.at("tokens"), shards[rank]);
      // K and V of every block but the one that the next rank starts with.
      const int sent = seq - shards[(rank + 1) % ranks];
      EXPECT_EQ(own.at("bytes_sent"), ranks == 1 ? 0 : 2 * heads * dim * 4 * sent) << rank << " of " << ranks;
      EXPECT_GT(own.at("compute_s"), 0);
    }
  }
}

TEST_F(RingDemo, WorksWithMoreRanksThanTokens) {
  const nlohmann::json json = run_json("--seq 2 --heads 2 --dim 3 --ranks 5 --out out");
  EXPECT_LT(json.at("relative_error").at("o"), 1e-5);
  EXPECT_EQ(json.at("per_rank").at(4).at("tokens"), 0);
  EXPECT_EQ(read_npy<float>(folder_ / "out/o.npy").shape(), (Shape{2, 2, 3}));
}

TEST_F(RingDemo, DrawsTheSameInputForTheSameSeed) {
  const std::string sizes = "--seq 5 --heads 1 --dim 2 --ranks 1";
  run_json(sizes + " --seed 8 --out a");
  run_json(sizes + " --seed 8 --out b");
  run_json(sizes + " --seed 9 --out c");
  EXPECT_EQ(file_text(folder_ / "a/o.npy"), file_text(folder_ / "b/o.npy"));
  EXPECT_NE(file_text(folder_ / "a/o.npy"), file_text(folder_ / "c/o.npy"));
}

}  // namespace
}  // namespace course
