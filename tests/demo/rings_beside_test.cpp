#include <set>

#include "own_tensor.hpp"
#include "raw_npy.hpp"
#include "ring_demo.hpp"
#include "tensor/npy.hpp"

namespace course {
namespace {

class RingsBeside : public RingDemo {
 protected:
  static constexpr const char* outputs[] = {"o", "lse", "dq", "dk", "dv"};

  /// Has lesson 08's place taken by a ring that is right on one rank alone.
  void keep_overlapped_home() const { checkout_.replace("lesson08_solution", "ring_overlapped_stays_home"); }

  static std::vector<std::int64_t> bytes_by_rank(const nlohmann::json& ring) {
    std::vector<std::int64_t> bytes;
    for (const nlohmann::json& rank : ring.at("per_rank")) bytes.push_back(rank.at("bytes_sent"));
    return bytes;
  }

  static std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }
};

TEST_F(RingsBeside, AgreeWithTheReferenceAndSendAsMuch) {
  const nlohmann::json json = run_json("--ranks 3");
  ASSERT_EQ(json.at("rings").size(), 2u);
  for (const nlohmann::json& ring : json.at("rings")) {
    EXPECT_TRUE(ring.at("passed"));
    EXPECT_GT(ring.at("seconds"), 0);
    EXPECT_GT(ring.at("exposed"), 0);
    for (const char* output : outputs) {
      EXPECT_GT(ring.at("relative_error").at(output), 0) << output;
      EXPECT_LT(ring.at("relative_error").at(output), 1e-4) << output;
      EXPECT_GT(ring.at("largest_error").at(output), 0) << output;
    }
  }
  const nlohmann::json& blocking = json.at("rings").at(0);
  const nlohmann::json& overlapped = json.at("rings").at(1);
  EXPECT_EQ(blocking.at("name"), "blocking");
  EXPECT_EQ(overlapped.at("name"), "overlapped");
  EXPECT_GT(blocking.at("bytes_sent"), 0);
  EXPECT_EQ(blocking.at("bytes_sent"), overlapped.at("bytes_sent"));
}

TEST_F(RingsBeside, SendAsMuchWithUnevenShardsToo) {
  for (const char* name : {"q", "k", "v", "do"})
    write_npy(folder_ / (std::string(name) + ".npy"), own_tensor({2, 7, 4}, name[0]));
  for (const int ranks : {1, 2, 3, 5}) {
    const nlohmann::json rings =
        run_json("--q q.npy --k k.npy --v v.npy --do do.npy --ranks " + std::to_string(ranks)).at("rings");
    ASSERT_EQ(rings.size(), 2u);
    EXPECT_EQ(bytes_by_rank(rings.at(0)), bytes_by_rank(rings.at(1))) << ranks << " ranks";
    EXPECT_EQ(rings.at(0).at("bytes_sent") > 0, ranks > 1);
    for (const char* output : outputs)
      EXPECT_LT(rings.at(1).at("relative_error").at(output), 1e-4) << output << ", " << ranks << " ranks";
  }
}

TEST_F(RingsBeside, StandTogetherInTheReportAndThePictures) {
  const Finished finished = run("--ranks 3 --seq 50 --heads 2 --dim 8 --verbose --out out");
  ASSERT_EQ(finished.code, 0) << finished.err;
  for (const char* part : {"\nBlocking ring\n", "\nOverlapped ring\n",
                           "\nblocking ring: ", "\noverlapped ring: ", "./course lab slow-network"}) {
    EXPECT_TRUE(has(finished.out, part)) << part << finished.out;
  }
  EXPECT_EQ(count(finished.out, "rank 2 │"), 2u) << finished.out;
  EXPECT_EQ(count(finished.out, "└"), 1u) << "one axis\n" << finished.out;

  const std::string svg = file_text(folder_ / "out/timeline.svg");
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  EXPECT_EQ(count(svg, "class='lane'"), 6u);
  EXPECT_EQ(count(svg, ">rank 2<"), 2u);
  EXPECT_EQ(count(svg, "time since"), 1u) << "one axis";
  EXPECT_LT(svg.find(">blocking ring: "), svg.find(">overlapped ring: "));
  EXPECT_TRUE(has(svg, ">overlapped ring: ") && has(svg, "./course lab slow-network"));

  std::set<std::string> processes;
  for (const nlohmann::json& event : nlohmann::json::parse(file_text(folder_ / "out/trace.json"))) {
    if (event.at("name") != "process_name") continue;
    const std::string name = event.at("args").at("name");
    processes.insert(name.substr(0, name.find(':')));
  }
  EXPECT_EQ(processes, (std::set<std::string>{"blocking ring", "overlapped ring"}));
}

TEST_F(RingsBeside, OneCanBeShownAlone) {
  const std::string size = " --ranks 2 --seq 9 --heads 1 --dim 4";
  for (const char* name : {"blocking", "overlapped"}) {
    const std::string other = std::string(name) == "blocking" ? "overlapped" : "blocking";
    const std::string arguments = "--ring " + std::string(name) + size;
    const nlohmann::json json = run_json(arguments + " --out out");
    ASSERT_EQ(json.at("rings").size(), 1u);
    EXPECT_EQ(json.at("rings").at(0).at("name"), name);
    EXPECT_LT(json.at("relative_error").at("o"), 1e-5);
    const Finished finished = run(arguments);
    EXPECT_FALSE(has(finished.out, "slow-network") || has(finished.out, other)) << finished.out;
    EXPECT_FALSE(has(file_text(folder_ / "out/timeline.svg"), other));
  }
}

TEST_F(RingsBeside, AWrongOneIsToldFromARightOne) {
  keep_overlapped_home();
  const std::string arguments = "--ranks 3 --seq 50 --heads 2 --dim 8";
  const Finished finished = run(arguments + " --verbose --out out");
  EXPECT_EQ(finished.code, 1);
  const std::string verdicts =
      finished.out.substr(std::min(finished.out.find("o   is right"), finished.out.size()));
  const std::size_t overlapped = verdicts.find("Overlapped ring");
  ASSERT_NE(overlapped, std::string::npos) << finished.out;
  EXPECT_TRUE(has(verdicts.substr(0, overlapped), "o   is right")) << verdicts;
  EXPECT_FALSE(has(verdicts.substr(0, overlapped), "WRONG")) << verdicts;
  EXPECT_TRUE(has(verdicts.substr(overlapped), "o   is WRONG")) << verdicts;
  EXPECT_TRUE(has(finished.out, "WRONG: o and lse of the overlapped ring")) << finished.out;
  EXPECT_TRUE(has(finished.out, "the overlapped ring sent 0 bytes and the blocking one ")) << finished.out;
  EXPECT_TRUE(has(finished.out, "Nothing was written: the overlapped ring's answer is wrong"))
      << finished.out;
  EXPECT_FALSE(fs::exists(folder_ / "out"));

  const Finished as_json = run(arguments + " --json");
  EXPECT_EQ(as_json.code, 1);
  const nlohmann::json rings = nlohmann::json::parse(as_json.out).at("rings");
  EXPECT_TRUE(rings.at(0).at("passed"));
  EXPECT_FALSE(rings.at(1).at("passed"));
  EXPECT_LT(rings.at(0).at("relative_error").at("o"), 1e-5);
  EXPECT_GT(rings.at(1).at("relative_error").at("o"), 0.1);
}

TEST_F(RingsBeside, TheBlockingOnesTensorsAreWritten) {
  keep_overlapped_home();
  const std::string arguments = "--ranks 1 --seq 9 --heads 1 --dim 4";
  run_json(arguments + " --out both");
  run_json(arguments + " --ring blocking --out blocking");
  run_json(arguments + " --ring overlapped --out overlapped");
  EXPECT_EQ(file_text(folder_ / "both/o.npy"), file_text(folder_ / "blocking/o.npy"));
  EXPECT_NE(file_text(folder_ / "both/o.npy"), file_text(folder_ / "overlapped/o.npy"));
}

TEST_F(RingsBeside, AreLeftOutWhereTheirLessonsAreMissing) {
  const std::string size = "--ranks 2 --seq 9 --heads 1 --dim 4 ";
  fs::remove(folder_ / "root/solutions/08_overlapped_ring");
  const Finished alone = run(size);
  EXPECT_EQ(alone.code, 0) << alone.err;
  EXPECT_TRUE(
      has(alone.err,
          "The demo shows the blocking ring alone: the solution of lesson 08 (overlapped_ring) is not here"))
      << alone.err;
  EXPECT_FALSE(has(alone.out, "overlapped")) << alone.out;
  EXPECT_FALSE(has(run(size + "--ring blocking").err, "lesson 08"));
  const Finished both = run(size + "--ring both");
  EXPECT_EQ(both.code, 3);
  EXPECT_TRUE(has(both.err, "--ring asks for the overlapped ring, and the solution of lesson 08"))
      << both.err;

  fs::remove(folder_ / "root/solutions/07_ring_backward");
  const Finished forward = run("--ranks 2");
  EXPECT_EQ(forward.code, 0) << forward.err;
  EXPECT_TRUE(
      has(forward.err, "The demo leaves the backward pass out: the solution of lesson 07 (ring_backward)"))
      << forward.err;
  EXPECT_FALSE(has(forward.out, "dq") || has(forward.out, "dO")) << forward.out;
  write_npy(folder_ / "x.npy", own_tensor({4, 3}, 1));
  const Finished asked = run("--q x.npy --k x.npy --v x.npy --do x.npy");
  EXPECT_EQ(asked.code, 3);
  EXPECT_TRUE(has(asked.err, "--do asks for the backward pass, and the solution of lesson 07")) << asked.err;

  fs::remove(folder_ / "root/solutions/05_ring_attention");
  const Finished none = run(size);
  EXPECT_EQ(none.code, 3);
  EXPECT_TRUE(has(none.err, "without the solutions the demo runs your own lessons, and lesson 04"))
      << none.err;
}

TEST_F(RingsBeside, OfTheStudentHaveToPass) {
  const Finished mine = run("--mine");
  EXPECT_EQ(mine.code, 3);
  EXPECT_TRUE(has(mine.err,
                  "--mine runs your own lessons, and lesson 04 (blockwise_attention) is not passed as it "
                  "stands, nor is 05 (ring_attention): ./course check 04"))
      << mine.err;
}

}  // namespace
}  // namespace course
