#include "lab/report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "trace/timeline.hpp"

namespace course::lab {

namespace {

using Json = nlohmann::ordered_json;
using timed::plural;
using timeline::format_duration;

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

/// Each ring under its name and what it exposed.
std::vector<Timeline> timelines(const Measured& measured, int ranks) {
  const Reading reading = read(measured, ranks);
  std::vector<Timeline> all;
  for (std::size_t ring = 0; ring < measured.rings.size(); ++ring) {
    all.push_back({fmt::format("{}: exposed communication is {} of compute", measured.rings[ring].name,
                               percent(reading.exposed[ring].measured)),
                   timed::traces_of(measured.rings[ring].ranks)});
  }
  return with_joined_tiles(std::move(all));
}

/// The shape of a setting in words: "work at 2 times the transfer: 2560 tokens a rank, 1 head of 64".
std::string setting_title(const Measured& measured) {
  return fmt::format("work at {:g} times the transfer: {} a rank, {} of {}", measured.work_over_transfer,
                     plural(measured.work.tokens, "token"), plural(measured.work.heads, "head"),
                     measured.work.head_dim);
}

std::string setting_text(const Measured& measured, int ranks, const timed::Page& page) {
  const Reading reading = read(measured, ranks);
  std::string text = fmt::format("{}, the median of {}\n", setting_title(measured),
                                 plural(measured.rings.at(0).calls, "call"));
  text[0] = 'W';
  text +=
      fmt::format("  F {:.1f} GFLOP/s and B {:.1f} MB/s a rank; a block takes {}, a hop {}: {:.2f} times\n\n",
                  measured.flops / 1e9, measured.bytes_per_s / 1e6, format_duration(reading.work_s),
                  format_duration(reading.transfer_s), reading.work_s / reading.transfer_s);
  text += fmt::format("  {:<27}{:>10}{:>12}{:>18}\n", "", "time", "exposed", "the model says");
  text += fmt::format("  {:<27}{:>10}\n", "computation alone", format_duration(measured.compute_alone_s));
  for (std::size_t ring = 0; ring < measured.rings.size(); ++ring) {
    text += fmt::format("  {:<27}{:>10}{:>12}{:>18}\n", measured.rings[ring].name,
                        format_duration(measured.rings[ring].seconds),
                        percent(reading.exposed[ring].measured), percent(reading.exposed[ring].predicted));
  }
  return text + "\n" + terminal_timelines(timelines(measured, ranks), page.columns, page.colour) + "\n";
}

/// A link that is not shaped promises nothing.
std::vector<Target> promised(const Laboratory& laboratory, const std::vector<Measured>& settings) {
  return laboratory.limits.empty() ? targets(settings, laboratory.ranks) : std::vector<Target>{};
}

std::string targets_text(const std::vector<Target>& all) {
  if (all.empty()) return "";
  std::string text = "Targets, as ratios in this run\n";
  for (const Target& target : all) {
    const bool missed = !target.met && target.out_of_reach.empty();
    text += fmt::format("  {:<45}{:>7}: {:>7}   {}\n", target.what, percent(target.bound),
                        percent(target.measured),
                        target.met ? "met"
                        : missed   ? "MISSED"
                                   : "out of reach");
    if (!target.met && !missed) text += "    " + target.out_of_reach + "\n";
  }
  return text;
}

Json setting_json(const Measured& measured, int ranks) {
  const Reading reading = read(measured, ranks);
  Json rings = Json::array();
  for (std::size_t ring = 0; ring < measured.rings.size(); ++ring) {
    rings.push_back({{"name", measured.rings[ring].name},
                     {"seconds", measured.rings[ring].seconds},
                     {"exposed", reading.exposed[ring].measured},
                     {"predicted", reading.exposed[ring].predicted},
                     {"per_rank", timed::per_rank_json(measured.rings[ring].ranks)}});
  }
  return {{"work_over_transfer", measured.work_over_transfer},
          {"tokens", measured.work.tokens},
          {"heads", measured.work.heads},
          {"head_dim", measured.work.head_dim},
          {"flops", measured.flops},
          {"bytes_per_s", measured.bytes_per_s},
          {"block_s", reading.work_s},
          {"hop_s", reading.transfer_s},
          {"compute_alone_s", measured.compute_alone_s},
          {"rings", rings}};
}

}  // namespace

std::string laboratory_text(const Laboratory& laboratory, const std::vector<Measured>& settings,
                            const timed::Page& page) {
  std::string text = fmt::format("Laboratory {}\n  link    {}\n", laboratory.name, laboratory.link);
  if (!laboratory.limits.empty()) text += fmt::format("  limits  {}\n", laboratory.limits);
  const int cores = settings.at(0).rings.at(0).ranks.at(0).cores;
  text += fmt::format("  ranks   {} on {}\n", laboratory.ranks, plural(cores, "core"));
  text += fmt::format(
      "  code    blocking ring: lesson {}, {}; nonblocking rings: lesson {}, {};\n"
      "          blocks: lesson {}, {}, on real numbers, in tiles; without progress the ring calls no MPI "
      "between them\n",
      laboratory.blocking.lesson, laboratory.blocking.whose(), laboratory.overlapped.lesson,
      laboratory.overlapped.whose(), laboratory.block.lesson, laboratory.block.whose());
  text = program::fitted(text + "  times   of the median of several calls, all in turn\n") + "\n";
  for (const Measured& measured : settings) text += setting_text(measured, laboratory.ranks, page);
  return text + targets_text(promised(laboratory, settings));
}

std::string laboratory_json(const Laboratory& laboratory, const std::vector<Measured>& settings,
                            const std::vector<std::filesystem::path>& files) {
  Json json{{"laboratory", laboratory.name},
            {"link", laboratory.link},
            {"shaped", laboratory.limits.empty()},
            {"ranks", laboratory.ranks}};
  for (const timed::Code* code : {&laboratory.block, &laboratory.blocking, &laboratory.overlapped})
    json["code"][code->lesson] = code->subject;
  json["settings"] = Json::array();
  for (const Measured& measured : settings)
    json["settings"].push_back(setting_json(measured, laboratory.ranks));
  json["targets"] = Json::array();
  for (const Target& target : promised(laboratory, settings)) {
    json["targets"].push_back({{"what", target.what},
                               {"bound", target.bound},
                               {"measured", target.measured},
                               {"met", target.met},
                               {"out_of_reach", target.out_of_reach}});
  }
  json["files"] = files;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string laboratory_svg(const Laboratory& laboratory, const Measured& measured) {
  return svg_timelines(timelines(measured, laboratory.ranks),
                       laboratory.name + ", " + setting_title(measured));
}

std::string written(const std::vector<std::filesystem::path>& files) {
  std::string text = "\nWritten\n";
  for (const std::filesystem::path& file : files) text += "  " + file.string() + "\n";
  return text;
}

}  // namespace course::lab
