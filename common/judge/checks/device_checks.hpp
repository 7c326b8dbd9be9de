#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "judge/task.hpp"

namespace course::checks {

/// What a lesson calls a finding of the simulated GPU: a kind of protocol/fact_kinds.hpp, words that its text
/// has ("" is any), the id of the mistake ("": it has no name), words that it does not have ("": none), and
/// the examples on which it is called so (none given: all).
struct DeviceMistake {
  const char* kind;
  std::string words;
  std::string mistake;
  std::string without = {};
  std::function<bool(const Example&)> on = {};
};

/// The simulated GPU has found nothing wrong: one finding, of the kind that the others follow from. Calls
/// that may wait for the whole device are no finding. Of a real device nothing is said.
CommunicationCheck is_right_on_the_device(std::vector<DeviceMistake> known);

/// A function that its adapter calls with call_to_launch() has launched its kernels and returned. Mistakes:
/// allocates, waits_for_its_kernel, launch_unchecked. Of a real device nothing is said.
CommunicationCheck only_launches();

}  // namespace course::checks
