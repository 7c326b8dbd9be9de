#include <algorithm>
#include <cstring>
#include <string>

#include "gpu/nccl/transfer.hpp"
#include "gpu/simulator/findings/findings.hpp"
#include "gpu/simulator/memory/accesses.hpp"
#include "gpu/simulator/memory/memory.hpp"
#include "protocol/fact_kinds.hpp"

namespace course::gpu::nccl {

namespace {

struct Range {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  bool overlaps(const Range& other) const {
    return begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
};

/// One call, taken apart into messages.
struct Part {
  Call call;
  Range reads = {}, writes = {};
  std::vector<Message> messages = {};
  std::vector<std::byte> staged = {};      ///< where a reduction's numbers arrive, by rank
  std::function<void(Part&)> finish = {};  ///< when all messages are complete
  std::string name() const { return std::string(call.name) + " on line " + std::to_string(call.line); }
};

class GroupRun;

struct Group {
  int depth = 0;
  std::vector<Part> parts;
};
Group open_group;
std::vector<const GroupRun*> under_way;

/// All calls of a group: they begin together, and none waits for another.
class GroupRun : public Operation {
 public:
  GroupRun(std::vector<Part> parts, std::vector<OperationNumber> before)
      : parts_(std::move(parts)), before_(std::move(before)) {
    for (const Part& part : parts_) {
      for (const Message& message : part.messages)
        transfers_.push_back(std::make_unique<Transfer>(part.call, message));
    }
  }
  ~GroupRun() override { std::erase(under_way, this); }

  bool carry_out() override {
    if (!started_ && !start()) return false;
    // All of them, not up to the first that is open: each makes progress by being looked at.
    if (std::ranges::count_if(transfers_, [](const auto& one) { return !one->is_done(); }) > 0) return false;
    for (Part& part : parts_)
      if (part.finish) part.finish(part);
    return true;
  }

  void add_pending(std::vector<PendingOperation>& all) const {
    for (const auto& transfer : transfers_)
      if (!transfer->is_done()) all.push_back(transfer->pending());
  }

 private:
  /// Behind what was issued before on the same communicators.
  bool start() {
    if (!std::ranges::all_of(before_, [](OperationNumber number) { return record_of(number).is_done; }))
      return false;
    for (const Part& part : parts_) {
      touch(part.reads.begin, part.reads.bytes, AccessKind::Read);
      touch(part.writes.begin, part.writes.bytes, AccessKind::Write);
    }
    for (const auto& transfer : transfers_) transfer->start();
    under_way.push_back(this);
    return started_ = true;
  }

  std::vector<Part> parts_;
  std::vector<OperationNumber> before_;
  std::vector<std::unique_ptr<Transfer>> transfers_;
  bool started_ = false;
};

/// Sends to oneself wait for receives from oneself, of the same group.
Result check_own_messages(const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    int balance = 0;
    for (const Part& other : parts) {
      if (other.call.comm != part.call.comm) continue;
      for (const Message& message : other.messages)
        if (message.peer == part.call.comm->rank) balance += message.is_send ? 1 : -1;
    }
    if (balance == 0) continue;
    note(fact_nccl, part.name() + ": a message to oneself needs a send and a receive in one group");
    return Result::InvalidUsage;
  }
  return Result::Success;
}

/// Parts of a group run at the same time.
void look_for_overlaps(const std::vector<Part>& parts) {
  for (const Part& writer : parts) {
    for (const Part& other : parts) {
      if (&other == &writer) continue;
      const bool read = writer.writes.overlaps(other.reads);
      if (!read && !(&other > &writer && writer.writes.overlaps(other.writes))) continue;
      note(fact_nccl, writer.name() + " receives into memory that " + other.name() +
                          (read ? " sends" : " receives into") + " in the same group");
    }
  }
}

/// An operation's end, as other streams see it.
class Mark {
 public:
  explicit Mark(Stream* stream, int line) : line_(line) {
    create_event(&event_);
    record_event(event_, stream, line);
  }
  ~Mark() { destroy_event(event_); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  void hold(Stream* stream) const { wait_for_event(stream, event_, line_); }

 private:
  Event* event_ = nullptr;
  int line_;
};

/// In the first of its streams; the others wait until it is over, and it waits for them.
Result issue(std::vector<Part> parts) {
  const Call& first = parts.front().call;
  std::vector<Stream*> others;
  std::vector<Communicator*> comms;
  std::vector<OperationNumber> before;
  for (const Part& part : parts) {
    Stream* const stream = part.call.stream;
    if (stream != first.stream && std::ranges::count(others, stream) == 0) others.push_back(stream);
    if (std::ranges::count(comms, part.call.comm) > 0) continue;
    comms.push_back(part.call.comm);
    if (part.call.comm->last != 0) before.push_back(part.call.comm->last);
  }
  Stream* const stream = first.stream;
  const int line = first.line;
  for (Stream* const other : others) Mark(other, line).hold(stream);
  const std::string name = parts.size() == 1 ? first.name : "the NCCL group";
  const OperationNumber number = enqueue(stream, {.name = name, .line = line},
                                         std::make_unique<GroupRun>(std::move(parts), std::move(before)));
  if (number == 0) return Result::InvalidArgument;
  for (Communicator* const comm : comms) comm->last = number;
  if (!others.empty()) {
    const Mark end(stream, line);
    for (Stream* const other : others) end.hold(other);
  }
  return Result::Success;
}

Result wrong_buffer(const Part& part, const Range& range, const char* which) {
  const bool is_device =
      range.bytes == 0 || (memory().has(range.begin) && region_of(offset_of(range.begin)) == Region::Device &&
                           allocation_of(range.begin, range.bytes));
  if (is_device) return Result::Success;
  return refuse(part.name() + ": the " + which + " of " + std::to_string(range.bytes) +
                " bytes is not wholly in an allocation of device memory");
}

Result add(Part part, int peer) {
  if (!is_known(part.call.comm)) return refuse(part.name() + " is given no communicator, or one destroyed");
  if (peer < 0 || peer >= part.call.comm->size())
    return refuse(part.name() + ": there is no rank " + std::to_string(peer) + " among " +
                  std::to_string(part.call.comm->size()));
  for (const auto& [range, which] : {std::pair{part.reads, "send buffer"}, {part.writes, "receive buffer"}}) {
    if (const Result result = wrong_buffer(part, range, which); result != Result::Success) return result;
  }
  open_group.parts.push_back(std::move(part));
  if (open_group.depth > 0) return Result::Success;
  begin_group();
  return end_group();
}

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
    return refuse(part.name() + ": the simulator reduces float, double, int and int64 only");
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

const char* error_text(Result result) {
  switch (result) {
    case Result::Success:
      return "no error";
    case Result::InternalError:
      return "internal error";
    case Result::InvalidArgument:
      return "invalid argument";
    case Result::InvalidUsage:
      return "invalid usage";
  }
  return "unknown result code";
}

Result begin_group() {
  ++open_group.depth;
  return Result::Success;
}

Result end_group() {
  if (open_group.depth == 0) {
    note(fact_nccl, "ncclGroupEnd is called without ncclGroupStart");
    return Result::InvalidUsage;
  }
  if (--open_group.depth > 0 || open_group.parts.empty()) return Result::Success;
  std::vector<Part> parts = std::exchange(open_group.parts, {});
  if (const Result result = check_own_messages(parts); result != Result::Success) return result;
  look_for_overlaps(parts);
  return issue(std::move(parts));
}

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

std::vector<PendingOperation> pending() {
  std::vector<PendingOperation> all = pending_joins();
  for (const GroupRun* const run : under_way) run->add_pending(all);
  return all;
}

}  // namespace course::gpu::nccl
