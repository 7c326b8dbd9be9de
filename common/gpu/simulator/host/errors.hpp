#pragma once

#include <string>

/// What the calls of the CUDA runtime return, and which of it stays. Source: CUDA Runtime API 13, error
/// handling.
namespace course::gpu {

/// With the runtime's own numbers.
enum class Error {
  Success = 0,
  InvalidValue = 1,
  MemoryAllocation = 2,
  InvalidConfiguration = 9,
  InvalidDevice = 101,
  InvalidResourceHandle = 400,
  NotReady = 600,
  IllegalAddress = 700,
  MisalignedAddress = 716,
};

const char* error_name(Error error);
const char* error_text(Error error);

/// The error of a call that failed last. `clear`: the next one that asks is told of none, unless a kernel
/// broke.
Error last_error(bool clear);

/// A call fails; returns the error, which is now the last one.
Error failed(Error error);
/// A launch fails. `what` is told at the end of a case whose code never asked for the last error.
void launch_failed(Error error, std::string what);
/// A launch succeeds, of which nobody knows until cudaGetLastError() has been asked.
void launch_accepted(std::string what);
/// A kernel broke: from now on every call returns this error.
void break_device(Error error);
/// What broke the device, or Success.
Error broken();

void forget_errors();
/// The refused launch whose error nobody has asked for, or "".
std::string refused_launch();
/// The last launch that succeeded, if nobody has asked for the last error since, or "".
std::string accepted_launch();
void forget_accepted_launch();

}  // namespace course::gpu
