#include "raw_npy.hpp"
#include "ring_demo.hpp"
#include "tensor/npy.hpp"

namespace course {
namespace {

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
  const Finished library = run("--blocking-ring nowhere.so");
  EXPECT_EQ(library.code, 3);
  EXPECT_TRUE(is_one_line(library.err) && has(library.err, "lesson 05")) << library.err;
  const Finished backward = run("--blocking-ring-backward nowhere.so");
  EXPECT_EQ(backward.code, 3);
  EXPECT_TRUE(is_one_line(backward.err) && has(backward.err, "lesson 07")) << backward.err;
  const Finished overlapped = run("--overlapped-ring nowhere.so");
  EXPECT_EQ(overlapped.code, 3);
  EXPECT_TRUE(is_one_line(overlapped.err) && has(overlapped.err, "lesson 08")) << overlapped.err;
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

TEST_F(RingDemo, FailsAWrongAnswerAndWritesNothing) {
  const Finished finished = run(ring("stays_home") + " --ring blocking --ranks 3 --out out");
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

TEST_F(RingDemo, FailsWrongGradientsAndWritesNothing) {
  const std::string kept = "--blocking-ring-backward " RINGS_DIR "/lesson07_mutant_dk_dv_kept_local.so";
  const Finished finished = run(kept + " --ring blocking --ranks 3 --out out");
  EXPECT_EQ(finished.code, 1);
  for (const char* right : {"o   is right", "lse is right", "dq  is right"})
    EXPECT_TRUE(has(finished.out, right)) << finished.out;
  for (const char* wrong : {"dk  is WRONG", "dv  is WRONG"})
    EXPECT_TRUE(has(finished.out, wrong)) << finished.out;
  EXPECT_FALSE(fs::exists(folder_ / "out"));
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
