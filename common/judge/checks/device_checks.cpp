#include "judge/checks/device_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "judge/checks/communication_checks.hpp"

namespace course::checks {

namespace {

/// From causes to what follows from them.
constexpr const char* kinds[] = {fact_refused_launch,      fact_nccl_call,          fact_host_pointer,
                                 fact_host_dereference,    fact_out_of_bounds,      fact_misaligned,
                                 fact_divergent_barrier,   fact_absent_lane,        fact_spinning,
                                 fact_unrecorded_event,    fact_missing_dependency, fact_race_in_block,
                                 fact_race_between_blocks, fact_nccl_mismatch,      fact_unwritten_read,
                                 fact_device_memory,       fact_unchecked_error,    fact_not_destroyed};

const Fact* fact_of(const Outcome& outcome, const DeviceMistake& mistake) {
  for (const Facts& facts : outcome.facts) {
    const auto found = std::ranges::find_if(facts, [&](const Fact& fact) {
      return fact.kind == mistake.kind && (!mistake.is || mistake.is(fact));
    });
    if (found != facts.end()) return &*found;
  }
  return nullptr;
}

/// "add" of "tiles::add<32>".
std::string_view unqualified(std::string_view name) {
  name = name.substr(0, name.find('<'));
  const std::size_t colons = name.rfind("::");
  return colons == std::string_view::npos ? name : name.substr(colons + 2);
}

}  // namespace

FactIs marked(std::vector<std::string> marks, std::string without) {
  return [marks = std::move(marks), without = std::move(without)](const Fact& fact) {
    return !fact.has(without) &&
           std::ranges::all_of(marks, [&](const std::string& mark) { return fact.has(mark); });
  };
}

FactIs of_call(std::string beginning) {
  return [beginning = std::move(beginning)](const Fact& fact) {
    return unqualified(fact.call).starts_with(beginning) ||
           unqualified(fact.other_call).starts_with(beginning);
  };
}

FactIs within(std::string name) {
  return [name = std::move(name)](const Fact& fact) { return fact.within == name; };
}

CommunicationCheck is_right_on_the_device(std::vector<DeviceMistake> known) {
  for (const char* const kind : kinds) known.push_back({kind, {}, ""});
  // Whoever fails otherwise may leave streams and events behind for it, so these come last even where they
  // have a name.
  const auto is_cause = [](const DeviceMistake& mistake) {
    return mistake.kind != std::string_view(fact_not_destroyed);
  };
  std::stable_partition(known.begin(), known.end(), is_cause);
  return [known = std::move(known)](const Example& example, const Outcome& outcome) -> std::vector<Finding> {
    for (const DeviceMistake& mistake : known) {
      if (mistake.on && !mistake.on(example)) continue;
      if (const Fact* const fact = fact_of(outcome, mistake)) return {finding_of(*fact, mistake.mistake)};
    }
    return {};
  };
}

CommunicationCheck only_launches() {
  return [](const Example&, const Outcome& outcome) -> std::vector<Finding> {
    for (const RankReport& report : outcome.reports) {
      if (report.device_peak_bytes > 0)
        return {
            {"allocates",
             fmt::format("the function allocates {} bytes of device memory; it is given all that it needs",
                         report.device_peak_bytes)}};
    }
    const FactIs in_the_function = within(launching_function);
    const DeviceMistake known[] = {{fact_device_wide_wait, in_the_function, "waits_for_its_kernel"},
                                   {fact_host_wait, in_the_function, "waits_for_its_kernel"},
                                   {fact_unasked_launch, in_the_function, "launch_unchecked"}};
    for (const DeviceMistake& mistake : known) {
      if (const Fact* const fact = fact_of(outcome, mistake)) return {finding_of(*fact, mistake.mistake)};
    }
    return {};
  };
}

}  // namespace course::checks
