#include "gpu/simulator/kernel/fibers.hpp"

#include <boost/context/protected_fixedsize_stack.hpp>
#include <new>
#include <utility>

namespace course::gpu {

namespace {

namespace context = boost::context;

constexpr std::size_t stack_bytes = 128 * 1024;
constexpr std::size_t guard_bytes = 4096;

}  // namespace

Arena stacks_arena(most_threads* stack_bytes);

namespace {

/// Each stack lies above a page that ends whoever runs over.
context::stack_context stack_of(std::size_t thread) {
  static std::size_t guarded = 0;
  for (; guarded <= thread; ++guarded) stacks_arena.forbid(guarded * stack_bytes, guard_bytes);
  context::stack_context stack;
  stack.size = stack_bytes - guard_bytes;
  stack.sp = stacks_arena.base() + (thread + 1) * stack_bytes;
  return stack;
}

struct KeptStack {
  context::stack_context stack;
  context::stack_context allocate() { return stack; }
  void deallocate(context::stack_context&) {}
};

context::fiber resumer;

}  // namespace

Fiber::Fiber(std::size_t thread, std::function<void()> body)
    : fiber_(std::allocator_arg, KeptStack{stack_of(thread)},
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

}  // namespace course::gpu
