#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "gpu/simulator/findings/source_lines.hpp"
#include "gpu/simulator/host/errors.hpp"
#include "gpu/simulator/host/streams.hpp"
#include "gpu/simulator/kernel/kernel_side.hpp"

/// What include/cuda_runtime.h and a rewritten source call from the host; streams.hpp and errors.hpp have the
/// rest.
namespace course::gpu {

enum class CopyKind { HostToHost, HostToDevice, DeviceToHost, DeviceToDevice, Default };

/// New memory starts as signalling NaNs.
Error allocate_device(void** pointer, std::size_t bytes, int line);
Error free_device(void* pointer, int line);
Error allocate_pinned(void** pointer, std::size_t bytes, int line);
Error free_pinned(void* pointer, int line);
/// In stream order: what other streams do with it has to be ordered behind, or before.
Error allocate_in_stream(void** pointer, std::size_t bytes, Stream* stream, int line);
Error free_in_stream(void* pointer, Stream* stream, int line);

/// A copy whose source or destination is pageable host memory is made within the call; others in stream
/// order.
Error copy(void* to, const void* from, std::size_t bytes, CopyKind kind, int line);
Error copy_in_stream(void* to, const void* from, std::size_t bytes, CopyKind kind, Stream* stream, int line);
Error set(void* to, int value, std::size_t bytes, int line);
Error set_in_stream(void* to, int value, std::size_t bytes, Stream* stream, int line);

/// Lets launches of this kernel ask for so much dynamic shared memory, as long as the process lasts.
Error allow_dynamic_shared(const void* kernel, std::size_t bytes);

struct Launch {
  const char* kernel;  ///< as the launch names it
  int line;
  const void* function = nullptr;  ///< the kernel's; null: the compiler does not tell which one is called
  dim3 grid = {}, block = {};
  std::size_t dynamic_shared = 0;
  Stream* stream = nullptr;
};

/// Puts a kernel into its stream that runs `code` once for each thread of the launch.
void launch_kernel(const Launch& launch, std::unique_ptr<ThreadCode> code);

template <class Call>
class ThreadCall : public ThreadCode {
 public:
  explicit ThreadCall(Call call) : call_(std::move(call)) {}
  COURSE_UNSEEN void run() const override { call_(); }
  std::size_t bytes() const override { return sizeof *this; }

 private:
  Call call_;
};

/// A call with arguments of these types.
template <class... Arguments>
struct CallWith {};

/// The address of the function that such a call of `callee` calls. C++ tells it where `callee` is one
/// function, or a pointer to one; and of a template whose arguments are deduced, or of functions of one name,
/// where one of them has parameters of just these types. The call chooses between the two, the first where
/// both would do.
template <class Call, class Function>
const void* function_of(Call, Function* callee, int) {
  return reinterpret_cast<const void*>(callee);
}
template <class... Arguments>
const void* function_of(CallWith<Arguments...>, void (*callee)(std::type_identity_t<Arguments>...), long) {
  return reinterpret_cast<const void*>(callee);
}

/// A launch as the rewritten source makes it: Kernel("scale", line, function, body).configured(grid,
/// block)(arguments).
template <class FunctionOf, class Body>
class Kernel {
 public:
  Kernel(const char* name, int line, FunctionOf function_of, Body body, const char* file = __builtin_FILE())
      : launch_{name, place_of_call(line, file)}, function_of_(function_of), body_(body) {}

  Kernel& configured(dim3 grid, dim3 block, std::size_t dynamic_shared = 0, Stream* stream = nullptr) {
    launch_.grid = grid;
    launch_.block = block;
    launch_.dynamic_shared = dynamic_shared;
    launch_.stream = stream;
    return *this;
  }

  template <class... Arguments>
  void operator()(Arguments... arguments) {
    static_assert((std::is_trivially_copyable_v<Arguments> && ...),
                  "the simulator hands a launch's arguments on as they are: convert this one to the kernel's "
                  "parameter");
    if constexpr (std::is_invocable_v<FunctionOf, CallWith<Arguments...>>)
      launch_.function = function_of_(CallWith<Arguments...>{});
    auto call = [body = body_, ... arguments = std::move(arguments)]() COURSE_UNSEEN { body(arguments...); };
    launch_kernel(launch_, std::make_unique<ThreadCall<decltype(call)>>(std::move(call)));
  }

 private:
  Launch launch_;
  FunctionOf function_of_;
  Body body_;
};

}  // namespace course::gpu
