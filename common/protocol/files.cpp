#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <tuple>

#include "protocol/case.hpp"
#include "protocol/fact_fields.hpp"
#include "protocol/judge_report.hpp"
#include "protocol/timing.hpp"
#include "text/text_file.hpp"

namespace course {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

void write_json(const fs::path& path, const json& value) {
  // What a submission throws may be any bytes.
  write_text(path, value.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
}

template <class T>
T parse_json(const std::string& text, const fs::path& name) {
  try {
    return json::parse(text).get<T>();
  } catch (const json::exception& error) {
    throw std::runtime_error(name.string() + " is not what was expected: " + error.what());
  }
}

}  // namespace

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(KernelCounts, kernel, launches, bytes_read, bytes_written, requests,
                                   sectors, shared_requests, shared_passes, bank_conflicts)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Sent, communicator, members, call, to, bytes)
NLOHMANN_JSON_SERIALIZE_ENUM(RankStep::Kind, {{RankStep::Kind::Sends, "sends"},
                                              {RankStep::Kind::Has, "has"},
                                              {RankStep::Kind::Computes, "computes"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NcclGroup, call, bytes_sent, bytes_received, beside)

/// ["sends", 1, 96].
static void to_json(json& value, const RankStep& step) {
  value = {step.kind, step.peer, step.bytes};
}

static void from_json(const json& value, RankStep& step) {
  value.at(0).get_to(step.kind);
  value.at(1).get_to(step.peer);
  value.at(2).get_to(step.bytes);
}

/// A pair of kind and text where nothing else is known, and behind these what is.
static void to_json(json& value, const Fact& fact) {
  json unset, fields = json::object();
  const Fact nothing{};
  visit_fields(nothing, [&](const char* name, const auto& none) { unset[name] = none; });
  visit_fields(fact, [&](const char* name, const auto& known) {
    if (json(known) != unset[name]) fields[name] = known;
  });
  value = {fact.kind, fact.text};
  if (!fields.empty()) value.push_back(fields);
}

static void from_json(const json& value, Fact& fact) {
  value.at(0).get_to(fact.kind);
  value.at(1).get_to(fact.text);
  if (value.size() < 3) return;
  visit_fields(fact, [&](const char* name, auto& known) {
    if (value[2].contains(name)) value[2][name].get_to(known);
  });
}

/// What only a device and NCCL's calls bring is left out where there were none.
static void to_json(json& value, const RankReport& report) {
  value = {{"ending", report.ending},
           {"what", report.what},
           {"peak_bytes", report.peak_bytes},
           {"bytes_sent_to", messages_by_peer(report.traffic)},
           {"collective_bytes", report.collective_bytes},
           {"facts", report.facts},
           {"outputs", report.outputs}};
  if (!report.traffic.empty()) value["traffic"] = report.traffic;
  if (!report.steps.empty()) value["steps"] = report.steps;
  if (!report.thrown.empty()) value["thrown"] = report.thrown;
  if (report.told) value["told"] = *report.told;
  if (report.device_peak_bytes >= 0) value["device_peak_bytes"] = report.device_peak_bytes;
  if (!report.nccl_bytes_sent_to.empty()) value["nccl_bytes_sent_to"] = report.nccl_bytes_sent_to;
  if (report.nccl_collective_bytes > 0) value["nccl_collective_bytes"] = report.nccl_collective_bytes;
  if (!report.nccl_groups.empty()) value["nccl_groups"] = report.nccl_groups;
  if (!report.kernels.empty()) value["kernels"] = report.kernels;
}

static void from_json(const json& value, RankReport& report) {
  value.at("ending").get_to(report.ending);
  value.at("what").get_to(report.what);
  value.at("peak_bytes").get_to(report.peak_bytes);
  const auto messages = value.at("bytes_sent_to").get<std::map<int, std::int64_t>>();
  report.traffic = value.contains("traffic") ? value["traffic"].get<Traffic>() : traffic_of(messages);
  report.steps = value.value("steps", report.steps);
  value.at("collective_bytes").get_to(report.collective_bytes);
  value.at("facts").get_to(report.facts);
  value.at("outputs").get_to(report.outputs);
  report.thrown = value.value("thrown", report.thrown);
  if (value.contains("told")) report.told = value["told"].get<Fact>();
  report.device_peak_bytes = value.value("device_peak_bytes", report.device_peak_bytes);
  report.nccl_bytes_sent_to = value.value("nccl_bytes_sent_to", report.nccl_bytes_sent_to);
  report.nccl_collective_bytes = value.value("nccl_collective_bytes", report.nccl_collective_bytes);
  report.nccl_groups = value.value("nccl_groups", report.nccl_groups);
  report.kernels = value.value("kernels", report.kernels);
}

/// What only a timed play knows is left out of the cases that a judge writes, and what few cases ask for.
static void to_json(json& value, const CaseManifest& manifest) {
  value = {{"function", manifest.function},
           {"ranks", manifest.ranks},
           {"world_ranks", manifest.world_ranks},
           {"arguments", manifest.arguments},
           {"inputs", manifest.inputs}};
  if (manifest.counted) value["counted"] = true;
  if (manifest.called_before) value["called_before"] = true;
  if (!manifest.from.empty()) value["from"] = manifest.from;
  if (!manifest.block_mode.empty()) value["block"] = manifest.block_mode;
  if (manifest.apart) value["apart"] = true;
  if (!manifest.spans) value["spans"] = false;
  if (manifest.checked) value["checked"] = true;
}

static void from_json(const json& value, CaseManifest& manifest) {
  value.at("function").get_to(manifest.function);
  value.at("ranks").get_to(manifest.ranks);
  value.at("world_ranks").get_to(manifest.world_ranks);
  value.at("arguments").get_to(manifest.arguments);
  value.at("inputs").get_to(manifest.inputs);
  manifest.counted = value.value("counted", manifest.counted);
  manifest.called_before = value.value("called_before", manifest.called_before);
  manifest.from = value.value("from", manifest.from);
  manifest.block_mode = value.value("block", manifest.block_mode);
  manifest.apart = value.value("apart", manifest.apart);
  manifest.spans = value.value("spans", manifest.spans);
  manifest.checked = value.value("checked", manifest.checked);
}

void write_manifest(const fs::path& folder, const CaseManifest& manifest) {
  write_json(folder / "case.json", manifest);
}

CaseManifest read_manifest(const fs::path& folder) {
  const fs::path path = folder / "case.json";
  return parse_json<CaseManifest>(read_text(path), path);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DrawnCase, test, seed, example)

void write_drawn(const fs::path& folder, const DrawnCase& drawn) {
  write_json(folder / "drawn.json", drawn);
}

DrawnCase read_drawn(const fs::path& folder) {
  const fs::path path = folder / "drawn.json";
  return parse_json<DrawnCase>(read_text(path), path);
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

NLOHMANN_JSON_SERIALIZE_ENUM(Span::Kind, {{Span::Kind::Compute, "compute"},
                                          {Span::Kind::Transfer, "transfer"},
                                          {Span::Kind::Wait, "wait"}})

static void to_json(json& value, const BlockTime& block) {
  value = {block.owner, block.cpu_s};
}

static void from_json(const json& value, BlockTime& block) {
  std::tie(block.owner, block.cpu_s) = value.get<std::tuple<int, double>>();
}

static void to_json(json& value, const CallTime& call) {
  value = {call.begin_s, call.end_s, call.blocks};
}

static void from_json(const json& value, CallTime& call) {
  std::tie(call.begin_s, call.end_s, call.blocks) =
      value.get<std::tuple<double, double, std::vector<BlockTime>>>();
}

static void to_json(json& value, const Span& span) {
  value = {span.kind, span.begin_s, span.end_s, span.label};
  if (span.stream != 0) value.push_back(span.stream);
}

static void from_json(const json& value, Span& span) {
  value.at(0).get_to(span.kind);
  value.at(1).get_to(span.begin_s);
  value.at(2).get_to(span.end_s);
  value.at(3).get_to(span.label);
  span.stream = value.size() > 4 ? value[4].get<int>() : 0;
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankTiming, calls, shown, spans, host_id, cores)

void make_disjoint(std::vector<Span>& spans) {
  std::ranges::stable_sort(spans, {}, &Span::begin_s);
  for (std::size_t i = 1; i < spans.size(); ++i) {
    spans[i].begin_s = std::max(spans[i].begin_s, spans[i - 1].end_s);
    spans[i].end_s = std::max(spans[i].end_s, spans[i].begin_s);
  }
}

void write_timing(const fs::path& rank_folder, const RankTiming& timing) {
  write_json(rank_folder / "spans.json", timing);
}

RankTiming parse_timing(const std::string& text, const fs::path& name) {
  return parse_json<RankTiming>(text, name);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(JudgeReport::Test, task, ranks, hidden, status, text,
                                                mistakes, in_part, ending, of_outputs, fact, has_line)

static void to_json(json& value, const JudgeReport& report) {
  value = {{"lesson", report.lesson}, {"seed", report.seed}, {"tests", report.tests}};
  if (!report.failure.empty()) value["failure"] = report.failure;
}

static void from_json(const json& value, JudgeReport& report) {
  value.at("lesson").get_to(report.lesson);
  value.at("seed").get_to(report.seed);
  value.at("tests").get_to(report.tests);
  report.failure = value.value("failure", report.failure);
}

void write_judge_report(const fs::path& path, const JudgeReport& report) {
  write_json(path, report);
}

JudgeReport parse_judge_report(const std::string& text) {
  return parse_json<JudgeReport>(text, "the judge's report");
}

}  // namespace course
