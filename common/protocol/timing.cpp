#include "protocol/timing.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "protocol/json_file.hpp"

namespace course {

NLOHMANN_JSON_SERIALIZE_ENUM(Span::Kind, {{Span::Kind::Compute, "compute"},
                                          {Span::Kind::Transfer, "transfer"},
                                          {Span::Kind::Wait, "wait"}})

static void to_json(nlohmann::json& value, const CallTime& call) {
  value = {call.begin_s, call.end_s};
}

static void from_json(const nlohmann::json& value, CallTime& call) {
  std::tie(call.begin_s, call.end_s) = value.get<std::tuple<double, double>>();
}

static void to_json(nlohmann::json& value, const Span& span) {
  value = {span.kind, span.begin_s, span.end_s, span.label};
}

static void from_json(const nlohmann::json& value, Span& span) {
  std::tie(span.kind, span.begin_s, span.end_s, span.label) =
      value.get<std::tuple<Span::Kind, double, double, std::string>>();
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankTiming, calls, shown, spans, host_id, cores)

void make_disjoint(std::vector<Span>& spans) {
  std::ranges::stable_sort(spans, {}, &Span::begin_s);
  for (std::size_t i = 1; i < spans.size(); ++i) {
    spans[i].begin_s = std::max(spans[i].begin_s, spans[i - 1].end_s);
    spans[i].end_s = std::max(spans[i].end_s, spans[i].begin_s);
  }
}

void write_timing(const std::filesystem::path& rank_folder, const RankTiming& timing) {
  write_json(rank_folder / "spans.json", timing);
}

RankTiming parse_timing(const std::string& text, const std::filesystem::path& name) {
  return parse_json<RankTiming>(text, name);
}

}  // namespace course
