#include "train/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "course/terminal/terminal.hpp"
#include "text/utf8.hpp"

namespace course::train {

namespace {

using Json = nlohmann::ordered_json;
using program::Colour;
using program::painted;
using timed::plural;

constexpr Index steps_of_bound = 20;
constexpr double bound = 2e-6, bound_of_norm = 1e-4;

std::string megabytes(std::int64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

/// "381600 weights (hidden 96, 6 heads, 3 layers)"
std::string model_in_words(const Settings& settings) {
  return fmt::format("{} weights (hidden {}, {}, {})", training::weight_count(shape_of(settings)),
                     settings.hidden, plural(settings.heads, "head"), plural(settings.layers, "layer"));
}

std::string ranks_table(const RunReport& run) {
  std::string text = fmt::format("{:>6}  {:>7}  {:>11}  {:>11}  {:>9}  {:>9}\n", "rank", "tokens",
                                 "peak memory", "sent", "computed", "waited");
  for (const RankUse& rank : run.made.ranks)
    text += fmt::format("{:>6}  {:>7}  {:>11}  {:>11}  {:>7.1f} s  {:>7.1f} s\n", rank.rank, rank.tokens,
                        megabytes(rank.peak_bytes), megabytes(rank.bytes_sent), rank.compute_s, rank.wait_s);
  return text;
}

std::string comparison(const RunReport& run) {
  if (run.start.settings.ranks == 1)
    return run.start.settings.compare > 0 ? "One rank: there is nothing to compare it with.\n" : "";
  if (!run.compared) return "";
  const Compared& all = *run.compared;
  const Difference& worst = all.worst();
  const std::string losses =
      worst.of_loss == 0
          ? "equal losses, to the last bit of float32"
          : fmt::format("losses that differ by {:.1e} at most, in step {}", worst.of_loss, worst.step);
  const double of_norm = std::ranges::max(all.steps, {}, &Difference::of_norm).of_norm;
  return (all.agree() ? painted("The same run", Colour::Green) : painted("ANOTHER RUN", Colour::Red)) +
         fmt::format(
             " as on one rank: {} of {} have {} (allowed is {:.0e}), and norms of the gradient that differ "
             "by {:.1e} of "
             "themselves at most\n",
             plural(std::ssize(all.steps), "step"), plural(run.start.settings.ranks, "rank"), losses,
             all.allowed(), of_norm);
}

std::string sample_text(const RunReport& run) {
  if (run.made.sample.empty()) return "";
  return painted("What it writes", Colour::Bold) +
         " (temperature 0.8; words, no sentences, after so short a time)\n" + escaped_utf8(run.made.sample) +
         (run.made.sample.ends_with('\n') ? "" : "\n");
}

Json steps_json(const Made& made) {
  Json all = Json::array();
  for (const StepNews& step : made.steps)
    all.push_back({{"step", step.step}, {"loss", step.loss}, {"norm", step.norm}, {"seconds", step.seconds}});
  return all;
}

Json held_out_json(const Made& made) {
  Json all = Json::array();
  for (const StepNews& step : made.steps)
    if (step.held_out) all.push_back({{"step", step.step}, {"loss", *step.held_out}});
  return all;
}

Json per_rank_json(const Made& made) {
  Json all = Json::array();
  for (const RankUse& rank : made.ranks)
    all.push_back({{"rank", rank.rank},
                   {"tokens", rank.tokens},
                   {"peak_bytes", rank.peak_bytes},
                   {"bytes_sent", rank.bytes_sent},
                   {"compute_s", rank.compute_s},
                   {"wait_s", rank.wait_s}});
  return all;
}

Json compared_json(const std::optional<Compared>& compared) {
  if (!compared) return nullptr;
  Json differences = Json::array();
  for (const Difference& one : compared->steps)
    differences.push_back({{"step", one.step}, {"loss", one.of_loss}, {"norm", one.of_norm}});
  return {{"steps", compared->steps.size()},   {"largest", compared->worst().of_loss},
          {"at_step", compared->worst().step}, {"allowed", compared->allowed()},
          {"agree", compared->agree()},        {"differences", differences}};
}

Curve curve_of(const RunReport& run) {
  const Settings& settings = run.start.settings;
  Curve curve{
      .title = fmt::format("A model of {} weights that learns on {}",
                           training::weight_count(shape_of(settings)), plural(settings.ranks, "rank")),
      .note = fmt::format("{}; hidden {}, {}, {}; context {}, {} shards; seed {}", run.start.text_name,
                          settings.hidden, plural(settings.heads, "head"), plural(settings.layers, "layer"),
                          settings.context, settings.layout, settings.seed),
      .steps = run.made.steps};
  if (run.compared) {
    curve.differences = run.compared->steps;
    curve.allowed = run.compared->allowed();
  }
  return curve;
}

}  // namespace

double Compared::allowed() const {
  return bound * std::max(1.0, static_cast<double>(steps.size()) / steps_of_bound);
}

bool Compared::agree() const {
  return worst().of_loss <= allowed() &&
         std::ranges::max(steps, {}, &Difference::of_norm).of_norm <= bound_of_norm * allowed() / bound;
}

const Difference& Compared::worst() const {
  return *std::ranges::max_element(steps, {}, &Difference::of_loss);
}

Compared compared(const std::vector<StepNews>& many, const std::vector<StepNews>& one) {
  Compared all;
  for (std::size_t i = 0; i < std::min(many.size(), one.size()); ++i)
    all.steps.push_back({many[i].step, std::abs(many[i].loss - one[i].loss),
                         std::abs(many[i].norm - one[i].norm) / std::max(one[i].norm, 1e-30)});
  return all;
}

std::string heading(const Start& start) {
  const Settings& settings = start.settings;
  return painted(fmt::format("{} on {}", model_in_words(settings), plural(settings.ranks, "MPI rank")),
                 Colour::Bold) +
         fmt::format(
             "{}\n{}, {} bytes of which the last tenth is held out; context {}, {} shards; steps {} to {}\n",
             settings.mine ? ", your own code" : "", start.text_name, start.text.size(), settings.context,
             settings.layout, start.from.step, settings.steps - 1);
}

std::string report_text(const RunReport& run, const timed::Page& page) {
  return "\n" + terminal_curve(curve_of(run), page.columns, program::utf8()) + "\n" + ranks_table(run) +
         "\n" + program::fitted(comparison(run) + sample_text(run));
}

std::string report_svg(const RunReport& run) {
  return svg_curve(curve_of(run));
}

std::string report_json(const RunReport& run) {
  const Settings& settings = run.start.settings;
  const Json object{{"ranks", settings.ranks},
                    {"context", settings.context},
                    {"hidden", settings.hidden},
                    {"heads", settings.heads},
                    {"layers", settings.layers},
                    {"weights", training::weight_count(shape_of(settings))},
                    {"layout", settings.layout},
                    {"seed", settings.seed},
                    {"mine", settings.mine},
                    {"text", {{"name", clean_utf8(run.start.text_name)}, {"bytes", run.start.text.size()}}},
                    {"first_step", run.start.from.step},
                    {"interrupted", run.made.stopped},
                    {"seconds", run.seconds},
                    {"steps", steps_json(run.made)},
                    {"held_out", held_out_json(run.made)},
                    {"per_rank", per_rank_json(run.made)},
                    {"compared", compared_json(run.compared)},
                    {"sample", escaped_utf8(run.made.sample)},
                    {"out", clean_utf8(run.start.out.string())},
                    {"go_on", clean_utf8(run.go_on)}};
  return object.dump(2) + "\n";
}

}  // namespace course::train
