#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>

#include "page_in_memory.hpp"

namespace course {
namespace {

using Kind = PendingOperation::Kind;
using Need = PendingOperation::Need;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

PendingOperation operation(Kind kind, const char* call, int peer, int tag = 0, Need need = Need::All) {
  PendingOperation made{kind, need, peer, tag, 8, case_communicator, {}};
  std::strncpy(made.call, call, sizeof made.call - 1);
  return made;
}

PendingOperation send(int peer, int tag = 0) {
  return operation(Kind::Send, "MPI_Send", peer, tag);
}
PendingOperation receive(int peer, int tag = 0) {
  return operation(Kind::Receive, "MPI_Recv", peer, tag);
}
PendingOperation collective(const char* call, int number = 1, int root = any_peer) {
  return operation(Kind::Collective, call, root, number);
}
PendingOperation open(PendingOperation one) {
  one.need = Need::None;
  return one;
}
PendingOperation any_of(PendingOperation one) {
  one.need = Need::Any;
  return one;
}

RankSnapshot blocked(std::vector<PendingOperation> pending) {
  RankSnapshot rank;
  rank.phase = Phase::Blocked;
  rank.case_index = 0;
  rank.pending = std::move(pending);
  return rank;
}

RankSnapshot in_phase(Phase phase, std::vector<PendingOperation> pending = {}) {
  RankSnapshot rank = blocked(std::move(pending));
  rank.phase = phase;
  return rank;
}

/// The communicator of these ranks, on which one of them has started so many collectives; the last ends here
/// only with all of them.
SeenCommunicator communicator(std::uint64_t id, std::vector<int> members, int started = 0) {
  return {id, started, ~std::uint64_t{0}, std::move(members)};
}

/// The pages that tell of no communicator tell of the case's.
std::vector<RankSnapshot> with_case_communicator(std::vector<RankSnapshot> ranks) {
  std::vector<int> all(ranks.size());
  std::iota(all.begin(), all.end(), 0);
  for (RankSnapshot& rank : ranks) {
    if (!rank.communicators.empty()) continue;
    const auto inside = std::ranges::find(rank.pending, Kind::Collective, &PendingOperation::kind);
    const bool is_barrier = inside != rank.pending.end() && std::strcmp(inside->call, "MPI_Barrier") == 0;
    rank.communicators = {
        communicator(case_communicator, all, inside == rank.pending.end() ? 0 : inside->tag)};
    if (!is_barrier) rank.communicators[0].awaited = 0;
    rank.communicators_complete = true;
  }
  return ranks;
}

/// The test fails where none is found.
Deadlock found(const std::vector<RankSnapshot>& ranks) {
  return find_deadlock(with_case_communicator(ranks)).value();
}

/// All ranks send to the next before any receives.
std::vector<RankSnapshot> sending_ring(int size) {
  std::vector<RankSnapshot> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.push_back(blocked({send((rank + 1) % size)}));
  return ranks;
}

TEST(FindStandstill, SeesNoneWhileARankComputes) {
  EXPECT_FALSE(find_deadlock({blocked({receive(1)}), in_phase(Phase::Computing)}));
  EXPECT_FALSE(find_deadlock({blocked({receive(1)}), in_phase(Phase::Starting)}));
}

TEST(FindStandstill, SeesNoneWhenAllHaveFinished) {
  EXPECT_FALSE(find_deadlock({in_phase(Phase::Finished), in_phase(Phase::Finished)}));
}

TEST(FindStandstill, SeesNoneWhileARankIsStillInAnotherCase) {
  std::vector<RankSnapshot> ranks{blocked({receive(1)}), in_phase(Phase::Finished)};
  ranks[0].case_index = 1;
  EXPECT_FALSE(find_deadlock(ranks));
}

TEST(FindStandstill, NamesTheCycleOfASendFirstRing) {
  std::vector<RankSnapshot> ranks = sending_ring(3);
  ranks[2].receives = 4;
  const Deadlock still = found(ranks);
  EXPECT_EQ(still.kind, Deadlock::Kind::Cycle);
  EXPECT_EQ(still.ranks, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(still.calls, (std::vector<std::string>(3, "MPI_Send")));
  EXPECT_TRUE(still.all_send);
  EXPECT_TRUE(still.proven);
  EXPECT_EQ(still.text,
            "rank 0 waits in MPI_Send to rank 1 (tag 0, 8 bytes, before any receive)\n"
            "rank 1 waits in MPI_Send to rank 2 (tag 0, 8 bytes, before any receive)\n"
            "rank 2 waits in MPI_Send to rank 0 (tag 0, 8 bytes, after 4 receives)\n"
            "a cycle: 0 → 1 → 2 → 0; every rank of it sends and none receives");
}

/// Even ranks send first, and everybody receives from where it sends to.
TEST(FindStandstill, TellsAWrongSourceFromSendingFirst) {
  const Deadlock still =
      found({blocked({send(1)}), blocked({receive(2)}), blocked({send(3)}), blocked({receive(0)})});
  EXPECT_EQ(still.kind, Deadlock::Kind::Cycle);
  EXPECT_FALSE(still.all_send);
  EXPECT_EQ(still.one_peer_ahead, 1);
  EXPECT_PRED2(contains, still.text, "rank 1 waits for a message from rank 2, which sends to rank 3");
  const auto sending = find_deadlock(sending_ring(4));
  ASSERT_TRUE(sending);
  EXPECT_EQ(sending->one_peer_ahead, 0);
  const auto turned = find_deadlock({blocked({send(1)}), blocked({receive(0)}), blocked({receive(1)})});
  ASSERT_TRUE(!turned || turned->one_peer_ahead == 0);
}

TEST(FindStandstill, GivesTheCycleInWaitingOrder) {
  const Deadlock still = found({blocked({send(2)}), blocked({send(0)}), blocked({send(1)})});
  EXPECT_EQ(still.ranks, (std::vector<int>{0, 2, 1}));
}

TEST(FindStandstill, FindsACycleBehindWhichOthersQueue) {
  const Deadlock still = found({blocked({receive(1)}), blocked({send(2)}), blocked({send(1)})});
  EXPECT_EQ(still.kind, Deadlock::Kind::Cycle);
  EXPECT_EQ(still.ranks, (std::vector<int>{1, 2}));
  EXPECT_PRED2(contains, still.text, "rank 0 waits in MPI_Recv from rank 1");
}

TEST(FindStandstill, TellsACycleOfReceivesFromOneOfSends) {
  const Deadlock still = found({blocked({receive(1)}), blocked({receive(0)})});
  EXPECT_EQ(still.kind, Deadlock::Kind::Cycle);
  EXPECT_FALSE(still.all_send);
  EXPECT_TRUE(still.proven);
}

TEST(FindStandstill, TakesAReceiveFromAnyoneForACycleWhenNobodySends) {
  const Deadlock still = found({blocked({receive(any_peer, any_tag)}), blocked({receive(0)})});
  EXPECT_EQ(still.kind, Deadlock::Kind::Cycle);
  EXPECT_TRUE(still.proven);
  EXPECT_PRED2(contains, still.text, "from any rank (any tag");
}

TEST(FindStandstill, ShowsNoOrderAmongRanksThatAllWaitForAnyone) {
  const RankSnapshot one = blocked({receive(any_peer, any_tag)});
  const Deadlock still = found({one, one, one});
  EXPECT_EQ(still.kind, Deadlock::Kind::Cycle);
  EXPECT_TRUE(still.proven);
  EXPECT_PRED2(contains, still.text, "each waits for any other rank to answer, and none is left that could");
  EXPECT_FALSE(contains(still.text, "→"));
}

TEST(FindStandstill, KnowsARankThatWaitsForItself) {
  const Deadlock still = found({blocked({send(0)})});
  EXPECT_EQ(still.kind, Deadlock::Kind::Cycle);
  EXPECT_TRUE(still.proven);
  EXPECT_PRED2(contains, still.text, "rank 0 waits for itself");
}

TEST(FindStandstill, ProvesNothingWhileASendFindsItsReceive) {
  const Deadlock still = found({blocked({send(1)}), blocked({receive(0)}), blocked({receive(0)})});
  EXPECT_FALSE(still.proven);
}

TEST(FindStandstill, SeesThatAnOpenReceiveMeetsASend) {
  const Deadlock still = found({blocked({send(1)}), blocked({send(0), open(receive(0))})});
  EXPECT_FALSE(still.proven);
  EXPECT_NE(still.kind, Deadlock::Kind::Cycle);
}

TEST(FindStandstill, ProvesNothingWhileOneEndOfAMessageHasNotSeenItsCompletion) {
  std::vector<RankSnapshot> ranks{blocked({send(1)}), blocked({send(0)})};
  ranks[1].received_sum[0] = 17;
  Deadlock still = found(ranks);
  EXPECT_FALSE(still.proven);
  ranks[0].sent_sum[1] = 17;
  still = found(ranks);
  EXPECT_TRUE(still.proven);
}

TEST(FindStandstill, ProvesNothingAboutRanksThatPollOrHaveMorePendingThanThePageHolds) {
  std::vector<RankSnapshot> ranks = sending_ring(2);
  ranks[1].phase = Phase::Polling;
  Deadlock still = found(ranks);
  EXPECT_FALSE(still.proven);
  EXPECT_PRED2(contains, still.text, "rank 1 polls with MPI_Send to rank 0");
  ranks = sending_ring(2);
  ranks[0].pending_complete = false;
  still = found(ranks);
  EXPECT_FALSE(still.proven);
}

TEST(FindStandstill, ProvesNothingAboutACallItDoesNotKnow) {
  PendingOperation unknown = operation(Kind::Receive, "MPI_Mprobe", any_peer, any_tag);
  unknown.communicator = unknown_communicator;
  const Deadlock still = found({blocked({unknown}), blocked({receive(0)})});
  EXPECT_FALSE(still.proven);
  EXPECT_PRED2(contains, still.text, "rank 0 waits in MPI_Mprobe (before any receive)");
}

TEST(FindStandstill, NamesTagsThatDiffer) {
  const Deadlock still = found({blocked({receive(2)}), blocked({send(2, 0)}), blocked({receive(1, 1)})});
  EXPECT_EQ(still.kind, Deadlock::Kind::NoMatch);
  EXPECT_TRUE(still.proven);
  EXPECT_PRED2(contains, still.text, "rank 1 sends tag 0, rank 2 receives tag 1: they never meet");
}

TEST(FindStandstill, NamesCommunicatorsThatDiffer) {
  PendingOperation elsewhere = send(1);
  elsewhere.communicator = 99;
  const Deadlock still = found({blocked({elsewhere}), blocked({receive(0)})});
  EXPECT_EQ(still.kind, Deadlock::Kind::NoMatch);
  EXPECT_TRUE(still.proven);
  EXPECT_PRED2(contains, still.text, "rank 0 sends on another communicator");
  EXPECT_PRED2(contains, still.text, "before any receive, another communicator than the one given)");
}

TEST(FindStandstill, NamesARankOutsideTheCase) {
  const Deadlock still = found({blocked({send(outside_peer)}), in_phase(Phase::Finished)});
  EXPECT_EQ(still.kind, Deadlock::Kind::NoMatch);
  EXPECT_PRED2(contains, still.text, "rank 0 waits for a rank that has no part in the case");
}

TEST(FindStandstill, NamesARootOutsideTheCase) {
  const Deadlock still = found({blocked({collective("MPI_Bcast", 1, outside_peer)})});
  EXPECT_PRED2(contains, still.text, "rank 0 waits in MPI_Bcast with a root outside the case");
  EXPECT_PRED2(contains, still.text, "rank 0 waits for a rank that has no part in the case");
}

TEST(FindStandstill, NamesTheRankThatFinishedWithoutSending) {
  const Deadlock still = found({in_phase(Phase::Finished), blocked({receive(0)}), blocked({receive(1)})});
  EXPECT_EQ(still.kind, Deadlock::Kind::WaitsForFinished);
  EXPECT_EQ(still.ranks, (std::vector<int>{1, 2}));
  EXPECT_TRUE(still.proven);
  EXPECT_PRED2(contains, still.text,
               "rank 1 waits for rank 0, which has finished and will not send any more");
}

TEST(FindStandstill, SaysThatAnotherRankThrew) {
  const Deadlock still = found({in_phase(Phase::Threw), blocked({send(0)})});
  EXPECT_EQ(still.kind, Deadlock::Kind::WaitsForFinished);
  EXPECT_PRED2(contains, still.text, "rank 0 has thrown an exception\n");
  EXPECT_PRED2(contains, still.text, "which has thrown an exception and will not receive any more");
}

TEST(FindStandstill, LetsASendThatAFinishedRankLeftOpenArrive) {
  const Deadlock still = found({in_phase(Phase::Finished, {open(send(1))}), blocked({receive(0)})});
  EXPECT_NE(still.kind, Deadlock::Kind::WaitsForFinished);
  EXPECT_FALSE(still.proven);
}

TEST(FindStandstill, NeedsEveryRequestOfAWaitall) {
  const Deadlock still =
      found({blocked({receive(1), receive(2)}), blocked({send(0), send(2)}), in_phase(Phase::Finished)});
  EXPECT_EQ(still.kind, Deadlock::Kind::WaitsForFinished);
  EXPECT_FALSE(still.proven) << "rank 1's send to rank 0 still has to complete";
}

TEST(FindStandstill, IsContentWithOneRequestOfAWaitany) {
  const std::vector<RankSnapshot> ranks{blocked({any_of(receive(1)), any_of(receive(2))}),
                                        blocked({any_of(send(0)), any_of(send(2))}),
                                        in_phase(Phase::Finished)};
  Deadlock still = found(ranks);
  EXPECT_EQ(still.kind, Deadlock::Kind::NoMatch);
  EXPECT_FALSE(still.proven);
}

TEST(FindStandstill, NamesWhoIsInWhichCollective) {
  const Deadlock still =
      found({blocked({collective("MPI_Barrier")}), blocked({collective("MPI_Bcast", 1, 0)}),
             blocked({collective("MPI_Barrier")})});
  EXPECT_EQ(still.kind, Deadlock::Kind::CollectiveMismatch);
  EXPECT_FALSE(still.proven);
  EXPECT_PRED2(contains, still.text,
               "rank 1 waits in MPI_Bcast with root 0 (collective call 1, 8 bytes, before any receive)");
  EXPECT_PRED2(contains, still.text, "ranks 0 and 2 are in MPI_Barrier, rank 1 is in MPI_Bcast with root 0:");
}

TEST(FindStandstill, NamesWhoIsInNoCollective) {
  const Deadlock still = found({blocked({collective("MPI_Barrier")}), blocked({receive(0)})});
  EXPECT_EQ(still.kind, Deadlock::Kind::CollectiveMismatch);
  EXPECT_TRUE(still.proven);
  EXPECT_PRED2(contains, still.text, "rank 0 is in MPI_Barrier, rank 1 is in no collective:");
}

TEST(FindStandstill, TellsASendPastItsReceiveBeforeACollective) {
  const Deadlock still =
      found({blocked({collective("MPI_Bcast", 1, 2)}), blocked({send(2)}), blocked({receive(0)})});
  EXPECT_EQ(still.kind, Deadlock::Kind::CollectiveMismatch);
  EXPECT_PRED2(contains, still.text,
               "rank 1 sends to rank 2, which receives from rank 0: they never meet\nrank 0 is in MPI_Bcast "
               "with root 2, ");
}

TEST(FindStandstill, ProvesNothingAboutACollectiveThatOneRankMayLeaveAlone) {
  const Deadlock still = found({blocked({collective("MPI_Bcast", 1, 0)}), blocked({receive(0)})});
  EXPECT_EQ(still.kind, Deadlock::Kind::CollectiveMismatch);
  EXPECT_FALSE(still.proven);
}

TEST(FindStandstill, PrefersACycleToThoseWhoWaitForItInACollective) {
  const Deadlock still =
      found({blocked({send(1)}), blocked({send(0)}), blocked({collective("MPI_Barrier")})});
  EXPECT_EQ(still.kind, Deadlock::Kind::Cycle);
  EXPECT_TRUE(still.proven);
}

TEST(FindStandstill, ProvesACycleWhateverTheOthersDo) {
  std::vector<RankSnapshot> ranks{blocked({send(1)}), blocked({send(0)}),
                                  in_phase(Phase::Polling, {receive(0)})};
  ranks.push_back(blocked({collective("MPI_Bcast", 1, 0)}));
  Deadlock still = found(ranks);
  EXPECT_EQ(still.ranks, (std::vector<int>{0, 1}));
  EXPECT_TRUE(still.proven);
  ranks[0].received_sum[1] = 17;
  still = found(ranks);
  EXPECT_FALSE(still.proven);
}

TEST(FindStandstill, DoesNotTakeARankThatNeedsOneOfManyForPartOfAProvenCycle) {
  const Deadlock still = found({blocked({any_of(receive(1)), any_of(receive(2))}), blocked({receive(0)}),
                                in_phase(Phase::Polling, {receive(1)})});
  EXPECT_EQ(still.kind, Deadlock::Kind::Cycle);
  EXPECT_FALSE(still.proven);
}

TEST(FindStandstill, NamesRootsThatDiffer) {
  const Deadlock still =
      found({blocked({collective("MPI_Bcast", 1, 0)}), blocked({collective("MPI_Bcast", 1, 1)})});
  EXPECT_EQ(still.kind, Deadlock::Kind::CollectiveMismatch);
  EXPECT_FALSE(still.proven);
}

TEST(FindStandstill, ProvesNothingWhileAllAreInOneCollective) {
  const Deadlock still = found({blocked({collective("MPI_Barrier")}), blocked({collective("MPI_Barrier")})});
  EXPECT_FALSE(still.proven);
}

TEST(FindStandstill, ProvesNothingWhileACollectiveThatOthersHaveLeftMayEnd) {
  std::vector<RankSnapshot> ranks{blocked({receive(1)}), blocked({collective("MPI_Barrier")})};
  ranks[0].communicators = {communicator(case_communicator, {0, 1}, 1)};
  const Deadlock still = found(ranks);
  EXPECT_FALSE(still.proven);
}

TEST(FindStandstill, NamesTheRankThatFinishedWithoutTheCollective) {
  const Deadlock still = found({blocked({collective("MPI_Barrier")}), in_phase(Phase::Finished)});
  EXPECT_EQ(still.kind, Deadlock::Kind::WaitsForFinished);
  EXPECT_TRUE(still.proven);
  EXPECT_PRED2(contains, still.text, "rank 1 has finished and will not call MPI_Barrier");
}

/// A rank that knows these communicators besides the case's, and waits in the first collective of the first.
RankSnapshot inside(const char* call, std::vector<SeenCommunicator> known) {
  PendingOperation one = collective(call);
  one.communicator = known.front().id;
  known.front().started = 1;
  RankSnapshot rank = blocked({one});
  rank.communicators = std::move(known);
  rank.communicators_complete = true;
  return rank;
}

RankSnapshot knowing(std::vector<SeenCommunicator> known, RankSnapshot rank) {
  rank.communicators = std::move(known);
  rank.communicators_complete = true;
  return rank;
}

TEST(FindStandstill, NamesTheMemberThatReturnedWithoutACollective) {
  const SeenCommunicator even = communicator(7, {0, 2, 4});
  const RankSnapshot returned = in_phase(Phase::Finished);
  const Deadlock still = found({inside("MPI_Alltoallv", {even}), returned, inside("MPI_Alltoallv", {even}),
                                returned, knowing({even}, returned)});
  EXPECT_EQ(still.kind, Deadlock::Kind::WaitsForFinished);
  EXPECT_EQ(still.ranks, (std::vector<int>{0, 2}));
  EXPECT_TRUE(still.proven);
  EXPECT_EQ(still.text,
            "rank 0 waits in MPI_Alltoallv (1st on the communicator of ranks 0, 2, 4; 8 bytes, before any "
            "receive)\n"
            "rank 2 waits in MPI_Alltoallv (1st on the communicator of ranks 0, 2, 4; 8 bytes, before any "
            "receive)\n"
            "rank 1 has finished\nrank 3 has finished\nrank 4 has finished\n"
            "ranks 0 and 2 wait in MPI_Alltoallv (1st on the communicator of ranks 0, 2, 4); rank 4 has "
            "returned");
}

TEST(FindStandstill, GivesMembersInTheirCommunicatorsOrder) {
  const SeenCommunicator turned = communicator(7, {2, 0});
  const Deadlock still = found({inside("MPI_Barrier", {turned}), in_phase(Phase::Finished),
                                knowing({turned}, in_phase(Phase::Threw))});
  EXPECT_TRUE(still.proven);
  EXPECT_PRED2(contains, still.text,
               "\nrank 0 waits in MPI_Barrier (1st on the communicator of ranks 2, 0); rank 2 has thrown an "
               "exception");
}

TEST(FindStandstill, ProvesADeadlockAcrossCommunicators) {
  const SeenCommunicator row = communicator(7, {0, 1}), column = communicator(8, {1, 2}),
                         other = communicator(9, {2, 0});
  const Deadlock still = found({inside("MPI_Barrier", {row, other}), inside("MPI_Allreduce", {column, row}),
                                inside("MPI_Barrier", {other, column})});
  EXPECT_EQ(still.kind, Deadlock::Kind::CollectiveMismatch);
  EXPECT_TRUE(still.proven);
  EXPECT_PRED2(contains, still.text,
               "\nrank 0 waits in MPI_Barrier (1st on the communicator of ranks 0, 1); rank 1 waits in "
               "MPI_Allreduce (1st on the communicator of ranks 1, 2)\n"
               "rank 1 waits in MPI_Allreduce (1st on the communicator of ranks 1, 2); rank 2 waits in "
               "MPI_Barrier (1st on the communicator of ranks 2, 0)\n"
               "rank 2 waits in MPI_Barrier (1st on the communicator of ranks 2, 0); rank 0 waits in "
               "MPI_Barrier (1st on the communicator of ranks 0, 1)");
}

TEST(FindStandstill, NamesTheMemberThatReceivesInPlaceOfACollective) {
  const SeenCommunicator pair = communicator(7, {0, 1});
  const Deadlock still = found({inside("MPI_Barrier", {pair}), knowing({pair}, blocked({receive(0)}))});
  EXPECT_EQ(still.kind, Deadlock::Kind::CollectiveMismatch);
  EXPECT_TRUE(still.proven);
  EXPECT_PRED2(contains, still.text,
               "(1st on another communicator of all ranks); rank 1 waits in MPI_Recv from rank 0");
}

TEST(FindStandstill, TellsOfRanksThatAreGoneBeforeThoseThatWaitForThemInTurn) {
  const SeenCommunicator first = communicator(7, {0, 1}), second = communicator(8, {1, 2});
  const Deadlock still = found({inside("MPI_Barrier", {first}), inside("MPI_Barrier", {second, first}),
                                knowing({second}, in_phase(Phase::Finished))});
  EXPECT_EQ(still.kind, Deadlock::Kind::WaitsForFinished);
  EXPECT_TRUE(still.proven);
  EXPECT_TRUE(
      still.text.ends_with("rank 2 has finished\nrank 1 waits in MPI_Barrier (1st on the communicator "
                           "of ranks 1, 2); rank 2 has returned"))
      << still.text;
}

TEST(FindStandstill, ProvesNothingOfACollectiveWhoseMembersMayHaveBegunIt) {
  const SeenCommunicator pair = communicator(7, {0, 1});
  const RankSnapshot returned = in_phase(Phase::Finished);
  const auto is_proven = [&](const RankSnapshot& first, const RankSnapshot& second) {
    return found({first, second, returned}).proven;
  };
  const RankSnapshot waits = inside("MPI_Barrier", {pair});
  EXPECT_TRUE(is_proven(waits, knowing({pair}, returned)));
  EXPECT_FALSE(is_proven(waits, knowing({communicator(7, {0, 1}, 1)}, returned)));
  EXPECT_TRUE(is_proven(waits, knowing({communicator(8, {1, 2})}, returned))) << "it never knew it";
  RankSnapshot forgetful = knowing({communicator(8, {1, 2})}, returned);
  forgetful.communicators_complete = false;
  EXPECT_FALSE(is_proven(waits, forgetful));
  RankSnapshot gives = waits;
  gives.communicators[0].awaited = 1;
  EXPECT_FALSE(is_proven(gives, knowing({pair}, returned))) << "it needs nothing of rank 1";
  RankSnapshot further = waits;
  further.communicators[0].started = 2;
  EXPECT_FALSE(is_proven(further, knowing({pair}, returned))) << "what it needs is told of a later one";
  RankSnapshot outside = waits;
  outside.communicators[0].members = {0, outside_peer, 99};
  EXPECT_FALSE(is_proven(outside, knowing({pair}, returned)));
}

TEST(FindStandstill, NamesTheCommunicatorOfAMessage) {
  PendingOperation one = receive(2);
  one.communicator = 7;
  const SeenCommunicator pair = communicator(7, {2, 0});
  const Deadlock still = found({knowing({pair}, blocked({one})), in_phase(Phase::Finished),
                                knowing({pair}, in_phase(Phase::Finished))});
  EXPECT_TRUE(still.proven);
  EXPECT_PRED2(contains, still.text, "before any receive, on the communicator of ranks 2, 0)");
}

TEST(FindStandstill, IsCompactForManyRanks) {
  const Deadlock still = found(sending_ring(8));
  EXPECT_EQ(still.text,
            "ranks 0 to 7 each wait in MPI_Send to rank (r + 1) mod 8 (tag 0, 8 bytes, before any receive)\n"
            "a cycle: 0 → 1 → 2 → 3 → 4 → 5 → 6 → 7 → 0; every rank of it sends and none receives");
}

TEST(FindStandstill, KeepsManyRanksCompleteWhereTheyDiffer) {
  std::vector<RankSnapshot> ranks = sending_ring(9);
  ranks[3] = blocked({receive(2)});
  ranks[3].pending[0].tag = 5;
  ranks[7] = in_phase(Phase::Finished);
  ranks[8] = in_phase(Phase::Finished);
  const Deadlock still = found(ranks);
  EXPECT_EQ(still.text,
            "ranks 0 to 2 and 4 to 6 each wait in MPI_Send to rank (r + 1) mod 9 (tag 0, 8 bytes, before any "
            "receive)\n"
            "rank 3 waits in MPI_Recv from rank 2 (tag 5, 8 bytes, before any receive)\n"
            "ranks 7 and 8 have finished\n"
            "rank 2 sends tag 0, rank 3 receives tag 5: they never meet");
}

TEST(FindStandstill, BearsAnyPeerAndTag) {
  for (const int number : {-1000, -3, 2, 1 << 30}) {
    const Deadlock still = found({blocked({send(number, number)}), blocked({receive(number, number)})});
    EXPECT_EQ(still.kind, Deadlock::Kind::NoMatch);
  }
}

TEST(Snapshot, CopiesThePage) {
  const auto page = std::make_unique<RankStatus>();
  page->phase = static_cast<std::uint32_t>(Phase::Blocked);
  page->case_index = 3;
  page->completed = 5;
  page->receives = 2;
  page->pending_count = 1;
  page->pending[0] = send(1, 4);
  page->sent_sum[1] = 17;
  page->communicator_count = 2;
  page->communicators[0] = {case_communicator, 4, 3, 0, {0, 1, 2}};
  page->communicators[1] = {7, 1, 2, 1, {2, 0}};
  std::strcpy(page->text, "why");
  const RankSnapshot taken = snapshot(*page);
  EXPECT_EQ(taken.phase, Phase::Blocked);
  EXPECT_EQ(taken.case_index, 3);
  EXPECT_EQ(taken.completed, 5U);
  EXPECT_EQ(taken.receives, 2);
  ASSERT_EQ(taken.pending.size(), 1U);
  EXPECT_STREQ(taken.pending[0].call, "MPI_Send");
  EXPECT_TRUE(taken.pending_complete);
  EXPECT_EQ(taken.sent_sum[1], 17U);
  ASSERT_EQ(taken.communicators.size(), 2U);
  EXPECT_EQ(taken.communicators[0].started, 4);
  EXPECT_EQ(taken.communicators[1].id, 7U);
  EXPECT_EQ(taken.communicators[1].awaited, 1U);
  EXPECT_EQ(taken.communicators[1].members, (std::vector<int>{2, 0}));
  EXPECT_TRUE(taken.communicators_complete);
  page->communicator_count = 17;
  EXPECT_EQ(snapshot(*page).communicators.size(), 16U);
  EXPECT_FALSE(snapshot(*page).communicators_complete);
  page->communicator_count = 0;
  EXPECT_FALSE(snapshot(*page).communicators_complete);
  EXPECT_EQ(taken.text, "why");
}

TEST(Snapshot, ReadsTheFactsThatAreWholeLines) {
  const auto page = std::make_unique<RankStatus>();
  std::strcpy(page->facts,
              "any_source\tMPI_Recv from -1\nno tab here\nworld_communicator\tMPI_Send\ncut\toff");
  const Facts expected{{"any_source", "MPI_Recv from -1"}, {"world_communicator", "MPI_Send"}};
  EXPECT_EQ(snapshot(*page).facts, expected);
  std::memset(page->facts, '\n', sizeof page->facts);
  EXPECT_TRUE(snapshot(*page).facts.empty());
}

TEST(Snapshot, ReadsWhatIsKnownOfAFact) {
  const auto page = std::make_unique<RankStatus>();
  Fact all{"truncated", "a\ttext in\ntwo lines"};
  all.call = "MPI_Recv";
  all.other_call = "scale<64, 32>";
  all.at = {31, "tiles.hpp"};
  all.other_at = {7, ""};
  all.within = "the ring";
  all.root = 2;
  all.bytes = 252;
  all.room = 0;
  all.marks = {"four_times", "one_line"};
  const Fact forged{"forged", "bytes are no number", "MPI_Send"};
  std::strcpy(
      page->facts,
      (line_of_page(all) + "\nforged\tbytes are no number\tbytes=x\todd\tcall=MPI_Send\tother=1\n").c_str());
  all.text = "a text in two lines";
  EXPECT_EQ(snapshot(*page).facts, (Facts{all, forged}));
}

TEST(Snapshot, MakesAForgedPageWellFormed) {
  const auto page = std::make_unique<RankStatus>();
  page->phase = 1234;
  page->pending_count = 1 << 30;
  std::memset(static_cast<void*>(page->pending), 0xFF, sizeof page->pending);
  page->pending[1] = send(1);
  std::memset(page->pending[1].call, 'x', sizeof page->pending[1].call);
  page->communicator_count = 2;
  std::memset(static_cast<void*>(page->communicators), 0x7F, sizeof page->communicators[0]);
  page->communicators[1].size = -1;
  std::memcpy(page->text, "a\xFF\x1B[0m\xE2\x89\xA5\xE2\x89", 11);
  const RankSnapshot taken = snapshot(*page);
  EXPECT_EQ(taken.phase, Phase::Computing);
  ASSERT_EQ(taken.pending.size(), 1U);
  EXPECT_EQ(std::string(taken.pending[0].call), std::string(sizeof taken.pending[0].call - 1, 'x'));
  EXPECT_FALSE(taken.pending_complete);
  EXPECT_EQ(taken.communicators[0].members, std::vector<int>(max_summed_ranks, outside_peer));
  EXPECT_TRUE(taken.communicators[1].members.empty());
  EXPECT_EQ(taken.text, "a??[0m≥??");
}

TEST(Snapshot, TakesAPageThatWasLeftHalfWrittenForOneThatDoesNotWait) {
  const auto page = std::make_unique<RankStatus>();
  page->phase = static_cast<std::uint32_t>(Phase::Blocked);
  page->sequence = 7;
  EXPECT_EQ(snapshot(*page).phase, Phase::Computing);
}

}  // namespace
}  // namespace course
