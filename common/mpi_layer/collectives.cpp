#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "mpi_layer/recorder.hpp"

namespace course::mpi_layer {

namespace {

/// A call of a collective, and its root where it has one.
struct Collective {
  const char* name;
  MPI_Comm comm;
  int root = MPI_PROC_NULL;
};

/// So many elements from an address on, which a rank gives to a collective or gets from it.
struct Part {
  const void* buffer;
  std::int64_t count;
  MPI_Datatype type;
};
using Parts = std::vector<Part>;

/// given(communicator) and received(communicator) are this rank's. Of another member sent(communicator, to)
/// are the bytes for it and awaited(communicator, from) those that this rank has to get from it: what the
/// call means, not how a library spreads it.
template <class Given, class Received, class Sent, class Awaited>
Operation prepare(Recorder& recorder, const Collective& called, const Given& given, const Received& received,
                  const Sent& sent, const Awaited& awaited) {
  const std::shared_ptr<Communicator> communicator = recorder.enter(called.name, called.comm);
  const Parts in = received(*communicator);
  const std::int64_t bytes = std::accumulate(
      in.begin(), in.end(), std::int64_t{0},
      [](std::int64_t sum, const Part& part) { return sum + bytes_of(part.count, part.type); });
  const Operation operation = recorder.prepare_collective(
      called.name, communicator, bytes, called.root,
      communicator->bits_of_others([&](int from) { return awaited(*communicator, from) > 0; }));
  std::vector<std::int64_t> sent_to(communicator->size);
  for (int to = 0; to < communicator->size; ++to)
    if (to != communicator->rank) sent_to[to] = sent(*communicator, to);
  recorder.journal.count_collective(operation, sent_to);
  const auto check_extents = [&](const Parts& parts, bool writes) {
    for (const Part& part : parts)
      recorder.check_extent(operation, extent_of(part.buffer, part.count, part.type), writes);
  };
  check_extents(given(*communicator), false);
  check_extents(in, true);
  return operation;
}

/// A collective moves numbers, but for a barrier. On a communicator that the function has made the text says
/// whose it is.
CallLabel label_of(const char* call, const Communicator& on) {
  const Span::Kind kind = std::string_view(call) == "MPI_Barrier" ? Span::Kind::Wait : Span::Kind::Transfer;
  if (on.number < 2 || std::ranges::count(on.case_ranks, outside_peer) > 0) return {call, kind};
  return {call, kind, fmt::format("{} of ranks {}", call, fmt::join(on.case_ranks, ", "))};
}

/// Runs a blocking collective: the library's function with these arguments.
template <auto Library, class Given, class Received, class Sent, class Awaited, class... Arguments>
int run(const Collective& called, const Given& given, const Received& received, const Sent& sent,
        const Awaited& awaited, Arguments... arguments) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return Library(arguments...);
  const Operation operation = prepare(*recorder, called, given, received, sent, awaited);
  const auto call = [&] { return Library(arguments...); };
  check(recorder->waiting.run_blocked(label_of(called.name, *operation.communicator), operation, call,
                                      called.comm),
        operation);
  return MPI_SUCCESS;
}

/// What a rank tells the others before they exchange: of itself, and of its parts from and to each member.
struct ExchangeRow {
  static constexpr std::int64_t mark = 0x756c79737365;  ///< no other collective's numbers
  static constexpr std::size_t head = 2;

  explicit ExchangeRow(int size) : numbers(head + 2 * static_cast<std::size_t>(size)) {}
  ExchangeRow(int size, const std::int64_t* from) : numbers(from, from + ExchangeRow(size).numbers.size()) {}

  bool is_marked() const { return numbers[0] == mark; }
  bool counts_floats() const { return numbers[1] != 0; }
  std::int64_t& sent(int to) { return numbers[head + 2 * static_cast<std::size_t>(to)]; }
  std::int64_t& awaited(int from) { return numbers[head + 2 * static_cast<std::size_t>(from) + 1]; }

  std::vector<std::int64_t> numbers;
};

/// The rows of all members, by their ranks. Everybody is in the same kind of call, or stands still.
std::vector<ExchangeRow> gathered(const ExchangeRow& own, const Communicator& on, MPI_Comm comm) {
  const int length = static_cast<int>(own.numbers.size());
  std::vector<std::int64_t> all(own.numbers.size() * static_cast<std::size_t>(on.size));
  PMPI_Allgather(own.numbers.data(), length, MPI_INT64_T, all.data(), length, MPI_INT64_T, comm);
  std::vector<ExchangeRow> rows;
  for (int rank = 0; rank < on.size; ++rank) rows.emplace_back(on.size, all.data() + rank * length);
  return rows;
}

/// Throws on every rank, with the first pair, where a member sends another what that does not expect: the
/// library would fail on some ranks, or hand over a part.
template <class Sent, class Awaited>
void require_matching(Recorder& recorder, const Operation& operation, MPI_Comm comm, bool counts_floats,
                      const Sent& sent, const Awaited& awaited) {
  const Communicator& on = *operation.communicator;
  ExchangeRow own(on.size);
  own.numbers[0] = ExchangeRow::mark;
  own.numbers[1] = counts_floats ? 1 : 0;
  for (int member = 0; member < on.size; ++member) {
    own.sent(member) = sent(on, member);
    own.awaited(member) = awaited(on, member);
  }
  std::vector<ExchangeRow> rows = gathered(own, on, comm);
  for (int from = 0; from < on.size; ++from) {
    for (int to = 0; to < on.size; ++to) {
      if (!rows[from].is_marked() || !rows[to].is_marked()) return;
      const std::int64_t bytes = rows[from].sent(to), room = rows[to].awaited(from);
      if (bytes == room) continue;
      const bool in_numbers = rows[from].counts_floats() && rows[to].counts_floats();
      const auto told = [&](std::int64_t size) {
        return in_numbers ? size / static_cast<std::int64_t>(sizeof(float)) : size;
      };
      recorder.journal.note_and_throw<std::runtime_error>(
          {.kind = fact_counts_disagree,
           .text = fmt::format("{}: rank {} sends {} {} to rank {}, which expects {}", operation.call,
                               on.case_ranks[from], told(bytes), in_numbers ? "numbers" : "bytes",
                               on.case_ranks[to], told(room)),
           .call = operation.call,
           .bytes = bytes,
           .room = room});
    }
  }
}

/// run() of an exchange of all with all, in which each member sends each what that expects.
template <auto Library, class Given, class Received, class Sent, class Awaited, class... Arguments>
int run_exchange(const Collective& called, MPI_Datatype type, const Given& given, const Received& received,
                 const Sent& sent, const Awaited& awaited, Arguments... arguments) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return Library(arguments...);
  const Operation operation = prepare(*recorder, called, given, received, sent, awaited);
  const auto call = [&] {
    require_matching(*recorder, operation, called.comm, type == MPI_FLOAT, sent, awaited);
    return Library(arguments...);
  };
  check(recorder->waiting.run_blocked(label_of(called.name, *operation.communicator), operation, call,
                                      called.comm),
        operation);
  return MPI_SUCCESS;
}

/// Starts a nonblocking collective, whose last argument is the request.
template <auto Library, class Given, class Received, class Sent, class Awaited, class... Arguments>
int start(const Collective& called, MPI_Request* request, const Given& given, const Received& received,
          const Sent& sent, const Awaited& awaited, Arguments... arguments) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return Library(arguments..., request);
  *request = recorder->start(prepare(*recorder, called, given, received, sent, awaited),
                             [&](MPI_Request* started) { return Library(arguments..., started); });
  return MPI_SUCCESS;
}

Parts nothing(const Communicator&) {
  return {};
}

/// The same on every rank.
auto on_every_rank(const void* buffer, int count, MPI_Datatype type) {
  return [=](const Communicator&) { return Parts{{buffer, count, type}}; };
}

/// So many for each rank of the communicator.
auto for_each_rank(const void* buffer, int count, MPI_Datatype type) {
  return [=](const Communicator& on) { return Parts{{buffer, std::int64_t{count} * on.size, type}}; };
}

/// The same with counts of their own, side by side.
auto for_each_rank(const void* buffer, const int* counts, MPI_Datatype type) {
  return [=](const Communicator& on) {
    return Parts{{buffer, std::accumulate(counts, counts + on.size, std::int64_t{0}), type}};
  };
}

/// The same at offsets, which count elements.
auto for_each_rank(const void* buffer, const int* counts, const int* offsets, MPI_Datatype type) {
  return [=](const Communicator& on) {
    Parts parts;
    if (buffer == nullptr || buffer == MPI_IN_PLACE) return parts;
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    PMPI_Type_get_extent(type, &lower, &extent);
    for (int rank = 0; rank < on.size; ++rank)
      parts.push_back({static_cast<const std::byte*>(buffer) + offsets[rank] * extent, counts[rank], type});
    return parts;
  };
}

template <class OfRank>
auto on_root(int root, const OfRank& parts) {
  return [=](const Communicator& on) { return on.rank == root ? parts(on) : Parts{}; };
}

template <class OfRank>
auto except_on_root(int root, const OfRank& parts) {
  return [=](const Communicator& on) { return on.rank == root ? Parts{} : parts(on); };
}

/// This rank's entry of the counts.
auto own_share(const void* buffer, const int* counts, MPI_Datatype type) {
  return [=](const Communicator& on) { return Parts{{buffer, counts[on.rank], type}}; };
}

// Bytes between this rank and another member, either way.

std::int64_t zero(const Communicator&, int) {
  return 0;
}

/// Nobody leaves before all have come.
std::int64_t presence(const Communicator&, int) {
  return 1;
}

/// So many elements for each other member.
auto of_each(std::int64_t count, MPI_Datatype type) {
  return [=](const Communicator&, int) { return bytes_of(count, type); };
}

/// The same with counts of their own.
auto of_each(const int* counts, MPI_Datatype type) {
  return [=](const Communicator&, int to) { return bytes_of(counts[to], type); };
}

/// This rank's entry of the counts for each.
auto of_own(const int* counts, MPI_Datatype type) {
  return [=](const Communicator& on, int) { return bytes_of(counts[on.rank], type); };
}

template <class OfMember>
auto at_root(int root, const OfMember& of) {
  return [=](const Communicator& on, int member) { return on.rank == root ? of(on, member) : 0; };
}

template <class OfMember>
auto with_root(int root, const OfMember& of) {
  return [=](const Communicator& on, int member) { return member == root ? of(on, member) : 0; };
}

auto to_next(int count, MPI_Datatype type) {
  return [=](const Communicator& on, int to) { return to == on.rank + 1 ? bytes_of(count, type) : 0; };
}

auto from_those_before(int count, MPI_Datatype type) {
  return [=](const Communicator& on, int from) { return from < on.rank ? bytes_of(count, type) : 0; };
}

/// What reducing in parts and gathering them again sends, 2 (P - 1) / P of the bytes, evenly; each share is
/// rounded down.
auto parts_of_each(int count, MPI_Datatype type) {
  return [=](const Communicator& on, int) { return 2 * bytes_of(count, type) / on.size; };
}

/// What `out` holds or, in place, what lies in `in`.
template <class Out, class In>
auto sent_from(const void* out, const Out& of_out, const In& of_in) {
  return [=](const Communicator& on, int to) { return out == MPI_IN_PLACE ? of_in(on, to) : of_out(on, to); };
}

}  // namespace

extern "C" {

int MPI_Barrier(MPI_Comm comm) {
  return run<PMPI_Barrier>({__func__, comm}, nothing, nothing, zero, presence, comm);
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return run<PMPI_Bcast>({__func__, comm, root}, on_root(root, on_every_rank(buffer, count, type)),
                         except_on_root(root, on_every_rank(buffer, count, type)),
                         at_root(root, of_each(count, type)), with_root(root, of_each(count, type)), buffer,
                         count, type, root, comm);
}

int MPI_Gather(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
               MPI_Datatype in_type, int root, MPI_Comm comm) {
  return run<PMPI_Gather>(
      {__func__, comm, root}, on_every_rank(out, out_count, out_type),
      on_root(root, for_each_rank(in, in_count, in_type)), with_root(root, of_each(out_count, out_type)),
      at_root(root, of_each(in_count, in_type)), out, out_count, out_type, in, in_count, in_type, root, comm);
}

int MPI_Gatherv(const void* out, int out_count, MPI_Datatype out_type, void* in, const int in_counts[],
                const int offsets[], MPI_Datatype in_type, int root, MPI_Comm comm) {
  return run<PMPI_Gatherv>({__func__, comm, root}, on_every_rank(out, out_count, out_type),
                           on_root(root, for_each_rank(in, in_counts, offsets, in_type)),
                           with_root(root, of_each(out_count, out_type)),
                           at_root(root, of_each(in_counts, in_type)), out, out_count, out_type, in,
                           in_counts, offsets, in_type, root, comm);
}

int MPI_Scatter(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                MPI_Datatype in_type, int root, MPI_Comm comm) {
  return run<PMPI_Scatter>({__func__, comm, root}, on_root(root, for_each_rank(out, out_count, out_type)),
                           on_every_rank(in, in_count, in_type), at_root(root, of_each(out_count, out_type)),
                           with_root(root, of_each(in_count, in_type)), out, out_count, out_type, in,
                           in_count, in_type, root, comm);
}

int MPI_Scatterv(const void* out, const int out_counts[], const int offsets[], MPI_Datatype out_type,
                 void* in, int in_count, MPI_Datatype in_type, int root, MPI_Comm comm) {
  return run<PMPI_Scatterv>(
      {__func__, comm, root}, on_root(root, for_each_rank(out, out_counts, offsets, out_type)),
      on_every_rank(in, in_count, in_type), at_root(root, of_each(out_counts, out_type)),
      with_root(root, of_each(in_count, in_type)), out, out_counts, offsets, out_type, in, in_count, in_type,
      root, comm);
}

int MPI_Allgather(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                  MPI_Datatype in_type, MPI_Comm comm) {
  return run<PMPI_Allgather>(
      {__func__, comm}, on_every_rank(out, out_count, out_type), for_each_rank(in, in_count, in_type),
      sent_from(out, of_each(out_count, out_type), of_each(in_count, in_type)), of_each(in_count, in_type),
      out, out_count, out_type, in, in_count, in_type, comm);
}

int MPI_Allgatherv(const void* out, int out_count, MPI_Datatype out_type, void* in, const int in_counts[],
                   const int offsets[], MPI_Datatype in_type, MPI_Comm comm) {
  return run<PMPI_Allgatherv>({__func__, comm}, on_every_rank(out, out_count, out_type),
                              for_each_rank(in, in_counts, offsets, in_type),
                              sent_from(out, of_each(out_count, out_type), of_own(in_counts, in_type)),
                              of_each(in_counts, in_type), out, out_count, out_type, in, in_counts, offsets,
                              in_type, comm);
}

int MPI_Reduce(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  return run<PMPI_Reduce>({__func__, comm, root}, on_every_rank(out, count, type),
                          on_root(root, on_every_rank(in, count, type)),
                          with_root(root, of_each(count, type)), at_root(root, of_each(count, type)), out, in,
                          count, type, op, root, comm);
}

int MPI_Allreduce(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return run<PMPI_Allreduce>({__func__, comm}, on_every_rank(out, count, type),
                             on_every_rank(in, count, type), parts_of_each(count, type), of_each(count, type),
                             out, in, count, type, op, comm);
}

int MPI_Reduce_scatter(const void* out, void* in, const int counts[], MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm) {
  return run<PMPI_Reduce_scatter>({__func__, comm}, for_each_rank(out, counts, type),
                                  own_share(in, counts, type), of_each(counts, type), of_own(counts, type),
                                  out, in, counts, type, op, comm);
}

int MPI_Reduce_scatter_block(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
  return run<PMPI_Reduce_scatter_block>({__func__, comm}, for_each_rank(out, count, type),
                                        on_every_rank(in, count, type), of_each(count, type),
                                        of_each(count, type), out, in, count, type, op, comm);
}

int MPI_Scan(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return run<PMPI_Scan>({__func__, comm}, on_every_rank(out, count, type), on_every_rank(in, count, type),
                        to_next(count, type), from_those_before(count, type), out, in, count, type, op, comm);
}

int MPI_Exscan(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  // The first rank's receive buffer is left alone.
  return run<PMPI_Exscan>({__func__, comm}, on_every_rank(out, count, type),
                          except_on_root(0, on_every_rank(in, count, type)), to_next(count, type),
                          from_those_before(count, type), out, in, count, type, op, comm);
}

int MPI_Alltoall(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                 MPI_Datatype in_type, MPI_Comm comm) {
  return run_exchange<PMPI_Alltoall>({__func__, comm}, in_type, for_each_rank(out, out_count, out_type),
                                     for_each_rank(in, in_count, in_type),
                                     sent_from(out, of_each(out_count, out_type), of_each(in_count, in_type)),
                                     of_each(in_count, in_type), out, out_count, out_type, in, in_count,
                                     in_type, comm);
}

int MPI_Alltoallv(const void* out, const int out_counts[], const int out_offsets[], MPI_Datatype out_type,
                  void* in, const int in_counts[], const int in_offsets[], MPI_Datatype in_type,
                  MPI_Comm comm) {
  return run_exchange<PMPI_Alltoallv>(
      {__func__, comm}, in_type, for_each_rank(out, out_counts, out_offsets, out_type),
      for_each_rank(in, in_counts, in_offsets, in_type),
      sent_from(out, of_each(out_counts, out_type), of_each(in_counts, in_type)), of_each(in_counts, in_type),
      out, out_counts, out_offsets, out_type, in, in_counts, in_offsets, in_type, comm);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Ibarrier>({__func__, comm}, request, nothing, nothing, zero, presence, comm);
}

int MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Ibcast>(
      {__func__, comm, root}, request, on_root(root, on_every_rank(buffer, count, type)),
      except_on_root(root, on_every_rank(buffer, count, type)), at_root(root, of_each(count, type)),
      with_root(root, of_each(count, type)), buffer, count, type, root, comm);
}

int MPI_Iallreduce(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  return start<PMPI_Iallreduce>({__func__, comm}, request, on_every_rank(out, count, type),
                                on_every_rank(in, count, type), parts_of_each(count, type),
                                of_each(count, type), out, in, count, type, op, comm);
}

int MPI_Iallgather(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                   MPI_Datatype in_type, MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Iallgather>({__func__, comm}, request, on_every_rank(out, out_count, out_type),
                                for_each_rank(in, in_count, in_type),
                                sent_from(out, of_each(out_count, out_type), of_each(in_count, in_type)),
                                of_each(in_count, in_type), out, out_count, out_type, in, in_count, in_type,
                                comm);
}

int MPI_Iallgatherv(const void* out, int out_count, MPI_Datatype out_type, void* in, const int in_counts[],
                    const int offsets[], MPI_Datatype in_type, MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Iallgatherv>({__func__, comm}, request, on_every_rank(out, out_count, out_type),
                                 for_each_rank(in, in_counts, offsets, in_type),
                                 sent_from(out, of_each(out_count, out_type), of_own(in_counts, in_type)),
                                 of_each(in_counts, in_type), out, out_count, out_type, in, in_counts,
                                 offsets, in_type, comm);
}

int MPI_Igather(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                MPI_Datatype in_type, int root, MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Igather>(
      {__func__, comm, root}, request, on_every_rank(out, out_count, out_type),
      on_root(root, for_each_rank(in, in_count, in_type)), with_root(root, of_each(out_count, out_type)),
      at_root(root, of_each(in_count, in_type)), out, out_count, out_type, in, in_count, in_type, root, comm);
}

int MPI_Igatherv(const void* out, int out_count, MPI_Datatype out_type, void* in, const int in_counts[],
                 const int offsets[], MPI_Datatype in_type, int root, MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Igatherv>({__func__, comm, root}, request, on_every_rank(out, out_count, out_type),
                              on_root(root, for_each_rank(in, in_counts, offsets, in_type)),
                              with_root(root, of_each(out_count, out_type)),
                              at_root(root, of_each(in_counts, in_type)), out, out_count, out_type, in,
                              in_counts, offsets, in_type, root, comm);
}

int MPI_Iscatter(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                 MPI_Datatype in_type, int root, MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Iscatter>(
      {__func__, comm, root}, request, on_root(root, for_each_rank(out, out_count, out_type)),
      on_every_rank(in, in_count, in_type), at_root(root, of_each(out_count, out_type)),
      with_root(root, of_each(in_count, in_type)), out, out_count, out_type, in, in_count, in_type, root,
      comm);
}

int MPI_Iscatterv(const void* out, const int out_counts[], const int offsets[], MPI_Datatype out_type,
                  void* in, int in_count, MPI_Datatype in_type, int root, MPI_Comm comm,
                  MPI_Request* request) {
  return start<PMPI_Iscatterv>(
      {__func__, comm, root}, request, on_root(root, for_each_rank(out, out_counts, offsets, out_type)),
      on_every_rank(in, in_count, in_type), at_root(root, of_each(out_counts, out_type)),
      with_root(root, of_each(in_count, in_type)), out, out_counts, offsets, out_type, in, in_count, in_type,
      root, comm);
}

int MPI_Ialltoall(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                  MPI_Datatype in_type, MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Ialltoall>({__func__, comm}, request, for_each_rank(out, out_count, out_type),
                               for_each_rank(in, in_count, in_type),
                               sent_from(out, of_each(out_count, out_type), of_each(in_count, in_type)),
                               of_each(in_count, in_type), out, out_count, out_type, in, in_count, in_type,
                               comm);
}

int MPI_Ialltoallv(const void* out, const int out_counts[], const int out_offsets[], MPI_Datatype out_type,
                   void* in, const int in_counts[], const int in_offsets[], MPI_Datatype in_type,
                   MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Ialltoallv>(
      {__func__, comm}, request, for_each_rank(out, out_counts, out_offsets, out_type),
      for_each_rank(in, in_counts, in_offsets, in_type),
      sent_from(out, of_each(out_counts, out_type), of_each(in_counts, in_type)), of_each(in_counts, in_type),
      out, out_counts, out_offsets, out_type, in, in_counts, in_offsets, in_type, comm);
}

int MPI_Ireduce(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                MPI_Request* request) {
  return start<PMPI_Ireduce>({__func__, comm, root}, request, on_every_rank(out, count, type),
                             on_root(root, on_every_rank(in, count, type)),
                             with_root(root, of_each(count, type)), at_root(root, of_each(count, type)), out,
                             in, count, type, op, root, comm);
}

int MPI_Ireduce_scatter(const void* out, void* in, const int counts[], MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Ireduce_scatter>({__func__, comm}, request, for_each_rank(out, counts, type),
                                     own_share(in, counts, type), of_each(counts, type), of_own(counts, type),
                                     out, in, counts, type, op, comm);
}

int MPI_Ireduce_scatter_block(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm, MPI_Request* request) {
  return start<PMPI_Ireduce_scatter_block>({__func__, comm}, request, for_each_rank(out, count, type),
                                           on_every_rank(in, count, type), of_each(count, type),
                                           of_each(count, type), out, in, count, type, op, comm);
}

int MPI_Iscan(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              MPI_Request* request) {
  return start<PMPI_Iscan>({__func__, comm}, request, on_every_rank(out, count, type),
                           on_every_rank(in, count, type), to_next(count, type),
                           from_those_before(count, type), out, in, count, type, op, comm);
}

int MPI_Iexscan(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                MPI_Request* request) {
  return start<PMPI_Iexscan>({__func__, comm}, request, on_every_rank(out, count, type),
                             except_on_root(0, on_every_rank(in, count, type)), to_next(count, type),
                             from_those_before(count, type), out, in, count, type, op, comm);
}

}  // extern "C"

}  // namespace course::mpi_layer
