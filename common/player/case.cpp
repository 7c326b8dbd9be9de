#include "player/case.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace course {

using nlohmann::json;
namespace fs = std::filesystem;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CaseManifest, function, ranks, world_ranks, arguments, inputs)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankReport, ending, what, peak_bytes, bytes_sent_to, collective_bytes,
                                   facts, outputs)

namespace {

void write_json(const fs::path& path, const json& value) {
  std::ofstream file(path);
  file << value.dump(1) << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

template <class T>
T read_json(const fs::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path.string());
  try {
    return json::parse(file).get<T>();
  } catch (const json::exception& error) {
    throw std::runtime_error(path.string() + " is not what the case format asks for: " + error.what());
  }
}

}  // namespace

void write_manifest(const fs::path& folder, const CaseManifest& manifest) {
  write_json(folder / "case.json", manifest);
}

CaseManifest read_manifest(const fs::path& folder) {
  return read_json<CaseManifest>(folder / "case.json");
}

void write_report(const fs::path& rank_folder, const RankReport& report) {
  write_json(rank_folder / "report.json", report);
}

RankReport read_report(const fs::path& rank_folder) {
  return read_json<RankReport>(rank_folder / "report.json");
}

fs::path input_folder(const fs::path& folder, int rank) {
  return folder / ("rank" + std::to_string(rank));
}

fs::path output_folder(const fs::path& folder, int rank) {
  return folder / "out" / ("rank" + std::to_string(rank));
}

}  // namespace course
