#include "gpu/simulator/kernel/fibers.hpp"

#include <boost/context/protected_fixedsize_stack.hpp>
#include <new>
#include <utility>

#include "gpu/simulator/memory/arena.hpp"

namespace course::gpu {

namespace {

namespace context = boost::context;

constexpr std::size_t stack_bytes = 128 * 1024;
constexpr std::size_t guard_bytes = 4096;

/// The stacks, each above a page that ends whoever runs over.
class Stacks {
 public:
  context::stack_context of(std::size_t thread) {
    for (; guarded_ <= thread; ++guarded_) arena_.forbid(guarded_ * stack_bytes, guard_bytes);
    context::stack_context stack;
    stack.size = stack_bytes - guard_bytes;
    stack.sp = arena_.base() + (thread + 1) * stack_bytes;
    return stack;
  }
  bool has(const void* address) const { return arena_.has(address); }

 private:
  Arena arena_{most_threads * stack_bytes};
  std::size_t guarded_ = 0;
};

Stacks& stacks() {
  static Stacks all;
  return all;
}

struct KeptStack {
  context::stack_context stack;
  context::stack_context allocate() { return stack; }
  void deallocate(context::stack_context&) {}
};

context::fiber resumer;

}  // namespace

Fiber::Fiber(std::size_t thread, std::function<void()> body)
    : fiber_(std::allocator_arg, KeptStack{stacks().of(thread)},
             [body = std::move(body)](context::fiber&& caller) {
               resumer = std::move(caller);
               body();
               return std::move(resumer);
             }) {}

Fiber::~Fiber() {
  if (fiber_) new context::fiber(std::move(fiber_));  // its destructor would unwind the stack
}

void Fiber::resume() {
  fiber_ = std::move(fiber_).resume();
}

void Fiber::pause() {
  resumer = std::move(resumer).resume();
}

void call_on_large_stack(const std::function<void()>& function) {
  constexpr std::size_t bytes = std::size_t{8} << 20;
  context::fiber callee(std::allocator_arg, context::protected_fixedsize_stack(bytes),
                        [&](context::fiber&& caller) {
                          function();
                          return std::move(caller);
                        });
  std::move(callee).resume();
}

bool on_a_fibers_stack(const void* address) {
  return stacks().has(address);
}

}  // namespace course::gpu
