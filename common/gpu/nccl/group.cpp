#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "gpu/nccl/part.hpp"
#include "gpu/simulator/findings/findings.hpp"
#include "gpu/simulator/host/errors.hpp"
#include "gpu/simulator/host/model_time.hpp"
#include "gpu/simulator/memory/accesses.hpp"
#include "gpu/simulator/memory/memory.hpp"
#include "protocol/fact_kinds.hpp"

namespace course::gpu::nccl {

namespace {

class GroupRun;

struct Group {
  int depth = 0;
  int line = 0;  ///< of the outermost ncclGroupStart
  std::vector<Part> parts = {};
  Result wrong = Result::Success;  ///< what a call in it has returned
};

/// What was issued, in its order.
struct Issued {
  OperationNumber number;
  std::vector<const Communicator*> comms;
  GroupTraffic moves;
};

struct Groups {
  Group open;
  std::vector<const GroupRun*> under_way;
  std::vector<Issued> issued;
  Traffic traffic;
};
Groups groups;

/// All calls of a group: they begin together, and none waits for another.
class GroupRun : public Operation {
 public:
  GroupRun(std::vector<Part> parts, std::vector<OperationNumber> before)
      : parts_(std::move(parts)), before_(std::move(before)) {}
  ~GroupRun() override { std::erase(groups.under_way, this); }

  bool carry_out() override {
    if (number_ == 0 && !begin()) return broken() != Error::Success;
    // All of them, not up to the first that is open: each moves by being looked at.
    if (std::ranges::count_if(transfers_, [](const auto& one) { return !one->is_done(); }) > 0) return false;
    for (Part& part : parts_)
      if (part.finish) part.finish(part);
    set_length_in_model(number_, byte_s * static_cast<double>(most_bytes()));
    return true;
  }

  OperationNumber number() const { return number_; }

  void add_pending(std::vector<PendingOperation>& all, PendingOperation::Need need) const {
    for (const auto& transfer : transfers_)
      if (!transfer->is_done_so_far()) all.push_back(transfer->pending(need));
  }

 private:
  /// Of what it sends and what it receives, the more.
  std::size_t most_bytes() const {
    std::size_t sent = 0, received = 0;
    for (const Part& part : parts_)
      for (const Message& message : part.messages) (message.is_send ? sent : received) += message.bytes;
    return std::max(sent, received);
  }

  /// Behind what was issued before on the same communicators.
  bool begin() {
    if (!std::ranges::all_of(before_, [](OperationNumber number) { return record_of(number).is_done; }))
      return false;
    const OperationNumber group = now.access.operation;
    for (const Part& part : parts_)
      if (!access(part, group)) return false;
    now.access.operation = number_ = group;
    for (const Part& part : parts_) {
      for (const Message& message : part.messages)
        transfers_.emplace_back(std::make_unique<Transfer>(part.call, message))->start();
    }
    groups.under_way.push_back(this);
    return true;
  }

  /// Told with its own line, where it races.
  static bool access(const Part& part, OperationNumber group) {
    OperationRecord record = record_of(group);
    record.name = part.call.name;
    record.line = part.call.line;
    record.part_of = group;
    record.is_done = true;
    now.access.operation = add_record(std::move(record));
    if (!is_still_there(part.reads.begin, part.reads.bytes) ||
        !is_still_there(part.writes.begin, part.writes.bytes))
      return false;
    touch(part.reads.begin, part.reads.bytes, AccessKind::Read);
    touch(part.writes.begin, part.writes.bytes, AccessKind::Write);
    return true;
  }

  std::vector<Part> parts_;
  std::vector<OperationNumber> before_;
  std::vector<std::unique_ptr<Transfer>> transfers_;
  OperationNumber number_ = 0;
};

bool share_communicator(const Issued& a, const Issued& b) {
  return std::ranges::any_of(a.comms,
                             [&](const Communicator* comm) { return std::ranges::count(b.comms, comm) > 0; });
}

/// What the host waits for, or what that waits for: in stream order, or on a communicator.
std::vector<OperationNumber> waited_for() {
  const OperationNumber host = host_waits_for();
  std::vector<OperationNumber> found;
  std::vector<const Issued*> needed;
  if (host == 0) return found;
  for (std::size_t i = groups.issued.size(); i-- > 0;) {
    const Issued& one = groups.issued[i];
    if (record_of(one.number).is_done) continue;
    const auto needs = [&](const Issued* later) {
      return share_communicator(one, *later) || happens_before(one.number, record_of(later->number).clock);
    };
    if (!happens_before(one.number, record_of(host).clock) && std::ranges::none_of(needed, needs)) continue;
    needed.push_back(&one);
    found.push_back(one.number);
  }
  return found;
}

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
    return refuse({part.name() + ": a message to oneself needs a send and a receive in one group",
                   part.call.line, Result::InvalidUsage});
  }
  return Result::Success;
}

/// Calls of a group run at the same time.
void look_for_overlaps(const std::vector<Part>& parts) {
  for (const Part& writer : parts) {
    for (const Part& other : parts) {
      if (&other == &writer) continue;
      const bool read = writer.writes.overlaps(other.reads);
      if (!read && !(&other > &writer && writer.writes.overlaps(other.writes))) continue;
      note({.kind = fact_missing_dependency,
            .text = writer.name() + " receives into memory that " + other.name() +
                    (read ? " sends" : " receives into") + " in the same group",
            .call = writer.call.name,
            .other_call = other.call.name,
            .at = {writer.call.line},
            .other_at = {other.call.line},
            .marks = {mark_one_group}});
    }
  }
}

/// An operation's end, as other streams see it.
class Mark {
 public:
  explicit Mark(Stream* stream, int line) : line_(line) {
    create_event(&event_, line);
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

/// Counts what the calls move, and returns what of it goes point to point.
GroupTraffic count(const std::vector<Part>& parts) {
  GroupTraffic moved;
  for (const Part& part : parts) {
    const std::string_view call = part.call.name;
    const auto read = static_cast<std::int64_t>(part.reads.bytes);
    const auto written = static_cast<std::int64_t>(part.writes.bytes);
    if (call == "ncclSend") {
      groups.traffic.bytes_sent_to[part.call.comm->case_ranks[part.messages[0].peer]] += read;
      moved.bytes_sent += read;
    } else if (call == "ncclRecv") {
      moved.bytes_received += written;
    } else {
      groups.traffic.collective_bytes += written;
    }
  }
  return moved;
}

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
  GroupTraffic moves = count(parts);
  for (Stream* const other : others) Mark(other, line).hold(stream);
  const std::string name = parts.size() == 1 ? first.name : "the NCCL group";
  const OperationNumber number = enqueue(stream, {.name = name, .line = line},
                                         std::make_unique<GroupRun>(std::move(parts), std::move(before)));
  if (number == 0) return refuse({name + " is given a stream that was destroyed meanwhile"});
  for (Communicator* const comm : comms) comm->last = number;
  moves.call = name_of(number);
  groups.issued.push_back({number, {comms.begin(), comms.end()}, std::move(moves)});
  if (!others.empty()) {
    const Mark end(stream, line);
    for (Stream* const other : others) end.hold(other);
  }
  return Result::Success;
}

Result check_buffer(const Part& part, const Range& range, const char* which) {
  if (range.bytes > largest_message())
    return refuse({part.name() + ": more bytes than the simulator sends", part.call.line});
  const bool is_device =
      range.bytes == 0 || (memory().has(range.begin) && region_of(offset_of(range.begin)) == Region::Device &&
                           allocation_of(range.begin, range.bytes));
  if (is_device) return Result::Success;
  return refuse({part.name() + ": the " + which + " of " + std::to_string(range.bytes) +
                     " bytes is not wholly in an allocation of device memory",
                 part.call.line});
}

Result check_part(const Part& part, int peer) {
  if (broken() != Error::Success) return Result::UnhandledCudaError;
  if (!is_known(part.call.comm))
    return refuse({part.name() + " is given " + what_is(part.call.comm), part.call.line});
  if (peer < 0 || peer >= part.call.comm->size())
    return refuse({part.name() + ": there is no rank " + std::to_string(peer) + " among " +
                       std::to_string(part.call.comm->size()),
                   part.call.line});
  if (!is_stream(part.call.stream))
    return refuse({part.name() + " is given a stream that is none, or no longer", part.call.line});
  for (const auto& [range, which] : {std::pair{part.reads, "send buffer"}, {part.writes, "receive buffer"}}) {
    if (const Result result = check_buffer(part, range, which); result != Result::Success) return result;
  }
  return Result::Success;
}

}  // namespace

const char* error_text(Result result) {
  switch (result) {
    case Result::Success:
      return "no error";
    case Result::UnhandledCudaError:
      return "unhandled cuda error";
    case Result::InternalError:
      return "internal error";
    case Result::InvalidArgument:
      return "invalid argument";
    case Result::InvalidUsage:
      return "invalid usage";
  }
  return "unknown result code";
}

Result begin_group(int line) {
  if (groups.open.depth++ == 0) groups.open.line = line;
  return Result::Success;
}

Result end_group() {
  if (groups.open.depth == 0)
    return refuse({"ncclGroupEnd is called without ncclGroupStart", 0, Result::InvalidUsage});
  if (groups.open.depth-- > 1) return Result::Success;
  Group group = std::exchange(groups.open, {});
  if (group.wrong != Result::Success || group.parts.empty()) return group.wrong;
  if (const Result result = check_own_messages(group.parts); result != Result::Success) return result;
  look_for_overlaps(group.parts);
  return issue(std::move(group.parts));
}

Result fail(Result result) {
  if (in_group()) groups.open.wrong = result;
  return result;
}

Result add(Part part, int peer) {
  if (const Result result = check_part(part, peer); result != Result::Success) return fail(result);
  begin_group(part.call.line);
  groups.open.parts.push_back(std::move(part));
  return end_group();
}

bool in_group() {
  return groups.open.depth > 0;
}

void look_for_open_group() {
  if (in_group())
    refuse({call_text("ncclGroupStart", groups.open.line) +
                " has no ncclGroupEnd: no NCCL call behind it begins, nor any of the caller's",
            groups.open.line});
}

std::vector<PendingOperation> pending() {
  std::vector<PendingOperation> all = pending_joins();
  const std::vector<OperationNumber> waited = waited_for();
  for (const GroupRun* const run : groups.under_way) {
    const bool needed = std::ranges::count(waited, run->number()) > 0;
    run->add_pending(all, needed ? PendingOperation::Need::All : PendingOperation::Need::None);
  }
  return all;
}

Traffic traffic() {
  Traffic all = groups.traffic;
  for (const Issued& one : groups.issued) {
    all.groups.push_back(one.moves);
    all.groups.back().beside = kernels_beside(one.number);
  }
  return all;
}

void forget_groups() {
  groups = {};
}

}  // namespace course::gpu::nccl
