#include "judge/numbers/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "judge/numbers/origin.hpp"
#include "judge/numbers/wrong_entries.hpp"

namespace course {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Sixty-odd roundings of float32 (2^-24 each) of what was computed before.
constexpr double rounding_floor = 4e-6;

bool same_special(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b;
}

/// Of a mistake's answer in float64: float32, whose largest number is 3.4e38, may have overflowed on the way
/// to it. Its terms may be up to 1e8 times larger.
bool may_overflow(double expected) {
  constexpr double large = 1e30;
  return std::isfinite(expected) && std::abs(expected) > large;
}

/// Sums of squares of a group of entries.
struct Norms {
  double difference = 0;
  double magnitude = 0;     ///< of the expected entries
  Index finite = 0;         ///< entries that the sums are of
  bool of_mistake = false;  ///< the expected entries are a mistake's
  void add(double answer, double expected) {
    if (!std::isfinite(answer) || !std::isfinite(expected)) {
      if (!same_special(answer, expected) && !(of_mistake && may_overflow(expected))) difference = infinity;
      return;
    }
    difference += (answer - expected) * (answer - expected);
    magnitude += expected * expected;
    ++finite;
  }
  double error() const {
    if (difference == 0) return 0;
    return magnitude > 0 ? std::sqrt(difference / magnitude) : infinity;
  }
  /// The root mean square of the expected entries.
  double typical_magnitude() const {
    return finite > 0 ? std::sqrt(magnitude / static_cast<double>(finite)) : 0;
  }
};

/// Whether these are counts, ranks or positions, each of which is right or wrong.
bool all_whole(const Tensor64& numbers) {
  return std::ranges::all_of(numbers.values(), [](double number) { return number == std::trunc(number); });
}

Index group_count(const Tensor64& tensor) {
  return tensor.rank() > 1 ? std::max<Index>(1, tensor.extent(0)) : 1;
}

/// By entry of the first axis; of one axis, all entries together.
std::vector<Norms> norms_by_group(const Tensor64& answer, const Tensor64& expected, bool of_mistake = false) {
  std::vector<Norms> groups(group_count(expected), Norms{.of_mistake = of_mistake});
  const Index group_size = expected.size() / std::ssize(groups);
  for (Index i = 0; i < expected.size(); ++i) groups[i / group_size].add(answer[i], expected[i]);
  return groups;
}

/// The largest error of a group.
double worst(const std::vector<Norms>& groups) {
  double largest = 0;
  for (const Norms& group : groups) largest = std::max(largest, group.error());
  return largest;
}

/// The same, over the larger of the magnitudes of a group and its scale.
double worst(std::vector<Norms> groups, const std::vector<Norms>& scales) {
  for (std::size_t group = 0; group < groups.size(); ++group)
    groups[group].magnitude = std::max(groups[group].magnitude, scales[group].magnitude);
  return worst(groups);
}

/// The rank that an entry is from, and the row within that rank's piece.
Place place_of(const Output& output, const std::vector<Index>& position, const Layout& layout) {
  const Index row = position.empty() ? 0 : position[output.join_axis];
  if (layout.ranks() < 2) return {0, row};
  if (output.axes[output.join_axis] == "rank") return {static_cast<int>(row), 0};
  return layout.place(row);
}

/// "rank 1: o[head 0, row 17, col 4]", the row counted within the rank's piece.
std::string place_words(const Output& output, std::vector<Index> position, const Layout& layout) {
  const bool ranked = layout.ranks() > 1;
  const Place owner = place_of(output, position, layout);
  if (ranked && !position.empty()) position[output.join_axis] = owner.row;
  std::string indices;
  for (std::size_t axis = 0; axis < position.size(); ++axis) {
    if (output.axes[axis].empty() || (ranked && output.axes[axis] == "rank")) continue;
    indices += fmt::format("{}{} {}", indices.empty() ? "" : ", ", output.axes[axis], position[axis]);
  }
  return (ranked ? fmt::format("rank {}: ", owner.rank) : "") + output.in_words() +
         (indices.empty() ? "" : "[" + indices + "]");
}

}  // namespace

double relative_error(const Tensor64& answer, const Tensor64& expected) {
  return worst(norms_by_group(answer, expected));
}

double relative_error(const Tensor64& answer, const Tensor64& expected, const Tensor64& scale) {
  return worst(norms_by_group(answer, expected), norms_by_group(scale, scale));
}

double error_as_mistake(const Tensor64& answer, const Tensor64& mistaken, const Tensor64& scale) {
  Tensor64 counted = scale;
  for (Index i = 0; i < scale.size(); ++i) {
    // The square of what overflowed would excuse every other entry.
    if (!std::isfinite(answer[i]) && may_overflow(scale[i])) counted[i] = 0;
  }
  return worst(norms_by_group(answer, mistaken, true), norms_by_group(counted, counted));
}

double tolerance(const Tensor64& baseline, const Tensor64& expected) {
  if (baseline.shape() != expected.shape()) {
    throw std::invalid_argument("the baseline has the shape " + to_string(baseline.shape()) +
                                ", and the expected answer " + to_string(expected.shape()));
  }
  return tolerance(relative_error(baseline, expected), 0);
}

double tolerance(const Tensor64& baseline, const Tensor64& expected, const Tensor64& rounding) {
  const std::vector<Norms> groups = norms_by_group(expected, expected);
  const std::vector<Norms> off = norms_by_group(rounding, rounding);
  double largest = 0;  // of the groups, as a part of what is expected
  for (std::size_t group = 0; group < groups.size(); ++group) {
    if (groups[group].magnitude == 0 && off[group].magnitude > 0) {
      throw std::invalid_argument(
          "the expected answer cancels to 0, and rounding keeps right answers from it: draw another input");
    }
    if (groups[group].magnitude > 0)
      largest = std::max(largest, std::sqrt(off[group].magnitude / groups[group].magnitude));
  }
  return std::max(tolerance(baseline, expected), tolerance(0, largest));
}

double tolerance(double baseline_error, double rounding_error) {
  if (!std::isfinite(baseline_error)) {
    throw std::invalid_argument(
        "the baseline is not near the expected answer: its relative error is infinite");
  }
  return std::max(baseline_factor * baseline_error, deviations * rounding_error) + rounding_floor;
}

std::vector<double> typical_magnitudes(const Tensor64& expected) {
  const std::vector<Norms> groups = norms_by_group(expected, expected);
  const Index group_size = expected.size() / std::ssize(groups);
  std::vector<double> magnitudes(expected.size());
  for (Index i = 0; i < expected.size(); ++i) magnitudes[i] = groups[i / group_size].typical_magnitude();
  return magnitudes;
}

std::vector<double> off_by(const Tensor64& answer, const Tensor64& expected, double tolerance) {
  const std::vector<Norms> groups = norms_by_group(answer, expected);
  const std::vector<double> scales = typical_magnitudes(expected);
  const Index group_size = expected.size() / std::ssize(groups);
  std::vector<double> off(expected.size());
  for (Index i = 0; i < expected.size(); ++i) {
    if (groups[i / group_size].error() <= tolerance || same_special(answer[i], expected[i])) continue;
    const double difference = std::abs(answer[i] - expected[i]);
    off[i] = std::isfinite(difference) && scales[i] > 0 ? difference / scales[i] : infinity;
  }
  return off;
}

std::string locate(const Output& output, const Tensor64& answer, const Tensor64& expected, double tolerance,
                   const Layout& layout) {
  const bool ranked = layout.ranks() > 1;
  const std::vector<double> off = off_by(answer, expected, tolerance);
  std::vector<Norms> by_rank(std::max<std::size_t>(1, layout.ranks()));
  std::vector<Index> wrong;
  Index worst = 0;
  for (Index i = 0; i < expected.size(); ++i) {
    by_rank[place_of(output, position_of(i, expected.shape()), layout).rank].add(answer[i], expected[i]);
    if (off[i] > off[worst]) worst = i;
    if (off[i] > tolerance) wrong.push_back(i);
  }
  std::string errors;
  const bool counts = all_whole(expected) && all_whole(answer);
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    if (counts || std::isinf(by_rank[rank].error())) continue;  // the entry says enough
    errors += fmt::format("{} {:.2g}", errors.empty() ? "relative error" : ",", by_rank[rank].error());
    if (ranked) errors += fmt::format(" on rank {}", rank);
  }
  const std::string where = locality(output, expected.shape(), wrong, layout);
  return fmt::format("{} {}, should be {:.6g}\n{}{}{} of {} wrong{}",
                     place_words(output, position_of(worst, expected.shape()), layout),
                     in_words(answer[worst]), expected[worst], errors, errors.empty() ? "" : "; ",
                     wrong.size(), expected.size(), where.empty() ? "" : ", all in " + where);
}

std::string side_by_side(const Output& output, const Tensor64& answer, const Tensor64& expected,
                         double tolerance, const Layout& layout) {
  constexpr Index neighbours = 4;  // on either side
  const std::vector<double> off = off_by(answer, expected, tolerance);
  const Index worst = std::ranges::max_element(off) - off.begin();
  std::vector<std::string> places;
  const Index begin = std::max<Index>(0, worst - neighbours);
  const Index end = std::min(expected.size(), worst + neighbours + 1);
  for (Index i = begin; i < end; ++i)
    places.push_back(place_words(output, position_of(i, expected.shape()), layout));
  const std::size_t width = std::ranges::max(places, {}, &std::string::size).size();
  std::string text = fmt::format("      {:<{}}  {:>13}  yours\n", "", width + 2, "right");
  for (Index i = begin; i < end; ++i) {
    std::string yours = in_words(answer[i]);
    if (yours.starts_with("is ")) yours.erase(0, 3);
    text += fmt::format("    {} {:<{}}  {:>13.6g}  {}\n", off[i] > tolerance ? '*' : ' ', places[i - begin],
                        width + 2, expected[i], yours);
  }
  return text;
}

}  // namespace course
