#include "judge/outcomes/projections.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "judge/numbers/input_generator.hpp"
#include "judge/numbers/origin.hpp"

namespace course {

namespace {

/// Which kind of entry it is, as a bit; 0: a finite number.
std::uint8_t kind_of(double entry) {
  if (std::isfinite(entry)) return 0;
  if (std::isinf(entry)) return entry > 0 ? 1 : 2;
  return static_cast<std::uint8_t>(
      4 << (static_cast<int>(origin_of(entry)) - static_cast<int>(Origin::NeverWritten)));
}

/// How the entries of an output lie: which row, in whose units they are counted, and which group.
class Grouping {
 public:
  Grouping(const Output& output, const Layout& layout, const Shape& shape, Grain grain) {
    const Tensor64 like(shape);
    const bool whole = grain == Grain::Whole;
    rows_ = shape.size() > 1 ? std::max<Index>(1, shape[0]) : 1;
    row_size_ = like.size() / rows_;
    const bool has_heads = !output.axes.empty() && output.axes[0] == "head" && shape.size() > 1;
    by_head_ = !whole && has_heads;
    const bool has_ranks = layout.ranks() > 1 && output.join_axis < std::ssize(shape);
    if (!whole && has_ranks) cut_by_rank(output, layout, shape);
  }

  Index groups() const { return (by_head_ ? rows_ : 1) * ranks_; }
  Index rows() const { return rows_; }
  Index row_of(Index entry) const { return entry / row_size_; }
  Index group_of(Index entry) const {
    return (by_head_ ? row_of(entry) * ranks_ : 0) + (ranks_ > 1 ? rank_[entry / inner_ % extent_] : 0);
  }

 private:
  void cut_by_rank(const Output& output, const Layout& layout, const Shape& shape) {
    const auto axis = static_cast<std::size_t>(output.join_axis);
    extent_ = shape[axis];
    for (std::size_t after = axis + 1; after < shape.size(); ++after) inner_ *= shape[after];
    const bool one_each = output.axes[axis] == "rank";
    if (extent_ == 0 || (!one_each && extent_ != layout.tokens())) return;
    ranks_ = layout.ranks();
    for (Index at = 0; at < extent_; ++at)
      rank_.push_back(one_each ? at * ranks_ / extent_ : Index{layout.place(at).rank});
  }

  Index rows_ = 1, row_size_ = 1, inner_ = 1, extent_ = 1, ranks_ = 1;
  bool by_head_ = false;
  std::vector<Index> rank_;  ///< by position along the axis that ranks share
};

/// Of each row, the norm of its finite entries.
std::vector<double> norms(const Grouping& grouping, const Tensor64& tensor) {
  std::vector<double> all(static_cast<std::size_t>(grouping.rows()));
  for (Index i = 0; i < tensor.size(); ++i)
    if (std::isfinite(tensor[i])) all[grouping.row_of(i)] += tensor[i] * tensor[i];
  for (double& norm : all) norm = std::sqrt(norm);
  return all;
}

double unit(double norm) {
  return norm > 0 && std::isfinite(norm) ? norm : 1;
}

Projections projected(const Grouping& grouping, const Tensor64& answer,
                      const std::vector<double>& expected_norms) {
  Projections made;
  made.groups.resize(static_cast<std::size_t>(grouping.groups()));
  for (Index i = 0; i < answer.size(); ++i) {
    Projections::Group& group = made.groups[grouping.group_of(i)];
    const std::uint8_t kind = kind_of(answer[i]);
    group.others |= kind;
    if (kind != 0) continue;
    const double entry = answer[i] / unit(expected_norms[grouping.row_of(i)]);
    const std::uint64_t signs = mixed(static_cast<std::uint64_t>(i));
    group.sums[0] += (signs & 1) != 0 ? entry : -entry;
    group.sums[1] += (signs & 2) != 0 ? entry : -entry;
  }
  return made;
}

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr int characters_a_sum = 5;  // 30 bits: a sign, 9 of the exponent, 20 of the fraction
constexpr int fraction_bits = 20, exponent_bits = 9;
constexpr int exponent_offset = 1 << (exponent_bits - 1);

std::uint32_t packed(double sum) {
  int exponent = 0;
  const double fraction = std::frexp(std::abs(sum), &exponent);  // 0.5 to 1
  if (sum == 0 || exponent <= -exponent_offset) return 0;
  exponent = std::min(exponent, exponent_offset - 1);
  const auto steps = std::min<std::uint32_t>(
      static_cast<std::uint32_t>(std::lround(std::ldexp(fraction - 0.5, fraction_bits + 1))),
      (1U << fraction_bits) - 1);
  return (std::signbit(sum) ? 1U << (fraction_bits + exponent_bits) : 0U) |
         static_cast<std::uint32_t>(exponent + exponent_offset) << fraction_bits | steps;
}

double unpacked(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> fraction_bits & ((1U << exponent_bits) - 1));
  if (exponent == 0) return 0;
  const double fraction = 0.5 + std::ldexp(bits & ((1U << fraction_bits) - 1), -fraction_bits - 1);
  const double size = std::ldexp(fraction, exponent - exponent_offset);
  return (bits >> (fraction_bits + exponent_bits)) != 0 ? -size : size;
}

void append(std::string& text, std::uint32_t number, int count) {
  for (int i = count - 1; i >= 0; --i) text += alphabet[number >> (6 * i) & 63];
}

}  // namespace

Projections projections_of(const Output& output, const Layout& layout, const Tensor64& answer,
                           const Tensor64& expected, Grain grain) {
  const Grouping grouping(output, layout, expected.shape(), grain);
  return projected(grouping, answer, norms(grouping, expected));
}

bool are_alike(const Projections& recorded, const Output& output, const Layout& layout,
               const Tensor64& answer, const Tensor64& expected, Grain grain, double allowed,
               bool mistakes_cancel) {
  const Grouping grouping(output, layout, expected.shape(), grain);
  const std::vector<double> expected_norms = norms(grouping, expected), own_norms = norms(grouping, answer);
  const Projections own = projected(grouping, answer, expected_norms);
  if (own.groups.size() != recorded.groups.size()) return false;
  // The square of how large the answer is in each group, by rows in their units.
  std::vector<double> sizes(own.groups.size());
  std::vector<Index> counted(own.groups.size(), -1);
  for (Index i = 0; i < answer.size(); ++i) {
    const Index group = grouping.group_of(i), row = grouping.row_of(i);
    if (counted[group] == row) continue;
    counted[group] = row;
    const double norm = mistakes_cancel ? std::max(own_norms[row], expected_norms[row]) : own_norms[row];
    sizes[group] += std::pow(norm / unit(expected_norms[row]), 2);
  }
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    if (own.groups[g].others != recorded.groups[g].others) return false;
    for (int s = 0; s < 2; ++s) {
      const double off = std::abs(own.groups[g].sums[s] - recorded.groups[g].sums[s]);
      const double kept = std::ldexp(std::abs(recorded.groups[g].sums[s]), -fraction_bits);
      if (!(off <= allowed * std::sqrt(sizes[g]) + kept)) return false;
    }
  }
  return true;
}

std::string to_text(const Projections& projections) {
  std::string text;
  for (const Projections::Group& group : projections.groups) {
    append(text, packed(group.sums[0]), characters_a_sum);
    append(text, packed(group.sums[1]), characters_a_sum);
    if (group.others != 0) {
      text += '!';
      append(text, group.others, 2);
    }
  }
  return text;
}

Projections projections_from(const std::string& text) {
  std::size_t at = 0;
  const auto take = [&](int count) {
    std::uint32_t number = 0;
    for (int i = 0; i < count; ++i) {
      const std::size_t digit = at < text.size() ? alphabet.find(text[at++]) : std::string_view::npos;
      if (digit == std::string_view::npos)
        throw std::invalid_argument("'" + text + "' holds no projections of an output");
      number = number << 6 | static_cast<std::uint32_t>(digit);
    }
    return number;
  };
  Projections projections;
  while (at < text.size()) {
    Projections::Group& group = projections.groups.emplace_back();
    for (double& sum : group.sums) sum = unpacked(take(characters_a_sum));
    if (at < text.size() && text[at] == '!') {
      ++at;
      group.others = static_cast<std::uint8_t>(take(2));
    }
  }
  return projections;
}

}  // namespace course
