#include "gpu/simulator/host/errors.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace course::gpu {

namespace {

struct Row {
  Error error;
  const char* name;
  const char* text;
};

constexpr std::array rows{
    Row{Error::Success, "cudaSuccess", "no error"},
    Row{Error::InvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    Row{Error::MemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    Row{Error::InvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    Row{Error::InvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    Row{Error::InvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    Row{Error::NotReady, "cudaErrorNotReady", "device not ready"},
    Row{Error::IllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    Row{Error::MisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
};

const Row& row_of(Error error) {
  static constexpr Row unknown{Error::Success, "unrecognized error code", "unrecognized error code"};
  const auto* const found = std::ranges::find(rows, error, &Row::error);
  return found == rows.end() ? unknown : *found;
}

struct Errors {
  Error last = Error::Success;
  Error broken = Error::Success;
  std::string refused_launch;   ///< of which nobody has asked
  std::string accepted_launch;  ///< the same
};
Errors errors;

}  // namespace

const char* error_name(Error error) {
  return row_of(error).name;
}

const char* error_text(Error error) {
  return row_of(error).text;
}

Error last_error(bool clear) {
  errors.refused_launch.clear();
  forget_accepted_launch();
  if (errors.broken != Error::Success) return errors.broken;
  return clear ? std::exchange(errors.last, Error::Success) : errors.last;
}

Error failed(Error error) {
  errors.last = error;
  return error;
}

void launch_failed(Error error, std::string what) {
  errors.last = error;
  errors.refused_launch = std::move(what);
}

void launch_accepted(std::string what) {
  errors.accepted_launch = std::move(what);
}

void break_device(Error error) {
  if (errors.broken == Error::Success) errors.broken = error;
}

Error broken() {
  return errors.broken;
}

void forget_errors() {
  errors = {};
}

std::string refused_launch() {
  return errors.refused_launch;
}

std::string accepted_launch() {
  return errors.accepted_launch;
}

void forget_accepted_launch() {
  errors.accepted_launch.clear();
}

}  // namespace course::gpu
