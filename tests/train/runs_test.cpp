#include "course/workspace/lesson_status.hpp"
#include "train_run.hpp"

namespace course {
namespace {

using Runs = TrainRun;

TEST_F(Runs, TrainSampleAndSayHowToGoOn) {
  const Finished finished = run(small("--steps 110 --out out"));
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  for (const char* part :
       {"14416 weights (hidden 16, 2 heads, 2 layers) on 2 MPI ranks", "my text.txt, 30",
        "context 48, zigzag shards", "   step     loss  held out     norm   tokens/s  left\n", "\n    100  ",
        "\n    110  ", "step 0", "peak memory", "The same run as on one rank: 20 steps of 2 ranks have ",
        "What it writes", "Written: out/loss.svg, step-000110\n",
        "Go on with\n  ./course train --resume out --text 'my text.txt' --steps 220\n"})
    EXPECT_TRUE(has(finished.out, part)) << part << "\n" << finished.out;
  EXPECT_EQ(names_in("out"), (std::vector<std::string>{"loss.svg", "step-000110"}));
  EXPECT_TRUE(has(file_text(folder_ / "out/loss.svg"), "from one rank's"));
}

TEST_F(Runs, AsJsonAreOneObject) {
  const nlohmann::json json = run_json(small("--steps 30 --ranks 3 --layout striped --out out"));
  ASSERT_EQ(json.at("steps").size(), 30u);
  EXPECT_NEAR(json["steps"][0]["loss"], std::log(256.0), 1e-5) << "the head is zero";
  EXPECT_LT(json["steps"][29]["loss"], 5.2);
  ASSERT_EQ(json.at("per_rank").size(), 3u);
  for (const nlohmann::json& rank : json["per_rank"]) {
    EXPECT_EQ(rank.at("tokens"), 16);
    EXPECT_GT(rank.at("bytes_sent"), 0);
    EXPECT_GT(rank.at("peak_bytes"), 1000000);
    EXPECT_GT(rank.at("compute_s"), 0);
    EXPECT_GT(rank.at("wait_s"), 0);
  }
  EXPECT_EQ(json.at("held_out").back().at("step"), 29);
  EXPECT_EQ(json.at("compared").at("steps"), 20);
  EXPECT_TRUE(json["compared"].at("agree"));
  EXPECT_LE(json["compared"].at("largest"), 2e-6);
  EXPECT_FALSE(json.at("interrupted"));
}

TEST_F(Runs, AreTheSameOnEveryNumberOfRanks) {
  const nlohmann::json one = run_json(small("--steps 20 --ranks 1 --out one"));
  EXPECT_TRUE(one.at("compared").is_null());
  for (const char* how : {"--ranks 2", "--ranks 4 --layout contiguous", "--ranks 8 --block 20"}) {
    const nlohmann::json many = run_json(small("--steps 20 --compare 0 --out many ") + how);
    for (std::size_t step = 0; step < 20; ++step)
      EXPECT_NEAR(many["steps"][step]["loss"], one["steps"][step]["loss"], 2e-6) << how << ", step " << step;
    fs::remove_all(folder_ / "many");
  }
}

TEST_F(Runs, GoOnAfterCtrlCOnOtherRanks) {
  const nlohmann::json whole = run_json(small("--steps 400 --compare 0 --out whole"));
  // The shell of a test ignores SIGINT in what it starts beside it; a terminal's does not.
  const std::string line =
      command(small("--steps 400 --ranks 3 --compare 0 --out out --json")) +
      " >stopped.json 2>stopped.err & p=$!; while [ ! -e out/step-000100 ]; do sleep 0.02; done; kill "
      "-INT $p; wait $p";
  const Finished stopped = run_shell(line, folder_);
  EXPECT_EQ(stopped.code, 1) << file_text(folder_ / "stopped.err");
  const nlohmann::json first = nlohmann::json::parse(file_text(folder_ / "stopped.json"));
  EXPECT_TRUE(first.at("interrupted"));
  const std::size_t made = first.at("steps").size();
  ASSERT_GE(made, 100u);
  ASSERT_LT(made, 400u);
  const std::vector<std::string> left = names_in("out");
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[1], "step-" + std::string(6 - std::to_string(made).size(), '0') + std::to_string(made))
      << "older ones are removed";
  const std::string go_on = first.at("go_on");
  EXPECT_EQ(go_on, "./course train --resume out --text 'my text.txt' --steps 400 --ranks 3");
  const std::string options = go_on.substr(std::string("./course train ").size());
  const nlohmann::json second =
      run_json(options.substr(0, options.find(" --ranks")) + " --ranks 2 --compare 5");
  EXPECT_EQ(second.at("first_step"), made);
  ASSERT_EQ(second.at("steps").size(), 400 - made);
  EXPECT_TRUE(second.at("compared").at("agree"))
      << "from the checkpoint on, which the run itself has removed";
  for (std::size_t step = 0; step < 400; ++step) {
    const nlohmann::json& loss = (step < made ? first["steps"][step] : second["steps"][step - made])["loss"];
    EXPECT_NEAR(loss, whole["steps"][step]["loss"], 1e-4) << step << " of which " << made << " on 3 ranks";
  }
}

TEST_F(Runs, SaveAtCtrlCAndSaySo) {
  const std::string line =
      command(small("--steps 100000 --out out")) +
      " >stopped.txt 2>stopped.err & p=$!; while [ ! -e out/step-000100 ]; do sleep 0.02; done; kill "
      "-INT $p; wait $p";
  EXPECT_EQ(run_shell(line, folder_).code, 1) << file_text(folder_ / "stopped.err");
  const std::string out = file_text(folder_ / "stopped.txt");
  EXPECT_TRUE(has(out, "\nStopped before step ")) << out;
  EXPECT_TRUE(
      has(out, " of 100000. Go on with\n  ./course train --resume out --text 'my text.txt' --steps 100000\n"))
      << out;
  EXPECT_FALSE(has(out, "What it writes")) << out;
}

TEST_F(Runs, EndAtOnceAtTheSecondCtrlC) {
  checkout_.replace("lesson19_solution", "train_layer_slow");
  const std::string line =
      command(small("--steps 20 --out out")) +
      " >stopped.txt 2>stopped.err & p=$!; while [ -z \"$(find tmp -name order.json)\" ]; do sleep 0.02; "
      "done; kill -INT $p; sleep 0.5; kill -0 $p || exit 3; kill -INT $p; wait $p";
  EXPECT_EQ(run_shell(line, folder_).code, 130) << file_text(folder_ / "stopped.err");
}

TEST_F(Runs, StopAtALossThatIsNotFinite) {
  checkout_.replace("lesson19_solution", "train_layer_not_finite");
  const Finished finished = run(small("--steps 20 --out out"));
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(is_one_line(finished.err)) << finished.err;
  EXPECT_TRUE(has(finished.err, "step 3")) << finished.err;
  EXPECT_TRUE(has(finished.err, "; rank 1: the output of layer 1 is not finite")) << finished.err;
  EXPECT_TRUE(has(finished.err, "no checkpoint was written")) << finished.err;
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(Runs, ThatDifferFromOneRanksSaySo) {
  checkout_.replace("lesson19_solution", "train_layer_differs");
  const Finished finished = run(small("--steps 20 --out out"));
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(has(finished.out, "ANOTHER RUN as on one rank: ")) << finished.out;
}

TEST_F(Runs, ThatDeadlockAreEnded) {
  checkout_.replace("lesson19_solution", "train_layer_deadlocks");
  const Finished finished = run(small("--steps 20 --out out"));
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(has(finished.err, "MPI_Recv")) << finished.err;
}

TEST_F(Runs, LearnFromTheCoursesPagesWhereNoTextIsNamed) {
  const nlohmann::json json =
      run_json("--context 1024 --hidden 8 --heads 2 --layers 1 --steps 3 --sample 0 --compare 2 --out out");
  EXPECT_EQ(json.at("text").at("name"), "the course's own pages");
  EXPECT_GT(json["text"].at("bytes"), 100000);
  EXPECT_TRUE(json.at("compared").at("agree"));
}

TEST_F(Runs, LearnFromATextOfAnyName) {
  fs::rename(folder_ / "my text.txt", folder_ / "caf\xE9 \"'.txt");
  const Finished finished = run(
      "--json --context 48 --hidden 16 --heads 2 --layers 1 --steps 3 --compare 2 --out out --text caf*.txt");
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(nlohmann::json::accept(finished.out)) << finished.out;
}

TEST_F(Runs, AreOfASmallerModelWithQuick) {
  const nlohmann::json json = run_json(
      "--quick --steps 2 --layers 1 --sample 0 --compare 0 --text 'my text.txt' --context 48 --out out");
  EXPECT_EQ(json.at("hidden"), 64);
  EXPECT_EQ(json.at("heads"), 4);
  EXPECT_EQ(json.at("layers"), 1) << "an option says more than --quick";
  EXPECT_EQ(json.at("steps").size(), 2u);
}

TEST_F(Runs, HaveAFolderOfTheirOwnWhereNoneIsNamed) {
  const Finished finished = run(small("--steps 2 --compare 0"));
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(has(finished.out, "Written: ")) << finished.out;
  ASSERT_TRUE(fs::exists(folder_ / "root/.course/train"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "root/.course/train"), {}), 1);
}

/// Solutions in the place of a student's own files, all of them passed.
class OwnLessons : public TrainRun {
 protected:
  void SetUp() override {
    TrainRun::SetUp();
    const fs::path root = folder_ / "root", source = COURSE_SOURCE_DIR;
    fs::remove(root / "lessons");
    fs::create_directories(root / "lessons");
    fs::copy(source / "lessons/registry.json", root / "lessons");
    const program::Checkout checkout{root, read_registry(root / "lessons/registry.json")};
    std::ofstream rules(root / "build/build.ninja", std::ios::app);
    for (const Role role : roles_of_training(false)) {
      const LessonInfo& lesson = *lesson_with(checkout.lessons, role);
      const std::string student = lesson.tag() + "_student";
      checkout_.replace(student, lesson.tag() + "_solution");
      if (!fs::exists(fs::path(COURSE_BINARY_DIR) / "lib" / (student + ".so")))
        rules << "build " << student << ": phony\n";
      for (const std::string& file : lesson.files) {
        fs::create_directories((root / program::Checkout::student_file(lesson, file)).parent_path());
        fs::copy(source / program::Checkout::solution_file(lesson, file),
                 root / program::Checkout::student_file(lesson, file));
      }
      remember_passed(checkout, lesson);
    }
  }

  static void remember_passed(const program::Checkout& checkout, const LessonInfo& lesson) {
    program::LessonRecord record{program::look_at_files(checkout, lesson).hash, "", {}};
    for (const TaskInfo& task : lesson.tasks)
      for (const std::string& test : test_names(task)) record.tests[test].status = program::Status::Passed;
    program::update_progress(checkout,
                             [&](program::Progress& progress) { progress.lessons[lesson.id] = record; });
  }
};

TEST_F(OwnLessons, TrainWhereTheyAreAskedFor) {
  const Finished finished = run(small("--steps 20 --mine --out out"));
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(has(finished.out, "on 2 MPI ranks, your own code\n")) << finished.out;
  EXPECT_TRUE(has(finished.out, "The same run as on one rank: ")) << finished.out;
  EXPECT_TRUE(has(finished.out, " --steps 40 --mine\n")) << finished.out;
}

}  // namespace
}  // namespace course
