#include "raw_npy.hpp"
#include "ring_demo.hpp"
#include "tensor/npy.hpp"

namespace course {
namespace {

TEST_F(RingDemo, SaysWhatThisMachineLacks) {
  for (const char* const too_much : {"--ranks 2000000000", "--seq 2000000000", "--latent 500000000,64"}) {
    const Finished finished = run(too_much);
    EXPECT_EQ(finished.code, 3);
    EXPECT_TRUE(is_one_line(finished.err) && has(finished.err, "of memory")) << finished.err;
  }
  // cmake and ninja are found, and mpirun is not.
  const Finished mpi = run("", "mkdir bin && ln -s $(command -v cmake) $(command -v ninja) bin && " +
                                   checkout_.environment() + "PATH=$PWD/bin " + demo);
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
  EXPECT_TRUE(has(finished.err, "this machine could not start 70 MPI ranks: out of slots")) << finished.err;
}

TEST_F(RingDemo, FailsAWrongAnswerAndWritesNothing) {
  checkout_.replace("lesson05_solution", "ring_stays_home");
  const Finished finished = run("--ring blocking --ranks 3 --verbose --out out");
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(has(finished.out, "o   is WRONG")) << finished.out;
  EXPECT_TRUE(has(finished.out, "lse is WRONG")) << finished.out;
  EXPECT_TRUE(has(finished.out, "WRONG: o, lse, dq, dk and dv of the blocking ring")) << finished.out;
  EXPECT_TRUE(has(finished.out, "Nothing was written: the answer is wrong")) << finished.out;
  EXPECT_TRUE(has(finished.err, "rank 2 stays at home"))
      << "what the code prints is passed on: " << finished.err;
  EXPECT_FALSE(fs::exists(folder_ / "out"));
  const Finished json = run("--json --out out");
  EXPECT_EQ(json.code, 1);
  EXPECT_TRUE(has(json.err, "course: Nothing was written: the ")) << json.err;
  EXPECT_GT(nlohmann::json::parse(json.out).at("relative_error").at("o"), 0.1);
}

TEST_F(RingDemo, FailsWrongGradientsAndWritesNothing) {
  checkout_.replace("lesson07_solution", "lesson07_mutant_dk_dv_kept_local");
  const Finished finished = run("--ring blocking --ranks 3 --verbose --out out");
  EXPECT_EQ(finished.code, 1);
  for (const char* right : {"o   is right", "lse is right", "dq  is right"})
    EXPECT_TRUE(has(finished.out, right)) << finished.out;
  for (const char* wrong : {"dk  is WRONG", "dv  is WRONG"})
    EXPECT_TRUE(has(finished.out, wrong)) << finished.out;
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(RingDemo, EndsADeadlockAndNamesTheCycle) {
  checkout_.replace("lesson05_solution", "ring_deadlocks");
  const Finished finished = run("--ranks 3 --json --out out");
  EXPECT_EQ(finished.code, 1);
  EXPECT_EQ(finished.out, "");
  EXPECT_TRUE(has(finished.err, "the ring is in a deadlock")) << finished.err;
  EXPECT_TRUE(std::regex_search(finished.err, std::regex("rank 2.*MPI_Recv.*tag 5"))) << finished.err;
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(RingDemo, NamesTheRankThatDied) {
  checkout_.replace("lesson05_solution", "ring_crashes");
  const Finished finished = run("--ranks 3");
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(is_one_line(finished.err) && has(finished.err, "rank 1 died of signal 11")) << finished.err;
}

TEST_F(RingDemo, PassesOnWhatARankThrew) {
  checkout_.replace("lesson05_solution", "ring_throws");
  const Finished finished = run("--ranks 3");
  EXPECT_EQ(finished.code, 1);
  EXPECT_EQ(finished.err, "course: rank 1 threw: shard 1 is not to my taste\n");
}

TEST_F(RingDemo, NamesALibraryThatIsAnotherLessons) {
  checkout_.replace("lesson05_solution", "lesson04_solution");
  const Finished ring = run("");
  EXPECT_EQ(ring.code, 1);
  EXPECT_TRUE(is_one_line(ring.err) && has(ring.err, "the adapter has no function ring_attention"))
      << ring.err;
  checkout_.replace("lesson04_solution", "lesson05_solution");
  const Finished block = run("--ring overlapped");
  EXPECT_EQ(block.code, 1);
  EXPECT_TRUE(is_one_line(block.err) && has(block.err, "lesson04_solution.so")) << block.err;
}

TEST_F(RingDemo, IsNotFooledByRanksThatLeave) {
  checkout_.replace("lesson05_solution", "ring_leaves");
  const Finished finished = run("--ranks 2");
  EXPECT_EQ(finished.code, 1);
  EXPECT_EQ(finished.out, "");
  EXPECT_TRUE(has(finished.err, "a function returns or throws, it does not exit")) << finished.err;
}

TEST_F(RingDemo, EndsItsRanksWhenItIsInterrupted) {
  const Finished finished =
      run("--ranks 3 --seq 20000 & pid=$!; sleep 1.5; kill -TERM $pid; wait $pid; exit $?");
  EXPECT_EQ(finished.code, 128 + 15) << finished.err;
}

TEST_F(Prepared, IsReportedAsIfTheDemoHadPlayedIt) {
  const Finished played = play(prepare("--ranks 3"));
  ASSERT_EQ(played.code, 0) << played.err;
  const Finished finished = run("--report cases --out out --json");
  ASSERT_EQ(finished.code, 0) << finished.err;
  const nlohmann::json json = nlohmann::json::parse(finished.out);
  EXPECT_EQ(json.at("ranks"), 3);
  ASSERT_EQ(json.at("rings").size(), 2u);
  for (const nlohmann::json& ring : json.at("rings")) {
    EXPECT_TRUE(ring.at("passed"));
    EXPECT_LT(ring.at("relative_error").at("dk"), 1e-4);
  }
  EXPECT_EQ(read_npy<float>(folder_ / "out/dq.npy").shape(), (Shape{12, 512, 32}));
  EXPECT_TRUE(has(run("--report cases").out, "3 MPI ranks on one host"));
}

TEST_F(Prepared, KeepsTheLayout) {
  const Finished played = play(prepare("--ranks 3 --seq 10 --heads 2 --dim 4 --layout striped"));
  ASSERT_EQ(played.code, 0) << played.err;
  const Finished finished = run("--report cases --out out --json");
  ASSERT_EQ(finished.code, 0) << finished.err;
  const nlohmann::json json = nlohmann::json::parse(finished.out);
  EXPECT_EQ(json.at("layout"), "striped");
  EXPECT_TRUE(json.at("rings").at(0).at("passed"));
  run_json("--ranks 1 --seq 10 --heads 2 --dim 4 --out alone");
  const Tensor o = read_npy<float>(folder_ / "out/o.npy"), alone = read_npy<float>(folder_ / "alone/o.npy");
  for (Index i = 0; i < o.size(); ++i) ASSERT_NEAR(o[i], alone[i], 1e-5) << "value " << i;
  const Tensor first = read_npy<float>(folder_ / "cases/blocking-forward/out/rank1/o.npy");
  for (const Index row : {0, 1, 2}) {
    EXPECT_EQ(slice(first, 1, row, 1).values(), slice(o, 1, 3 * row + 1, 1).values())
        << "rank 1 has tokens 1, 4 and 7";
  }
}

TEST_F(Prepared, KeepsTheMask) {
  const std::string size = "--seq 10 --heads 2 --dim 4 --causal ";
  const Finished played = play(prepare("--ranks 3 --layout zigzag " + size));
  ASSERT_EQ(played.code, 0) << played.err;
  const Finished finished = run("--report cases --out out --json");
  ASSERT_EQ(finished.code, 0) << finished.err;
  const nlohmann::json json = nlohmann::json::parse(finished.out);
  EXPECT_EQ(json.at("causal"), true);
  EXPECT_EQ(json.at("layout"), "zigzag");
  run_json("--ranks 1 --out alone " + size);
  const Tensor o = read_npy<float>(folder_ / "out/o.npy"), alone = read_npy<float>(folder_ / "alone/o.npy");
  for (Index i = 0; i < o.size(); ++i) ASSERT_NEAR(o[i], alone[i], 1e-5) << "value " << i;
}

TEST_F(Prepared, IsForSoManyRanks) {
  std::string line = prepare(sizes_);
  line.replace(line.find("-n 2"), 4, "-n 1");
  const Finished finished = play(line);
  EXPECT_NE(finished.code, 0);
  EXPECT_TRUE(has(finished.err, "blocking-forward is for 2 ranks, but 1 were started")) << finished.err;
}

/// As srun starts each task where it is not told --mpi=pmix: alone, with Slurm's variables.
TEST_F(Prepared, IsNotPlayedBySlurmsTasksWithoutPmix) {
  const std::string line = prepare(sizes_), count = "-n 2 ";
  const std::string alone = line.substr(line.find(count) + count.size());
  const std::string slurm = "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_NODELIST=n1 ";
  const Finished first = run_shell(slurm + "SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 " + alone, folder_);
  EXPECT_EQ(first.code, 3);
  EXPECT_TRUE(is_one_line(first.err) && has(first.err, "srun --mpi=pmix")) << first.err;
  const Finished second = run_shell(slurm + "SLURM_PROCID=1 SLURM_NTASKS=2 " + alone, folder_);
  EXPECT_EQ(second.code, 3);
  EXPECT_EQ(second.err, "") << "one task speaks for all";
}

TEST_F(Prepared, IsPlayedByMpirunWithinASlurmJob) {
  const std::string line = prepare(sizes_);
  const Finished played =
      run_shell("SLURM_PROCID=0 SLURM_NTASKS=2 TMPDIR='" + marker() + "' " + open_mpi_as_root +
                    "mpirun --map-by :OVERSUBSCRIBE" + line.substr(std::string("mpirun").size()),
                folder_);
  EXPECT_EQ(played.code, 0) << played.err;
}

TEST_F(Prepared, EndsAllRanksWhenOneThrows) {
  checkout_.replace("lesson05_solution", "ring_throws");
  const Finished finished = play(prepare(sizes_));
  EXPECT_NE(finished.code, 0);
  EXPECT_TRUE(has(finished.err, "player: rank 1 threw: shard 1 is not to my taste")) << finished.err;
  const Finished report = run("--report cases");
  EXPECT_EQ(report.code, 1);
  EXPECT_TRUE(has(report.err, "have its cases been played to the end?")) << report.err;
}

TEST_F(Prepared, RefusesWhatIsNotPrepared) {
  const Finished nothing = run("--report cases");
  EXPECT_EQ(nothing.code, 2);
  EXPECT_TRUE(is_one_line(nothing.err) && has(nothing.err, "expected a folder of --prepare")) << nothing.err;
  prepare(sizes_);
  const Finished again = run(sizes_ + "--prepare cases");
  EXPECT_EQ(again.code, 2);
  EXPECT_TRUE(is_one_line(again.err) && has(again.err, "cases: is not empty")) << again.err;
  const Finished unplayed = run("--report cases");
  EXPECT_EQ(unplayed.code, 1);
  EXPECT_TRUE(has(unplayed.err, "report.json is missing; have its cases been played")) << unplayed.err;
  fs::remove(folder_ / "cases/blocking-forward/rank1/q.npy");
  const Finished broken = run("--report cases");
  EXPECT_EQ(broken.code, 2);
  EXPECT_TRUE(is_one_line(broken.err) && has(broken.err, "rank1/q.npy: cannot be opened")) << broken.err;
}

}  // namespace
}  // namespace course
