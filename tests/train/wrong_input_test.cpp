#include "train_run.hpp"

namespace course {
namespace {

class WrongTrainInput : public TrainRun {
 protected:
  /// One clear line on stderr that contains `expected`, exit 2, and nothing written.
  void expect_refusal(const std::string& arguments, const std::string& expected) const {
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.code, 2) << arguments;
    EXPECT_EQ(finished.out, "") << arguments;
    EXPECT_TRUE(is_one_line(finished.err)) << arguments << "\n" << finished.err;
    EXPECT_TRUE(has(finished.err, expected)) << arguments << "\n" << finished.err;
    EXPECT_FALSE(fs::exists(folder_ / "out")) << arguments;
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
};

TEST_F(WrongTrainInput, OfTexts) {
  write("empty.txt", "");
  write("short.txt", std::string(500, 'x'));
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"missing.txt", "--text missing.txt: is not there, expected a file of text"},
           {"tmp", "--text tmp: is a folder, expected a file of text"},
           {"/dev/null", "--text /dev/null: is a device or a pipe, expected a file of text"},
           {"''", "--text '': expected a file of text"},
           {"empty.txt", "--text empty.txt: is empty, expected a text"},
           {"short.txt",
            "--text short.txt: has 500 bytes, of which the first 450 are trained on; expected more than "
            "--context 1024"},
           {"short.txt --context 450", "the first 450 are trained on; expected more than --context 450"}})
    expect_refusal("--out out --text " + text, expected);
}

TEST_F(WrongTrainInput, OfFoldersWithoutAName) {
  expect_refusal("--out ''", "--out '': expected a folder");
  expect_refusal("--resume ''", "--resume '': expected a folder");
}

TEST_F(WrongTrainInput, OfSizes) {
  for (const auto& [arguments, expected] : std::vector<std::pair<std::string, std::string>>{
           {"--heads 5", "--heads 5: does not divide --hidden 96"},
           {"--heads 32", "--heads 32 --hidden 96: head_dim is 3, expected an even number"},
           {"--ranks 9 --context 8", "--ranks 9: expected at most --context 8"},
           {"--steps 0", "--steps: Value 0 not in range"},
           {"--steps -1", "--steps: Value -1 not in range"},
           {"--ranks 0", "--ranks: Value 0 not in range"},
           {"--context 0", "--context: Value 0 not in range"},
           {"--context x", "--context"},
           {"--hidden 1", "--hidden: Value 1 not in range"},
           {"--layers 0", "--layers: Value 0 not in range"},
           {"--sample -1", "--sample: Value -1 not in range"},
           {"--compare -1", "--compare: Value -1 not in range"},
           {"--seed -1", "--seed: expected a whole number from 0"},
           {"--layout sideways", "--layout: sideways not in {contiguous,striped,zigzag}"},
           {"--block 4", "--block"},
           {"--block 20 --hidden 60 --heads 6",
            "--block 20: head_dim is 10, expected a multiple of 4 up to 256"},
           {"--bogus", "--bogus"},
           {"my.txt", "my.txt"},
           {"--context 65536", "--context 65536 on 2 ranks: 8.8e+12 operations a step, about 2 min"},
           {"--steps 100000000", "expected less than an hour: --steps "}})
    expect_refusal(arguments + " --out out", expected);
}

TEST_F(WrongTrainInput, OfTheFolderToWriteTo) {
  write("file", "text");
  fs::create_directories(folder_ / "used/step-000007");
  const auto refused = [&](const std::string& out, const std::string& expected) {
    expect_refusal(small("--out " + out), expected);
  };
  refused("file", "file: is not a folder, expected a folder to write to or a free name");
  refused("$(printf 'caf\\351')", "--out caf\\xE9: expected a name in UTF-8");
  refused("/proc/nowhere", "/proc/nowhere: cannot be written: ");
  refused("used", "--out used: has step-000007 of an earlier run; expected --resume used, or another folder");
  EXPECT_EQ(names_in("used").size(), 1u);
}

TEST_F(WrongTrainInput, OfWhatIsGoneOnFrom) {
  ASSERT_EQ(run(small("--steps 3 --compare 0 --out run")).code, 0);
  write("other.txt", file_text(folder_ / "my text.txt") + "x");
  write("as long.txt", std::string(file_text(folder_ / "my text.txt").size(), 'x'));
  fs::create_directories(folder_ / "tmp/none");
  const std::string resume = "--steps 9 --text 'my text.txt' --resume run ";
  expect_refusal(resume + "--hidden 64", "--hidden 64: hidden is 16 in the checkpoint, 64 asked");
  expect_refusal(resume + "--heads 4", "--heads 4: heads is 2 in the checkpoint, 4 asked");
  expect_refusal(resume + "--layers 3", "--layers 3: layers is 2 in the checkpoint, 3 asked");
  expect_refusal(resume + "--context 64", "--context 64: context is 48 in the checkpoint, 64 asked");
  expect_refusal(resume + "--seed 2", "--seed 2: seed is 1 in the checkpoint, 2 asked");
  expect_refusal("--steps 3 --text 'my text.txt' --resume run",
                 "step-000003 has made 3 already, expected more");
  expect_refusal("--steps 9 --text other.txt --resume run", "other.txt: has 30");
  expect_refusal("--steps 9 --text 'as long.txt' --resume run", "as long.txt: has other bytes than the text");
  expect_refusal("--resume tmp/none",
                 "--resume tmp/none: has no checkpoint, expected the --out of an earlier run");
  expect_refusal("--resume nowhere", "--resume nowhere: is no folder, expected the --out of an earlier run");
  fs::create_directories(folder_ / "used/step-000007");
  const Finished lost = run(resume + "--out used");
  EXPECT_EQ(lost.code, 2);
  EXPECT_TRUE(has(lost.err, "--out used: has step-000007 of an earlier run")) << lost.err;
  EXPECT_EQ(run(resume + "--compare 0 --sample 0 --ranks 3").code, 0)
      << "all of it is right but for what was refused";
  fs::resize_file(folder_ / "run/step-000009/v.npy", 200);
  expect_refusal("--steps 19 --text 'my text.txt' --resume run",
                 "no checkpoint in it is whole: run/step-000009/v.npy: is truncated");
  fs::rename(folder_ / "run/step-000009", folder_ / "run/step-000009.part");
  expect_refusal("--steps 19 --text 'my text.txt' --resume run", "--resume run: has no checkpoint");
}

TEST_F(WrongTrainInput, OfLessonsThatAreNotThere) {
  const Finished mine = run(small("--mine --out out"));
  EXPECT_EQ(mine.code, 3);
  EXPECT_TRUE(is_one_line(mine.err)) << mine.err;
  EXPECT_TRUE(
      has(mine.err,
          "--mine runs your own lessons, and lesson 26 (train_long_context) is not passed as it stands"))
      << mine.err;
  fs::remove(folder_ / "root/solutions/19_context_parallel_layer");
  const Finished without = run(small("--out out"));
  EXPECT_EQ(without.code, 3);
  EXPECT_TRUE(has(without.err, "without the solutions ./course train runs your own lessons, and lesson 26"))
      << without.err;
}

}  // namespace
}  // namespace course
