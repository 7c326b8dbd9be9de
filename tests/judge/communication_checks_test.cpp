#include "judge/checks/communication_checks.hpp"

#include <gtest/gtest.h>

#include <set>

#include "judge/checks/device_checks.hpp"
#include "judge/diagnosis/diagnose.hpp"

namespace course {

namespace {

Example on_ranks(int ranks) {
  return {.what = "a ring", .inputs = {}, .layout = std::vector<int>(static_cast<std::size_t>(ranks), 1)};
}

/// Two ranks, of which rank 0 has sent and been brought so many bytes.
Outcome moved(std::int64_t sent, std::int64_t gathered) {
  Outcome outcome;
  outcome.reports.resize(2);
  outcome.reports[0].traffic = {{.to = 1, .bytes = sent}};
  outcome.reports[0].collective_bytes = gathered;
  return outcome;
}

CommunicationCheck sends_nothing() {
  return [](const Example&, const Outcome&) { return std::vector<Finding>{}; };
}

std::string mistake(const std::vector<Finding>& findings) {
  return findings.empty() ? "none" : findings[0].mistake;
}

TEST(CommunicationChecks, CountsOfBytesHaveAName) {
  const CommunicationCheck look = checks::moves_messages_at_most(
      8, [](int ranks) { return ranks - 1; }, [](int ranks) { return 2 * ranks - 1; },
      [](int ranks) { return ranks; });
  const auto found = [&](std::int64_t sent, std::int64_t gathered) {
    return mistake(look(on_ranks(2), moved(sent, gathered)));
  };
  EXPECT_EQ(found(24, 16), "none");
  EXPECT_EQ(found(32, 8), "count_in_bytes");
  EXPECT_EQ(found(8, 32), "count_in_bytes");
  EXPECT_EQ(found(40, 0), "");
  EXPECT_EQ(found(0, 24), "");
  EXPECT_EQ(found(0, -1), "none") << "traffic that nobody counts";
  const auto messages = [](int ranks) { return ranks * (ranks - 1); };
  const CommunicationCheck rotation =
      checks::moves_messages_at_most(8, messages, messages, [](int ranks) { return ranks; });
  for (const int ranks : {2, 4}) {
    EXPECT_EQ(mistake(rotation(on_ranks(ranks), moved(ranks * ranks * 8, 0))), "") << "one hop too many";
    EXPECT_EQ(mistake(rotation(on_ranks(ranks), moved(4 * messages(ranks) * 8, 0))), "count_in_bytes");
  }
}

/// What a rank of the ring 0 .. 2 noted, and an answer that is right or not.
std::vector<Finding> of_an_end(const Facts& of_rank_0, bool right, Outcome::Ending ending) {
  const Example example = on_ranks(3);
  Outcome outcome = moved(0, 0);
  outcome.ending = ending;
  outcome.facts = {of_rank_0, {}, {}};
  if (ending != Outcome::Ending::Finished) return checks::tells_null_peers(example, outcome);
  Played played;
  played.example = &example;
  played.outcome = &outcome;
  played.expected = {{"o", Tensor64({1}, std::vector<double>{1})}};
  played.answer = {{"o", Tensor64({1}, std::vector<double>{right ? 1.0 : 2.0})}};
  played.tolerance = {{"o", 1e-6}};
  return checks::joins_its_ends("ends_not_joined")(played);
}

TEST(CommunicationChecks, EndsThatAreNotJoinedAreToldOfWrongAnswersAlone) {
  using Ending = Outcome::Ending;
  const Facts source{{fact_null_source, "MPI_Recv from MPI_PROC_NULL"}};
  EXPECT_EQ(mistake(of_an_end(source, true, Ending::Finished)), "none") << "a hop that is left out";
  EXPECT_EQ(mistake(of_an_end(source, false, Ending::Finished)), "ends_not_joined");
  EXPECT_EQ(mistake(of_an_end({}, false, Ending::Finished)), "none");
  EXPECT_EQ(mistake(of_an_end(source, false, Ending::Threw)), "");
  EXPECT_EQ(mistake(of_an_end({}, false, Ending::Threw)), "none");
}

TEST(CommunicationChecks, WhatIsNotFreedIsToldUnlessTheFunctionThrew) {
  const CommunicationCheck look = checks::frees_what_it_makes("communicator_not_freed");
  Outcome outcome = moved(0, 0);
  outcome.ending = Outcome::Ending::Finished;
  outcome.facts = {{}, {{fact_not_freed, "MPI_Comm_dup made a communicator"}}};
  EXPECT_EQ(mistake(look(on_ranks(2), outcome)), "communicator_not_freed");
  EXPECT_EQ(look(on_ranks(2), outcome)[0].text, "rank 1: MPI_Comm_dup made a communicator");
  outcome.ending = Outcome::Ending::Threw;
  EXPECT_EQ(mistake(look(on_ranks(2), outcome)), "none");
}

TEST(DeviceChecks, TellWhatIsLeftBehindLastWithItsName) {
  const CommunicationCheck look = checks::is_right_on_the_device(
      {{fact_not_destroyed, {}, "handles_left"}, {fact_nccl_call, checks::marked({mark_wrong_id}), "no_id"}});
  Outcome outcome = moved(0, 0);
  outcome.facts = {{{fact_not_destroyed, "a stream"}}, {}};
  EXPECT_EQ(mistake(look(on_ranks(2), outcome)), "handles_left");
  for (const char* const cause : {fact_race_between_blocks, fact_unchecked_error}) {
    outcome.facts[1] = {{cause, "a cause without a name"}};
    EXPECT_EQ(mistake(look(on_ranks(2), outcome)), "") << cause;
  }
  outcome.facts[1] = {{.kind = fact_nccl_call, .text = "refused", .marks = {mark_wrong_id}}};
  EXPECT_EQ(mistake(look(on_ranks(2), outcome)), "no_id");
}

TEST(DeviceChecks, GoByMarksAndCallsAndNotByWords) {
  const auto found = [](const checks::FactIs& is, const Fact& fact) {
    Outcome outcome = moved(0, 0);
    outcome.facts = {{fact}, {}};
    return mistake(checks::is_right_on_the_device({{fact.kind.c_str(), is, "named"}})(on_ranks(2), outcome));
  };
  Fact race{.kind = fact_race_in_block,
            .text = "writes shared memory on one line",
            .call = "tiles::add_to_dq<int, tiles::Sum>",
            .marks = {mark_device_memory, mark_one_line}};
  EXPECT_EQ(found(checks::marked({mark_device_memory, mark_one_line}), race), "named");
  EXPECT_EQ(found(checks::marked({mark_shared_memory}), race), "");
  EXPECT_EQ(found(checks::marked({mark_device_memory}, mark_one_line), race), "");
  EXPECT_EQ(found(checks::of_call("add_to_"), race), "named");
  EXPECT_EQ(found(checks::of_call("cudaMemset"), race), "");
  race.other_call = "cudaMemsetAsync";
  EXPECT_EQ(found(checks::of_call("cudaMemset"), race), "named");
  race.call = "my_cudaFree_kernel";
  EXPECT_EQ(found(checks::of_call("cudaFree"), race), "") << "a kernel that has a call in its name";
  race.within = "the ring of mine";
  EXPECT_EQ(found(checks::within("the ring"), race), "");
}

TEST(DeviceChecks, SayWhetherTheyNameALine) {
  Outcome outcome = moved(0, 0);
  outcome.facts = {{{.kind = fact_out_of_bounds, .text = "8 bytes", .at = {12}}}, {}};
  const CommunicationCheck look = checks::is_right_on_the_device({});
  EXPECT_TRUE(look(on_ranks(2), outcome).at(0).has_line);
  EXPECT_EQ(look(on_ranks(2), outcome).at(0).fact, fact_out_of_bounds);
  outcome.facts[0][0] = {fact_not_destroyed, "the stream that was made on line 12"};
  EXPECT_FALSE(look(on_ranks(2), outcome).at(0).has_line) << "of what is left no line is wrong";
}

TEST(CommunicationChecks, TellACountOfBytesByItsMark) {
  Outcome outcome = moved(8, 0);
  Fact beyond{fact_beyond_tensor, "a count of bytes in place of one of numbers would do that"};
  outcome.facts = {{beyond}, {}};
  EXPECT_EQ(mistake(checks::stays_in_its_memory()(on_ranks(2), outcome)), "");
  outcome.facts[0][0].marks = {mark_four_times};
  EXPECT_EQ(mistake(checks::stays_in_its_memory()(on_ranks(2), outcome)), "count_in_bytes");
}

TEST(CommunicationChecks, BufferedSendsBreakTheRuleThatIsNamed) {
  const CommunicationCheck look = checks::waits_for_its_receives("the task asks for MPI_Send");
  Outcome outcome = moved(8, 0);
  outcome.facts = {{}, {{fact_buffered_send, "MPI_Bsend does not wait for its receive"}}};
  ASSERT_EQ(look(on_ranks(2), outcome).size(), 1);
  EXPECT_EQ(look(on_ranks(2), outcome)[0].text,
            "rank 1: MPI_Bsend does not wait for its receive; the task asks for MPI_Send");
  outcome.facts = {{}, {}};
  EXPECT_TRUE(look(on_ranks(2), outcome).empty());
}

TEST(CommunicationChecks, SayOnceThatACallWasRefused) {
  Outcome outcome = moved(8, 0);
  const Fact refused{fact_uncommon_call, "MPI_Win_create, which this course does not use"};
  outcome.facts = {{refused}, {}};
  EXPECT_EQ(checks::uses_only_known_calls()(on_ranks(2), outcome).size(), 1);
  outcome.ending = Outcome::Ending::Threw;
  outcome.text = "rank 1 threw: no MPI_Win_create, which this course does not use, is in my code";
  EXPECT_EQ(checks::uses_only_known_calls()(on_ranks(2), outcome).size(), 1) << "a student's own exception";
  outcome.told = refused;
  EXPECT_TRUE(checks::uses_only_known_calls()(on_ranks(2), outcome).empty());
}

TEST(CommunicationChecks, RoomsHaveTheLengthOfTheRanksOwnBlockOrAreTooShort) {
  const CommunicationCheck look = checks::has_room_for_every_block("room_too_short");
  Example unequal{.what = "a ring", .inputs = {}, .layout = std::vector<int>{3, 7, 3, 0}};
  unequal.inputs["k"] = Tensor({1, 13, 3});
  const auto found = [&](int rank, const Fact& fact) {
    Outcome outcome;
    outcome.facts.resize(4);
    outcome.facts[rank] = {fact};
    return mistake(look(unequal, outcome));
  };
  const auto truncated = [](std::int64_t bytes, std::int64_t room) {
    return Fact{.kind = fact_truncated, .text = "it is too long", .bytes = bytes, .room = room};
  };
  EXPECT_EQ(found(1, {fact_short_room, "the buffer ends beyond it"}), "room_too_short");
  EXPECT_EQ(found(3, truncated(84, 0)), "room_too_short");
  EXPECT_EQ(found(3, truncated(84, 36)), "none") << "the length of another block";
  EXPECT_EQ(found(0, truncated(84, 36)), "none") << "rank 2's block has that length, too";
  EXPECT_EQ(found(1, truncated(84, 12)), "none");
  EXPECT_EQ(found(3, truncated(49, 0)), "none") << "no block has 49 bytes";
}

TEST(CommunicationChecks, SayOnceThatARoomIsTooShort) {
  const CommunicationCheck look = checks::has_room_for_every_block("room_too_short");
  Outcome outcome = moved(8, 0);
  const Fact short_room{fact_short_room, "the buffer ends beyond it"};
  outcome.facts = {{short_room}, {}};
  EXPECT_EQ(look(on_ranks(2), outcome).at(0).text, "the buffer ends beyond it");
  outcome.text = "rank 0 threw: I caught that the buffer ends beyond it";
  EXPECT_EQ(look(on_ranks(2), outcome).at(0).text, "the buffer ends beyond it")
      << "a student's own exception";
  outcome.told = short_room;
  EXPECT_EQ(look(on_ranks(2), outcome).at(0).text, "");
  outcome.facts[1] = {{fact_beyond_tensor, "a count of bytes"}};
  EXPECT_TRUE(look(on_ranks(2), outcome).empty());
}

TEST(CommunicationChecks, OpenRequestsAreNotHeldAgainstAFunctionThatThrew) {
  const CommunicationCheck look = checks::completes_its_requests("leaked_request");
  Outcome outcome = moved(8, 0);
  outcome.facts = {{{fact_unfinished_request, "MPI_Isend was started"}}, {}};
  EXPECT_EQ(mistake(look(on_ranks(2), outcome)), "leaked_request");
  outcome.ending = Outcome::Ending::Threw;
  EXPECT_EQ(mistake(look(on_ranks(2), outcome)), "none");
}

/// A buffer that meets one of an open request's does so because that is open.
TEST(CommunicationChecks, OpenRequestsComeBeforeBuffersThatOverlap) {
  Example example = on_ranks(2);
  example.inputs["k"] = Tensor({1, 2, 4});
  const auto named = [&](const Facts& facts) {
    Outcome outcome = moved(0, 0);
    outcome.facts = {facts, {}};
    std::set<std::string> names;
    for (const CommunicationCheck& look :
         checks::blocking_ring(sends_nothing(), [](const Example&) { return std::int64_t{1} << 30; })) {
      for (const Finding& finding : look(example, outcome)) names.insert(finding.mistake);
    }
    return names;
  };
  const Fact overlap{fact_overlapping_buffers, "the buffers overlap"};
  EXPECT_EQ(named({overlap}), std::set<std::string>{"receives_over_the_send_buffer"});
  EXPECT_EQ(named({overlap, {fact_unfinished_request, "MPI_Irecv was started"}}),
            std::set<std::string>{"leaked_request"});
}

TEST(CommunicationChecks, SayOnceThatARequestWasACopy) {
  const CommunicationCheck look = checks::uses_no_ended_request("tests_a_copy");
  Outcome outcome = moved(8, 0);
  const Fact ended{fact_ended_request, "MPI_Wait was given the request"};
  outcome.facts = {{ended}, {}};
  EXPECT_EQ(look(on_ranks(2), outcome).at(0).text, "rank 0: MPI_Wait was given the request");
  outcome.ending = Outcome::Ending::Threw;
  outcome.text = "rank 0 threw: MPI_Wait was given the request";
  EXPECT_NE(look(on_ranks(2), outcome).at(0).text, "") << "a student's own exception";
  outcome.told = ended;
  EXPECT_EQ(look(on_ranks(2), outcome).at(0).text, "");
  EXPECT_EQ(mistake(look(on_ranks(2), outcome)), "tests_a_copy");
}

TEST(CommunicationChecks, TellsTheLengthsOfShardsWhereAMessageWasTooLong) {
  Example unequal{.what = "a ring", .inputs = {}, .layout = std::vector<int>{3, 7}};
  unequal.inputs["k"] = Tensor({2, 10, 5});
  Outcome outcome = moved(8, 0);
  outcome.facts = {{}, {}};
  EXPECT_TRUE(checks::tells_shard_lengths(unequal, outcome).empty());
  outcome.facts[1] = {{.kind = fact_truncated, .text = "it is too long", .bytes = 504, .room = 216}};
  EXPECT_EQ(checks::tells_shard_lengths(unequal, outcome).at(0).text,
            "the ranks' shards here have 3, 7 tokens; a token is 40 bytes of k and as many of v");
}

TEST(CommunicationChecks, TellsAWrongSourceFromRanksThatAllSendFirst) {
  Deadlock wrong_source{
      .kind = Deadlock::Kind::Cycle, .ranks = {0, 1, 2}, .one_peer_ahead = 1, .receives = {}, .text = ""};
  EXPECT_TRUE(checks::every_rank_receives_from_next(on_ranks(3), wrong_source));
  EXPECT_FALSE(checks::every_rank_sends(on_ranks(3), wrong_source));
  wrong_source.one_peer_ahead = 2;
  EXPECT_FALSE(checks::every_rank_receives_from_next(on_ranks(3), wrong_source));
}

TEST(CommunicationChecks, TellsOfARankWithoutTokensThatLeft) {
  const Example shards{.what = "a ring", .inputs = {}, .layout = std::vector<int>{3, 0, 2}};
  const CommunicationCheck look = checks::keeps_empty_ranks("empty_rank_leaves");
  const auto found = [&](std::vector<int> waiting, Deadlock::Kind kind, std::vector<int> left = {1}) {
    Outcome outcome = moved(0, 0);
    outcome.deadlock = {.kind = kind,
                        .ranks = std::move(waiting),
                        .receives = {},
                        .left_at_once = std::move(left),
                        .text = ""};
    return look(shards, outcome);
  };
  using Kind = Deadlock::Kind;
  ASSERT_EQ(found({0, 2}, Kind::WaitsForFinished).size(), 1);
  EXPECT_EQ(found({0, 2}, Kind::WaitsForFinished)[0].mistake, "empty_rank_leaves");
  EXPECT_EQ(found({0, 2}, Kind::WaitsForFinished)[0].text,
            "rank 1, which owns no tokens, returned while others' blocks have to pass through it");
  EXPECT_TRUE(found({0}, Kind::WaitsForFinished).empty()) << "rank 2 has tokens";
  EXPECT_TRUE(found({0, 2}, Kind::Cycle).empty());
  EXPECT_TRUE(found({0, 2}, Kind::WaitsForFinished, {}).empty()) << "it has received before it returned";
}

TEST(CommunicationChecks, SaysThatARingsTensorsTravelByMessages) {
  Outcome outcome = moved(0, 576);
  outcome.facts = {
      {{.kind = fact_collective, .text = "MPI_Allgather is not what it was", .call = "MPI_Alltoallv"}}, {}};
  const CommunicationCheck look = checks::passes_tensors_by_messages("everything_gathered");
  EXPECT_EQ(look(on_ranks(2), outcome).at(0).text,
            "rank 0 received through collectives 576 bytes, at most 128 are allowed: a ring's tensors do not "
            "travel by collectives");
  outcome.facts[0][0].call = "MPI_Allgatherv";
  EXPECT_EQ(mistake(look(on_ranks(2), outcome)), "everything_gathered");
  EXPECT_TRUE(look(on_ranks(2), outcome)[0].text.ends_with("are allowed"));
}

TEST(CommunicationChecks, MemoryIsCalledAGatherOnlyWhereNobodyCountsTraffic) {
  Example example = on_ranks(2);
  example.inputs["k"] = Tensor({1, 2, 4});
  Outcome outcome = moved(0, 0);
  outcome.reports[0].peak_bytes = 64;
  EXPECT_FALSE(checks::held_everything_unseen(example, outcome));
  outcome.reports[1].collective_bytes = -1;
  EXPECT_TRUE(checks::held_everything_unseen(example, outcome));
  outcome.reports[0].peak_bytes = 63;
  EXPECT_FALSE(checks::held_everything_unseen(example, outcome));
}

}  // namespace

}  // namespace course
