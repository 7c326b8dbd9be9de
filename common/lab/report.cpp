#include "lab/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "lab/laboratory.hpp"
#include "lab/quantity.hpp"
#include "trace/tiles.hpp"
#include "trace/timeline.hpp"

namespace course::lab {

namespace {

using Json = nlohmann::ordered_json;
using timeline::format_duration;

constexpr int widest = 140;

std::string plural(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string whose(const std::string& code) {
  return code == "student" ? "your own code" : "the solution";
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

double slowest_s(const Measured& measured) {
  double seconds = 0;
  for (const CallResult& ring : measured.rings) seconds = std::max(seconds, ring.seconds);
  return seconds;
}

std::string timeline_of(const CallResult& call, const Page& page, double at_least_s) {
  return terminal_timeline(with_joined_tiles(traces_of(call)), std::min(page.columns, widest), page.colour,
                           at_least_s);
}

/// The shape of a setting in words: "work at 2 times the transfer: 2560 tokens a rank, 1 head of 64".
std::string setting_title(const Measured& measured) {
  return fmt::format("work at {:g} times the transfer: {} a rank, {} of {}", measured.work_over_transfer,
                     plural(measured.work.tokens, "token"), plural(measured.work.heads, "head"),
                     measured.work.head_dim);
}

/// A terminal's column counts µ as one character, fmt as two.
std::string padded(const std::string& text, std::size_t width) {
  const auto characters = static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  return std::string(width - std::min(width, characters), ' ') + text;
}

std::string table(const Measured& measured, const Reading& finding) {
  std::string text = fmt::format("  {:<27}{:>10}{:>12}{:>18}\n", "", "time", "exposed", "the model says");
  text += fmt::format("  {:<27}", "computation alone") +
          padded(format_duration(measured.compute_alone_s), 10) + "\n";
  for (std::size_t ring = 0; ring < measured.rings.size(); ++ring) {
    const Exposed& exposed = finding.exposed[ring];
    text += fmt::format("  {:<27}", exposed.ring) +
            padded(format_duration(measured.rings[ring].seconds), 10) +
            fmt::format("{:>12}{:>18}\n", percent(exposed.measured), percent(exposed.predicted));
  }
  return text;
}

std::string setting_text(const Measured& measured, int ranks, const Page& page) {
  const Reading finding = read(measured, ranks);
  std::string text = fmt::format("{}, the median of {}\n", setting_title(measured),
                                 plural(measured.rings.at(0).calls, "call"));
  text[0] = 'W';
  text +=
      fmt::format("  F {:.1f} GFLOP/s and B {:.1f} MB/s a rank; a block takes {}, a hop {}: {:.2f} times\n\n",
                  measured.flops / 1e9, measured.bytes_per_s / 1e6, format_duration(finding.work_s),
                  format_duration(finding.transfer_s), finding.work_s / finding.transfer_s);
  text += table(measured, finding) + "\n";
  for (const CallResult& ring : measured.rings)
    text += ring.name + "\n" + timeline_of(ring, page, slowest_s(measured)) + "\n";
  return text;
}

/// A link that is not shaped promises nothing.
std::vector<Target> promised(const LaboratoryTitle& title, const Result& result) {
  return title.limits.empty() ? targets(result.settings, result.ranks) : std::vector<Target>{};
}

const char* what_became_of(const Target& target) {
  if (target.met) return "met";
  return target.out_of_reach.empty() ? "MISSED" : "out of reach";
}

std::string targets_text(const std::vector<Target>& all) {
  if (all.empty()) return "";
  std::string text = "Targets, as ratios in this run\n";
  for (const Target& target : all) {
    text += fmt::format("  {:<45}{:>7}: {:>7}   {}\n", target.what, percent(target.bound),
                        percent(target.measured), what_became_of(target));
    if (!target.met && !target.out_of_reach.empty()) text += "    " + target.out_of_reach + "\n";
  }
  return text;
}

Json per_rank_json(const CallResult& call) {
  Json all = Json::array();
  for (const RankRecord& rank : call.ranks) {
    all.push_back({{"rank", rank.trace.rank},
                   {"bytes_sent", rank.bytes_sent},
                   {"compute_s", total_s(rank.trace, Span::Kind::Compute)},
                   {"transfer_s", total_s(rank.trace, Span::Kind::Transfer)},
                   {"wait_s", total_s(rank.trace, Span::Kind::Wait)}});
  }
  return all;
}

Json setting_json(const Measured& measured, int ranks) {
  const Reading finding = read(measured, ranks);
  Json rings = Json::array();
  for (std::size_t ring = 0; ring < measured.rings.size(); ++ring) {
    rings.push_back({{"name", finding.exposed[ring].ring},
                     {"seconds", measured.rings[ring].seconds},
                     {"exposed", finding.exposed[ring].measured},
                     {"predicted", finding.exposed[ring].predicted},
                     {"per_rank", per_rank_json(measured.rings[ring])}});
  }
  return {{"work_over_transfer", measured.work_over_transfer},
          {"tokens", measured.work.tokens},
          {"heads", measured.work.heads},
          {"head_dim", measured.work.head_dim},
          {"flops", measured.flops},
          {"bytes_per_s", measured.bytes_per_s},
          {"block_s", finding.work_s},
          {"hop_s", finding.transfer_s},
          {"compute_alone_s", measured.compute_alone_s},
          {"rings", rings}};
}

std::string printed(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::vector<RankTrace> traces_of(const CallResult& call) {
  std::vector<RankTrace> all;
  for (const RankRecord& rank : call.ranks) all.push_back(rank.trace);
  return all;
}

std::string trace_heading(const TraceTitle& title, const Result& result) {
  return fmt::format("Lesson {}, {}, on {}: {}", title.lesson, title.what, plural(result.ranks, "rank"),
                     whose(title.code));
}

std::string trace_text(const TraceTitle& title, const Result& result, const Page& page) {
  std::string text = trace_heading(title, result) + "\n";
  if (!title.blocks.empty()) text += fmt::format("  blocks computed by lesson 04: {}\n", whose(title.blocks));
  text += fmt::format("  the fastest of {}; a transfer includes waiting for the neighbour\n",
                      plural(result.call.calls, "run"));
  const int cores = result.call.ranks.at(0).cores;
  if (result.ranks > cores) {
    text += fmt::format("  {} on {}: they take turns, and most of a transfer or wait is such waiting\n",
                        plural(result.ranks, "rank"), plural(cores, "core"));
  }
  return text + "\n" + timeline_of(result.call, page, 0);
}

std::string trace_json(const TraceTitle& title, const Result& result, const std::vector<std::string>& files) {
  Json json{{"lesson", title.lesson}, {"function", title.what}, {"code", title.code}};
  if (!title.blocks.empty()) json["blocks"] = title.blocks;
  json["ranks"] = result.ranks;
  json["seconds"] = result.call.seconds;
  json["per_rank"] = per_rank_json(result.call);
  json["files"] = files;
  return printed(json);
}

std::string laboratory_text(const LaboratoryTitle& title, const Result& result, const Page& page) {
  std::string text = fmt::format("Laboratory {}\n  link    {}\n", title.name, title.link);
  if (!title.limits.empty()) text += fmt::format("  limits  {}\n", title.limits);
  const int cores = result.settings.at(0).rings.at(0).ranks.at(0).cores;
  text += fmt::format("  ranks   {} on {}\n", result.ranks, plural(cores, "core"));
  text += fmt::format(
      "  code    blocking ring: lesson 05, {}; nonblocking rings: lesson 08, {};\n"
      "          blocks: lesson 04, {}, on real numbers, in tiles; without progress the ring calls no MPI "
      "between them\n",
      whose(title.blocking_code), whose(title.overlap_code), whose(title.block_code));
  text += "  times   of the median of several calls, all in turn\n\n";
  for (const Measured& measured : result.settings) text += setting_text(measured, result.ranks, page);
  return text + targets_text(promised(title, result));
}

std::string laboratory_json(const LaboratoryTitle& title, const Result& result,
                            const std::vector<std::string>& files) {
  Json json{{"laboratory", title.name},
            {"link", title.link},
            {"shaped", title.limits.empty()},
            {"ranks", result.ranks},
            {"code", {{"04", title.block_code}, {"05", title.blocking_code}, {"08", title.overlap_code}}}};
  json["settings"] = Json::array();
  for (const Measured& measured : result.settings)
    json["settings"].push_back(setting_json(measured, result.ranks));
  json["targets"] = Json::array();
  for (const Target& target : promised(title, result)) {
    json["targets"].push_back({{"what", target.what},
                               {"bound", target.bound},
                               {"measured", target.measured},
                               {"met", target.met},
                               {"out_of_reach", target.out_of_reach}});
  }
  json["files"] = files;
  return printed(json);
}

std::string laboratory_svg(const LaboratoryTitle& title, const Measured& measured, int ranks) {
  const Reading finding = read(measured, ranks);
  std::vector<std::string> documents;
  for (std::size_t ring = 0; ring < measured.rings.size(); ++ring) {
    documents.push_back(
        svg_timeline(with_joined_tiles(traces_of(measured.rings[ring])),
                     fmt::format("{}, {}: exposed communication is {} of compute ({})", title.name,
                                 finding.exposed[ring].ring, percent(finding.exposed[ring].measured),
                                 setting_title(measured)),
                     slowest_s(measured)));
  }
  return stacked_svg(documents);
}

std::string stacked_svg(const std::vector<std::string>& documents) {
  constexpr const char* start = "<svg ";
  constexpr const char* height_mark = "height='";
  std::string body;
  double y = 0;
  for (const std::string& document : documents) {
    const std::size_t at = document.find(height_mark);
    if (!document.starts_with(start) || at == std::string::npos)
      throw std::invalid_argument("not an SVG document with a height: " + document.substr(0, 40));
    body += fmt::format("<svg y='{}' {}", y, document.substr(std::string_view(start).size()));
    y += std::stod(document.substr(at + std::string_view(height_mark).size()));
  }
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='1000' height='{0}' viewBox='0 0 1000 "
      "{0}'>\n{1}</svg>\n",
      y, body);
}

}  // namespace course::lab
