#include "protocol/case.hpp"

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
  // What a submission throws may be any bytes.
  file << value.dump(1, ' ', false, json::error_handler_t::replace) << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

/// `source` is a text or a stream.
template <class T, class Source>
T parse(Source& source, const fs::path& name) {
  try {
    return json::parse(source).template get<T>();
  } catch (const json::exception& error) {
    throw std::runtime_error(name.string() + " is not what the case format asks for: " + error.what());
  }
}

}  // namespace

void write_manifest(const fs::path& folder, const CaseManifest& manifest) {
  write_json(folder / "case.json", manifest);
}

CaseManifest read_manifest(const fs::path& folder) {
  const fs::path path = folder / "case.json";
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path.string());
  return parse<CaseManifest>(file, path);
}

void write_report(const fs::path& rank_folder, const RankReport& report) {
  // Renamed, so that where a report lies it is whole.
  write_json(rank_folder / "report.json.part", report);
  fs::rename(rank_folder / "report.json.part", rank_folder / "report.json");
}

RankReport parse_report(const std::string& text, const fs::path& name) {
  return parse<RankReport>(text, name);
}

fs::path input_folder(const fs::path& folder, int rank) {
  return folder / ("rank" + std::to_string(rank));
}

fs::path output_folder(const fs::path& folder, int rank) {
  return folder / "out" / ("rank" + std::to_string(rank));
}

}  // namespace course
