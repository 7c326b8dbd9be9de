#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "course/commands/commands.hpp"
#include "course/commands/machine_facts.hpp"
#include "course/terminal/terminal.hpp"
#include "protocol/errors.hpp"

namespace course::program {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const std::vector<MachineFact>& facts) {
  Json found = Json::array();
  Json skipped = Json::array();
  for (const MachineFact& fact : facts) {
    found.push_back({{"name", fact.name}, {"found", fact.found}, {"value", fact.value}});
    if (!fact.found && !fact.skipped.empty())
      skipped.push_back({{"what", fact.skipped}, {"why", fact.value}});
  }
  return {{"machine", found}, {"skipped", skipped}};
}

void print(const std::vector<MachineFact>& facts) {
  std::string skipped;
  for (const MachineFact& fact : facts) {
    const Colour colour = fact.found ? Colour::Green : fact.needed ? Colour::Red : Colour::Grey;
    fmt::print("{} {:<14} {}\n", painted(fact.found ? "yes" : "no ", colour), fact.name, fact.value);
    if (!fact.found && !fact.skipped.empty()) skipped += fmt::format("  {}: {}\n", fact.skipped, fact.value);
  }
  fmt::print("\n{}", skipped.empty() ? "nothing is skipped on this machine\n"
                                     : "skipped on this machine:\n" + skipped);
}

}  // namespace

int doctor(const Checkout& checkout, bool json) {
  const std::vector<MachineFact> facts = look_at_machine(checkout);
  if (json) {
    fmt::print("{}\n", to_json(facts).dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    print(facts);
  }
  const bool lacking =
      std::ranges::any_of(facts, [](const MachineFact& fact) { return fact.needed && !fact.found; });
  return lacking ? unavailable : succeeded;
}

}  // namespace course::program
