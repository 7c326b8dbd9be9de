#include "train/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "course/terminal/terminal.hpp"
#include "protocol/errors.hpp"
#include "timed/timed.hpp"

namespace course::train {

namespace {

constexpr double an_hour_s = 3600;

/// "8.8e+12 operations a step, about 2 min 27 s on 2 cores"
std::string in_words(const Cost& cost) {
  return fmt::format(
      "{:.1e} operations a step, about {} on {}", cost.operations,
      cost.seconds < 10 ? fmt::format("{:.2f} s", cost.seconds) : program::duration(cost.seconds),
      timed::plural(cost.cores, "core"));
}

}  // namespace

Cost cost_of(const Settings& settings, int cores) {
  const double tokens = static_cast<double>(settings.context), h = static_cast<double>(settings.hidden);
  const double of_weights = 6 * 1.22 * static_cast<double>(training::weight_count(shape_of(settings)));
  const double of_attention = 7 * tokens * h * static_cast<double>(settings.layers);
  const double operations = tokens * (of_weights + of_attention);
  const int used = std::max(1, std::min(cores, settings.ranks));
  return {operations, operations / (core_speed * used), used};
}

void require_shape(const Settings& settings) {
  const Index h = settings.hidden, heads = settings.heads;
  if (heads < 1) throw UsageError(fmt::format("--heads {}: expected at least 1", heads));
  if (h % heads != 0) throw UsageError(fmt::format("--heads {}: does not divide --hidden {}", heads, h));
  if ((h / heads) % 2 != 0)
    throw UsageError(
        fmt::format("--heads {} --hidden {}: head_dim is {}, expected an even number, whose pairs "
                    "the rotary positions turn",
                    heads, h, h / heads));
  if (settings.in_registers && ((h / heads) % 4 != 0 || h / heads > 256))
    throw UsageError(
        fmt::format("--block 20: head_dim is {}, expected a multiple of 4 up to 256", h / heads));
  if (settings.ranks > settings.context)
    throw UsageError(fmt::format("--ranks {}: expected at most --context {}: some rank would have no token",
                                 settings.ranks, settings.context));
}

void require_within_an_hour(const Settings& settings, Index first, int cores) {
  const Cost cost = cost_of(settings, cores);
  const Index steps = settings.steps - first;
  const double seconds = cost.seconds * static_cast<double>(steps);
  if (seconds < an_hour_s) return;
  const Index most = static_cast<Index>(an_hour_s / cost.seconds);
  throw UsageError(fmt::format(
      "--context {} on {}: {}, and {} take {}; expected less than an hour: {}", settings.context,
      timed::plural(settings.ranks, "rank"), in_words(cost), timed::plural(steps, "step"),
      program::duration(seconds),
      most > 0
          ? fmt::format("--steps {} at most, which --resume goes on from, or smaller sizes", first + most)
          : "smaller sizes"));
}

void require_long_enough(std::uintmax_t bytes, const std::string& name, Index context) {
  if (bytes == 0) throw UsageError(name + ": is empty, expected a text");
  const Index part = training::training_bytes(static_cast<Index>(bytes));
  if (part <= context)
    throw UsageError(
        fmt::format("{}: has {} bytes, of which the first {} are trained on; expected more than "
                    "--context {}",
                    name, bytes, part, context));
}

Index steps_between_evaluations(Index bytes, Index context) {
  const double windows = std::max(
      1.0, static_cast<double>(bytes - training::training_bytes(bytes)) / static_cast<double>(context));
  return 100 * std::max<Index>(1, static_cast<Index>(std::ceil(20 * windows / 3 / 100)));
}

}  // namespace course::train
