#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "judge/program/kept_case.hpp"
#include "runner/temporary_folder.hpp"

namespace course {

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(KeptCase, HasTheRanksThatPlayedItAndWhatTheyReported) {
  Task task;
  task.id = "2";
  task.function = "ring";
  task.split_axis = {{"x", 0}};
  const Example example{"an input", {{"x", Tensor({3})}}, {}, {{2, 1}}};
  Outcome outcome;
  outcome.ending = Outcome::Ending::Threw;
  outcome.world_ranks = {5, 4};
  outcome.reports.resize(2);
  outcome.reports[1].ending = "threw";
  outcome.reports[1].what = "bytes that are no text: \xff\xfe";
  const Fact plain{"any_source", "MPI_Recv from -1"};
  const Fact known{
      .kind = "out_of_bounds", .text = "8 bytes", .call = "add", .at = {3, "a.hpp"}, .marks = {"freed"}};
  outcome.reports[1].facts = {plain, known};
  outcome.reports[1].told = known;
  const TemporaryFolder temporary;
  const std::filesystem::path folder = temporary.path() / "case";
  keep_case(folder, task, {&example, &outcome, {{"p", Tensor64({3})}}, {}, {}, {}, {}}, {"2.ranks2", 7, 3});

  EXPECT_EQ(read_drawn(folder).test, "2.ranks2");
  EXPECT_EQ(read_drawn(folder).seed, 7u);
  EXPECT_EQ(read_drawn(folder).example, 3u);
  EXPECT_NO_THROW(require_inputs_of(example, task, folder));
  const Example other{"an input", {{"x", Tensor({3}, {0, 1, 0})}}, {}, {{2, 1}}};
  EXPECT_THROW(require_inputs_of(other, task, folder), std::runtime_error);
  EXPECT_EQ(read_manifest(folder).world_ranks, (std::vector<int>{5, 4}));
  const std::filesystem::path report = output_folder(folder, 1) / "report.json";
  const RankReport kept = parse_report(text_of(report), report);
  EXPECT_EQ(kept.ending, "threw");
  EXPECT_TRUE(kept.what.starts_with("bytes that are no text: "));
  EXPECT_EQ(kept.facts, (Facts{plain, known}));
  EXPECT_EQ(kept.told, known);
  EXPECT_EQ(parse_report(text_of(output_folder(folder, 0) / "report.json"), "report").told, std::nullopt);
  EXPECT_TRUE(std::filesystem::exists(folder / "expected" / "p.npy"));
}

TEST(WorldRanks, AreNeverTheCasesOwnNumbers) {
  for (int world_size = 2; world_size <= 17; ++world_size) {
    for (int ranks = 1; ranks <= world_size; ++ranks) {
      const std::vector<int> order = shuffled_world_ranks(ranks, world_size);
      ASSERT_EQ(std::ssize(order), ranks);
      std::vector<int> sorted = order;
      std::ranges::sort(sorted);
      EXPECT_TRUE(std::ranges::adjacent_find(sorted) == sorted.end());
      EXPECT_TRUE(sorted.front() >= 0 && sorted.back() < world_size);
      for (int rank = 0; rank < ranks; ++rank) EXPECT_NE(order[rank], rank) << "in a world of " << world_size;
    }
  }
  EXPECT_EQ(shuffled_world_ranks(1, 1), std::vector<int>{0});
}

TEST(WorldRanks, AreNoRotationWhereThereIsAChoice) {
  for (int world_size = 4; world_size <= 17; ++world_size) {
    const std::vector<int> order = shuffled_world_ranks(world_size, world_size);
    bool rotation = true;
    for (int rank = 0; rank < world_size; ++rank) {
      rotation = rotation && order[rank] == (order[0] + rank) % world_size;
    }
    EXPECT_FALSE(rotation) << world_size;
  }
}

}  // namespace

}  // namespace course
