// The calls that move numbers, each taken apart into messages.
#include <algorithm>
#include <cstring>
#include <utility>

#include "gpu/nccl/part.hpp"

namespace course::gpu::nccl {

namespace {

std::byte* bytes_at(const void* pointer) {
  return const_cast<std::byte*>(static_cast<const std::byte*>(pointer));
}

/// Calls `use` for every other rank of the call's communicator.
template <class Use>
void each_other(const Call& call, const Use& use) {
  for (int rank = 0; is_known(call.comm) && rank < call.comm->size(); ++rank)
    if (rank != call.comm->rank) use(rank);
}

template <class T>
T reduced(Reduction reduction, T a, T b) {
  switch (reduction) {
    case Reduction::Product:
      return a * b;
    case Reduction::Maximum:
      return std::max(a, b);
    case Reduction::Minimum:
      return std::min(a, b);
    case Reduction::Sum:
    case Reduction::Average:
      break;
  }
  return a + b;
}

/// Every rank's `count` numbers, in the order of the ranks, so that all get the same bits.
template <class T>
void reduce_as(Part& part, Reduction reduction, std::size_t count) {
  const auto* staged = reinterpret_cast<const T*>(part.staged.data());
  auto* to = reinterpret_cast<T*>(part.writes.begin);
  const int ranks = part.call.comm->size();
  for (std::size_t i = 0; i < count; ++i) {
    T value = staged[i];
    for (int rank = 1; rank < ranks; ++rank) value = reduced(reduction, value, staged[rank * count + i]);
    to[i] = reduction == Reduction::Average ? value / static_cast<T>(ranks) : value;
  }
}

bool can_reduce(DataType type) {
  return type == DataType::Float32 || type == DataType::Float64 || type == DataType::Int32 ||
         type == DataType::Int64;
}

void reduce(Part& part, Reduction reduction, std::size_t count) {
  switch (part.call.type) {
    case DataType::Float32:
      return reduce_as<float>(part, reduction, count);
    case DataType::Float64:
      return reduce_as<double>(part, reduction, count);
    case DataType::Int32:
      return reduce_as<std::int32_t>(part, reduction, count);
    default:
      return reduce_as<std::int64_t>(part, reduction, count);
  }
}

/// Every rank gets `bytes` of every other one's; `from(rank)` is what that rank gets of this one's.
template <class From>
Result reduce_all(Part part, Reduction reduction, std::size_t bytes, const From& from) {
  if (!can_reduce(part.call.type))
    return fail(
        refuse({part.name() + ": the simulator reduces float, double, int and int64 only", part.call.line}));
  if (!is_known(part.call.comm)) return add(std::move(part), 0);
  const int own = part.call.comm->rank;
  part.staged.resize(bytes * part.call.comm->size());
  each_other(part.call, [&](int rank) {
    part.messages.push_back({true, rank, from(rank), bytes});
    part.messages.push_back({false, rank, part.staged.data() + rank * bytes, bytes});
  });
  part.finish = [=, mine = from(own)](Part& done) {
    if (bytes == 0) return;
    std::memcpy(done.staged.data() + own * bytes, mine, bytes);
    reduce(done, reduction, done.call.count);
  };
  return add(std::move(part), 0);
}

}  // namespace

Result send(const Call& call, const void* from, int peer) {
  Part part{call, {bytes_at(from), bytes_of(call.type, call.count)}};
  part.messages = {{true, peer, part.reads.begin, part.reads.bytes}};
  return add(std::move(part), peer);
}

Result receive(const Call& call, void* to, int peer) {
  Part part{call, {}, {bytes_at(to), bytes_of(call.type, call.count)}};
  part.messages = {{false, peer, part.writes.begin, part.writes.bytes}};
  return add(std::move(part), peer);
}

Result broadcast(const Call& call, const void* from, void* to, int root) {
  const std::size_t bytes = bytes_of(call.type, call.count);
  Part part{call, {}, {bytes_at(to), bytes}};
  if (is_known(call.comm) && call.comm->rank == root) {
    part.reads = {bytes_at(from), bytes};
    each_other(call, [&](int rank) { part.messages.push_back({true, rank, bytes_at(from), bytes}); });
    part.finish = [](Part& done) {
      if (done.reads.begin != done.writes.begin && done.reads.bytes > 0)
        std::memcpy(done.writes.begin, done.reads.begin, done.reads.bytes);
    };
  } else {
    part.messages = {{false, root, part.writes.begin, bytes}};
  }
  return add(std::move(part), root);
}

Result all_reduce(const Call& call, const void* from, void* to, Reduction reduction) {
  const std::size_t bytes = bytes_of(call.type, call.count);
  return reduce_all({call, {bytes_at(from), bytes}, {bytes_at(to), bytes}}, reduction, bytes,
                    [from](int) { return bytes_at(from); });
}

Result reduce_scatter(const Call& call, const void* from, void* to, Reduction reduction) {
  const std::size_t bytes = bytes_of(call.type, call.count);
  const std::size_t ranks = is_known(call.comm) ? call.comm->size() : 0;
  return reduce_all({call, {bytes_at(from), ranks * bytes}, {bytes_at(to), bytes}}, reduction, bytes,
                    [=](int rank) { return bytes_at(from) + rank * bytes; });
}

Result all_gather(const Call& call, const void* from, void* to) {
  const std::size_t bytes = bytes_of(call.type, call.count);
  const std::size_t ranks = is_known(call.comm) ? call.comm->size() : 0;
  Part part{call, {bytes_at(from), bytes}, {bytes_at(to), ranks * bytes}};
  each_other(call, [&](int rank) {
    part.messages.push_back({true, rank, part.reads.begin, bytes});
    part.messages.push_back({false, rank, part.writes.begin + rank * bytes, bytes});
  });
  part.finish = [](Part& done) {
    std::byte* const own = done.writes.begin + done.call.comm->rank * done.reads.bytes;
    if (own != done.reads.begin && done.reads.bytes > 0) std::memcpy(own, done.reads.begin, done.reads.bytes);
  };
  return add(std::move(part), 0);
}

}  // namespace course::gpu::nccl
