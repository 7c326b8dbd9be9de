#include <memory>
#include <string>
#include <type_traits>

#include "bench/device/attention.hpp"
#include "bench/device/stopwatch.hpp"
#include "bench/device/timings.hpp"

namespace course::bench::device {

namespace {

/// The least share of the copies that the course sets itself to hide.
constexpr double hidden_bound = 0.97;

struct DestroyEvent {
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};

/// What one stream has come to, for another to wait for.
class Event {
 public:
  void record(const Stream& stream) const { cuda_check(cudaEventRecord(event_.get(), stream.get())); }
  void hold(const Stream& stream) const { cuda_check(cudaStreamWaitEvent(stream.get(), event_.get(), 0)); }

 private:
  static cudaEvent_t made() {
    cudaEvent_t event = nullptr;
    cuda_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return event;
  }

  std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent> event_{made()};
};

/// Page-locked memory of the host, through which blocks travel.
class HostRoom {
 public:
  explicit HostRoom(std::size_t bytes) { cuda_check(cudaMallocHost(&data_, bytes)); }
  ~HostRoom() { cudaFreeHost(data_); }
  HostRoom(const HostRoom&) = delete;
  HostRoom& operator=(const HostRoom&) = delete;
  void* get() const { return data_; }

 private:
  char* data_ = nullptr;
};

/// Device memory for a block of another rank.
struct Room {
  explicit Room(std::size_t count) : k(count), v(count) {}
  DeviceFloats k, v;
};

/// Lesson 12's forward ring in one process: a block leaves for the host's memory and comes back into the
/// other room, in place of a message to the next rank and one from the previous.
class Loop {
 public:
  Loop(const Sizes& sizes, const Stream& stream)
      : hops_(sizes.hops),
        one_(sizes.heads, sizes.shard_tokens, sizes.shard_tokens, sizes.ring_head_dim, 0, stream),
        rooms_{Room(one_.k.count()), Room(one_.k.count())},
        host_(one_.k.bytes()) {
    one_.forget();
  }

  /// Puts all hops into the stream, with their work, their copies, or both.
  void run(bool work, bool copies) {
    const float *k = one_.k.get(), *v = one_.v.get();
    computed_.record(one_.stream);
    for (int hop = 0; hop < hops_; ++hop) {
      const Room& room = rooms_[hop % 2];
      const bool travels = copies && hop + 1 < hops_;
      if (travels) {
        computed_.hold(transfer_);
        travel(k, room.k);
        travel(v, room.v);
        arrived_.record(transfer_);
      }
      if (work) one_.see(k, v, one_.tokens, one_.stream.get());
      computed_.record(one_.stream);
      if (!travels) continue;
      arrived_.hold(one_.stream);
      k = room.k.get();
      v = room.v.get();
    }
  }

 private:
  void travel(const float* from, const DeviceFloats& to) const {
    cuda_check(cudaMemcpyAsync(host_.get(), from, to.bytes(), cudaMemcpyDeviceToHost, transfer_.get()));
    cuda_check(cudaMemcpyAsync(to.get(), host_.get(), to.bytes(), cudaMemcpyHostToDevice, transfer_.get()));
  }

  int hops_;
  Attention one_;
  Room rooms_[2];
  HostRoom host_;
  Stream transfer_;
  Event arrived_, computed_;
};

}  // namespace

void time_two_streams(Timings& timings, const Sizes& sizes) {
  const Stream stream;
  Loop loop(sizes, stream);
  const auto milliseconds = [&](bool work, bool copies) {
    return 1e3 * median_seconds(sizes.effort, stream, [&] { loop.run(work, copies); });
  };
  const double work = milliseconds(true, false), copies = milliseconds(false, true),
               both = milliseconds(true, true);
  const std::string of = "two streams, " + std::to_string(sizes.hops) + " hops: ";
  timings.add({.name = of + "the work alone", .unit = "ms", .limited_by = "as forward"}, work);
  timings.add({.name = of + "the copies alone", .unit = "ms", .limited_by = "the link to the host"}, copies);
  timings.add({.name = of + "both", .unit = "ms", .limited_by = "the work, where copies hide behind it"},
              both);
  timings.add({.name = of + "copies hidden",
               .against = of + "the copies alone",
               .bound = hidden_bound,
               .unit = "ms",
               .limited_by = "what the copies take of device memory while kernels run"},
              copies - (both - work));
}

}  // namespace course::bench::device
