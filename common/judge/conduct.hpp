#pragma once

#include "judge/task.hpp"

namespace course::conduct {

/// A rank used MPI_COMM_WORLD (mistake) in place of the communicator it was given.
Conduct uses_only_its_communicator(std::string mistake);

/// A rank received from MPI_ANY_SOURCE.
Conduct names_its_sources(std::string mistake);

/// A rank sent to, or received from, itself.
Conduct never_talks_to_itself(std::string mistake);

/// A receive buffer overlapped one that was still being sent.
Conduct keeps_buffers_apart(std::string mistake);

/// A rank sent more point-to-point bytes than `limit` (by rank) allows.
Conduct sends_at_most(std::function<std::int64_t(const Example&, int rank)> limit, std::string mistake);

/// A rank sent to another than rank + 1 modulo P. Says nothing for P < 3, where both neighbours are one.
Conduct sends_only_to_next(std::string mistake);

/// Collectives brought a rank more bytes than `limit` allows.
Conduct gathers_at_most(std::function<std::int64_t(const Example&, int rank)> limit, std::string mistake);

/// A call's peak memory exceeded `limit` bytes, on any rank. Says nothing where memory was not measured.
Conduct uses_memory_at_most(std::function<std::int64_t(const Example&)> limit, std::string mistake);

/// A standstill that `recognises` takes for its own.
Conduct stands_still(std::function<bool(const Example&, const Standstill&)> recognises, std::string mistake);

}  // namespace course::conduct
