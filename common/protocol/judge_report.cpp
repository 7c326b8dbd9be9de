#include "protocol/judge_report.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace course {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JudgeReport::Test, task, ranks, hidden, status, text, mistakes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JudgeReport, lesson, seed, tests)

void write_judge_report(const std::filesystem::path& path, const JudgeReport& report) {
  const std::filesystem::path part = path.string() + ".part";
  std::ofstream file(part);
  // A text may hold what a submission has thrown or printed: any bytes.
  file << nlohmann::json(report).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  file.close();
  if (!file) throw std::runtime_error("cannot write " + part.string());
  std::filesystem::rename(part, path);
}

JudgeReport parse_judge_report(const std::string& text) {
  try {
    return nlohmann::json::parse(text).get<JudgeReport>();
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(std::string("the judge's report is unreadable: ") + error.what());
  }
}

}  // namespace course
