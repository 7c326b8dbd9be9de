#include "gpu/simulator.hpp"

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

#include "protocol/fact_kinds.hpp"
#include "protocol/poison.hpp"

namespace course::gpu {

ThisThread this_thread;

namespace {

namespace context = boost::context;

constexpr std::uint64_t most_threads = 1024;
constexpr std::size_t most_shared_bytes = 48 * 1024;
constexpr std::size_t alignment = 256;  // cudaMalloc's
constexpr std::size_t stack_bytes = 128 * 1024;
constexpr std::uint64_t most_blocks_x = (1ULL << 31) - 1;
constexpr std::ptrdiff_t facts_of_a_kind = 8;

struct Freed {
  void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t{alignment}); }
};
using Bytes = std::unique_ptr<std::byte[], Freed>;

Bytes poisoned(std::size_t bytes) {
  const std::size_t words = (bytes + 3) / 4;
  Bytes made(static_cast<std::byte*>(::operator new[](words * 4, std::align_val_t{alignment})));
  for (std::size_t i = 0; i < words; ++i) std::memcpy(made.get() + 4 * i, &poison::device, 4);
  return made;
}

/// Stacks are used again: a launch of many blocks needs no more than one block's.
class Stacks {
 public:
  context::stack_context allocate() {
    if (free_.empty()) return context::protected_fixedsize_stack(stack_bytes).allocate();
    const context::stack_context stack = free_.back();
    free_.pop_back();
    return stack;
  }
  void deallocate(const context::stack_context& stack) { free_.push_back(stack); }

 private:
  std::vector<context::stack_context> free_;
};
Stacks stacks;

struct StackOfPool {
  context::stack_context allocate() { return stacks.allocate(); }
  void deallocate(context::stack_context& stack) { stacks.deallocate(stack); }
};

std::string text_of(const uint3& at) {
  return "(" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " + std::to_string(at.z) + ")";
}

uint3 place(std::uint64_t i, const dim3& extent) {
  return {static_cast<unsigned>(i % extent.x), static_cast<unsigned>(i / extent.x % extent.y),
          static_cast<unsigned>(i / extent.x / extent.y)};
}

/// What a case has of the device.
struct Device {
  std::map<std::byte*, std::pair<Bytes, std::size_t>> allocations;
  Error error = Error::Success;
  Facts facts;
  std::minstd_rand order;
};
Device device;

void note(const char* kind, std::string text) {
  const auto is_of_kind = [&](const auto& fact) { return fact.first == kind; };
  if (std::ranges::count_if(device.facts, is_of_kind) >= facts_of_a_kind) return;
  std::pair<std::string, std::string> fact(kind, std::move(text));
  if (std::ranges::count(device.facts, fact) == 0) device.facts.push_back(std::move(fact));
}

Error failed(Error error) {
  device.error = error;
  return error;
}

std::vector<std::uint64_t> drawn_order(std::uint64_t count) {
  std::vector<std::uint64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, device.order);
  return order;
}

/// One block of a launch: its threads run until each has reached a barrier or its end, again and again.
class Block {
 public:
  Block(const Launch& launch, const uint3& index, const std::function<void()>& thread)
      : launch_(launch), index_(index), dynamic_(poisoned(launch.dynamic_shared)) {
    this_thread = {{}, index, launch.block, launch.grid};
    threads_.reserve(launch.block.size());
    for (std::uint64_t i = 0; i < launch.block.size(); ++i) threads_.push_back({made(i, thread)});
  }

  void run() {
    std::vector<std::uint64_t> order = drawn_order(threads_.size());
    while (!order.empty()) {
      for (const std::uint64_t i : order) resume(i);
      check_barrier();
      std::erase_if(order, [&](std::uint64_t i) { return !threads_[i].fiber; });
      std::ranges::shuffle(order, device.order);
    }
    if (thrown_) std::rethrow_exception(thrown_);
  }

  void wait_at_barrier(int line) {
    Thread& thread = threads_[running_];
    thread.barrier_line = line;
    scheduler_ = std::move(scheduler_).resume();
    this_thread.index = place(running_, launch_.block);
  }

  void* variable(const void* key, std::size_t bytes) {
    const auto [found, is_new] = variables_.try_emplace(key);
    if (is_new) found->second = poisoned(bytes);
    return found->second.get();
  }
  void* dynamic() { return dynamic_.get(); }

 private:
  struct Thread {
    context::fiber fiber;
    int barrier_line = 0;  ///< 0: not at one
  };

  context::fiber made(std::uint64_t i, const std::function<void()>& thread) {
    return {std::allocator_arg, StackOfPool{}, [this, i, &thread](context::fiber&& scheduler) {
              scheduler_ = std::move(scheduler);
              this_thread.index = place(i, launch_.block);
              try {
                thread();
              } catch (const context::detail::forced_unwind&) {
                throw;
              } catch (...) {
                if (!thrown_) thrown_ = std::current_exception();
              }
              return std::move(scheduler_);
            }};
  }

  void resume(std::uint64_t i) {
    running_ = i;
    threads_[i].barrier_line = 0;
    threads_[i].fiber = std::move(threads_[i].fiber).resume();
  }

  /// All threads of a block have to reach a barrier, the same one, while any does.
  void check_barrier() {
    const auto waits = [](const Thread& thread) { return thread.barrier_line != 0; };
    const auto first = std::ranges::find_if(threads_, waits);
    if (first == threads_.end()) return;
    const auto other = std::ranges::find_if(
        threads_, [&](const Thread& thread) { return thread.barrier_line != first->barrier_line; });
    if (other == threads_.end()) return;
    note(fact_divergent_barrier,
         std::string(launch_.kernel) + ", block " + text_of(index_) + ": thread " + name_of(*first) +
             " waits at __syncthreads() on line " + std::to_string(first->barrier_line) + ", and thread " +
             name_of(*other) +
             (waits(*other) ? " at that on line " + std::to_string(other->barrier_line) : " has returned") +
             ": all threads of a block have to reach the same one");
  }

  std::string name_of(const Thread& thread) const {
    return text_of(place(static_cast<std::uint64_t>(&thread - threads_.data()), launch_.block));
  }

  const Launch& launch_;
  uint3 index_;
  Bytes dynamic_;
  std::map<const void*, Bytes> variables_;
  context::fiber scheduler_;
  std::exception_ptr thrown_;
  std::uint64_t running_ = 0;
  std::vector<Thread> threads_;  // last, so that it goes first: its fibers use the rest
};

Block* running_block = nullptr;

Block& the_block(const char* what) {
  if (running_block == nullptr) throw std::logic_error(std::string(what) + " outside a kernel");
  return *running_block;
}

/// Why a launch is refused; empty: it is not. Source: CUDA C++ Programming Guide 13, technical
/// specifications.
std::string obstacle(const Launch& launch) {
  if (launch.grid.size() == 0 || launch.block.size() == 0) return "it has no threads";
  if (launch.block.size() > most_threads || launch.block.z > 64)
    return "it asks for " + std::to_string(launch.block.size()) + " threads a block, at most " +
           std::to_string(most_threads) + " are there, and 64 along z";
  if (launch.grid.x > most_blocks_x || launch.grid.y > 65535 || launch.grid.z > 65535)
    return "it has more than 2^31 - 1 blocks along x, or 65535 along y or z";
  if (launch.dynamic_shared > most_shared_bytes)
    return "it asks for " + std::to_string(launch.dynamic_shared) + " bytes of shared memory, at most " +
           std::to_string(most_shared_bytes) + " are there";
  return "";
}

/// The allocation that these bytes lie in.
bool on_device(const void* pointer, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(pointer);
  for (const auto& [start, allocation] : device.allocations) {
    if (first >= start && first + bytes <= start + allocation.second) return true;
  }
  return false;
}

bool begins_on_device(const void* pointer) {
  return on_device(pointer, 1);
}

/// Whether one side of a copy is where `kind` says; else notes what is wrong with it.
bool is_side_right(const char* call, const char* side, const void* pointer, std::size_t bytes,
                   bool must_be_device) {
  if (bytes == 0) return true;
  if (!must_be_device && !begins_on_device(pointer)) return true;
  if (must_be_device && on_device(pointer, bytes)) return true;
  const char* wrong = !must_be_device             ? " is device memory, and the kind says host"
                      : begins_on_device(pointer) ? " goes beyond the end of its allocation"
                                                  : " is no device memory";
  note(fact_device_memory, std::string(call) + " of " + std::to_string(bytes) + " bytes: " + side + wrong);
  return false;
}

}  // namespace

const char* error_name(Error error) {
  switch (error) {
    case Error::Success:
      return "cudaSuccess";
    case Error::InvalidValue:
      return "cudaErrorInvalidValue";
    case Error::MemoryAllocation:
      return "cudaErrorMemoryAllocation";
    default:
      return "cudaErrorInvalidConfiguration";
  }
}

const char* error_text(Error error) {
  switch (error) {
    case Error::Success:
      return "no error";
    case Error::InvalidValue:
      return "invalid argument";
    case Error::MemoryAllocation:
      return "out of memory";
    default:
      return "invalid configuration argument";
  }
}

Error last_error(bool clear) {
  return clear ? std::exchange(device.error, Error::Success) : device.error;
}

Error allocate(void** pointer, std::size_t bytes) {
  *pointer = nullptr;
  if (bytes == 0) return Error::Success;
  try {
    Bytes made = poisoned(bytes);
    std::byte* const start = made.get();
    device.allocations.emplace(start, std::pair{std::move(made), bytes});
    *pointer = start;
    return Error::Success;
  } catch (const std::bad_alloc&) {
    return failed(Error::MemoryAllocation);
  }
}

Error release(void* pointer) {
  if (pointer == nullptr || device.allocations.erase(static_cast<std::byte*>(pointer)) > 0)
    return Error::Success;
  note(fact_device_memory, "cudaFree of what is not, or no longer, an allocation's beginning");
  return failed(Error::InvalidValue);
}

Error copy(void* to, const void* from, std::size_t bytes, CopyKind kind) {
  const bool any = kind == CopyKind::Default;
  const bool to_device =
      any ? begins_on_device(to) : kind == CopyKind::HostToDevice || kind == CopyKind::DeviceToDevice;
  const bool from_device =
      any ? begins_on_device(from) : kind == CopyKind::DeviceToHost || kind == CopyKind::DeviceToDevice;
  if (!is_side_right("cudaMemcpy", "its destination", to, bytes, to_device) ||
      !is_side_right("cudaMemcpy", "its source", from, bytes, from_device))
    return failed(Error::InvalidValue);
  std::memmove(to, from, bytes);
  return Error::Success;
}

Error set(void* to, int value, std::size_t bytes) {
  if (!is_side_right("cudaMemset", "its destination", to, bytes, true)) return failed(Error::InvalidValue);
  std::memset(to, value, bytes);
  return Error::Success;
}

void run(const Launch& launch, const std::function<void()>& thread) {
  if (running_block != nullptr) throw std::logic_error("the simulator launches no kernel from a kernel");
  if (const std::string why = obstacle(launch); !why.empty()) {
    note(fact_refused_launch, std::string(launch.kernel) + "<<<...>>> on line " +
                                  std::to_string(launch.line) + " is not launched: " + why);
    device.error = Error::InvalidConfiguration;
    return;
  }
  struct Over {
    ~Over() { running_block = nullptr; }
  } over;
  for (const std::uint64_t i : drawn_order(launch.grid.size())) {
    Block block(launch, place(i, launch.grid), thread);
    running_block = &block;
    block.run();
  }
}

void sync_threads(int line) {
  the_block("__syncthreads()").wait_at_barrier(line);
}

void* shared_variable(const void* key, std::size_t bytes) {
  return the_block("__shared__").variable(key, bytes);
}

void* dynamic_shared_memory() {
  return the_block("extern __shared__").dynamic();
}

void begin(std::uint64_t seed) {
  device = {};
  device.order.seed(static_cast<std::minstd_rand::result_type>(seed));
}

Facts end(bool finished) {
  std::size_t bytes = 0;
  for (const auto& [start, allocation] : device.allocations) bytes += allocation.second;
  if (finished && bytes > 0)
    note(fact_device_memory, std::to_string(bytes) +
                                 " bytes of device memory were not freed, in allocations: " +
                                 std::to_string(device.allocations.size()));
  return std::move(device.facts);
}

}  // namespace course::gpu
