#include "protocol/judge_report.hpp"

#include "protocol/json_file.hpp"

namespace course {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JudgeReport::Test, task, ranks, hidden, status, text, mistakes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JudgeReport, lesson, seed, tests)

void write_judge_report(const std::filesystem::path& path, const JudgeReport& report) {
  write_json(path, report);
}

JudgeReport parse_judge_report(const std::string& text) {
  return parse_json<JudgeReport>(text, "the judge's report");
}

}  // namespace course
