#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "protocol/fact_kinds.hpp"
#include "runner/launcher.hpp"

namespace course {

namespace {

constexpr int n = 64;

Case case_of(const std::string& program, int ranks) {
  Case one{{.function = program}};
  one.inputs.resize(ranks);
  one.group = program;
  for (const char* output :
       {"sum", "half", "whole", "all", "broadcast", "all_gather", "reduce_scatter", "product", "maximum",
        "minimum", "average", "in_place_sum", "in_place_all_gather"})
    one.outputs[output] = {1 << 20, 0};
  return one;
}

std::vector<Outcome> played(const std::vector<std::string>& programs, int ranks) {
  std::vector<Case> cases;
  for (const std::string& program : programs) cases.push_back(case_of(program, ranks));
  return Launcher({.subject = SUBJECT, .player = {PLAYER}, .mpi = true}).play(cases);
}

/// What rank r's memory holds at i.
float own(int rank, int i) {
  return static_cast<float>(100 * rank + i);
}

float sum_over(const std::vector<int>& ranks, int i) {
  float sum = 0;
  for (const int rank : ranks) sum += own(rank, i);
  return sum;
}

/// Of one rank's output: the number at i.
using Expected = std::function<float(int rank, int i)>;

void expect(const Outcome& outcome, const std::string& name, int count, const Expected& expected) {
  ASSERT_EQ(outcome.ending, Outcome::Ending::Finished) << outcome.text;
  for (std::size_t rank = 0; rank < outcome.outputs.size(); ++rank) {
    const Tensor& output = outcome.outputs[rank].at(name);
    ASSERT_EQ(output.size(), count);
    for (int i = 0; i < count; ++i)
      ASSERT_NEAR(output[i], expected(static_cast<int>(rank), i), 1e-5 * std::abs(output[i]))
          << name << ", rank " << rank << ", number " << i;
  }
}

std::vector<int> all_of(int ranks) {
  std::vector<int> all(ranks);
  std::ranges::generate(all, [i = 0]() mutable { return i++; });
  return all;
}

class RightPrograms : public testing::TestWithParam<int> {};

TEST_P(RightPrograms, ComputeTheirPlainAnswersAndAreFoundRight) {
  const int ranks = GetParam();
  const std::vector<Outcome> outcomes =
      played({"ring", "overlapped_ring", "collectives", "messages_of_one_group", "group_over_two_streams",
              "halves", "host_waits_in_mpi", "host_tests_in_mpi", "host_waits_in_a_barrier"},
             ranks);
  const std::vector<int> all = all_of(ranks);
  const Expected sum = [&](int, int i) { return sum_over(all, i); };
  const Expected of_each = [](int, int i) { return own(i / n, i % n); };
  const auto next = [&](int rank) { return (rank + 1) % ranks; };
  const auto previous = [&](int rank) { return (rank + ranks - 1) % ranks; };
  expect(outcomes[0], "sum", n, sum);
  expect(outcomes[1], "sum", n, sum);
  for (const char* name : {"broadcast", "all_gather", "in_place_all_gather"})
    expect(outcomes[2], name, ranks * n, of_each);
  expect(outcomes[2], "reduce_scatter", n, [&](int rank, int i) { return ranks * own(rank, i); });
  for (const char* name : {"sum", "in_place_sum"}) expect(outcomes[2], name, n, sum);
  expect(outcomes[2], "product", n, [&](int, int i) {
    float product = 1;
    for (const int rank : all) product *= own(rank, i);
    return product;
  });
  expect(outcomes[2], "maximum", n, [&](int, int i) { return own(ranks - 1, i); });
  expect(outcomes[2], "minimum", n, [&](int, int i) { return own(0, i); });
  expect(outcomes[2], "average", n, [&](int, int i) { return sum_over(all, i) / ranks; });
  expect(outcomes[3], "all", ranks * n, of_each);
  expect(outcomes[4], "sum", n, [&](int rank, int i) { return 2 * own(previous(rank), i); });
  expect(outcomes[5], "whole", n, sum);
  expect(outcomes[5], "half", n, [&](int rank, int i) {
    std::vector<int> half = all;
    std::erase_if(half, [&](int other) { return other % 2 != rank % 2; });
    return sum_over(half, i);
  });
  expect(outcomes[6], "sum", n, [&](int rank, int i) { return own(next(rank), i) + own(rank, i); });
  expect(outcomes[7], "sum", n, [&](int rank, int i) { return own(next(rank), i) + own(rank, i); });
  expect(outcomes[8], "sum", n, [&](int, int i) { return own(ranks - 1, i) + own(0, i); });
  for (const Outcome& outcome : outcomes) {
    for (const Facts& facts : outcome.facts) {
      for (const Fact& fact : facts) {
        const bool is_no_mistake =
            fact.kind == fact_device_wide_wait || fact.kind == fact_host_wait || fact.kind == fact_collective;
        EXPECT_TRUE(is_no_mistake) << fact.kind << ": " << fact.text;
      }
    }
  }
}

TEST_P(RightPrograms, AreCountedByNeighbourAndNotAsMpis) {
  const int ranks = GetParam();
  const std::vector<Outcome> outcomes = played({"ring", "collectives"}, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    const RankReport& ring = outcomes[0].reports.at(rank);
    std::map<int, std::int64_t> sent;
    if (ranks > 1) sent[(rank + 1) % ranks] = (ranks - 1) * n * 4;
    EXPECT_EQ(ring.nccl_bytes_sent_to, sent);
    EXPECT_EQ(ring.nccl_collective_bytes, 0);
    EXPECT_TRUE(messages_by_peer(ring.traffic).empty());
    EXPECT_EQ(ring.collective_bytes, rank == 0 ? 0 : 128) << "the id";
    const RankReport& collectives = outcomes[1].reports.at(rank);
    EXPECT_TRUE(collectives.nccl_bytes_sent_to.empty());
    EXPECT_EQ(collectives.nccl_collective_bytes, (3 * ranks + 7) * n * 4);
    EXPECT_EQ(collectives.collective_bytes, rank == 0 ? 0 : 128);
  }
}

TEST_P(RightPrograms, TellWhichKernelsMayRunBesideATransfer) {
  const int ranks = GetParam();
  const std::vector<Outcome> outcomes = played({"ring", "overlapped_ring", "group_over_two_streams"}, ranks);
  using Names = std::vector<std::string>;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<NcclGroup>& alone = outcomes[0].reports.at(rank).nccl_groups;
    const std::vector<NcclGroup>& overlapped = outcomes[1].reports.at(rank).nccl_groups;
    ASSERT_EQ(std::ssize(alone), ranks - 1);
    ASSERT_EQ(std::ssize(overlapped), ranks - 1);
    for (int hop = 0; hop < ranks - 1; ++hop) {
      EXPECT_EQ(alone[hop].beside, Names{});
      EXPECT_EQ(overlapped[hop].beside, Names{"block " + std::to_string(hop)});
      EXPECT_EQ(overlapped[hop].bytes_sent, 4 * n);
      EXPECT_EQ(overlapped[hop].bytes_received, 4 * n);
    }
    EXPECT_EQ(outcomes[2].reports.at(rank).nccl_groups.at(0).beside, Names{});
    EXPECT_EQ(outcomes[0].reports.at(rank).device_peak_bytes, -1) << "no range is named";
    EXPECT_EQ(outcomes[1].reports.at(rank).device_peak_bytes, 3 * 4 * n);
  }
}

INSTANTIATE_TEST_SUITE_P(Nccl, RightPrograms, testing::Values(1, 2, 3, 5));

/// "line 12", where the line ends with this mark.
std::string line_of(const std::string& mark) {
  std::ifstream source(WRONG_PROGRAMS);
  int number = 0;
  for (std::string line; std::getline(source, line);) {
    ++number;
    if (line.ends_with("// " + mark)) return "line " + std::to_string(number);
  }
  ADD_FAILURE() << "no line is marked " << mark;
  return "";
}

std::string text_of(const Outcome& outcome) {
  std::string all = outcome.text + "\n";
  for (std::size_t rank = 0; rank < outcome.facts.size(); ++rank)
    for (const Fact& fact : outcome.facts[rank])
      all += "rank " + std::to_string(rank) + ", " + fact.kind + ": " + fact.text + "\n";
  return all;
}

/// Some rank has a fact of that kind with these words.
void expect_fact(const Outcome& outcome, const char* kind, const std::vector<std::string>& words) {
  const auto has_words = [&](const Fact& fact) {
    return fact.kind == kind && std::ranges::all_of(words, [&](const std::string& word) {
             return fact.text.find(word) != std::string::npos;
           });
  };
  EXPECT_TRUE(std::ranges::any_of(outcome.facts,
                                  [&](const Facts& facts) { return std::ranges::any_of(facts, has_words); }))
      << kind << " of " << testing::PrintToString(words) << " in\n"
      << text_of(outcome);
}

void expect_words(const Outcome& outcome, const std::string& words) {
  EXPECT_NE(outcome.text.find(words), std::string::npos) << "\"" << words << "\" in\n" << text_of(outcome);
}

/// Ends in a deadlock that is proven; returns it.
Deadlock deadlock_of(const Outcome& outcome) {
  EXPECT_EQ(outcome.ending, Outcome::Ending::Deadlock) << text_of(outcome);
  if (!outcome.deadlock) return {};
  EXPECT_TRUE(outcome.deadlock->proven) << text_of(outcome);
  return *outcome.deadlock;
}

Outcome alone(const std::string& program, int ranks = 3) {
  return played({program}, ranks).front();
}

TEST(WrongPrograms, SendsThatAreNotGroupedEndInACycle) {
  for (const char* program : {"send_first", "send_first_on_two_streams", "send_first_behind_an_event"}) {
    const Outcome outcome = alone(program);
    const Deadlock found = deadlock_of(outcome);
    EXPECT_EQ(found.kind, Deadlock::Kind::Cycle) << program;
    EXPECT_TRUE(found.all_send) << program;
    expect_words(outcome, "rank 0 waits in ncclSend on " + line_of("send_to_next") +
                              " to rank 1 (256 bytes, before any receive)");
    expect_words(outcome, "every rank of it sends and none receives");
  }
  const Outcome outcome = alone("receive_first");
  EXPECT_TRUE(deadlock_of(outcome).all_receive);
  expect_words(outcome,
               "rank 1 waits in ncclRecv on " + line_of("receive_from_previous") + " from rank 0 (256 bytes");
}

TEST(WrongPrograms, MissingPartnerIsToldAsGone) {
  Outcome outcome = alone("send_without_receive");
  EXPECT_EQ(deadlock_of(outcome).kind, Deadlock::Kind::WaitsForFinished);
  expect_words(outcome, "rank 0 waits for rank 1, which has finished and will not receive any more");
  outcome = alone("collective_without_the_last_rank");
  EXPECT_EQ(deadlock_of(outcome).kind, Deadlock::Kind::WaitsForFinished);
  expect_words(outcome, "waits in ncclAllReduce on line");
  outcome = alone("one_throws");
  EXPECT_EQ(outcome.ending, Outcome::Ending::Threw);
  expect_words(outcome, "rank 1 threw: rank 1 gives up");
}

TEST(WrongPrograms, IdThatIsNotHandedOnIsToldAsWaiting) {
  const Outcome outcome = alone("id_is_not_handed_on");
  deadlock_of(outcome);
  expect_words(outcome, "waits in ncclCommInitRank from any rank");
}

TEST(WrongPrograms, IdOfAnEarlierCaseIsRefused) {
  const std::vector<Outcome> outcomes = played({"id_of_an_earlier_case", "id_of_an_earlier_case"}, 3);
  for (const Outcome& outcome : outcomes)
    EXPECT_EQ(outcome.ending, Outcome::Ending::Finished) << outcome.text;
  for (const Facts& facts : outcomes[0].facts)
    for (const Fact& fact : facts) EXPECT_NE(fact.kind, fact_nccl_call) << fact.text;
  expect_fact(outcomes[1], fact_nccl_call,
              {"on " + line_of("earlier_id"), "a rank has an id that ncclGetUniqueId has made earlier"});
}

TEST(WrongPrograms, CollectiveThatDiffersIsToldWithBothLinesThoughTheCaseHasNoEnd) {
  const Outcome outcome = alone("another_collective");
  deadlock_of(outcome);
  expect_fact(outcome, fact_nccl_mismatch,
              {"ncclAllReduce on " + line_of("by_the_others"), "ncclBroadcast on " + line_of("instead")});
}

TEST(WrongPrograms, MemoryThatIsFreedOnAnotherStreamIsTold) {
  expect_fact(alone("freed_on_another_stream"), fact_missing_dependency,
              {"on " + line_of("freed_early"), "ncclRecv on " + line_of("receive_from_previous")});
}

TEST(WrongPrograms, MemoryThatIsFreedBeforeItsUseIsTold) {
  expect_fact(alone("used_behind_its_end"), fact_out_of_bounds,
              {"ncclRecv on " + line_of("receive_from_previous") + " uses",
               "cudaFreeAsync on " + line_of("freed_in_order")});
}

TEST(WrongPrograms, RefusedCallsReturnAnErrorAndAreTold) {
  const Outcome outcome = alone("refused_calls");
  EXPECT_EQ(outcome.ending, Outcome::Ending::Finished) << outcome.text;
  expect_fact(outcome, fact_nccl_call, {"ncclSend on " + line_of("stream_is_gone"), "a stream that is none"});
  expect_fact(outcome, fact_nccl_call, {"ncclAllReduce on " + line_of("bfloat16"), "reduces float"});
  expect_fact(outcome, fact_nccl_call,
              {"on " + line_of("empty_id"), "an id that ncclGetUniqueId has not made"});
  expect_fact(outcome, fact_nccl_call,
              {"on " + line_of("init_in_a_group"), "between ncclGroupStart and ncclGroupEnd"});
}

TEST(WrongPrograms, WhatIsWrongIsToldWithItsLines) {
  struct Expectation {
    std::string program;
    const char* kind;
    std::vector<std::string> words;
  };
  const std::string sends = "ncclSend on " + line_of("send_to_next");
  const std::string receives = "ncclRecv on " + line_of("receive_from_previous");
  const std::vector<Expectation> expected{
      {"nobody_waits", fact_nccl_call, {"communicators that were not destroyed: 1"}},
      {"sizes_that_differ",
       fact_nccl_mismatch,
       {receives + " (256 bytes) meets rank 0's", "ncclSend on " + line_of("short_send") + " (128 bytes)"}},
      {"types_that_differ",
       fact_nccl_mismatch,
       {"ncclRecv on " + line_of("receive_of_ints"), "rank 0's " + sends, "numbers of another type"}},
      {"collectives_in_another_order",
       fact_nccl_mismatch,
       {"ncclAllReduce on " + line_of("reduce"), "ncclBroadcast on " + line_of("broadcast")}},
      {"compute_does_not_wait",
       fact_missing_dependency,
       {"on " + line_of("reads_early"), receives + " writes", "called first: " + receives}},
      {"send_buffer_is_written",
       fact_missing_dependency,
       {"on " + line_of("writes_early"), sends + " reads"}},
      {"transfer_does_not_wait_for_a_reader",
       fact_missing_dependency,
       {"on " + line_of("reads_early"), receives + " writes", "called first: reads_early<<<"}},
      {"receive_over_the_send_buffer", fact_missing_dependency, {receives, sends, "in the same group"}},
      {"send_to_oneself",
       fact_nccl_call,
       {"on " + line_of("to_oneself"), "a send and a receive in one group"}},
      {"wrong_call_in_a_group",
       fact_nccl_call,
       {"on " + line_of("no_such_rank"), "there is no rank 3 among 3"}},
      {"host_memory",
       fact_nccl_call,
       {"on " + line_of("to_the_host"), "not wholly in an allocation of device memory"}},
      {"beyond_the_end", fact_nccl_call, {"on " + line_of("too_long"), "the receive buffer of 768 bytes"}},
      {"communicator_is_used_behind_its_end",
       fact_nccl_call,
       {"on " + line_of("destroyed"), "is given a communicator that ncclCommDestroy on line"}},
      {"group_has_no_end",
       fact_nccl_call,
       {"ncclGroupStart on " + line_of("left_open") + " has no ncclGroupEnd"}},
      {"communicator_is_ended_twice",
       fact_nccl_call,
       {"a communicator that ncclCommDestroy on " + line_of("first_end") + " has ended"}},
      {"group_is_ended_twice", fact_nccl_call, {"ncclGroupEnd is called without ncclGroupStart"}},
      {"id_is_cut_short",
       fact_nccl_call,
       {"on " + line_of("cut_short"), "has made only in part: all 128 bytes have to be handed on"}},
      {"two_take_one_rank",
       fact_nccl_call,
       {"on " + line_of("rank_halved"), "do not agree on who is which rank"}}};
  std::vector<std::string> programs;
  for (const Expectation& one : expected) programs.push_back(one.program);
  const std::vector<Outcome> outcomes = played(programs, 3);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(outcomes[i].ending, Outcome::Ending::Finished)
        << expected[i].program << ": " << outcomes[i].text;
    expect_fact(outcomes[i], expected[i].kind, expected[i].words);
    for (const Facts& facts : outcomes[i].facts) {
      for (const Fact& fact : facts) {
        const bool is_expected = fact.kind == expected[i].kind || fact.kind == fact_device_wide_wait ||
                                 fact.kind == fact_collective;
        EXPECT_TRUE(is_expected || expected[i].program == "nobody_waits")
            << expected[i].program << ": " << fact.kind << ": " << fact.text;
      }
    }
  }
}

}  // namespace

}  // namespace course
