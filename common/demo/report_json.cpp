#include <nlohmann/json.hpp>

#include "demo/report.hpp"

namespace course::demo {

namespace {

using Json = nlohmann::ordered_json;

/// `number` of every output's deviation.
Json errors(const Comparison& comparison, double Deviation::*number) {
  Json json{{"o", comparison.overall.o.*number}, {"lse", comparison.overall.lse.*number}};
  if (const auto& gradients = comparison.gradients) {
    json["dq"] = gradients->overall.dq.*number;
    json["dk"] = gradients->overall.dk.*number;
    json["dv"] = gradients->overall.dv.*number;
  }
  return json;
}

Json tolerances(const Comparison& comparison) {
  Json json{{"o", comparison.tolerance_o}, {"lse", comparison.tolerance_lse}};
  if (const auto& gradients = comparison.gradients) {
    json["dq"] = gradients->tolerance_dq;
    json["dk"] = gradients->tolerance_dk;
    json["dv"] = gradients->tolerance_dv;
  }
  return json;
}

Json per_rank(const RingSummary& ring) {
  Json all = Json::array();
  for (const RankRecord& rank : ring.ranks) {
    all.push_back({{"rank", rank.trace.rank},
                   {"tokens", ring.tokens.at(all.size())},
                   {"bytes_sent", rank.bytes_sent},
                   {"compute_s", total_s(rank.trace, Span::Kind::Compute)},
                   {"transfer_s", total_s(rank.trace, Span::Kind::Transfer)},
                   {"wait_s", total_s(rank.trace, Span::Kind::Wait)}});
  }
  return all;
}

Json ring_json(const RingSummary& ring) {
  return {{"name", std::string(ring.kind.name)},
          {"passed", ring.comparison.passed()},
          {"seconds", slowest_s(ring)},
          {"exposed", exposed(ring)},
          {"bytes_sent", bytes_sent(ring)},
          {"largest_error", errors(ring.comparison, &Deviation::largest)},
          {"relative_error", errors(ring.comparison, &Deviation::relative)},
          {"per_rank", per_rank(ring)}};
}

}  // namespace

std::string report_json(const RunSummary& run) {
  const RingSummary& first = run.rings.front();
  const Comparison& comparison = first.comparison;
  Json json{
      {"ranks", first.ranks.size()},
      {"causal", false},
      {"layout", "contiguous"},
      {"backend", "mpi"},
      {"relative_error", errors(comparison, &Deviation::relative)},
      {"tolerance", tolerances(comparison)},
      {"rows_compared", comparison.rows},
      {"heads_with_gradients_compared", comparison.gradients ? comparison.gradients->heads_compared : 0},
      {"per_rank", per_rank(first)},
      {"rings", Json::array()}};
  for (const RingSummary& ring : run.rings) json["rings"].push_back(ring_json(ring));
  return json.dump(2) + "\n";
}

}  // namespace course::demo
