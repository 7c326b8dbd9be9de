#include "demo/prepared.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "protocol/errors.hpp"
#include "ring/shards.hpp"
#include "runner/outputs.hpp"
#include "tensor/npy.hpp"

namespace course::demo {

namespace fs = std::filesystem;

namespace {

/// What the cases do not say, in this file beside them.
constexpr const char* about_file = "demo.json";

nlohmann::json about(const Demonstration& shown) {
  nlohmann::json json{{"shape", shown.input.shape},
                      {"input", shown.input.description},
                      {"ranks", shown.ranks},
                      {"runs", shown.runs},
                      {"mine", shown.mine},
                      {"backward", shown.backward()},
                      {"rings", nlohmann::json::array()}};
  for (const RingKind& ring : shown.rings) json["rings"].push_back(ring.name);
  return json;
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder) && !(fs::is_directory(folder) && fs::is_empty(folder)))
    throw UsageError(folder.string() + ": is not empty, expected an empty folder or a free name");
  fs::create_directories(folder, error);
  if (error) throw UsageError(folder.string() + ": cannot be made: " + error.message());
}

/// An input of all ranks of a case, joined along the sequence.
Tensor joined_input(const fs::path& folder, int ranks, const std::string& name) {
  std::vector<Tensor> parts;
  for (int rank = 0; rank < ranks; ++rank)
    parts.push_back(read_npy<float>(input_folder(folder, rank) / (name + ".npy")));
  return concatenate(parts, 1);
}

}  // namespace

std::vector<std::string> prepare(const fs::path& folder, const Demonstration& shown,
                                 const Libraries& libraries) {
  make_folder(folder);
  std::vector<int> world_ranks(static_cast<std::size_t>(shown.ranks));
  std::iota(world_ranks.begin(), world_ranks.end(), 0);
  PlayerOptions options{.cases = {}, .timed = timed_play(shown, libraries)};
  for (const Case& one : cases_of(shown, libraries)) {
    options.cases.push_back({fs::absolute(folder) / one.name, one.subject});
    Launcher::write_case(options.cases.back().folder, one, world_ranks);
  }
  std::ofstream file(folder / about_file);
  file << about(shown).dump(1) << '\n';
  if (!file.flush()) throw UsageError((folder / about_file).string() + ": cannot be written");
  return player_arguments(options);
}

Demonstration read_prepared(const fs::path& folder) {
  const fs::path path = folder / about_file;
  std::ifstream file(path);
  if (!file) throw UsageError(path.string() + ": cannot be opened, expected a folder of --prepare");
  Demonstration shown;
  try {
    const nlohmann::json json = nlohmann::json::parse(file);
    json.at("shape").get_to(shown.input.shape);
    json.at("input").get_to(shown.input.description);
    json.at("ranks").get_to(shown.ranks);
    json.at("runs").get_to(shown.runs);
    json.at("mine").get_to(shown.mine);
    for (const nlohmann::json& name : json.at("rings"))
      shown.rings.push_back(picked_rings(name.get<std::string>()).at(0));
    const fs::path first = folder / shown.rings.at(0).name;
    shown.input.q = joined_input(first.string() + "-forward", shown.ranks, "q");
    shown.input.k = joined_input(first.string() + "-forward", shown.ranks, "k");
    shown.input.v = joined_input(first.string() + "-forward", shown.ranks, "v");
    if (json.at("backward").get<bool>())
      shown.input.d_o = joined_input(first.string() + "-backward", shown.ranks, "d_o");
  } catch (const std::exception& error) {
    throw UsageError(path.string() + ": is not what --prepare wrote: " + error.what());
  }
  return shown;
}

std::vector<Outcome> read_played(const fs::path& folder, const Demonstration& shown) {
  std::vector<Outcome> outcomes;
  for (const Case& one : cases_of(shown, {})) {
    try {
      outcomes.push_back(read_outcome({folder, one.name, geteuid()}, shown.ranks, one.outputs, true));
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(fmt::format("{}: {}; have its cases been played to the end?",
                                           (folder / one.name).string(), error.what()));
    }
  }
  return outcomes;
}

}  // namespace course::demo
