#include "judge/checks/device_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "protocol/fact_kinds.hpp"

namespace course::checks {

namespace {

/// From causes to what follows from them.
constexpr const char* kinds[] = {fact_refused_launch,      fact_nccl_call,          fact_host_pointer,
                                 fact_host_dereference,    fact_out_of_bounds,      fact_misaligned,
                                 fact_divergent_barrier,   fact_absent_lane,        fact_spinning,
                                 fact_unrecorded_event,    fact_missing_dependency, fact_race_in_block,
                                 fact_race_between_blocks, fact_nccl_mismatch,      fact_unwritten_read,
                                 fact_device_memory,       fact_unchecked_error,    fact_not_destroyed};

const std::string* text_of(const Outcome& outcome, const DeviceMistake& mistake) {
  const auto has = [](const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
  };
  for (const Facts& facts : outcome.facts) {
    for (const auto& [kind, text] : facts) {
      const bool excluded = !mistake.without.empty() && has(text, mistake.without);
      if (kind == mistake.kind && has(text, mistake.words) && !excluded) return &text;
    }
  }
  return nullptr;
}

}  // namespace

CommunicationCheck is_right_on_the_device(std::vector<DeviceMistake> known) {
  for (const char* const kind : kinds) known.push_back({kind, "", ""});
  // Whoever fails otherwise may leave streams and events behind for it, so these come last even where they
  // have a name.
  const auto is_cause = [](const DeviceMistake& mistake) {
    return mistake.kind != std::string_view(fact_not_destroyed);
  };
  std::stable_partition(known.begin(), known.end(), is_cause);
  return [known = std::move(known)](const Example& example, const Outcome& outcome) -> std::vector<Finding> {
    for (const DeviceMistake& mistake : known) {
      if (mistake.on && !mistake.on(example)) continue;
      if (const std::string* const text = text_of(outcome, mistake)) return {{mistake.mistake, *text}};
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
    const std::pair<const char*, const char*> found[] = {{fact_device_wide_wait, "waits_for_its_kernel"},
                                                         {fact_host_wait, "waits_for_its_kernel"},
                                                         {fact_unasked_launch, "launch_unchecked"}};
    for (const auto& [kind, mistake] : found) {
      if (const std::string* const text =
              text_of(outcome, {kind, std::string("within ") + launching_function, mistake}))
        return {{mistake, *text}};
    }
    return {};
  };
}

}  // namespace course::checks
