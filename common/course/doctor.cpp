#include "course/doctor.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "course/errors.hpp"
#include "course/facts.hpp"
#include "course/terminal.hpp"

namespace course::program {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const std::vector<Fact>& facts) {
  Json found = Json::array();
  Json skipped = Json::array();
  for (const Fact& fact : facts) {
    found.push_back({{"name", fact.name}, {"found", fact.found}, {"value", fact.value}});
    if (!fact.found && !fact.skipped.empty())
      skipped.push_back({{"what", fact.skipped}, {"why", fact.value}});
  }
  return {{"machine", found}, {"skipped", skipped}};
}

void print(const std::vector<Fact>& facts) {
  for (const Fact& fact : facts) {
    const Colour colour = fact.found ? Colour::Green : fact.needed ? Colour::Red : Colour::Grey;
    fmt::print("{} {:<14} {}\n", painted(fact.found ? "yes" : "no ", colour), fact.name, fact.value);
  }
  bool nothing = true;
  for (const Fact& fact : facts) {
    if (fact.found || fact.skipped.empty()) continue;
    if (nothing) fmt::print("\nskipped on this machine:\n");
    nothing = false;
    fmt::print("  {}: {}\n", fact.skipped, fact.value);
  }
  if (nothing) fmt::print("\nnothing is skipped on this machine\n");
}

}  // namespace

int doctor(const Checkout& checkout, bool json) {
  const std::vector<Fact> facts = look_at_machine(checkout);
  if (json) {
    fmt::print("{}\n", to_json(facts).dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    print(facts);
  }
  const bool lacking =
      std::any_of(facts.begin(), facts.end(), [](const Fact& fact) { return fact.needed && !fact.found; });
  return lacking ? unavailable : succeeded;
}

}  // namespace course::program
