#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/simulator/kernel/geometry.hpp"

/// What happens on the device, and what of it is ordered. Every operation has a number, and a clock: how far
/// each timeline, that is the host or a stream, must have come before it. An operation happens before another
/// one if the other's clock says so, in whatever order the simulator carries them out. Source: Lamport 1978;
/// Mattern 1989.
namespace course::gpu {

inline constexpr unsigned host_timeline = 0;

class Clock {
 public:
  std::uint32_t of(unsigned timeline) const { return timeline < counts_.size() ? counts_[timeline] : 0; }
  void advance(unsigned timeline, std::uint32_t count);
  void join(const Clock& other);

 private:
  std::vector<std::uint32_t> counts_;
};

using OperationNumber = std::uint32_t;  ///< from 1 on; 0 is none

/// When the operation would be carried out by a device on which everything begins as soon as all that it is
/// ordered behind is over. The simulator has no time: model_time.hpp has what stands in for it.
struct ModelTime {
  double ready_s = -1;  ///< below 0: not known yet
  double begin_s = 0;   ///< later than ready_s where it waits for another rank
  double length_s = 0;
  double end_s() const { return begin_s + length_s; }
};

struct OperationRecord {
  std::string name = {};   ///< "scale", "cudaMemcpyAsync"
  std::string range = {};  ///< of the host's code, in which it was put into its stream; "": in none
  int line = 0;
  unsigned timeline = host_timeline;
  std::uint32_t index = 0;      ///< the how-manieth of its timeline, from 1
  Clock clock = {};             ///< includes the operation itself
  OperationNumber part_of = 0;  ///< of another operation, whose place in the order it has; 0: of none
  bool is_kernel = false;
  dim3 grid = {}, block = {};
  bool is_done = false;
  ModelTime time = {};
};

/// The operations of the case, each for good.
OperationRecord& record_of(OperationNumber number);
OperationNumber add_record(OperationRecord record);
bool happens_before(OperationNumber earlier, const Clock& clock);
/// The kernels that are ordered neither before this operation nor behind it: a device may run them
/// meanwhile. Each is told by its range, or by its name where it has none; all of one name once, in the
/// order of their calls.
std::vector<std::string> kernels_beside(OperationNumber operation);
/// How many timelines there are, the host's included.
unsigned timelines();
/// The operations of a stream, in its order.
const std::vector<OperationNumber>& operations_of(unsigned timeline);
/// The one that the host called first.
OperationNumber first_called(OperationNumber a, OperationNumber b);
/// "scale<<<...>>> on line 12", "cudaMemcpy on line 14", "the host's code"
std::string name_of(OperationNumber number);
void forget_operations();

}  // namespace course::gpu
