#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "judge/diagnosis/diagnose.hpp"
#include "judge/numbers/compare.hpp"
#include "judge/numbers/origin.hpp"
#include "judge/numbers/precision.hpp"
#include "judge/numbers/wrong_entries.hpp"

namespace course {

namespace {

/// The logarithm of how many times less often than once something must be met by chance to be told.
const double proof = std::log(1e6);
/// What one entry may add to that: none proves anything alone.
const double most_from_one = std::log(1e4);
/// What a single entry may be off from what a pattern says, as a multiple of what all may on average.
constexpr double worst_entry = 4;
/// A factor nearer to 1 than this many times what may be off fits right entries, too.
constexpr double far_from_one = 4;
constexpr std::size_t most_told = 4;
/// The unit of the cut that has all wrong entries and no other.
constexpr const char* wrong_entry = "wrong entry";
constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

/// An output cut into parts of one kind, each the flat indices of one head, one row or one rank's shard.
struct Cut {
  std::string unit;      ///< "head"; "rank" for shards; empty where the whole is one part
  bool numbered = true;  ///< whether a part's place in `parts` is its number
  std::vector<std::vector<Index>> parts = {};
};

/// Into `count` parts; `part_of` says of a flat index in which it is.
template <class PartOf>
Cut cut_into(Index count, Index size, Cut cut, PartOf part_of) {
  cut.parts.resize(count);
  for (Index i = 0; i < size; ++i) cut.parts[part_of(i)].push_back(i);
  return cut;
}

/// Into ranks' shards, where there are several, and of two axes or more along each that has two indices or
/// more.
std::vector<Cut> cuts_of(const Output& output, const Shape& shape, const Layout& layout) {
  const Index size = element_count(shape);
  std::vector<Cut> all;
  if (layout.ranks() > 1 && output.axes[output.join_axis] != "rank") {
    all.push_back(cut_into(layout.ranks(), size, {"rank"}, [&](Index i) {
      return layout.place(position_of(i, shape)[output.join_axis]).rank;
    }));
  }
  for (Index axis = 0; axis < std::ssize(shape); ++axis) {
    if (shape[axis] < 2 || shape.size() < 2) continue;
    all.push_back(cut_into(shape[axis], size, {output.axes[axis]},
                           [&](Index i) { return position_of(i, shape)[axis]; }));
  }
  return all;
}

/// The whole, what cuts_of() has, and of [heads, rows, cols] every row of every head by itself.
std::vector<Cut> levels_of(const Output& output, const Shape& shape, const Layout& layout) {
  const Index size = element_count(shape);
  std::vector<Cut> levels = cuts_of(output, shape, layout);
  levels.insert(levels.begin(), cut_into(1, size, {""}, [](Index) { return 0; }));
  if (shape.size() == 3) {
    levels.push_back(
        cut_into(shape[0] * shape[1], size, {output.axes[1], false}, [&](Index i) { return i / shape[2]; }));
  }
  return levels;
}

/// How well some numbers fit an answer.
struct Fit {
  bool fits = false;
  double proven = 0;  ///< the logarithm of how seldom it would by chance
};

/// Reads one wrong output.
class Reader {
 public:
  Reader(const Output& output, const Tensor64& answer, const Tensor64& expected, double tolerance,
         const Layout& layout, const std::vector<KnownFactor>& known = {})
      : output_(output),
        answer_(answer),
        expected_(expected),
        layout_(layout),
        known_(known),
        tolerance_(tolerance),
        allowed_(mistake_factor * tolerance),
        off_(off_by(answer, expected, tolerance)),
        scale_(typical_magnitudes(expected)),
        any_fraction_(std::ranges::any_of(expected.values(), [](double x) { return x != std::round(x); })) {
    for (Index i = 0; i < expected_.size(); ++i) {
      if (is_wrong(i)) wrong_.push_back(i);
    }
  }

  std::string text() const {
    if (wrong_.size() < 2 || (all_wrong_are_0() && !zeros().empty())) return "";
    for (const auto look : {&Reader::no_numbers, &Reader::in_place_of_infinity, &Reader::displaced,
                            &Reader::scaled, &Reader::rounded}) {
      if (const std::string words = (this->*look)(); !words.empty()) return output_.in_words() + ": " + words;
    }
    return "";
  }

  std::string zeros() const {
    for (const Cut& cut : levels_of(output_, expected_.shape(), layout_)) {
      const bool is_whole = cut.unit.empty();
      if (!is_whole && (!any_fraction_ || (cut.unit != "rank" && cut.unit != "head"))) continue;
      std::vector<Index> parts;
      for (Index part = 0; part < std::ssize(cut.parts); ++part) {
        if (is_wrongly_0(cut.parts[part])) parts.push_back(part);
      }
      if (parts.empty()) continue;
      return output_.in_words() + " is 0 " +
             (is_whole ? "everywhere" : "in all of " + index_words(cut.unit, parts, std::ssize(cut.parts)));
    }
    return "";
  }

  bool is_one_relation() const {
    return wrong_.size() > 1 && (is_displaced_throughout() || !scaled_words(whole(), true).empty() ||
                                 !scaled_words(whole(), false).empty());
  }

  std::optional<double> factor_throughout() const {
    if (wrong_.size() < 2) return std::nullopt;
    const Cut cut = whole();
    if (is_lse() && !scaled_words(cut, false).empty()) {
      const bool has_digits = std::ranges::max(scale_) * allowed_ <= most_room_of_known;
      return has_digits ? std::optional(std::exp(std::abs(best(cut.parts[0], false)))) : std::nullopt;
    }
    return scaled_words(cut, true).empty() ? std::nullopt : std::optional(best(cut.parts[0], true));
  }

 private:
  bool is_wrong(Index i) const { return off_[i] > tolerance_; }
  bool any_wrong(const std::vector<Index>& entries) const {
    return std::ranges::any_of(entries, [&](Index i) { return is_wrong(i); });
  }

  Cut whole() const { return levels_of(output_, expected_.shape(), layout_).front(); }
  bool is_lse() const { return output_.name == "lse"; }

  // What is there instead of numbers

  bool all_wrong_are_0() const {
    return std::ranges::all_of(wrong_, [&](Index i) { return answer_[i] == 0; });
  }

  /// Of a part that is wrong in two entries at least.
  bool is_wrongly_0(const std::vector<Index>& entries) const {
    return std::ranges::count_if(entries, [&](Index i) { return is_wrong(i); }) > 1 &&
           std::ranges::all_of(entries, [&](Index i) { return answer_[i] == 0; });
  }

  std::string no_numbers() const {
    struct Kind {
      bool (*is)(double);
      const char* name;
    };
    for (const Kind& kind :
         {Kind{[](double x) { return origin_of(x) == Origin::NeverWritten; }, "never written"},
          {[](double x) { return std::isnan(x); }, "NaN"},
          {[](double x) { return x > 0 && std::isinf(x); }, "+inf"},
          {[](double x) { return std::isinf(x); }, "-inf"}}) {
      std::vector<Index> entries;
      std::ranges::copy_if(wrong_, std::back_inserter(entries), [&](Index i) { return kind.is(answer_[i]); });
      if (entries.empty()) continue;
      if (entries.size() == wrong_.size())
        return fmt::format("the {} wrong entries are {}", wrong_.size(), kind.name);
      const std::string where = locality(output_, expected_.shape(), entries, layout_);
      return fmt::format("{} of the {} wrong entries {} {}{}", entries.size(), wrong_.size(),
                         entries.size() == 1 ? "is" : "are", kind.name,
                         where.empty() ? "" : ", all in " + where);
    }
    if (!any_fraction_ || !all_wrong_are_0()) return "";
    return fmt::format("the {} wrong entries are exactly 0{}", wrong_.size(),
                       std::ranges::all_of(wrong_, [&](Index i) { return row_is_0(i); })
                           ? ", and so is the rest of their rows, as if these had nothing in them"
                           : "");
  }

  /// The finite number that stands wherever -inf should and does not, of two places or more.
  std::string in_place_of_infinity() const {
    std::vector<Index> entries;
    std::ranges::copy_if(wrong_, std::back_inserter(entries),
                         [&](Index i) { return expected_[i] == minus_infinity; });
    const auto is_alike = [&](Index i) {
      return std::isfinite(answer_[i]) && answer_[i] == answer_[entries.front()];
    };
    if (entries.size() < 2 || !std::ranges::all_of(entries, is_alike)) return "";
    const auto places = static_cast<std::size_t>(std::ranges::count(expected_.values(), minus_infinity));
    return fmt::format("where -inf should be is {:.6g}, in {} of {} places", answer_[entries.front()],
                       entries.size() == places ? "all" : std::to_string(entries.size()), places);
  }

  /// That of two axes or more which holds this entry, of several.
  bool row_is_0(Index entry) const {
    const Index columns = expected_.rank() < 2 ? 0 : expected_.shape().back();
    const Index first = columns == 0 ? 0 : entry / columns * columns;
    return columns > 1 &&
           std::all_of(answer_.values().begin() + first, answer_.values().begin() + first + columns,
                       [](double x) { return x == 0; });
  }

  // Whose place it belongs in

  std::string displaced() const {
    for (const Cut& cut : cuts_of(output_, expected_.shape(), layout_)) {
      const std::map<Index, Index> source = sources(cut);
      if (source.empty()) continue;
      const std::string words = shift_words(cut, source);
      return words.empty() ? source_words(cut, source) : words;
    }
    return "";
  }

  /// Whether each wrong part of one kind, and there are several, is what another should be. This is asked of
  /// every failed example, so it ends at the first part that is not.
  bool is_displaced_throughout() const {
    return std::ranges::any_of(cuts_of(output_, expected_.shape(), layout_), [&](const Cut& cut) {
      std::size_t wrong = 0;
      for (Index part = 0; part < std::ssize(cut.parts); ++part) {
        if (!any_wrong(cut.parts[part])) continue;
        if (!source_of(cut, part)) return false;
        ++wrong;
      }
      return wrong > 1 && sources(cut).size() == wrong;
    });
  }

  /// Of parts of the answer, the part of the expected answer that each equals: of all that are wrong, where
  /// together they prove it, or else of those that prove it each by itself.
  std::map<Index, Index> sources(const Cut& cut) const {
    const double tried = std::log(static_cast<double>(cut.parts.size()));
    std::map<Index, Index> all, by_itself;
    double proven = 0;
    std::size_t wrong = 0;
    for (Index part = 0; part < std::ssize(cut.parts); ++part) {
      if (!any_wrong(cut.parts[part])) continue;
      ++wrong;
      const std::optional<Source> from = source_of(cut, part);
      if (!from) continue;
      all[part] = from->part;
      proven += from->proven - tried;
      if (from->proven >= proof + tried) by_itself[part] = from->part;
    }
    return all.size() == wrong && proven >= proof ? all : by_itself;
  }

  struct Source {
    Index part;
    double proven;  ///< as in Fit
  };

  /// The only part of the expected answer, other than its own, that a wrong part of the answer equals.
  std::optional<Source> source_of(const Cut& cut, Index part) const {
    const std::vector<Index>& entries = cut.parts[part];
    std::optional<Source> found;
    for (Index from = 0; from < std::ssize(cut.parts); ++from) {
      const std::vector<Index>& others = cut.parts[from];
      if (from == part || others.size() != entries.size()) continue;
      const Fit fit = fit_of(
          entries, [&](std::size_t k) { return expected_[others[k]]; },
          [&](std::size_t k) { return scale_[others[k]]; });
      if (!fit.fits || has_few_values(others)) continue;  // in this order, since hardly any fits
      if (found) return std::nullopt;
      found = Source{from, fit.proven};
    }
    return found;
  }

  /// Such as a row that is masked, or counts that are 0 or 1: two numbers in many places are alike by chance.
  bool has_few_values(const std::vector<Index>& entries) const {
    const std::size_t enough = std::clamp<std::size_t>(entries.size(), 2, 3);
    std::vector<double> values;
    for (const Index i : entries) {
      if (std::ranges::count(values, expected_[i]) == 0) values.push_back(expected_[i]);
      if (values.size() == enough) return false;
    }
    return true;
  }

  static const char* verb(const Cut& cut) { return cut.unit == "rank" ? "returned" : "holds"; }

  /// Three parts or more that all have what the one so many places before or after them should.
  static std::string shift_words(const Cut& cut, const std::map<Index, Index>& source) {
    const Index count = std::ssize(cut.parts);
    std::vector<Index> parts;
    std::vector<Index> shifts;
    for (const auto& [part, from] : source) {
      parts.push_back(part);
      shifts.push_back(part - from);
    }
    const auto differ = [&] { return std::ranges::count(shifts, shifts.front()) < std::ssize(shifts); };
    const bool cyclic = differ();
    for (Index& shift : shifts) {
      if (cyclic) shift = (shift + count) % count;
    }
    if (source.size() < 3 || differ()) return "";
    const Index shift = shifts.front();
    const bool before = cyclic ? 2 * shift <= count : shift > 0;
    const Index places = cyclic && !before ? count - shift : std::abs(shift);
    const bool all = std::ssize(parts) == count;
    return fmt::format("{} {} what the {} {}{} it should{}",
                       all ? "every " + cut.unit : "each of " + index_words(cut.unit, parts, count),
                       verb(cut), cut.unit, places > 1 ? fmt::format("{} places ", places) : "",
                       before ? "before" : "after", cyclic ? ", cyclically" : "");
  }

  static std::string source_words(const Cut& cut, const std::map<Index, Index>& source) {
    std::string text;
    std::size_t listed = 0;
    for (const auto& [part, from] : source) {
      const auto back = source.find(from);
      const bool swapped = back != source.end() && back->second == part;
      if (swapped && from < part) continue;
      if (listed++ == most_told) return text + "; and so on";
      if (!text.empty()) text += "; ";
      text += swapped ? fmt::format("{}s {} and {} have changed places", cut.unit, part, from)
                      : fmt::format("{0} {1} {2} what {0} {3} should", cut.unit, part, verb(cut), from);
    }
    return text;
  }

  // By how much it is off

  std::string scaled() const {
    for (const Cut& level : levels_of(output_, expected_.shape(), layout_)) {
      for (const bool factor : {true, false}) {
        if (const std::string words = scaled_words(level, factor); !words.empty()) return words;
      }
    }
    return wrong_ones_scaled();
  }

  /// The same of the wrong entries alone, wherever they lie. Of whole numbers few would be alike by chance.
  std::string wrong_ones_scaled() const {
    if (!any_fraction_ || has_few_values(wrong_)) return "";
    for (const bool factor : {true, false}) {
      if (const std::string words = scaled_words({wrong_entry, true, {wrong_}}, factor); !words.empty())
        return words;
    }
    return "";
  }

  /// Whether every wrong part is off by one factor, or one constant.
  std::string scaled_words(const Cut& cut, bool factor) const {
    std::map<Index, double> by_part;
    double proven = 0;
    for (Index part = 0; part < std::ssize(cut.parts); ++part) {
      const std::vector<Index>& entries = cut.parts[part];
      if (!any_wrong(entries)) continue;
      const double by = by_part[part] = best(entries, factor);
      if (!std::isfinite(by) || (factor && std::abs(by - 1) <= far_from_one * allowed_)) return "";
      const Fit fit = fit_of(
          entries,
          [&](std::size_t k) { return factor ? by * expected_[entries[k]] : by + expected_[entries[k]]; },
          [&](std::size_t k) { return scale_[entries[k]] * (factor ? std::abs(by) : 1); }, 1);
      if (!fit.fits) return "";
      proven += fit.proven;
    }
    return proven < proof ? "" : by_words(cut, by_part, factor);
  }

  /// The factor or constant that fits best: least squares, every entry in units of its group's magnitude.
  double best(const std::vector<Index>& entries, bool factor) const {
    double product = 0;
    double square = 0;
    for (const Index i : entries) {
      if (!std::isfinite(expected_[i]) || scale_[i] == 0) continue;
      const double slope = (factor ? expected_[i] : 1) / scale_[i];
      product += (factor ? answer_[i] : answer_[i] - expected_[i]) / scale_[i] * slope;
      square += slope * slope;
    }
    return product / square;
  }

  std::string by_words(const Cut& cut, const std::map<Index, double>& by_part, bool factor) const {
    const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto [first, last] = std::minmax_element(by_part.begin(), by_part.end(), less);
    const double least = first->second;
    const double most = last->second;
    if (cut.unit.empty()) return "every entry " + predicate(least, factor);
    if (cut.unit == wrong_entry) return "every wrong entry " + predicate(least, factor);
    const bool alike = most - least <= allowed_ * std::max(std::abs(least), std::abs(most));
    if (alike && (by_part.size() > 1 || !cut.numbered))
      return fmt::format("every entry of every wrong {} {}", cut.unit, predicate(least, factor));
    if (by_part.size() > most_told || !cut.numbered) {
      return fmt::format(
          fmt::runtime(factor ? "every wrong {} is what it should be times a number of its own, from {} to {}"
                              : "every wrong {} is off by one constant of its own, from {} to {}"),
          cut.unit, number(least), number(most));
    }
    std::string text;
    for (const auto& [part, by] : by_part) {
      text += fmt::format("{}every entry of {} {} {}", text.empty() ? "" : ", ", cut.unit, part,
                          predicate(by, factor));
    }
    return text;
  }

  std::string predicate(double by, bool factor) const {
    if (factor && std::abs(by) <= allowed_) return "is 0";
    if (factor && std::abs(by + 1) <= allowed_) return "has the wrong sign";
    if (factor) return fmt::format("is {}{} times what it should be", number(by), meaning_of(by));
    return fmt::format("is {}{} {} than it should be", number(std::abs(by)), logarithm_words(std::abs(by)),
                       by > 0 ? "more" : "less");
  }

  /// " (the number of ranks)"
  std::string meaning_of(double factor) const {
    const std::string words = factor_words(known_, factor, allowed_);
    return words.empty() ? "" : " (" + words + ")";
  }

  /// " (log 2)" of an lse whose sum is 2 times what it should be, or half of it; " (log 3, and 3 is the
  /// number of ranks)".
  std::string logarithm_words(double by) const {
    const double times = std::round(std::exp(by));
    if (!is_lse() || !(times >= 2) || std::abs(by - std::log(times)) > 1e-4) return "";
    const std::string words = factor_words(known_, times, allowed_);
    if (words.empty()) return times <= 64 ? fmt::format(" (log {})", times) : "";
    return fmt::format(" (log {0}, and {0} is {1})", times, words);
  }

  /// With no more digits than are certain.
  std::string number(double value) const {
    return fmt::format("{:.{}g}", value,
                       std::clamp(1 + static_cast<int>(std::ceil(-std::log10(allowed_))), 3, 6));
  }

  // To what it is rounded

  std::string rounded() const {
    for (const Precision& precision : {bfloat16, float16}) {
      if (is_rounded_to(precision))
        return fmt::format("every entry is rounded to {} ({} significant bits)", precision.name,
                           precision.bits);
    }
    return "";
  }

  /// Whether every entry has that precision and is no farther off than cutting digits takes it. A float32 of
  /// full precision has it by chance once in two for every bit that must be 0.
  bool is_rounded_to(const Precision& precision) const {
    double proven = 0;
    for (Index i = 0; i < expected_.size(); ++i) {
      const double given = answer_[i];
      if (given == expected_[i]) continue;
      if (!std::isfinite(expected_[i]) || !std::isfinite(given) || rounded_to(precision, given) != given)
        return false;
      if (std::abs(given - expected_[i]) > spacing(precision, expected_[i]) + tolerance_ * scale_[i])
        return false;
      const double right = static_cast<float>(expected_[i]);
      if (rounded_to(precision, right) != right) proven += std::log(2.0) * (24 - precision.bits);
    }
    return proven >= proof;
  }

  // How well something fits

  /// How well the answer's entries fit expected(k) where the expected answer does not, k counting them;
  /// `scale(k)` is what an error is measured by. `chosen` of the expected numbers were chosen so that they
  /// fit.
  template <class Expected, class Scale>
  Fit fit_of(const std::vector<Index>& entries, Expected expected, Scale scale,
             std::size_t chosen = 0) const {
    double room = allowed_ * allowed_ * static_cast<double>(entries.size());
    std::vector<double> gains;
    for (std::size_t k = 0; k < entries.size(); ++k) {
      const double given = answer_[entries[k]];
      const double off = given == expected(k) ? 0 : std::abs(given - expected(k)) / scale(k);
      if (!(off <= worst_entry * allowed_)) return {};
      room -= off * off;
      if (room < 0) return {};
      const double gain = std::log(std::max(off_[entries[k]], allowed_) / std::max(off, allowed_));
      gains.push_back(std::min(gain, most_from_one));
    }
    // As many as were chosen prove nothing, and those might be the ones that prove most.
    std::ranges::sort(gains);
    gains.resize(gains.size() - std::min(chosen, gains.size()));
    return {true, std::accumulate(gains.begin(), gains.end(), 0.0)};
  }

  const Output& output_;
  const Tensor64& answer_;
  const Tensor64& expected_;
  const Layout& layout_;
  const std::vector<KnownFactor> known_;
  double tolerance_;
  double allowed_;  ///< what an answer may differ from what a pattern says
  std::vector<double> off_;
  std::vector<double> scale_;
  bool any_fraction_;  ///< else whole numbers are asked for, of which a wrong one may well be 0
  std::vector<Index> wrong_;
};

}  // namespace

std::string error_pattern(const Output& output, const Tensor64& answer, const Tensor64& expected,
                          double tolerance, const Layout& layout, const std::vector<KnownFactor>& known) {
  return Reader(output, answer, expected, tolerance, layout, known).text();
}

std::string zeros(const Output& output, const Tensor64& answer, const Tensor64& expected, double tolerance,
                  const Layout& layout) {
  return Reader(output, answer, expected, tolerance, layout).zeros();
}

std::optional<double> factor_throughout(const Output& output, const Tensor64& answer,
                                        const Tensor64& expected, double tolerance, const Layout& layout) {
  return Reader(output, answer, expected, tolerance, layout).factor_throughout();
}

bool is_one_relation(const Output& output, const Tensor64& answer, const Tensor64& expected, double tolerance,
                     const Layout& layout) {
  return Reader(output, answer, expected, tolerance, layout).is_one_relation();
}

}  // namespace course
