#pragma once

#include "judge/attention/exchange/shares.hpp"
#include "judge/checks/traffic_checks.hpp"

/// What exchanges of tokens for heads send, and what they are held to.
namespace course::exchange {

/// A tensor of which each rank sends its tokens of the ranges' heads to those ranks of its row, or back; a
/// token and head has so many numbers.
struct Exchange {
  const char* ranges;  ///< the argument
  Index width;
  bool back = false;
};

/// q, k and v there, o and lse back.
std::vector<Exchange> forward_exchanges(Index head_dim);

/// The bytes that `from` has to send to `to` in these exchanges: none to another row.
std::int64_t bytes(const Example& example, const std::vector<Exchange>& all, int from, int to);

/// The bytes of these tensors on one rank, of all tokens of its row and its own heads.
std::int64_t bytes_held(const Example& example, const std::vector<Exchange>& all, int rank);

/// Which exchanges an example's ranks make.
using ExchangesOf = std::vector<Exchange> (*)(const Example&);

/// What a rank may send to another: in its row as if every part were as long as the longest of the row, and
/// nothing to another row.
checks::NeededBytes padded_parts(ExchangesOf exchanges);

/// What every exchange is held to: it sends `needed` at most and makes no mistake with MPI. Where ranks sent
/// what `copied` recognises, that is keys_copied_to_all_heads; where they gathered, everything_gathered.
std::vector<CommunicationCheck> exchange_checks(
    checks::NeededBytes needed,
    checks::Recognises copied = [](const Example&, const Outcome&) { return false; });

/// Ranks wait for one that has gone and that has no heads.
bool left_without_heads(const Example& example, const Deadlock& deadlock);

/// A call of a collective other than MPI_Alltoall(v) and those that only order ranks: one finding, of the
/// first rank that made one.
std::vector<Finding> exchanges_by_alltoall_or_messages(const Example& example, const Outcome& outcome);

}  // namespace course::exchange
