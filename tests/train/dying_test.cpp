#include <sys/mount.h>

#include <thread>

#include "train/checkpoints.hpp"
#include "train_run.hpp"

namespace course {
namespace {

const std::string as_root =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self PRTE_ALLOW_RUN_AS_ROOT=1 "
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 ";

/// The lesson's own code writes, on one rank and without mpirun.
class Writer : public TrainRun {
 protected:
  Finished write(const std::string& what, const std::string& preloaded = "") const {
    const std::string library = std::string(COURSE_BINARY_DIR) + "/lib/lesson26_solution.so";
    return run_shell("env " + preloaded + as_root + "TMPDIR='" + marker() + "' " + CHECKPOINT_WRITER + " " +
                         library + " run " + what,
                     folder_);
  }
  Finished killed_at(int call) const {
    return write("kill " + std::to_string(call), std::string("LD_PRELOAD='") + DISK_HOOK + "' ");
  }
};

TEST_F(Writer, ThatDiesAtAnyCallLeavesAWholeCheckpoint) {
  constexpr int died = 99;
  int call = 0, of_step_1 = 0;
  std::string left;  // the step that the last one has left, as the next one is to read it
  for (;; ++call) {
    const Finished writer = killed_at(call);
    EXPECT_EQ(writer.out, left) << "killed at call " << call - 1 << "\n" << writer.err;
    if (writer.code != died) {
      EXPECT_EQ(writer.code, 0) << writer.err;
      break;
    }
    ASSERT_LT(call, 200) << "it never comes to its end";
    const Index newest = train::newest_whole(folder_ / "run").step;
    left = std::to_string(newest) + "\n";
    of_step_1 += newest == 1;
  }
  EXPECT_GT(call, 12) << "four files are written, flushed and closed, and a folder renamed";
  EXPECT_GT(of_step_1, 10);
  EXPECT_LT(of_step_1, call) << "the older one is removed after the newer one has its name";
  EXPECT_EQ(names_in("run"), std::vector<std::string>{"step-000002"});
}

TEST_F(Writer, ThatMayNotWriteSoMuchSaysWhyAndLeavesTheLastCheckpoint) {
  const Finished writer = write("limit 4000");
  EXPECT_EQ(writer.code, 1);
  EXPECT_TRUE(has(writer.err, "File too large")) << writer.err;
  EXPECT_TRUE(has(writer.err, "run/step-000002.part/")) << writer.err;
  EXPECT_EQ(train::newest_whole(folder_ / "run").step, 1);
  EXPECT_EQ(write("load").out, "1\n");
}

/// A disk of so many bytes, where this process may mount one.
class SmallDisk {
 public:
  SmallDisk(fs::path place, int bytes) : place_(std::move(place)) {
    fs::create_directories(place_);
    mounted_ = mount("tmpfs", place_.c_str(), "tmpfs", 0, ("size=" + std::to_string(bytes)).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(place_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool is_there() const { return mounted_; }

 private:
  fs::path place_;
  bool mounted_;
};

using FullDisk = TrainRun;

TEST_F(FullDisk, IsRefusedBeforeAnythingIsTrained) {
  const SmallDisk disk(folder_ / "disk", 200000);
  if (!disk.is_there()) GTEST_SKIP() << "nothing can be mounted here";
  const Finished finished = run(small("--steps 20 --out disk/out"));
  EXPECT_EQ(finished.code, 2);
  EXPECT_TRUE(is_one_line(finished.err)) << finished.err;
  EXPECT_TRUE(
      has(finished.err, "--out disk/out: has room for 0.2 MB, expected room for two checkpoints, 0.3 MB"))
      << finished.err;
}

TEST_F(FullDisk, EndsARunThatKeepsItsLastCheckpoint) {
  const SmallDisk disk(folder_ / "disk", 600000);
  if (!disk.is_there()) GTEST_SKIP() << "nothing can be mounted here";
  std::thread filler([&] {
    if (!comes([&] { return fs::exists(folder_ / "disk/out/step-000100"); })) return;
    std::ofstream(folder_ / "disk/filler") << std::string(600000, 'x');
  });
  const Finished finished = run(small("--steps 100000 --out disk/out"));
  filler.join();
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(is_one_line(finished.err)) << finished.err;
  EXPECT_TRUE(has(finished.err, "No space left on device; step-0")) << finished.err;
  EXPECT_TRUE(has(finished.err, " is kept: ./course train --resume disk/out")) << finished.err;
  EXPECT_EQ(train::damage_of(train::newest_whole(folder_ / "disk/out")), "");
}

}  // namespace
}  // namespace course
