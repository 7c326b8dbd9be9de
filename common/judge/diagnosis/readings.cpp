#include "judge/diagnosis/readings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <span>

#include "judge/numbers/compare.hpp"
#include "judge/numbers/origin.hpp"
#include "judge/numbers/wrong_entries.hpp"
#include "text/text_file.hpp"

namespace course {

namespace {

struct Formula {
  const char* words;
  double (*lse)(double m, double l);
};

constexpr Formula formulas[] = {
    {"log(m + l)", [](double m, double l) { return std::log(m + l); }},
    {"m + l", [](double m, double l) { return m + l; }},
    {"m - log l", [](double m, double l) { return m - std::log(l); }},
    {"log l - m", [](double m, double l) { return std::log(l) - m; }},
    {"m log l", [](double m, double l) { return m * std::log(l); }},
    {"m + log(l + 1)", [](double m, double l) { return m + std::log1p(l); }},
    {"m + log10 l", [](double m, double l) { return m + std::log10(l); }},
    {"m + log2 l", [](double m, double l) { return m + std::log2(l); }},
    {"log m + log l", [](double m, double l) { return std::log(m) + std::log(l); }},
    {"m + exp(l)", [](double m, double l) { return m + std::exp(l); }},
    {"m", [](double m, double) { return m; }},
    {"l", [](double, double l) { return l; }},
    {"log l", [](double, double l) { return std::log(l); }},
    {"exp(m) l, the sum itself", [](double m, double l) { return std::exp(m) * l; }}};

/// Rows of fewer inputs prove nothing.
constexpr int fewest_wrong_rows = 2, fewest_right_rows = 4;
/// Nor does a shorter row by itself.
constexpr std::size_t fewest_wrong_entries = 6;

/// The entries of output o's row as a factor of what they should be, where they are one; else NaN.
double factor_of_row(std::span<const double> given, std::span<const double> right, double allowed) {
  double product = 0, square = 0, off = 0;
  for (std::size_t c = 0; c < right.size(); ++c) {
    product += given[c] * right[c];
    square += right[c] * right[c];
  }
  const double factor = product / square;
  for (std::size_t c = 0; c < right.size(); ++c) off += std::pow(given[c] - factor * right[c], 2);
  return std::sqrt(off / square) <= allowed * std::max(1.0, std::abs(factor))
             ? factor
             : std::numeric_limits<double>::quiet_NaN();
}

// What a row of scores is like

using Rows = MatrixView<const float>;

float largest_of(std::span<const float> row) {
  return row.empty() ? -std::numeric_limits<float>::infinity() : std::ranges::max(row);
}

bool is_masked(float score) {
  return score == -std::numeric_limits<float>::infinity();
}

bool is_empty(std::span<const float> row) {
  return std::ranges::all_of(row, is_masked);
}

bool any_before(Index row, const std::function<bool(Index)>& is) {
  for (Index before = 0; before < row; ++before) {
    if (is(before)) return true;
  }
  return false;
}

struct Trait {
  const char* words;
  bool (*has)(const Rows& rows, Index row);
};

constexpr Trait traits[] = {
    {"have no unmasked score", [](const Rows& x, Index i) { return is_empty(x.row(i)); }},
    {"have a masked score", [](const Rows& x, Index i) { return std::ranges::any_of(x.row(i), is_masked); }},
    {"have masked scores beside others",
     [](const Rows& x, Index i) { return std::ranges::any_of(x.row(i), is_masked) && !is_empty(x.row(i)); }},
    {"begin with a masked score and are not masked throughout",
     [](const Rows& x, Index i) { return !is_empty(x.row(i)) && is_masked(x.row(i).front()); }},
    {"begin with a masked score",
     [](const Rows& x, Index i) { return x.cols() > 0 && is_masked(x.row(i).front()); }},
    {"end with a masked score and are not masked throughout",
     [](const Rows& x, Index i) { return !is_empty(x.row(i)) && is_masked(x.row(i).back()); }},
    {"end with a masked score",
     [](const Rows& x, Index i) { return x.cols() > 0 && is_masked(x.row(i).back()); }},
    {"are masked but for the last score",
     [](const Rows& x, Index i) {
       return x.cols() > 1 && !is_masked(x.row(i).back()) &&
              is_empty(x.row(i).first(static_cast<std::size_t>(x.cols()) - 1));
     }},
    {"are masked but for the first score",
     [](const Rows& x, Index i) {
       return x.cols() > 1 && !is_masked(x.row(i).front()) && is_empty(x.row(i).subspan(1));
     }},
    {"are masked throughout or come after such a row",
     [](const Rows& x, Index i) {
       return is_empty(x.row(i)) || any_before(i, [&](Index b) { return is_empty(x.row(b)); });
     }},
    {"come after one that is masked throughout and have scores themselves",
     [](const Rows& x, Index i) {
       return !is_empty(x.row(i)) && any_before(i, [&](Index b) { return is_empty(x.row(b)); });
     }},
    {"come after one that is masked throughout",
     [](const Rows& x, Index i) { return any_before(i, [&](Index b) { return is_empty(x.row(b)); }); }},
    {"are not the first", [](const Rows&, Index i) { return i > 0; }},
    {"are the first", [](const Rows&, Index i) { return i == 0; }},
    {"are the last", [](const Rows& x, Index i) { return i + 1 == x.rows(); }},
    {"have their largest score last",
     [](const Rows& x, Index i) { return !is_empty(x.row(i)) && x.row(i).back() == largest_of(x.row(i)); }},
    {"have their largest score first",
     [](const Rows& x, Index i) { return !is_empty(x.row(i)) && x.row(i).front() == largest_of(x.row(i)); }},
    {"do not have their largest score first",
     [](const Rows& x, Index i) { return !is_empty(x.row(i)) && x.row(i).front() != largest_of(x.row(i)); }},
    {"have no score above 0",
     [](const Rows& x, Index i) { return !is_empty(x.row(i)) && largest_of(x.row(i)) <= 0; }},
    {"have a score above 0", [](const Rows& x, Index i) { return largest_of(x.row(i)) > 0; }},
    {"have a score above 88", [](const Rows& x, Index i) { return largest_of(x.row(i)) > 88; }},
    {"have no score above -88",
     [](const Rows& x, Index i) { return !is_empty(x.row(i)) && largest_of(x.row(i)) < -88; }},
    {"lie more than 88 below a row before them",
     [](const Rows& x, Index i) {
       return !is_empty(x.row(i)) &&
              any_before(i, [&](Index b) { return largest_of(x.row(b)) > largest_of(x.row(i)) + 88; });
     }},
    {"have scores more than 88 apart", [](const Rows& x, Index i) {
       const auto is_far = [&](float s) { return !is_masked(s) && s < largest_of(x.row(i)) - 88; };
       return std::ranges::any_of(x.row(i), is_far);
     }}};

/// The scores whose rows are those of the outputs, or null.
const Tensor* rows_of_scores(const Task& task, const Played& played) {
  for (const char* name : {"x", "scores"}) {
    const auto found = played.example->inputs.find(name);
    if (found == played.example->inputs.end() || found->second.rank() != 2) continue;
    const bool fits = std::ranges::all_of(task.outputs, [&](const Output& output) {
      return output.axes.front() == "row" &&
             played.expected.at(output.name).extent(0) == found->second.extent(0);
    });
    return fits && played.example->layout.ranks() <= 1 ? &found->second : nullptr;
  }
  return nullptr;
}

/// The rows in which an output is wrong, with every one of its entries that is.
std::vector<bool> wrong_rows(const Task& task, const Played& played, Index rows) {
  std::vector<bool> wrong(static_cast<std::size_t>(rows));
  for (const Output* output : wrong_outputs(task, played)) {
    const Tensor64& expected = played.expected.at(output->name);
    const double tolerance = played.tolerance.at(output->name);
    const std::vector<double> off = off_by(played.answer.at(output->name), expected, tolerance);
    for (Index i = 0; i < expected.size(); ++i) {
      if (off[i] > tolerance) wrong[i / (expected.size() / rows)] = true;
    }
  }
  return wrong;
}

/// Whether there are wrong rows of o, and each is what a wrong l makes of it: off by one factor, as exp(lse)
/// is by one divided by it.
bool are_rows_of_a_wrong_l(std::span<const Played> inputs) {
  int wrong = 0;
  std::size_t entries = 0;
  for (const Played& played : inputs) {
    if (played.answer.empty()) continue;
    const Tensor64 &o = played.answer.at("o"), &expected_o = played.expected.at("o");
    const Tensor64 &lse = played.answer.at("lse"), &right = played.expected.at("lse");
    if (right.size() == 0 || o.size() % right.size() != 0) continue;
    const std::size_t columns = static_cast<std::size_t>(o.size() / right.size());
    const std::vector<double> off_o = off_by(o, expected_o, played.tolerance.at("o")),
                              off_lse = off_by(lse, right, played.tolerance.at("lse"));
    for (Index row = 0; row < right.size() && columns > 0; ++row) {
      const std::size_t first = static_cast<std::size_t>(row) * columns;
      const auto of_row = [&](const auto& values) { return std::span(values).subspan(first, columns); };
      const bool right_o =
          std::ranges::all_of(of_row(off_o), [&](double x) { return x <= played.tolerance.at("o"); });
      if (right_o && off_lse[static_cast<std::size_t>(row)] > played.tolerance.at("lse")) return false;
      if (right_o) continue;
      const double room = mistake_factor * played.tolerance.at("lse") * std::max(1.0, std::abs(right[row])) +
                          mistake_factor * played.tolerance.at("o");
      if (room > 0.1) continue;  // so far from 0 lse has no digits left for it
      const double factor = factor_of_row(of_row(o.values()), of_row(expected_o.values()), room);
      const double product = factor * std::exp(lse[row] - right[row]);
      if (!(std::abs(product - 1) <= room) || std::abs(factor - 1) <= 2 * room) return false;
      ++wrong;
      entries += columns;
    }
  }
  return wrong >= fewest_wrong_rows || entries >= fewest_wrong_entries;
}

}  // namespace

std::vector<Reading> lse_formulas(Answer (*expected)(const Example&), Maxima maxima) {
  std::vector<Reading> all;
  for (const Formula& formula : formulas) {
    const auto answer = [=, lse = formula.lse](const Example& example) -> std::optional<Answer> {
      Answer wrong = expected(example);
      const Tensor64 m = maxima(example);
      for (Index i = 0; double& entry : wrong.at("lse").values()) {
        const double row_m = m[i++];
        if (std::isfinite(row_m)) entry = lse(row_m, std::exp(entry - row_m));
      }
      return wrong;
    };
    all.push_back({fmt::format("every lse is {}; it should be m + log l", formula.words), answer});
  }
  return all;
}

std::string o_and_lse(const Task& task, const Played& shown, const std::vector<Played>& test) {
  const auto has = [&](const char* name) {
    return std::ranges::count(task.outputs, name, &Output::name) == 1;
  };
  if (!has("o") || !has("lse")) return "";
  const char* const words =
      "in every wrong row{} o is off by one factor, and exp(lse) by one divided by it: o before the division "
      "is right; l is not, or is not used";
  if (are_rows_of_a_wrong_l(std::span(test))) return fmt::format(fmt::runtime(words), "");
  // Elsewhere another mistake may hide it, or a row of which nothing is left.
  if (are_rows_of_a_wrong_l(std::span(&shown, 1))) return fmt::format(fmt::runtime(words), " of this input");
  return "";
}

std::string what_wrong_rows_share(const Task& task, const std::vector<Played>& test) {
  int all = 0, count = 0;
  bool all_nan = true;
  std::set<const Trait*> left;
  for (const Trait& trait : traits) left.insert(&trait);
  for (const Played& played : test) {
    const Tensor* const scores = played.answer.empty() ? nullptr : rows_of_scores(task, played);
    if (scores == nullptr) {
      if (!played.answer.empty() && !is_right(played)) return "";
      continue;
    }
    const Rows rows = scores->matrix();
    const bool has_entries = std::ranges::all_of(
        task.outputs, [&](const Output& output) { return played.expected.at(output.name).size() > 0; });
    if (!has_entries) continue;
    const std::vector<bool> wrong = wrong_rows(task, played, rows.rows());
    for (Index row = 0; row < rows.rows(); ++row) {
      ++all;
      count += wrong[row] ? 1 : 0;
      std::erase_if(left, [&](const Trait* trait) { return trait->has(rows, row) != wrong[row]; });
    }
    for (const Output* output : wrong_outputs(task, played)) {
      const Tensor64& answer = played.answer.at(output->name);
      const std::vector<double> off =
          off_by(answer, played.expected.at(output->name), played.tolerance.at(output->name));
      for (Index i = 0; i < answer.size(); ++i)
        all_nan &= off[i] == 0 || origin_of(answer[i]) == Origin::Arithmetic;
    }
  }
  if (count < fewest_wrong_rows || all - count < fewest_right_rows || left.empty()) return "";
  const Trait* const first =
      &*std::ranges::find_if(traits, [&](const Trait& x) { return left.contains(&x); });
  return fmt::format("wrong are the rows that {}, and no others:\n{} of the {} rows of all inputs{}",
                     first->words, count, all, all_nan ? "; all their wrong entries are NaN" : "");
}

std::optional<std::vector<int>> times_taken(const std::vector<Sum>& sums, int most) {
  if (sums.empty()) return std::nullopt;
  const std::size_t n = sums.front().parts.size();
  // Least squares, each sum in units of its room, solved by elimination.
  std::vector<std::vector<double>> normal(n, std::vector<double>(n + 1));
  for (const Sum& sum : sums) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) normal[i][j] += sum.parts[i] * sum.parts[j] / (sum.room * sum.room);
      normal[i][n] += sum.parts[i] * sum.sum / (sum.room * sum.room);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t pivot = i;
    for (std::size_t row = i; row < n; ++row) {
      if (std::abs(normal[row][i]) > std::abs(normal[pivot][i])) pivot = row;
    }
    std::swap(normal[i], normal[pivot]);
    if (!(std::abs(normal[i][i]) > 0)) return std::nullopt;
    for (std::size_t row = 0; row < n; ++row) {
      if (row == i) continue;
      const double times = normal[row][i] / normal[i][i];
      for (std::size_t j = i; j <= n; ++j) normal[row][j] -= times * normal[i][j];
    }
  }
  std::vector<int> taken(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double exact = normal[i][n] / normal[i][i];
    if (!(exact > -0.5 && exact < most + 0.5)) return std::nullopt;
    taken[i] = static_cast<int>(std::lround(exact));
  }
  std::vector<bool> decided(n);  // once more or less would not fit
  for (const Sum& sum : sums) {
    double off = sum.sum;
    for (std::size_t i = 0; i < n; ++i) off -= taken[i] * sum.parts[i];
    if (!(std::abs(off) <= sum.room)) return std::nullopt;
    for (std::size_t i = 0; i < n; ++i) decided[i] = decided[i] || sum.parts[i] > 4 * sum.room;
  }
  if (!std::ranges::all_of(decided, std::identity())) return std::nullopt;
  return taken;
}

std::string pieces_words(const std::vector<std::vector<int>>& times) {
  constexpr std::size_t most_ranks = 3;
  std::vector<std::string> lines;
  std::size_t wrong = 0;
  for (std::size_t rank = 0; rank < times.size(); ++rank) {
    if (std::ranges::all_of(times[rank], [](int count) { return count == 1; })) continue;
    if (++wrong > most_ranks) continue;
    std::vector<std::string> has, lacks;
    for (std::size_t piece = 0; piece < times[rank].size(); ++piece) {
      const int count = times[rank][piece];
      const std::string number = std::to_string(piece);
      if (count == 0) lacks.push_back(number);
      if (count > 0)
        has.push_back(number + (count == 1   ? ""
                                : count == 2 ? " (twice)"
                                             : fmt::format(" ({} times)", count)));
    }
    std::string line = fmt::format("rank {} has ", rank);
    line += has.empty() ? "no rank's piece"
                        : fmt::format("the piece{} of rank{} {}", has.size() > 1 ? "s" : "",
                                      has.size() > 1 ? "s" : "", listed(has));
    if (!has.empty() && !lacks.empty())
      line += fmt::format("; {} of rank{} {} {} missing", lacks.size() > 1 ? "those" : "that",
                          lacks.size() > 1 ? "s" : "", listed(lacks), lacks.size() > 1 ? "are" : "is");
    lines.push_back(line);
  }
  if (wrong > most_ranks) {
    const std::size_t more = wrong - most_ranks;
    lines.push_back(more == 1 ? "and one more rank has others"
                              : fmt::format("and {} more ranks have others", more));
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace course
