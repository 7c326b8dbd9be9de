#include <gtest/gtest.h>

#include "judge/attention/attended_blocks.hpp"
#include "judge/attention/block/block_backward.hpp"
#include "judge/attention/block/block_backward_steps.hpp"
#include "judge/attention/block/block_forward.hpp"
#include "judge/attention/block/state_forward.hpp"
#include "judge/attention/forward.hpp"
#include "judge/attention/range_walk.hpp"
#include "judge/attention/ring/ring_backward.hpp"
#include "judge/attention/ring/ring_backward_steps.hpp"
#include "judge/attention/ring/ring_forward.hpp"
#include "judge/attention/ring/ring_mask.hpp"
#include "judge/checks/communication_checks.hpp"
#include "ring/shards.hpp"
#include "ring_log.hpp"

namespace course {

namespace {

Example with_input(Example example, const char* to, const Tensor& tensor) {
  example.inputs.at(to) = tensor;
  return example;
}

Example with_first_head(Example example, const char* name) {
  Tensor& input = example.inputs.at(name);
  const Index size = input.size() / input.extent(0);
  for (Index i = size; i < input.size(); ++i) input[i] = input[i % size];
  return example;
}

std::string told(const Task& task, std::vector<Example> examples, const AnswerOf& answer) {
  return Sitting(task, std::move(examples), answer).as_if();
}

TEST(AttentionReadings, TellWhichInputWasTakenForWhich) {
  const Task task = block_forward::task("2", "f");
  const auto examples = [](int seed) {
    InputGenerator generator(static_cast<std::uint64_t>(seed));
    return std::vector{block_forward::make_example("some", random_qkv(generator, 3, 6, 9, 5), 4),
                       block_forward::make_example("more", random_qkv(generator, 2, 4, 11, 8), 3)};
  };
  const auto k_for_v = [](const Example& example) {
    return attention_answer<float>(with_input(example, "v", example.inputs.at("k")));
  };
  const auto one_head = [](const Example& example) {
    return attention_answer<float>(with_first_head(example, "k"));
  };
  const auto both = [](const Example& example) {
    return attention_answer<float>(with_first_head(with_input(example, "v", example.inputs.at("k")), "q"));
  };
  EXPECT_EQ(told(task, examples(1), k_for_v), "every answer is as if k were taken where v belongs");
  EXPECT_EQ(told(task, examples(2), one_head), "every answer is as if every head took head 0's k");
  EXPECT_EQ(told(task, examples(3), both),
            "every answer is as if k were taken where v belongs, and every head took head 0's q");
  EXPECT_EQ(told(task, examples(4), attention_answer<float>), "");
}

/// A single key is the last one, too; no keys have none, and whoever is wrong there has another mistake.
TEST(AsIf, SaysThatTheLastKeyIsMissingWhereThereIsOneAndWhatElseIsWrong) {
  const Task task = block_forward::task("2", "f");
  const auto examples = [] {
    InputGenerator generator(6);
    return std::vector{block_forward::make_example("one key", random_qkv(generator, 2, 3, 1, 4), 3),
                       block_forward::make_example("more", random_qkv(generator, 2, 3, 7, 4), 3),
                       block_forward::make_example("no keys", random_qkv(generator, 2, 3, 0, 4), 3)};
  };
  const auto without_last = [](double of_no_keys) {
    return [of_no_keys](const Example& example) {
      const Index keys = example.inputs.at("k").extent(1);
      Example changed = example;
      for (const char* name : {"k", "v"})
        changed.inputs[name] = slice(example.inputs.at(name), 1, 0, std::max<Index>(keys - 1, 0));
      Answer answer = attention_answer<float>(changed);
      if (keys == 0) answer["o"][0] = of_no_keys;
      return answer;
    };
  };
  EXPECT_EQ(told(task, examples(), without_last(0)), "every answer is as if the last key were missing");
  EXPECT_EQ(told(task, examples(), without_last(1)),
            "every answer is as if the last key were missing; on no keys something else is wrong, too");
}

/// What an instrument has proven may make any wrong answer.
TEST(Verdict, NamesNoAnswersMistakeBesideOneThatExplainsAllAnswers) {
  Task task = block_forward::task("2", "f");
  for (const char* id : {"scale_missing", "world"}) task.descriptions[id] = "what is wrong";
  task.communication_checks = {[](const Example&, const Outcome&) {
    return std::vector<Finding>{{"world", "it is proven"}};
  }};
  const auto unscaled = [&](const Example& example) {
    return *std::ranges::find(task.mistakes, "scale_missing", &Mistake::id)->answer(example);
  };
  InputGenerator generator(8);
  const auto names = [&] {
    return Sitting(task, {block_forward::make_example("some", random_qkv(generator, 2, 4, 11, 8), 3)},
                   unscaled)
        .verdict()
        .mistakes;
  };
  EXPECT_EQ(names(), (std::set<std::string>{"scale_missing", "world"}));
  task.explain_answers = {"world"};
  EXPECT_EQ(names(), std::set<std::string>{"world"});
}

TEST(AttentionReadings, KnowGradientsOfAWrongInputWhoseDeltaIsRight) {
  using namespace block_backward;
  InputGenerator generator(5);
  const std::vector<Example> examples{
      drawn_example(generator, "some", random_qkv(generator, 2, 6, 9, 5), LseGradient::Drawn, {4, 4})};
  const auto o_for_d_o = [](const Example& example) {
    Example changed = with_input(example, "d_o", example.inputs.at("o"));
    for (Index row = 0; row < changed.inputs.at("d_lse").size(); ++row) {
      float squares = 0;
      for (Index c = 0; c < 5; ++c)
        squares += changed.inputs.at("o")[5 * row + c] * changed.inputs.at("o")[5 * row + c];
      changed.inputs.at("d_lse")[row] = squares - changed.inputs.at("delta")[row];
    }
    return gradients<float>({}, changed, {});
  };
  EXPECT_EQ(told(whole_task("3", "f"), examples, o_for_d_o),
            "every answer is as if o were taken where d_o belongs; delta is right");
}

TEST(AttentionReadings, AreAFamilysMistakesThatTheLessonHasNoSectionFor) {
  LessonJudge judge{"99", {block_forward::task("2", "f")}};
  LessonInfo lesson;
  keep_known_mistakes(judge, lesson);
  const Task& task = judge.tasks.front();
  EXPECT_TRUE(task.mistakes.empty());
  InputGenerator generator(1);
  const std::vector<Example> examples{
      block_forward::make_example("some", random_qkv(generator, 2, 4, 11, 8), 3)};
  // exp(-inf) makes every block the first: what is left is the last one, of keys 9 and 10.
  const auto m_not_stored = [](const Example& example) {
    Example last = example;
    for (const char* name : {"k", "v"}) last.inputs[name] = slice(example.inputs.at(name), 1, 9, 2);
    Answer answer = attention_answer<float>(last);
    for (double& lse : answer["lse"].values()) lse = -std::numeric_limits<double>::infinity();
    return answer;
  };
  EXPECT_EQ(
      told(task, examples, m_not_stored),
      "every answer is as if m were never stored: each block starts anew, and m is -inf after the last");
}

TEST(RowsBackward, SayWhereOneNumberARowIsWrong) {
  const Task task = block_backward::rows_task("1", "f");
  InputGenerator generator(2);
  const auto explained = [&](const AnswerOf& answer) {
    const Sitting sitting(task,
                          {block_backward::rows_example(generator, "some", score_rows(generator, 4, 9),
                                                        block_backward::LseGradient::Drawn)},
                          answer);
    return task.explain(sitting.played.front());
  };
  EXPECT_TRUE(
      explained([](const Example& example) {
        return block_backward::row_gradients({.delta = block_backward::Delta::Mean}, example);
      }).starts_with("every row of ds is p (dp - D + d_lse) with a D of its own that is wrong: in row "));
  EXPECT_EQ(explained([](const Example& example) {
              return block_backward::row_gradients({.diagonal = true}, example);
            }),
            "");
}

/// The right answer with this log.
class Log {
 public:
  explicit Log(const Example& example) : example_(example), task_(ring_forward::task("2", "f")) {
    outcome_ = returned_with_log(task_.expected(example), example);
  }

  std::span<float> row(int rank, int hop) {
    return outcome_.outputs[rank][block_log::output].matrix().row(hop);
  }

  Outcome& outcome() { return outcome_; }

  std::string explained() const {
    return task_.explain(compare(task_, example_, task_.expected(example_), outcome_));
  }

 private:
  const Example& example_;
  Task task_;
  Outcome outcome_;
};

Example ring(const std::vector<int>& shards) {
  InputGenerator generator(7);
  const int n = total_tokens(shards);
  return ring_forward::make_example("a ring", shards, random_qkv(generator, 2, n, n, 3));
}

TEST(AttendedBlocks, TellKThatWasGivenAsV) {
  const Example example = ring({2, 3, 4});
  Log log(example);
  std::swap(log.row(1, 1)[2], log.row(1, 1)[3]);
  EXPECT_EQ(log.explained(), "rank 1, after hop 1: rank 0's V was given as K, and its K as V");
}

TEST(AttendedBlocks, TellAViewOfAnotherLength) {
  const Example example = ring({2, 3, 4});
  Log log(example);
  log.row(2, 1)[1] = 4;
  log.row(2, 1)[2] = log.row(2, 1)[3] = 5;
  EXPECT_EQ(
      log.explained(),
      "rank 2, after hop 1: a view of 4 tokens was given, the length of the longest shard, where rank 1's "
      "block has 3");
}

TEST(AttendedBlocks, TellABlockThatComesAgain) {
  const Example example = ring({2, 2, 2});
  Log log(example);
  for (const int entry : {2, 3}) log.row(0, 2)[entry] = log.row(0, 1)[entry];
  EXPECT_EQ(
      log.explained(),
      "rank 0, after hop 2: attended to the block of rank 2 again (owner given: 1), as a hop before; that "
      "of rank 1 was expected: a hop passes on what the last one brought, not the rank's own block");
}

TEST(AttendedBlocks, AreThoseOfARingThatRunsTheOtherWay) {
  Example example = ring({2, 2, 2});
  example.topology = Topology::ring(-1);
  Log log(example);
  EXPECT_TRUE(log_reading::attended_to_all(example, log.outcome()));
  EXPECT_TRUE(log_reading::names_the_owners(example, log.outcome()).empty());
  for (const int rank : {0, 1, 2}) std::swap(log.row(rank, 1)[0], log.row(rank, 2)[0]);
  const std::vector<Finding> named = log_reading::names_the_owners(example, log.outcome());
  ASSERT_EQ(named.size(), 1);
  EXPECT_EQ(named[0].mistake, "owner_off");
  EXPECT_EQ(named[0].text,
            "rank 0, call 2: block.accumulate was told that the block is rank 2's; it is rank 1's");
  for (const int entry : {2, 3}) log.row(0, 2)[entry] = 5;
  EXPECT_TRUE(log.explained().ends_with("; the block of rank 2 was expected")) << log.explained();
}

TEST(AttendedBlocks, TellThatTooFewBytesWereSent) {
  const Example example = ring({2, 2});
  Log log(example);
  for (const int entry : {2, 3}) log.row(0, 1)[entry] = 5;
  log.outcome().reports.resize(2);
  log.outcome().reports[1].traffic = {{.to = 0, .bytes = 24}};
  EXPECT_EQ(
      log.explained(),
      "rank 0, after hop 1: attended to K that is no rank's whole shard (2 tokens) with V that is no "
      "rank's whole shard (2 tokens) (owner given: 1); the block of rank 1 was expected; rank 1 sent 24 "
      "bytes in all, and the blocks that it has to pass on have 96: does a count lack the bytes of a "
      "float, 4 here?");
}

/// A causal ring of these shards, in which every rank leaves out the blocks that it does not see.
class CausalLog {
 public:
  explicit CausalLog(const std::vector<int>& shards)
      : CausalLog(ring_forward::masked_task("4", "f"), ring_mask::with_offset(ring(shards), 0),
                  attention_answer<double>) {}
  CausalLog(Task task, Example example, const AnswerOf& answer)
      : example_(std::move(example)),
        task_(std::move(task)),
        outcome_(returned_with_log(answer(example_), example_)) {
    for (int rank = 0; rank < example_.ranks(); ++rank) {
      Tensor& scores = outcome_.outputs[rank][block_log::scores_output] = Tensor({example_.ranks(), 1});
      for (int hop = 0; hop < example_.ranks(); ++hop) {
        const int owner = log_reading::holder(example_, rank, hop);
        const auto seen = ring_mask::seen(example_, rank, owner, example_.layout.tokens(owner));
        for (const auto [first, last] : seen) scores[hop] += static_cast<float>(last - first);
        if (scores[hop] == 0) leave_out(rank, owner);
      }
    }
  }

  /// As if the rank had not attended to the block.
  void leave_out(int rank, int owner) { row(rank, owner)[1] = 0; }
  /// As if it had, with so many scores.
  void attend(int rank, int owner, float scores) {
    row(rank, owner)[1] = static_cast<float>(example_.layout.tokens(owner));
    outcome_.outputs[rank][block_log::scores_output][call(rank, owner)] = scores;
  }
  std::span<float> row(int rank, int owner) {
    return outcome_.outputs[rank][block_log::output].matrix().row(call(rank, owner));
  }
  std::string explained() const {
    return task_.explain(compare(task_, example_, task_.expected(example_), outcome_));
  }

 private:
  int call(int rank, int owner) const { return hops_between(owner, rank, example_.ranks()); }

  Example example_;
  Task task_;
  Outcome outcome_;
};

TEST(AttendedBlocks, OfACausalRingAreComparedWithWhatIsSeen) {
  CausalLog log({2, 2, 2});
  EXPECT_EQ(log.explained(),
            "every rank was given the right blocks: look at which keys of them each query sees, at the state "
            "between them, and at o and lse after block.finish");
  log.attend(1, 2, 3);
  EXPECT_EQ(log.explained(), "rank 1 attended to the block of rank 2, of which its queries see no key");
  log.leave_out(1, 0);
  EXPECT_EQ(
      log.explained(),
      "rank 1 did not attend to the block of rank 0, of which its queries see keys, and attended to the "
      "block of rank 2, of which they see no key");
  log.attend(0, 1, 3);
  EXPECT_TRUE(log.explained().starts_with("rank 1 did not attend")) << "who lacks a block is told first";
  log.leave_out(0, 1);
  log.attend(1, 2, 0);
  EXPECT_EQ(log.explained(), "rank 1 did not attend to the block of rank 0, of which its queries see keys");
  log.attend(1, 0, 4);
  log.leave_out(2, 0);
  log.leave_out(2, 1);
  EXPECT_EQ(log.explained(),
            "rank 2 did not attend to the blocks of ranks 0 and 1, of which its queries see keys");
}

TEST(AttendedBlocks, OfACausalRingMayComeInAnyOrder) {
  CausalLog log({2, 2, 2});
  std::vector<float> first(log.row(2, 0).begin(), log.row(2, 0).end());
  std::ranges::copy(log.row(2, 1), log.row(2, 0).begin());
  std::ranges::copy(first, log.row(2, 1).begin());
  EXPECT_TRUE(log.explained().starts_with("every rank was given the right blocks")) << log.explained();
}

TEST(AttendedBlocks, OfACausalRingAreTheOnesThatWereNamed) {
  CausalLog log({2, 2, 2});
  for (const int entry : {2, 3}) log.row(2, 1)[entry] = log.row(2, 2)[entry];
  EXPECT_EQ(
      log.explained(),
      "rank 2, call 2 of block.accumulate: the function named rank 1 as the owner, and gave rank 2's block, "
      "as a call before it did");
  log.row(2, 1)[0] = 2;
  log.leave_out(2, 0);
  EXPECT_EQ(log.explained(), "rank 2 attended to the block of rank 2 more than once");
  log.row(2, 1)[0] = 3;
  EXPECT_EQ(log.explained(),
            "rank 2, call 2 of block.accumulate: was told that the block is rank 3's; there is no such rank");
}

TEST(AttendedBlocks, TellRangesOfTooFewKeys) {
  CausalLog log({2, 3});
  log.attend(1, 0, 4);
  EXPECT_EQ(log.explained(),
            "rank 1: its ranges for the block of rank 0 show 4 scores in all, and should show 6");
}

TEST(RingBackward, TellsWhoAddedAShareToABlockThatItSkips) {
  using namespace ring_backward;
  InputGenerator generator(7);
  const Example example = with_gradient(generator, ring_mask::with_offset(ring({4, 5, 6}), 0));
  const Task task = masked_task("5", "f");
  const auto explained = [&](const Steps& steps) {
    return CausalLog(task, example, [&](const Example& given) { return gradients<float>(steps, given); })
        .explained();
  };
  for (const SkippedBlocks skipped : {SkippedBlocks::GetLastShare, SkippedBlocks::GetLastOnOthers}) {
    EXPECT_NE(
        explained({.skipped_blocks = skipped})
            .find("dk and dv of rank 2's block came back changed by rank 0, of whose queries none sees a "
                  "key of it"),
        std::string::npos);
  }
  EXPECT_EQ(explained({.dk_dv_averaged = true}).find("came back changed"), std::string::npos);
}

TEST(RingBackward, OfOneCausalRankAsksForItsRangesToo) {
  using namespace ring_backward;
  InputGenerator generator(7);
  const Example example = with_gradient(generator, ring_mask::with_offset(ring({6}), 0));
  CausalLog log(masked_task("5", "f"), example,
                [](const Example& given) { return gradients<float>({.delta = Delta::ForLse}, given); });
  EXPECT_EQ(log.explained(),
            "with one rank nothing travels: look at which keys each query sees, at lse, and at the order of "
            "accumulate's arguments");
  log.attend(0, 0, 15);
  EXPECT_EQ(log.explained(),
            "rank 0: its ranges for the block of rank 0 show 15 scores in all, and should show 21");
}

TEST(RangeWalk, TellsTheRangesOfTheFirstWrongRow) {
  InputGenerator generator(3);
  const Example example = state_forward::with_ranges(
      block_forward::make_example("some", random_qkv(generator, 2, 3, 7, 4), 4), {0, 0, 2}, {1, 0, 7});
  const Task task = range_walk::task("3", "f");
  const auto explained = [&](const char* id) {
    std::vector<std::string> all;
    for (const Mistake& mistake : task.mistakes) {
      if (mistake.id != id) continue;
      const Sitting sitting(task, {example}, [&](const Example& given) { return *mistake.answer(given); });
      all.push_back(task.explain(sitting.played.front()));
    }
    return all;
  };
  const std::string row_2 = "row 2 is the first wrong one; its ranges, block by block: {2, 4}, {0, 3}";
  const std::string row_0 = "row 0 is the first wrong one; its ranges, block by block: {0, 1}, {0, 0}";
  EXPECT_EQ(explained("ended_at_empty_range"), (std::vector{row_2, row_0}));
  const std::string row_1 = "row 1 is the first wrong one; its ranges, block by block: {0, 0}, {0, 0}";
  EXPECT_EQ(explained("weight_of_hidden_key"), (std::vector{row_1, row_1}));
}

TEST(Arguments, AreToldAsTheyStandInTheCall) {
  Example example;
  example.arguments = {{"shards", {7, 4}}, {"offset", {-7}}};
  EXPECT_EQ(arguments_in_words(example, {"shards", "offset"}), "shards {7, 4}, offset -7");
}

TEST(AttendedBlocks, TellAStateMadeAnewFromABlockTooFew) {
  const Example example = ring({2, 3});
  const Task task = ring_forward::task("2", "f");
  // Of two blocks the last alone is what is left, whether the first was given or not.
  Log log(example);
  Answer last = task.expected(example);
  for (const Mistake& mistake : task.mistakes) {
    if (mistake.id == "state_made_anew") last = *mistake.answer(example);
  }
  const std::map<std::string, Tensor> logs[] = {log.outcome().outputs[0], log.outcome().outputs[1]};
  Outcome outcome = returned(last, example.layout);
  const auto names = [&] {
    const Outcome not_played;
    const Played played = compare(task, example, task.expected(example), outcome);
    const Played spared = compare(task, example, task.expected(example), not_played);
    const std::vector<std::string> all = explaining_mistakes(task, {&played, &spared});
    return std::set<std::string>(all.begin(), all.end());
  };
  EXPECT_TRUE(names().contains("one_block_short"));
  for (const int rank : {0, 1}) outcome.outputs[rank][block_log::output] = logs[rank].at(block_log::output);
  EXPECT_TRUE(names().contains("state_made_anew"));
  EXPECT_FALSE(names().contains("one_block_short"));
}

TEST(AttendedBlocks, TellNoBlockAtAllFromABlockTooFew) {
  const Example alone = ring({3}), two = ring({2, 3});
  const Task task = ring_forward::task("2", "f");
  const auto nothing = [&](const Example& example) {
    Answer none = task.expected(example);
    for (double& entry : none.at("o").values()) entry = 0;
    for (double& entry : none.at("lse").values()) entry = -std::numeric_limits<double>::infinity();
    return none;
  };
  const Outcome outcomes[] = {returned(nothing(alone), alone.layout), returned(nothing(two), two.layout)};
  const Played on_one = compare(task, alone, task.expected(alone), outcomes[0]);
  const Played on_two = compare(task, two, task.expected(two), outcomes[1]);
  const std::vector<std::string> all = explaining_mistakes(task, {&on_one, &on_two});
  EXPECT_EQ(all, std::vector<std::string>{"no_block_attended"});
  EXPECT_TRUE(task.words.contains("no_block_attended")) << "it is told, and named in no lesson";
}

TEST(CommunicationChecks, TellAnEmptyBlockThatIsSentAndNotReceived) {
  const Example example = ring({0, 3, 2});
  Outcome outcome;
  Deadlock still{
      .kind = Deadlock::Kind::Cycle, .ranks = {0, 1, 2}, .all_send = true, .receives = {0, 2, 0}, .text = ""};
  EXPECT_FALSE(checks::every_rank_sends(example, still)) << "rank 1 has received";
  outcome.deadlock = still;
  EXPECT_TRUE(checks::tells_empty_message(example, outcome).empty());
  outcome.deadlock->empty_senders = {0};
  EXPECT_EQ(
      checks::tells_empty_message(example, outcome).at(0).text,
      "rank 0 sends an empty block (0 bytes) that rank 1 does not receive: leave an empty block out on both "
      "sides or on neither");
  still.receives = {0, 0, 0};
  EXPECT_TRUE(checks::every_rank_sends(example, still));
}

/// What is said of a message of so many bytes in a room of 72, on a ring of these shards.
std::string told_of_message(const std::vector<int>& shards, std::int64_t bytes) {
  Outcome outcome;
  outcome.facts = {{},
                   {{.kind = fact_short_message,
                     .text = "MPI_Recv from rank 0 (tag 1, 72 bytes)",
                     .bytes = bytes,
                     .room = 72}}};
  return checks::shorter_message(ring(shards), outcome);
}

TEST(CommunicationChecks, TellAMessageThatIsShorterThanItsRoom) {
  const auto told = [](int bytes) {
    return "rank 1: MPI_Recv from rank 0 (tag 1, 72 bytes) got " + std::to_string(bytes) +
           " bytes; the rest of its room stayed as it was";
  };
  EXPECT_EQ(told_of_message({3, 3}, 24), told(24));
  EXPECT_EQ(told_of_message({3, 3}, 36), told(36)) << "of equal shards none is shorter than a room";
  EXPECT_EQ(told_of_message({4, 2}, 36), "") << "the shorter shard in a room for the longer";
  EXPECT_EQ(told_of_message({3, 2, 0}, 48), "") << "rooms have the largest shard's length";
  EXPECT_EQ(told_of_message({3, 2, 0}, 0), "");
  EXPECT_NE(told_of_message({3, 2, 0}, 36), "");
  EXPECT_EQ(checks::shorter_message(ring({3, 3}), Outcome()), "");
}

TEST(CommunicationChecks, TellAFactorThatACountLacks) {
  const Example example = ring({2, 2});
  Outcome outcome;
  Fact truncated{.kind = fact_truncated, .text = "too long", .bytes = 48, .room = 16};
  outcome.facts = {{truncated}, {}};
  EXPECT_EQ(checks::tells_shard_lengths(example, outcome).at(1).text,
            "the room for it is 3 times too short: does a count lack head_dim, 3 here?");
  truncated.room = 20;
  outcome.facts = {{truncated}, {}};
  EXPECT_EQ(checks::tells_shard_lengths(example, outcome).size(), 1);
}

}  // namespace

}  // namespace course
