#include "lab/plan.hpp"

#include <nlohmann/json.hpp>

namespace course::demo {

void to_json(nlohmann::json& json, const RankResult& result) {
  json = nlohmann::json::parse(to_text(result));
}

void from_json(const nlohmann::json& json, RankResult& result) {
  result = rank_result_from(json.dump());
}

}  // namespace course::demo

namespace course::lab {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Plan, kind, subject, block, overlap, folder, result)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CallResult, name, seconds, calls, ranks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Workload, tokens, heads, head_dim)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Measured, work_over_transfer, work, flops, bytes_per_s, compute_alone_s,
                                   blocking_transfers_s, overlapped_transfers_s, rings)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Result, ranks, call, settings)

std::string to_text(const Plan& plan) {
  return nlohmann::json(plan).dump();
}

Plan plan_from(const std::string& text) {
  return nlohmann::json::parse(text).get<Plan>();
}

std::string to_text(const Result& result) {
  return nlohmann::json(result).dump();
}

Result result_from(const std::string& text) {
  return nlohmann::json::parse(text).get<Result>();
}

}  // namespace course::lab
