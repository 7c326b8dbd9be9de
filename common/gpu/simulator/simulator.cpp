#include "gpu/simulator/simulator.hpp"

#include <exception>
#include <string>

#include "gpu/simulator/findings/findings.hpp"
#include "gpu/simulator/host/errors.hpp"
#include "gpu/simulator/host/streams.hpp"
#include "gpu/simulator/kernel/shared_memory.hpp"
#include "gpu/simulator/memory/memory.hpp"
#include "gpu/simulator/memory/races.hpp"
#include "gpu/simulator/memory/requests.hpp"
#include "protocol/fact_kinds.hpp"

namespace course::gpu {

namespace {

void forget_all() {
  begin_shared_memory(0, 0);
  reset_races();
  forget_counts();
  reset_memory();
  forget_operations();
  forget_errors();
}

void note_what_is_left() {
  if (const std::string memory = device_memory_in_use(); !memory.empty())
    note({fact_device_memory, "device memory was not freed: " + memory});
  for (const std::string& handle : handles_left()) note({fact_not_destroyed, handle + " was not destroyed"});
}

}  // namespace

void begin(std::uint64_t seed, bool checked, bool counted) {
  forget_all();
  take_findings();
  reset_streams(seed);
  now = {.checked = checked, .counted = checked && counted};
}

void run_the_rest() {
  try {
    run_all();
  } catch (const std::exception& error) {
    note({fact_unchecked_error, std::string("a kernel that nobody waited for threw: ") + error.what()});
  }
}

Facts end(bool finished) {
  if (finished) {
    run_the_rest();
    if (const std::string launch = refused_launch(); !launch.empty())
      note({fact_unchecked_error, "nobody asked for the error (cudaGetLastError): " + launch});
    if (broken() == Error::Success) note_what_is_left();  // else cudaFree and the like were refused
  }
  tell_pending_race();
  reset_streams(1);
  forget_all();
  now = {};
  return take_findings();
}

}  // namespace course::gpu
