#include "protocol/case.hpp"

#include <fstream>
#include <stdexcept>

#include "protocol/json_file.hpp"

namespace course {

using nlohmann::json;
namespace fs = std::filesystem;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankReport, ending, what, peak_bytes, bytes_sent_to, collective_bytes,
                                   facts, outputs)

/// What only a timed play knows is left out of the cases that a judge writes.
static void to_json(json& value, const CaseManifest& manifest) {
  value = {{"function", manifest.function},
           {"ranks", manifest.ranks},
           {"world_ranks", manifest.world_ranks},
           {"arguments", manifest.arguments},
           {"inputs", manifest.inputs}};
  if (!manifest.from.empty()) value["from"] = manifest.from;
  if (!manifest.block_mode.empty()) value["block"] = manifest.block_mode;
  if (manifest.apart) value["apart"] = true;
  if (!manifest.spans) value["spans"] = false;
}

static void from_json(const json& value, CaseManifest& manifest) {
  value.at("function").get_to(manifest.function);
  value.at("ranks").get_to(manifest.ranks);
  value.at("world_ranks").get_to(manifest.world_ranks);
  value.at("arguments").get_to(manifest.arguments);
  value.at("inputs").get_to(manifest.inputs);
  manifest.from = value.value("from", manifest.from);
  manifest.block_mode = value.value("block", manifest.block_mode);
  manifest.apart = value.value("apart", manifest.apart);
  manifest.spans = value.value("spans", manifest.spans);
}

void write_manifest(const fs::path& folder, const CaseManifest& manifest) {
  write_json(folder / "case.json", manifest);
}

CaseManifest read_manifest(const fs::path& folder) {
  const fs::path path = folder / "case.json";
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path.string());
  return parse_json<CaseManifest>(file, path);
}

void write_report(const fs::path& rank_folder, const RankReport& report) {
  write_json(rank_folder / "report.json", report);
}

RankReport parse_report(const std::string& text, const fs::path& name) {
  return parse_json<RankReport>(text, name);
}

fs::path input_folder(const fs::path& folder, int rank) {
  return folder / ("rank" + std::to_string(rank));
}

fs::path output_folder(const fs::path& folder, int rank) {
  return folder / "out" / ("rank" + std::to_string(rank));
}

}  // namespace course
