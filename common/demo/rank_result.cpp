#include "demo/rank_result.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace course {

void to_json(nlohmann::json& json, const Span& span) {
  json = {static_cast<int>(span.kind), span.begin_s, span.end_s, span.label};
}

void from_json(const nlohmann::json& json, Span& span) {
  span.kind = static_cast<Span::Kind>(json.at(0).get<int>());
  json.at(1).get_to(span.begin_s);
  json.at(2).get_to(span.end_s);
  json.at(3).get_to(span.label);
}

namespace demo {

std::string to_text(const RankResult& result) {
  const nlohmann::json json{{"tokens", result.tokens},
                            {"bytes_sent", result.bytes_sent},
                            {"collective_bytes", result.collective_bytes},
                            {"rank", result.trace.rank},
                            {"spans", result.trace.spans},
                            {"facts", result.facts},
                            {"host_id", result.host_id},
                            {"host_name", result.host_name},
                            {"cores", result.cores}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

RankResult rank_result_from(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text);
  RankResult result;
  json.at("tokens").get_to(result.tokens);
  json.at("bytes_sent").get_to(result.bytes_sent);
  json.at("collective_bytes").get_to(result.collective_bytes);
  json.at("rank").get_to(result.trace.rank);
  json.at("spans").get_to(result.trace.spans);
  json.at("facts").get_to(result.facts);
  json.at("host_id").get_to(result.host_id);
  json.at("host_name").get_to(result.host_name);
  json.at("cores").get_to(result.cores);
  return result;
}

void make_disjoint(std::vector<Span>& spans) {
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.begin_s < b.begin_s; });
  for (std::size_t i = 1; i < spans.size(); ++i) {
    spans[i].begin_s = std::max(spans[i].begin_s, spans[i - 1].end_s);
    spans[i].end_s = std::max(spans[i].end_s, spans[i].begin_s);
  }
}

}  // namespace demo
}  // namespace course
