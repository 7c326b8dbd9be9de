// What the compiler calls for a source compiled with -fsanitize=thread: before each access to memory that
// more than one thread may see, and instead of each atomic operation. Source: gcc/sanitizer.def,
// compiler-rt's tsan_interface.h.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "gpu/simulator/kernel/fibers.hpp"
#include "gpu/simulator/memory/accesses.hpp"
#include "gpu/simulator/memory/requests.hpp"
#include "gpu/simulator/memory/shadow.hpp"

namespace {

using course::gpu::AccessKind;

/// What the compiler knows of the address.
enum class Made {
  Aligned,   ///< the device needs it to be
  Anywhere,  ///< single numbers beside one another, which it has put together
  Copied,    ///< by a call: memcpy(), or what clang makes of the copy of a small vector
};

/// The bytes that one instruction of the device moves for a lane. nvcc moves a small vector at once, and
/// numbers beside one another each by itself.
std::size_t at_once(const void* address, std::size_t bytes, Made made) {
  constexpr std::size_t number = 4;
  const bool is_vector =
      (bytes == 8 || bytes == 16) && reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
  return made == Made::Aligned || (made == Made::Copied && is_vector) ? bytes : number;
}

/// An access that is counted, or not seen at a glance to be in order.
[[gnu::noinline]] void look_closely(const void* address, std::size_t bytes, AccessKind kind,
                                    std::uint64_t site, Made made) {
  course::gpu::count_access(address, bytes, kind, site, at_once(address, bytes, made));
  course::gpu::check_access(address, bytes, kind, site, made == Made::Aligned);
}

[[gnu::always_inline]] inline void look(const void* address, std::size_t bytes, AccessKind kind,
                                        const void* returns_to, Made made) {
  ++course::gpu::now.accesses_of_kernel;
  if (!course::gpu::now.checked || bytes == 0) return;
  const std::uint64_t site = reinterpret_cast<std::uint64_t>(returns_to) - 1;
  if (course::gpu::now.in_kernel && !course::gpu::now.counted) {
    const std::size_t offset = course::gpu::offset_of(address);
    const bool is_words = (bytes == 4 || bytes == 8 || bytes == 16) && offset % bytes == 0;
    if (is_words && offset < course::gpu::memory_bytes && course::gpu::is_routine(offset, bytes, kind, site))
      return;
    if (course::gpu::on_a_fibers_stack(address)) return;
  }
  look_closely(address, bytes, kind, site, made);
}

/// Of sources whose host code uses atomics, and statics of functions, which the compiler guards with one.
/// CUDA's atomics are functions of their own.
template <class T, class Change>
T change(volatile T* address, Change to) {
  T expected = __atomic_load_n(address, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(address, &expected, to(expected), false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST)) {
  }
  return expected;
}

}  // namespace

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void**, void*) {}

#define COURSE_HOOKS(bytes)                                                         \
  void __tsan_read##bytes(void* p) {                                                \
    look(p, bytes, AccessKind::Read, __builtin_return_address(0), Made::Aligned);   \
  }                                                                                 \
  void __tsan_write##bytes(void* p) {                                               \
    look(p, bytes, AccessKind::Write, __builtin_return_address(0), Made::Aligned);  \
  }                                                                                 \
  void __tsan_unaligned_read##bytes(void* p) {                                      \
    look(p, bytes, AccessKind::Read, __builtin_return_address(0), Made::Anywhere);  \
  }                                                                                 \
  void __tsan_unaligned_write##bytes(void* p) {                                     \
    look(p, bytes, AccessKind::Write, __builtin_return_address(0), Made::Anywhere); \
  }                                                                                 \
  void __tsan_volatile_read##bytes(void* p) {                                       \
    look(p, bytes, AccessKind::Read, __builtin_return_address(0), Made::Aligned);   \
  }                                                                                 \
  void __tsan_volatile_write##bytes(void* p) {                                      \
    look(p, bytes, AccessKind::Write, __builtin_return_address(0), Made::Aligned);  \
  }
COURSE_HOOKS(1)
COURSE_HOOKS(2)
COURSE_HOOKS(4)
COURSE_HOOKS(8)
COURSE_HOOKS(16)

void __tsan_read_range(void* p, std::size_t bytes) {
  look(p, bytes, AccessKind::Read, __builtin_return_address(0), Made::Anywhere);
}
void __tsan_write_range(void* p, std::size_t bytes) {
  look(p, bytes, AccessKind::Write, __builtin_return_address(0), Made::Anywhere);
}

// Of memcpy() and its kin, which compilers also put in place of copies, the linker (--wrap) or a newer clang
// calls these.
#define COURSE_MEMORY_HOOKS(prefix)                                                 \
  void* prefix##memcpy(void* to, const void* from, std::size_t bytes) {             \
    look(from, bytes, AccessKind::Read, __builtin_return_address(0), Made::Copied); \
    look(to, bytes, AccessKind::Write, __builtin_return_address(0), Made::Copied);  \
    return std::memcpy(to, from, bytes);                                            \
  }                                                                                 \
  void* prefix##memmove(void* to, const void* from, std::size_t bytes) {            \
    look(from, bytes, AccessKind::Read, __builtin_return_address(0), Made::Copied); \
    look(to, bytes, AccessKind::Write, __builtin_return_address(0), Made::Copied);  \
    return std::memmove(to, from, bytes);                                           \
  }                                                                                 \
  void* prefix##memset(void* to, int value, std::size_t bytes) {                    \
    look(to, bytes, AccessKind::Write, __builtin_return_address(0), Made::Copied);  \
    return std::memset(to, value, bytes);                                           \
  }
COURSE_MEMORY_HOOKS(__tsan_)
COURSE_MEMORY_HOOKS(__wrap_)

#define COURSE_ATOMICS(bits, T)                                                                        \
  T __tsan_atomic##bits##_load(const volatile T* p, int) {                                             \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                       \
  }                                                                                                    \
  void __tsan_atomic##bits##_store(volatile T* p, T value, int) {                                      \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                    \
  T __tsan_atomic##bits##_exchange(volatile T* p, T value, int) {                                      \
    return change(p, [=](T) { return value; });                                                        \
  }                                                                                                    \
  T __tsan_atomic##bits##_fetch_add(volatile T* p, T value, int) {                                     \
    return change(p, [=](T old) { return static_cast<T>(old + value); });                              \
  }                                                                                                    \
  T __tsan_atomic##bits##_fetch_sub(volatile T* p, T value, int) {                                     \
    return change(p, [=](T old) { return static_cast<T>(old - value); });                              \
  }                                                                                                    \
  T __tsan_atomic##bits##_fetch_and(volatile T* p, T value, int) {                                     \
    return change(p, [=](T old) { return static_cast<T>(old & value); });                              \
  }                                                                                                    \
  T __tsan_atomic##bits##_fetch_or(volatile T* p, T value, int) {                                      \
    return change(p, [=](T old) { return static_cast<T>(old | value); });                              \
  }                                                                                                    \
  T __tsan_atomic##bits##_fetch_xor(volatile T* p, T value, int) {                                     \
    return change(p, [=](T old) { return static_cast<T>(old ^ value); });                              \
  }                                                                                                    \
  T __tsan_atomic##bits##_fetch_nand(volatile T* p, T value, int) {                                    \
    return change(p, [=](T old) { return static_cast<T>(~(old & value)); });                           \
  }                                                                                                    \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* expected, T value, int, int) {   \
    return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                                    \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* expected, T value, int, int) {     \
    return __atomic_compare_exchange_n(p, expected, value, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);  \
  }                                                                                                    \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T expected, T value, int, int) {         \
    __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
    return expected;                                                                                   \
  }
COURSE_ATOMICS(8, std::uint8_t)
COURSE_ATOMICS(16, std::uint16_t)
COURSE_ATOMICS(32, std::uint32_t)
COURSE_ATOMICS(64, std::uint64_t)

void __tsan_atomic_thread_fence(int) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int) {}

}  // extern "C"
