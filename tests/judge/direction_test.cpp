#include <gtest/gtest.h>

#include <cmath>

#include "judge/attention/attended_blocks.hpp"
#include "judge/attention/ring/ring_backward.hpp"
#include "judge/attention/ring/ring_forward.hpp"
#include "judge/checks/communication_checks.hpp"
#include "judge/softmax/ring_softmax.hpp"

namespace course {

namespace {

/// Odd, so that a rank is even in the mirror where it is even before it.
constexpr int ranks = 5;

Example backwards(Example example) {
  example.topology = Topology::ring(-1);
  return example;
}

/// What the last rank owned, the first owns, and so on.
Example mirrored(Example example) {
  std::vector<std::vector<Index>> positions;
  for (int rank = ranks - 1; rank >= 0; --rank) positions.push_back(example.layout.positions(rank));
  example.layout = Layout::of(positions);
  return example;
}

bool are_equal(const Answer& one, const Answer& other) {
  const auto equal = [](double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-6 * std::abs(a);
  };
  return std::ranges::all_of(one, [&](const auto& output) {
    return std::ranges::equal(output.second.values(), other.at(output.first).values(), equal);
  });
}

/// A ring to rank - 1 is one to rank + 1 among ranks that are counted the other way; what an output has of
/// each rank, the mirror has in the other order.
void expect_mirror(const Task& task, const Example& example, const char* of_ranks = "") {
  int different = 0;
  const auto compare = [&](const std::string& id, const WrongAnswer& answer) {
    const std::optional<Answer> reversed = answer(backwards(example));
    std::optional<Answer> mirror = answer(mirrored(example));
    ASSERT_EQ(reversed.has_value(), mirror.has_value()) << id;
    if (!reversed) return;  // anything may be returned there
    if (mirror->contains(of_ranks)) std::ranges::reverse((*mirror)[of_ranks].values());
    EXPECT_TRUE(are_equal(*reversed, *mirror)) << id;
    different += !are_equal(*reversed, answer(example).value());
  };
  compare("right", task.expected);
  EXPECT_EQ(different, 0) << "the right answer is the same in both";
  for (const Mistake& mistake : task.mistakes) compare(mistake.id, mistake.answer);
  EXPECT_GT(different, 0);
}

TEST(Direction, TurnsTheMistakesOfARing) {
  InputGenerator generator(11);
  const Layout layout(std::vector<int>{3, 1, 4, 2, 5});
  const Example forward = ring_forward::make_example("a ring", layout, random_qkv(generator, 2, 15, 15, 4));
  expect_mirror(ring_forward::task("1", "f"), forward);
  expect_mirror(ring_backward::task("1", "f"), ring_backward::with_gradient(generator, forward));
  expect_mirror(ring_softmax::rotation_task("1", "f"),
                ring_softmax::make_example("a row", generator.normal({15}, 2), layout.shard_tokens()), "lse");
}

TEST(Direction, TurnsTheChecksOfNeighbours) {
  Example example{.what = "a ring", .inputs = {}, .layout = std::vector<int>{1, 1, 1}};
  Outcome outcome;
  outcome.reports.resize(3);
  outcome.reports[1].traffic = {{.to = 0, .bytes = 8}};
  const auto sent_wrongly = [&] { return checks::sends_only_to_next("other_way")(example, outcome); };
  EXPECT_EQ(sent_wrongly().at(0).text, "rank 1 sent 8 bytes to rank 0; it should send to rank 2 only");
  EXPECT_TRUE(checks::sent_only_to_previous(example, outcome));
  outcome.reports[1].traffic.push_back({.to = 2, .bytes = 16});
  EXPECT_EQ(sent_wrongly().at(0).text,
            "rank 1 sent 8 bytes to rank 0 and 16 to rank 2; it should send to rank 2 only");
  outcome.reports[1].traffic.pop_back();
  Deadlock still{
      .kind = Deadlock::Kind::Cycle, .ranks = {0, 1, 2}, .one_peer_ahead = 2, .receives = {}, .text = ""};
  still.empty_senders = {0};
  outcome.deadlock = still;
  EXPECT_FALSE(checks::every_rank_receives_from_next(example, still));
  example.topology = Topology::ring(-1);
  EXPECT_TRUE(sent_wrongly().empty());
  EXPECT_FALSE(checks::sent_only_to_previous(example, outcome));
  EXPECT_TRUE(checks::every_rank_receives_from_next(example, still));
  EXPECT_TRUE(checks::tells_empty_message(example, outcome)
                  .at(0)
                  .text.starts_with("rank 0 sends an empty block (0 bytes) that rank 2 does not receive: "));
}

}  // namespace

}  // namespace course
