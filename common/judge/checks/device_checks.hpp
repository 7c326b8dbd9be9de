#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "judge/task.hpp"

namespace course::checks {

/// Tells facts of one kind apart.
using FactIs = std::function<bool(const Fact&)>;

/// Has all of these marks (protocol/fact_kinds.hpp) and not that one.
FactIs marked(std::vector<std::string> marks, std::string without = {});
/// One of its calls, or its kernel, has a name that begins so, behind namespaces.
FactIs of_call(std::string beginning);
/// It happened while the host's code had this name.
FactIs within(std::string name);

/// What a lesson calls a finding of the simulated GPU: a kind of protocol/fact_kinds.hpp, which of them (none
/// given: any), the id of the mistake ("": it has no name), and the examples on which it is called so (none
/// given: all).
struct DeviceMistake {
  const char* kind;
  FactIs is;
  std::string mistake;
  std::function<bool(const Example&)> on = {};
};

/// The simulated GPU has found nothing wrong: one finding, of the kind that the others follow from. Calls
/// that may wait for the whole device are no finding. Of a real device nothing is said.
CommunicationCheck is_right_on_the_device(std::vector<DeviceMistake> known);

/// A function that its adapter calls with call_to_launch() has launched its kernels and returned. Mistakes:
/// allocates, waits_for_its_kernel, launch_unchecked. Of a real device nothing is said.
CommunicationCheck only_launches();

}  // namespace course::checks
