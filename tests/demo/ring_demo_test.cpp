#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <regex>

#include "raw_npy.hpp"
#include "reference/reference.hpp"
#include "ring/shards.hpp"
#include "running.hpp"
#include "tensor/npy.hpp"

/// Runs the program as a user does: what it prints, what it writes, how it ends, and what it leaves behind.
namespace course {
namespace {

namespace fs = std::filesystem;

const std::string demo = RING_DEMO;
const std::string open_mpi_as_root =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 "
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 ";

class RingDemo : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "tmp");
    fs::create_directories(folder_ / "root");
  }

  /// Whatever happened: no scratch file and no rank is left.
  void TearDown() override {
    EXPECT_TRUE(fs::is_empty(folder_ / "tmp")) << "something was left in the temporary folder";
    EXPECT_FALSE(is_running(marker())) << "a rank still runs";
  }

  /// In every rank's command line, since --status is below it.
  std::string marker() const { return folder_ / "tmp"; }

  Finished run(const std::string& arguments, const std::string& program = demo) const {
    return run_shell("TMPDIR='" + marker() + "' COURSE_ROOT='" + (folder_ / "root").string() + "' " +
                         program + " " + arguments,
                     folder_);
  }

  nlohmann::json run_json(const std::string& arguments) const {
    const Finished finished = run("--json " + arguments);
    EXPECT_EQ(finished.code, 0) << finished.err;
    return nlohmann::json::parse(finished.out);
  }

  std::string ring(const std::string& name) const { return "--ring " RINGS_DIR "/ring_" + name + ".so"; }

  TestFolder folder_;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool is_one_line(const std::string& text) {
  return !text.empty() && text.find('\n') == text.size() - 1;
}

// ---- the course's own input ----

TEST_F(RingDemo, ShowsFourRanksOnRealTensors) {
  const Finished finished = run("");
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  EXPECT_TRUE(has(finished.out, "4 MPI ranks on one host")) << finished.out;
  for (const char* rank : {"0", "1", "2", "3"}) {
    EXPECT_TRUE(
        std::regex_search(finished.out, std::regex(std::string("\n +") + rank + " +128 .*1\\.12 MiB")))
        << finished.out;
    EXPECT_TRUE(has(finished.out, std::string("rank ") + rank + " │")) << finished.out;
  }
  EXPECT_TRUE(has(finished.out, "o   is right")) << finished.out;
  EXPECT_TRUE(has(finished.out, "lse is right")) << finished.out;
  EXPECT_FALSE(has(finished.out, "\x1b")) << "colour, though this is no terminal";
  EXPECT_TRUE(has(finished.out, folder_ / "root/.course/demo/timeline.svg")) << finished.out;
}

TEST_F(RingDemo, DrawsEveryBlockOfEveryRank) {
  ASSERT_EQ(run("--out pictures").code, 0);
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
  EXPECT_EQ(blocks, std::vector<std::vector<int>>(4, std::vector<int>(4, 1)))
      << "each rank sees each block once";
}

// ---- ring sizes ----

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

// ---- own tensors ----

/// Multiples of 1/16 up to 4 in magnitude, which float16 holds.
Tensor own_tensor(const Shape& shape, int seed) {
  Tensor tensor(shape);
  for (Index i = 0; i < tensor.size(); ++i) {
    const int step = static_cast<int>((i * 37 + seed * 101 + i * i * 7) % 64) + 1;
    tensor[i] = static_cast<float>(i % 3 == 0 ? -step : step) / 16;
  }
  return tensor;
}

struct OwnInput {
  Shape shape;
  RawFormat format;
};

class OwnTensors : public RingDemo, public testing::WithParamInterface<OwnInput> {};

TEST_P(OwnTensors, ComeBackInTheirShape) {
  const auto& [shape, format] = GetParam();
  std::vector<Tensor> tensors;
  for (const int seed : {1, 2, 3}) tensors.push_back(own_tensor(shape, seed));
  for (int i = 0; i < 3; ++i)
    write_raw_npy(folder_ / (std::string(1, "qkv"[i]) + ".npy"), tensors[i], format);
  const Finished finished = run("--ranks 2 --q q.npy --k k.npy --v v.npy --out out");
  ASSERT_EQ(finished.code, 0) << finished.err;

  const Tensor o = read_npy<float>(folder_ / "out/o.npy");
  const Tensor lse = read_npy<float>(folder_ / "out/lse.npy");
  EXPECT_EQ(o.shape(), shape);
  EXPECT_EQ(lse.shape(), Shape(shape.begin(), shape.end() - 1));
  const Index seq = shape[shape.size() - 2];
  const Index dim = shape.back();
  const auto folded = [&](const Tensor& tensor) {
    return cast<double>(Tensor({tensor.size() / (seq * dim), seq, dim}, tensor.values()));
  };
  const auto truth = reference::attention(folded(tensors[0]), folded(tensors[1]), folded(tensors[2]));
  for (Index i = 0; i < o.size(); ++i) ASSERT_NEAR(o[i], truth.o[i], 1e-4) << "o, value " << i;
  for (Index i = 0; i < lse.size(); ++i) ASSERT_NEAR(lse[i], truth.lse[i], 1e-4) << "lse, value " << i;
}

INSTANTIATE_TEST_SUITE_P(
    Formats, OwnTensors,
    testing::Values(OwnInput{{7, 4}, {2, false, false}}, OwnInput{{7, 4}, {8, true, true}},
                    OwnInput{{3, 6, 4}, {4, false, true}}, OwnInput{{3, 6, 4}, {2, true, false}},
                    OwnInput{{2, 3, 5, 4}, {8, false, false}}, OwnInput{{2, 3, 5, 4}, {4, true, true}},
                    OwnInput{{2, 2, 3, 1}, {2, true, true}}));

TEST_F(RingDemo, ReplacesWhatAnEarlierRunWrote) {
  fs::create_directories(folder_ / "out");
  for (const char* name : {"o.npy", "dq.npy", "dk.npy", "dv.npy", "notes.txt"}) {
    write_bytes(folder_ / (std::string("out/") + name), "old");
  }
  run_json("--seq 3 --heads 1 --dim 2 --ranks 1 --out out");
  EXPECT_EQ(read_npy<float>(folder_ / "out/o.npy").shape(), (Shape{1, 3, 2}));
  EXPECT_FALSE(fs::exists(folder_ / "out/dq.npy")) << "a gradient of another run";
  EXPECT_FALSE(fs::exists(folder_ / "out/dv.npy")) << "a gradient of another run";
  EXPECT_EQ(file_text(folder_ / "out/notes.txt"), "old");
}

// ---- wrong input ----

class WrongInput : public RingDemo {
 protected:
  void SetUp() override {
    RingDemo::SetUp();
    write_npy(folder_ / "good.npy", own_tensor({4, 3}, 1));
  }

  /// One clear line on stderr that contains `expected`, exit 2, and nothing written, started or left.
  void expect_refusal(const std::string& arguments, const std::string& expected) const {
    const Finished finished = run(arguments + " --out out");
    EXPECT_EQ(finished.code, 2) << arguments;
    EXPECT_EQ(finished.out, "") << arguments;
    EXPECT_TRUE(is_one_line(finished.err)) << arguments << "\n" << finished.err;
    EXPECT_TRUE(has(finished.err, expected)) << arguments << "\n" << finished.err;
    EXPECT_FALSE(fs::exists(folder_ / "out")) << arguments;
  }

  /// The same for `name` in place of one of the three tensors.
  void expect_file_refusal(const std::string& name, const std::string& expected) const {
    expect_refusal("--q good.npy --k good.npy --v " + name, expected);
  }
};

TEST_F(WrongInput, OfFilesThatCannotBeRead) {
  expect_file_refusal("missing.npy", "missing.npy: cannot be opened, expected a .npy file");
  expect_file_refusal("tmp", "tmp: is a folder, expected a .npy file");
  expect_file_refusal("/dev/null", "/dev/null: is a device or a pipe, expected a .npy file");
  write_bytes(folder_ / "empty.npy", "");
  expect_file_refusal("empty.npy", "empty.npy: ends inside its first 8 bytes");
  write_bytes(folder_ / "text.npy", "these are not numbers, nor are they an array");
  expect_file_refusal("text.npy", "text.npy: is not a .npy file");
  write_bytes(folder_ / "short.npy", file_text(folder_ / "good.npy").substr(0, 150));
  expect_file_refusal("short.npy", "short.npy: is truncated");
  write_bytes(folder_ / "long.npy", file_text(folder_ / "good.npy") + "more");
  expect_file_refusal("long.npy", "long.npy: is too long");
}

TEST_F(WrongInput, OfDtypesAndShapes) {
  write_bytes(folder_ / "int.npy", raw_header("<i4", false, {4, 3}) + std::string(48, '\0'));
  expect_file_refusal("int.npy", "int.npy: has the dtype '<i4', expected float16, float32 or float64");
  write_npy(folder_ / "vector.npy", own_tensor({12}, 1));
  expect_refusal("--q vector.npy --k vector.npy --v vector.npy",
                 "vector.npy: has the shape [12], expected [seq, dim]");
  write_npy(folder_ / "five.npy", own_tensor({1, 1, 1, 4, 3}, 1));
  expect_refusal("--q five.npy --k five.npy --v five.npy",
                 "five.npy: has the shape [1, 1, 1, 4, 3], expected");
  write_npy(folder_ / "none.npy", Tensor({0, 3}));
  expect_refusal("--q none.npy --k none.npy --v none.npy", "none.npy: has the shape [0, 3], which is empty");
  write_npy(folder_ / "flat.npy", Tensor({2, 5, 0}));
  expect_refusal("--q flat.npy --k flat.npy --v flat.npy", "which is empty");
  write_npy(folder_ / "longer.npy", own_tensor({5, 3}, 1));
  expect_file_refusal("longer.npy", "longer.npy: has the shape [5, 3], expected [4, 3] like good.npy");
  write_npy(folder_ / "deeper.npy", own_tensor({1, 4, 3}, 1));
  expect_file_refusal("deeper.npy", "deeper.npy: has the shape [1, 4, 3], expected [4, 3]");
}

TEST_F(WrongInput, OfValues) {
  const auto with = [](float value) {
    Tensor tensor = own_tensor({4, 3}, 1);
    tensor[7] = value;
    return tensor;
  };
  write_npy(folder_ / "nan.npy", with(std::numeric_limits<float>::quiet_NaN()));
  expect_file_refusal("nan.npy", "nan.npy: has nan at [2, 1], expected finite numbers");
  write_npy(folder_ / "inf.npy", with(-std::numeric_limits<float>::infinity()));
  expect_file_refusal("inf.npy", "inf.npy: has -inf at [2, 1]");
  Tensor64 large = cast<double>(own_tensor({4, 3}, 1));
  large[7] = 1e39;
  write_npy(folder_ / "large.npy", large);
  expect_file_refusal("large.npy", "large.npy: has 1e+39 at [2, 1], expected magnitudes up to float32's");
  write_npy(folder_ / "square.npy", with(1e30f));
  expect_refusal("--q square.npy --k square.npy --v good.npy", "scores q . k may reach 1e+60");
  write_npy(folder_ / "sum.npy", with(2e38f));
  expect_file_refusal("sum.npy", "a sum over 4 values may reach 8e+38");
}

TEST_F(WrongInput, OfOptions) {
  expect_refusal("--bogus", "unknown option --bogus, expected --help, --q");
  expect_refusal("--ranks 3.5", "--ranks 3.5: expected a whole number from 1 to 64");
  expect_refusal("--q good.npy", "--k is missing: expected --q, --k and --v together");
  expect_refusal("--q good.npy --k good.npy --v good.npy --seq 4", "--seq with --q");
}

TEST_F(WrongInput, OfTheOutputFolder) {
  const auto refusal = [&](const std::string& out, const std::string& expected) {
    const Finished finished = run("--out " + out);
    EXPECT_EQ(finished.code, 2) << out;
    EXPECT_TRUE(is_one_line(finished.err)) << finished.err;
    EXPECT_TRUE(has(finished.err, expected)) << finished.err;
  };
  refusal("good.npy", "good.npy: is not a folder, expected a folder to write to or a free name");
  refusal("good.npy/below", "expected a folder to write to or a free name");
  refusal("/proc/nowhere", "/proc/nowhere: cannot be written: ");
  EXPECT_EQ(file_text(folder_ / "good.npy").substr(1, 5), "NUMPY");
}

// ---- what is not there ----

TEST_F(RingDemo, SaysWhatThisVersionLacks) {
  const Finished finished = run("--causal");
  EXPECT_EQ(finished.code, 3);
  EXPECT_TRUE(is_one_line(finished.err) && has(finished.err, "lesson 13")) << finished.err;
}

TEST_F(RingDemo, SaysWhatThisMachineLacks) {
  const Finished ranks = run("--ranks 2000000000");
  EXPECT_EQ(ranks.code, 3);
  EXPECT_TRUE(is_one_line(ranks.err) && has(ranks.err, "of memory")) << ranks.err;
  const Finished tokens = run("--seq 2000000000");
  EXPECT_EQ(tokens.code, 3);
  EXPECT_TRUE(is_one_line(tokens.err) && has(tokens.err, "of memory")) << tokens.err;
  const Finished library = run("--ring nowhere.so");
  EXPECT_EQ(library.code, 3);
  EXPECT_TRUE(is_one_line(library.err) && has(library.err, "lesson 05")) << library.err;
  const Finished mpi = run("", "PATH=/nowhere " + demo);
  EXPECT_EQ(mpi.code, 3);
  EXPECT_TRUE(is_one_line(mpi.err) && has(mpi.err, "mpirun was not found")) << mpi.err;
}

TEST_F(RingDemo, SaysSoWhenMpirunCannotStartTheRanks) {
  fs::create_directories(folder_ / "bin");
  write_bytes(folder_ / "bin/mpirun",
              "#!/bin/sh\necho -------------------------\necho out of slots\nexit 1\n");
  fs::permissions(folder_ / "bin/mpirun", fs::perms::owner_all);
  const Finished finished = run("--ranks 70", "PATH='" + (folder_ / "bin").string() + "':$PATH " + demo);
  EXPECT_EQ(finished.code, 3) << finished.err;
  EXPECT_TRUE(has(finished.err, "70 ranks are more than the 64")) << finished.err;
  EXPECT_TRUE(has(finished.err, "could not start 70 MPI ranks")) << finished.err;
  EXPECT_TRUE(has(finished.err, "out of slots")) << finished.err;
}

// ---- rings that go wrong ----

TEST_F(RingDemo, FailsAWrongAnswerAndWritesNothing) {
  const Finished finished = run(ring("stays_home") + " --ranks 3 --out out");
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(has(finished.out, "o   is WRONG")) << finished.out;
  EXPECT_TRUE(has(finished.out, "lse is WRONG")) << finished.out;
  EXPECT_TRUE(has(finished.out, "Nothing was written: the answer is wrong")) << finished.out;
  EXPECT_TRUE(has(finished.err, "rank 2 stays at home"))
      << "what the code prints is passed on: " << finished.err;
  EXPECT_FALSE(fs::exists(folder_ / "out"));
  const Finished json = run(ring("stays_home") + " --json");
  EXPECT_EQ(json.code, 1);
  EXPECT_GT(nlohmann::json::parse(json.out).at("relative_error").at("o"), 0.1);
}

TEST_F(RingDemo, EndsADeadlockAndNamesTheCycle) {
  const Finished finished = run(ring("deadlocks") + " --ranks 3 --json --out out");
  EXPECT_EQ(finished.code, 1);
  EXPECT_EQ(finished.out, "");
  EXPECT_TRUE(has(finished.err, "the ring stands still")) << finished.err;
  EXPECT_TRUE(std::regex_search(finished.err, std::regex("rank 2.*MPI_Recv.*tag 5"))) << finished.err;
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(RingDemo, NamesTheRankThatDied) {
  const Finished finished = run(ring("crashes") + " --ranks 3");
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(is_one_line(finished.err) && has(finished.err, "rank 1 died of signal 11")) << finished.err;
}

TEST_F(RingDemo, PassesOnWhatARankThrew) {
  const Finished finished = run(ring("throws") + " --ranks 3");
  EXPECT_EQ(finished.code, 1);
  EXPECT_EQ(finished.err, "demo: rank 1 threw: shard 1 is not to my taste\n");
}

TEST_F(RingDemo, IsNotFooledByRanksThatLeave) {
  const Finished finished = run(ring("leaves") + " --ranks 2");
  EXPECT_EQ(finished.code, 1);
  EXPECT_EQ(finished.out, "");
  EXPECT_TRUE(has(finished.err, "without a report")) << finished.err;
}

TEST_F(RingDemo, EndsItsRanksWhenItIsInterrupted) {
  const Finished finished =
      run("--ranks 3 --seq 20000 & pid=$!; sleep 1.5; kill -TERM $pid; wait $pid; exit $?");
  EXPECT_EQ(finished.code, 128 + 15) << finished.err;
}

// ---- without the program that starts the ranks ----

class BareMpi : public RingDemo {
 protected:
  Finished run_bare(const std::string& arguments) const {
    return run("-n 2 --map-by :OVERSUBSCRIBE " RING_DEMO_RANK " " + arguments, open_mpi_as_root + "mpirun");
  }
};

TEST_F(BareMpi, ReportsByItself) {
  const Finished finished = run_bare("--seq 9 --heads 2 --dim 4 --out out");
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(has(finished.out, "2 MPI ranks on one host")) << finished.out;
  EXPECT_TRUE(has(finished.out, "o   is right")) << finished.out;
  EXPECT_EQ(read_npy<float>(folder_ / "out/lse.npy").shape(), (Shape{2, 9}));
}

TEST_F(BareMpi, RefusesWrongInputOnce) {
  const Finished finished = run_bare("--q missing.npy --k missing.npy --v missing.npy --out out");
  EXPECT_EQ(finished.code, 2);
  EXPECT_TRUE(has(finished.err, "demo: missing.npy: cannot be opened")) << finished.err;
  EXPECT_EQ(finished.err.find("demo:"), finished.err.rfind("demo:")) << finished.err;
  EXPECT_FALSE(fs::exists(folder_ / "out"));
  EXPECT_EQ(run_bare("--ranks 3").code, 2) << "MPI started two";
}

TEST_F(BareMpi, EndsAllRanksWhenOneThrows) {
  const Finished finished = run_bare(ring("throws"));
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(has(finished.err, "demo: rank 1 threw: shard 1 is not to my taste")) << finished.err;
}

}  // namespace
}  // namespace course
