#pragma once

#include "judge/checks/communication_checks.hpp"

/// What ranks sent each other, by messages and by collectives, against what has to be sent.
namespace course::checks {

/// The bytes that rank `from` has to send to rank `to`, another rank.
using NeededBytes = std::function<std::int64_t(const Example&, int from, int to)>;

/// A rank sent more to another than is needed: one finding, of the first such pair. It says so where every
/// rank sent the same whole multiple.
CommunicationCheck sends_only_what_is_needed(NeededBytes needed, std::string mistake);

/// The same with the calls by which too much was sent, what who_talks(example, from) says of the sender, and
/// a table of all pairs. A pair that needs nothing is told before one that sent too much.
CommunicationCheck sends_by_the_map(NeededBytes needed,
                                    std::function<std::string(const Example&, int from)> who_talks,
                                    std::string mistake);

/// A rank sent more bytes than `limit`, all receivers together.
CommunicationCheck sends_in_all_at_most(Limit limit, std::string mistake);

/// The whole number n for which every rank that sent anything sent n times as much as is needed to each other
/// rank; 0 where there is no such number, or nobody sent anything.
std::int64_t whole_multiple_sent(const NeededBytes& needed, const Example& example, const Outcome& outcome);

/// Recognised: every rank that sent anything sent the same whole multiple, greater than 1, of what is needed
/// to each other rank.
Recognises sent_whole_multiple(NeededBytes needed);

}  // namespace course::checks
