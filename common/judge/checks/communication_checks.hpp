#pragma once

#include <optional>

#include "judge/task.hpp"
#include "protocol/fact_kinds.hpp"

namespace course::checks {

/// Bytes that a rank sent point to point.
std::int64_t bytes_sent(const RankReport& report);

/// The bytes of keys and values of so many tokens, in the shape of the example's k.
std::int64_t bytes_of_block(const Example& example, int tokens);

/// Tells a mistake from other causes of the same finding.
using Recognises = std::function<bool(const Example&, const Outcome&)>;

/// How often a rank has to send a pair of tensors as large as keys and values.
using Hops = int (*)(int ranks);

/// P - 1 of keys and values.
int forward_hops(int ranks);

/// P - 1 of keys and values, P of their gradients; alone in the ring nobody sends anything.
int backward_hops(int ranks);

/// What `look` finds carries the mistake's name only where the mistake is recognised; other causes go
/// unnamed.
CommunicationCheck named_if(CommunicationCheck look, Recognises recognises, std::string mistake);

/// The findings of the first that has any: what follows from it is no finding of its own.
CommunicationCheck first_of(std::vector<CommunicationCheck> looks);

/// The findings of all.
CommunicationCheck all_of(std::vector<CommunicationCheck> looks);

/// Recognised: no rank sent to another than the one before it in the ring.
bool sent_only_to_previous(const Example& example, const Outcome& outcome);

/// Recognised, in worlds of `fewest_ranks` or more: every rank sent every block once more than `hops` asks
/// for, each message as long as its block or as the largest one. In smaller worlds sending something twice
/// may make as many bytes.
Recognises sent_one_hop_more(Hops hops, int fewest_ranks);

/// Recognised: rank 0 was in MPI_Allgather or one of its kind.
bool gathered(const Example& example, const Outcome& outcome);

/// Recognised, where a rank's player counts no bytes and so sees no gather: a rank held as many bytes as the
/// keys and values of all ranks at its peak.
bool held_everything_unseen(const Example& example, const Outcome& outcome);

/// Recognised: a cycle of two or more ranks that all wait in a send, and of which none has received before.
bool every_rank_sends(const Example& example, const Deadlock& deadlock);

/// Recognised: a cycle in which whoever sends does so to the next rank, and whoever receives does so from it.
bool every_rank_receives_from_next(const Example& example, const Deadlock& deadlock);

/// Recognised: a rank that is alone waits for itself.
bool waits_for_itself_alone(const Example& example, const Deadlock& deadlock);

/// What collectives may bring: sizes and the like, but no keys and values.
std::int64_t control_bytes(const Example& example, int rank);

/// The first fact of this kind; null: there is none.
const Fact* first_of_kind(const Facts& facts, const char* kind);

/// A fact against an answer, in its own words or in others.
Finding finding_of(const Fact& fact, std::string mistake, std::string text);
Finding finding_of(const Fact& fact, std::string mistake);

/// A rank's instruments noted a fact of this kind (protocol/fact_kinds.hpp), such as fact_world:
/// one finding, of the first such rank.
CommunicationCheck without_fact(const char* kind, std::string mistake);

/// A rank sent something to itself. The mistake's name is for a rank that is alone: among several, who sends
/// to itself has made another one.
CommunicationCheck sends_nothing_to_itself(std::string mistake);

/// A rank's output holds what was read from a buffer while its receive was open: the tests fill such a buffer
/// with NaNs of their own. Says nothing itself, since the wrong entries are told with it.
CommunicationCheck reads_only_what_has_arrived(std::string mistake);

/// Whether every rank's player counts bytes. Where one does not, what was not sent is not known.
bool traffic_was_measured(const Outcome& outcome);

/// A message, or what a collective reads or fills, ends beyond the memory that it begins in: a tensor of the
/// function's, or a block that it allocated. Where it looks like a count of bytes, it is "count_in_bytes".
CommunicationCheck stays_in_its_memory();

/// A request was left open, or freed before its operation was complete. Of a function that threw nothing is
/// said: its exception is why.
CommunicationCheck completes_its_requests(std::string mistake);

/// A communicator, a group, a datatype or an operation that the function made is left. Of a function that
/// threw nothing is said.
CommunicationCheck frees_what_it_makes(std::string mistake);

/// Of a wrong answer: a rank received from MPI_PROC_NULL, or sent to it. The mistake's name is for a ring in
/// which some ranks did, and not all, as its ends do where they are not joined.
AnswerCheck joins_its_ends(std::string mistake);

/// The same where there is no answer: without a name, since something else may have ended the function.
std::vector<Finding> tells_null_peers(const Example& example, const Outcome& outcome);

/// A call was given a copy of a request that was over.
CommunicationCheck uses_no_ended_request(std::string mistake);

/// "does a count lack head_dim, 5 here?": what may be missing where a message is too short by a factor. Empty
/// where the factor is no size of the example's.
std::string missing_factor(const Example& example, std::int64_t factor);

/// Where a message was longer than its receive: how long everybody's shard is on this input, and which factor
/// the room may lack.
std::vector<Finding> tells_shard_lengths(const Example& example, const Outcome& outcome);

/// "rank 1: MPI_Recv from rank 0 (tag 1, 72 bytes) got 24 bytes; the rest of its room stayed as it was": a
/// message that was shorter than its room, and not as a shard is in a room that has the length of the largest
/// or of all. Empty where there is none. Only beside a wrong answer does it say anything.
std::string shorter_message(const Example& example, const Outcome& outcome);

/// A rank waits in a send of an empty block.
std::vector<Finding> tells_empty_message(const Example& example, const Outcome& outcome);

/// A rank started or ended MPI, which is its caller's, or made a call that the MPI layer notes and does not
/// follow (common/mpi_layer/uncommon.cpp): what it sends and receives escapes the checks of bytes.
CommunicationCheck uses_only_known_calls();

/// A rank received into memory of its own that is too short, or had the length of its own block for one that
/// is longer.
CommunicationCheck has_room_for_every_block(std::string mistake);

/// A rank sent with a buffer of its own (MPI_Bsend). `rule` is what the contract says of sends.
CommunicationCheck waits_for_its_receives(std::string rule);

/// How many messages, in a world of so many ranks.
using Messages = int (*)(int ranks);

/// All ranks together sent more than `most` messages of `message` bytes, or collectives brought a rank more
/// than `gathered`. Mistake: count_in_bytes, where four times as much was moved as a right answer moves,
/// which sends `fewest` at least: as when sizeof counts numbers of type MPI_FLOAT.
CommunicationCheck moves_messages_at_most(std::int64_t message, Messages fewest, Messages most,
                                          Messages gathered);

/// Bytes that a rank may have.
using Limit = std::function<std::int64_t(const Example&, int rank)>;

/// A rank sent more point-to-point bytes than `limit` allows.
CommunicationCheck sends_at_most(Limit limit, std::string mistake);

/// The limit of so many hops, each message padded to the largest shard's length.
std::int64_t bytes_of_hops(Hops hops, const Example& example);

/// A rank sent to another than the next in the ring, which runs as the task's direction says. Says nothing
/// for P < 3, where both neighbours are one.
CommunicationCheck sends_only_to_next(std::string mistake);

/// Collectives brought a rank more bytes than `limit` allows.
CommunicationCheck gathers_at_most(Limit limit, std::string mistake);

/// Collectives brought a rank more than control_bytes, of a ring's tensors; `mistake` where ranks gathered.
CommunicationCheck passes_tensors_by_messages(std::string mistake);

/// The limit of so many pairs of tensors as large as the largest shard's keys and values. Where those are
/// small, what MPI takes the first time it is used is large beside them: no limit there.
std::int64_t memory_of_blocks(const Example& example, int blocks);

/// A call's peak memory exceeded `limit` bytes, on any rank. Says nothing where memory was not measured.
CommunicationCheck uses_memory_at_most(std::function<std::int64_t(const Example&)> limit,
                                       std::string mistake);

/// A deadlock that `recognises` takes for its own.
CommunicationCheck deadlocks(std::function<bool(const Example&, const Deadlock&)> recognises,
                             std::string mistake);

/// A rank that owns no tokens has returned, and has received nothing, while others still wait for it: their
/// blocks pass through it.
CommunicationCheck keeps_empty_ranks(std::string mistake);

/// What every blocking ring is held to, after what a lesson looks at first: calls that are known, messages
/// within their tensors, room for every block, requests that are finished, buffers apart, no gathering,
/// `memory`, not every rank sending first, and none receiving from the next. Names of mistakes:
/// room_too_short, communicator_not_freed, leaked_request, one_room_for_k_and_v,
/// receives_over_the_send_buffer, send_buffer_reused, computes_on_arriving, everything_gathered,
/// every_rank_sends_first, receives_from_next.
std::vector<CommunicationCheck> blocking_ring(CommunicationCheck first,
                                              std::function<std::int64_t(const Example&)> memory);

}  // namespace course::checks
