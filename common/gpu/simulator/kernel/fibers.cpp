#include "gpu/simulator/kernel/fibers.hpp"

#include <boost/context/detail/fcontext.hpp>
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <utility>

namespace course::gpu {

namespace {

namespace context = boost::context;

// Stacks whose distance is a power of two would share few sets of the caches and of the table of pages:
// threads of a warp, which run in turns, would keep displacing one another. So the distance is an odd number
// of pages, and the tops are spread over a page.
constexpr std::size_t page_bytes = 4096;
constexpr std::size_t stack_bytes = 33 * page_bytes;
constexpr std::size_t guard_bytes = page_bytes;
constexpr std::size_t tops = 16;

}  // namespace

Arena stacks_arena(most_threads* stack_bytes);

namespace {

/// The stack's upper end. Each lies above a page that ends whoever runs over.
std::byte* top_of(std::size_t thread) {
  static std::size_t guarded = 0;
  for (; guarded <= thread; ++guarded) stacks_arena.forbid(guarded * stack_bytes, guard_bytes);
  return stacks_arena.base() + (thread + 1) * stack_bytes - thread % tops * (page_bytes / tops);
}

void* resumer = nullptr;
Fiber* running = nullptr;

#ifdef __x86_64__
/// Leaves a context, which is kept, for another one: the stack pointer, with the registers that a call keeps
/// on the stack. Boost's jumps to where the other one was left, without `ret`: the processor, which takes
/// each return to be of the latest call, then goes wrong at every one up to the kernel, which takes longer
/// than the rest of it.
[[gnu::naked, gnu::noinline]] void jump([[maybe_unused]] void*& from, [[maybe_unused]] void* to) {
  asm(R"(
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret)");
}

void* context_of(std::byte* top, void (*entry)()) {
  void** const words = reinterpret_cast<void**>(top);
  words[-1] = nullptr;  // where the entry would return to
  words[-2] = reinterpret_cast<void*>(entry);
  return words - 8;  // below them the registers
}
#else
void arrive(context::detail::transfer_t from) {
  *static_cast<void**>(from.data) = from.fctx;
}

void jump(void*& from, void* to) {
  arrive(context::detail::jump_fcontext(to, &from));
}

void (*entry_of_all)();

void* context_of(std::byte* top, void (*entry)()) {
  entry_of_all = entry;
  return context::detail::make_fcontext(top, stack_bytes - guard_bytes - page_bytes,
                                        [](context::detail::transfer_t from) {
                                          arrive(from);
                                          entry_of_all();
                                        });
}
#endif

}  // namespace

Fiber::Fiber(std::size_t thread, void (*body)()) : context_(context_of(top_of(thread), body)) {}

void Fiber::resume() {
  running = this;
  jump(resumer, context_);
}

void Fiber::go_on_with(Fiber& next) {
  jump(std::exchange(running, &next)->context_, next.context_);
}

void Fiber::pause() {
  jump(running->context_, resumer);
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
