#include "course/workspace/cuda_device.hpp"
#include "own_sequence.hpp"

namespace course {
namespace {

class Gpus : public OwnSequence {};

TEST_F(Gpus, SimulatedOnesComputeTheRightAnswer) {
  write_own();
  for (const auto& [ranks, layout] : {std::pair{"1", "contiguous"}, {"3", "striped"}, {"5", "zigzag"}}) {
    const std::string where = std::string(", ") + layout + " on " + ranks + " ranks";
    const nlohmann::json json =
        run_json(own_files_ + "--backend sim --layout " + layout + " --ranks " + ranks);
    EXPECT_EQ(json.at("backend"), "sim");
    EXPECT_EQ(json.at("layout"), layout);
    ASSERT_EQ(json.at("rings").size(), 1u);
    EXPECT_TRUE(json.at("rings").at(0).at("passed")) << where;
    EXPECT_TRUE(json.at("rings").at(0).at("exposed").is_null());
    expect_saved({}, where);
  }
}

TEST_F(Gpus, SimulatedOnesSendWhatTheRingOfCoresSends) {
  const std::string sizes = "--forward --ranks 3 --seq 10 --heads 2 --dim 4 ";
  const nlohmann::json cores = run_json(sizes + "--ring blocking").at("per_rank");
  const nlohmann::json gpus = run_json(sizes + "--backend sim").at("per_rank");
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(gpus.at(rank).at("bytes_sent"), cores.at(rank).at("bytes_sent")) << rank;
}

TEST_F(Gpus, SimulatedOnesAreCalledSimulatedWhereverTheyAreShown) {
  const Finished finished = run("--backend sim");
  ASSERT_EQ(finished.code, 0) << finished.err;
  for (const char* part : {"4 MPI ranks with simulated GPUs",
                           "[2, 64, 32], 2 heads of 64 tokens: cut short, since simulated GPUs are slow",
                           "model's time", "simulated GPUs: the answer is computed, the time is a model's",
                           "rank 3/2 │", "their lengths are a model's, not a device's"})
    EXPECT_TRUE(has(finished.out, part)) << part << "\n" << finished.out;
  EXPECT_FALSE(has(finished.out, "fastest of")) << finished.out;
  EXPECT_LE(std::count(finished.out.begin(), finished.out.end(), '\n'), 24) << finished.out;
  const std::string svg = file_text(folder_ / "root/.course/demo/timeline.svg");
  EXPECT_TRUE(has(svg, "on 4 ranks with simulated GPUs") && has(svg, "not a device&#39;s")) << svg;
}

TEST_F(Gpus, SimulatedOnesComputeACausalAnswerOnAnyLayout) {
  write_own();
  for (const auto& [ranks, layout] :
       {std::pair{"1", "contiguous"}, {"3", "striped"}, {"4", "zigzag"}, {"5", "contiguous"}}) {
    const std::string where = std::string(", ") + layout + " on " + ranks + " ranks";
    const nlohmann::json json =
        run_json(own_files_ + "--causal --backend sim --layout " + layout + " --ranks " + ranks);
    EXPECT_EQ(json.at("backend"), "sim");
    EXPECT_EQ(json.at("causal"), true);
    EXPECT_TRUE(json.at("rings").at(0).at("passed")) << where;
    expect_saved(reference::Mask::causal(), where);
  }
}

TEST_F(Gpus, HaveOneRingAndNoDocuments) {
  const auto refusal = [&](const std::string& arguments) {
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.code, 2) << arguments;
    EXPECT_TRUE(is_one_line(finished.err)) << finished.err;
    return finished.err;
  };
  EXPECT_TRUE(has(refusal("--backend sim --causal --ring overlapped"),
                  "--ring overlapped: with --causal there is one ring, the ring on GPUs"));
  EXPECT_TRUE(has(refusal("--backend sim --ring overlapped"),
                  "--ring overlapped: with --backend sim there is one ring, the ring on GPUs"));
  EXPECT_TRUE(has(refusal("--backend gpu"), "--backend: gpu not in {mpi,sim,cuda}"));
}

TEST_F(Gpus, AreNotThereWithoutADevice) {
  const std::string missing = program::cuda_obstacle();
  if (missing.empty()) GTEST_SKIP() << "this machine has a device";
  const Finished finished = run("--backend cuda --out out");
  EXPECT_EQ(finished.code, 3);
  EXPECT_EQ(finished.out, "");
  EXPECT_TRUE(is_one_line(finished.err) && has(finished.err, "--backend cuda: " + missing)) << finished.err;
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

class PreparedForGpus : public Prepared {};

TEST_F(PreparedForGpus, IsReportedAsWhatItIs) {
  const Finished played = play(prepare(sizes_ + "--backend sim"));
  ASSERT_EQ(played.code, 0) << played.err;
  const Finished finished = run("--report cases --json");
  ASSERT_EQ(finished.code, 0) << finished.err;
  const nlohmann::json json = nlohmann::json::parse(finished.out);
  EXPECT_EQ(json.at("backend"), "sim");
  EXPECT_TRUE(json.at("rings").at(0).at("passed"));
  EXPECT_TRUE(has(run("--report cases").out, "2 MPI ranks with simulated GPUs"));
}

}  // namespace
}  // namespace course
