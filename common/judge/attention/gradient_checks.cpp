#include "judge/attention/gradient_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "judge/attention/forward.hpp"
#include "judge/numbers/compare.hpp"
#include "judge/numbers/dot.hpp"
#include "judge/numbers/input_generator.hpp"
#include "judge/numbers/rounding.hpp"

namespace course {

namespace {

using View = MatrixView<const double>;
using Numbers = std::span<const double>;

double norm(Numbers x) {
  return std::sqrt(dot(x, x));
}

/// All numbers of one head.
Numbers head_of(const Tensor64& x, Index head) {
  const View view = x.heads().head(head);
  return {view.data(), static_cast<std::size_t>(view.size())};
}

Tensor64 difference(Tensor64 a, const Tensor64& b) {
  for (Index i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

/// sum_i weights_i x_i over the rows of x [rows, cols].
Tensor64 weighted_sum(View x, const std::vector<double>& weights) {
  Tensor64 sum({x.cols()});
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index c = 0; c < x.cols(); ++c) sum[c] += weights[i] * x(i, c);
  }
  return sum;
}

/// What float64 itself may lose in sums of terms of this size.
double rounding(double terms) {
  return 1e-12 * terms;
}

/// How far one head is off from an identity, and how far it may be.
struct Identity {
  double off;
  double allowed;
  std::string words;
  bool holds() const { return off <= allowed; }  // NaN does not
};

/// Those of sums over the keys.
std::vector<Identity> sums(const AttentionProblem& x, const Answer& given, const GradientSlack& slack,
                           Index head, Numbers lse) {
  const Numbers d_lse = x.d_lse.matrix().row(head);
  std::vector<double> seen(lse.size()), share_of_lse(lse.size());
  for (std::size_t i = 0; i < lse.size(); ++i) {
    if (!std::isfinite(lse[i])) continue;
    seen[i] = 1;
    share_of_lse[i] = d_lse[i] / std::sqrt(static_cast<double>(x.q.extent(2)));
  }
  const Index keys = x.k.extent(1);
  // A sum over n keys is off by at most sqrt(n) times the norm of what its terms are off by.
  const double over_keys = std::sqrt(static_cast<double>(keys));
  const auto off = [&](const char* gradient, const Tensor64& of, const std::vector<double>& weights) {
    return norm(difference(weighted_sum(given.at(gradient).heads().head(head), std::vector<double>(keys, 1)),
                           weighted_sum(of.heads().head(head), weights))
                    .values());
  };
  const double dk_off = off("dk", x.q, share_of_lse), dv_off = off("dv", x.d_o, seen);
  const bool lse_counts = std::ranges::any_of(d_lse, [](double value) { return value != 0; });
  return {
      {dk_off, over_keys * slack.at("dk")[head] + rounding(norm(d_lse) * norm(head_of(x.q, head))),
       fmt::format("the sum of dk over the keys should be {}, and is off by {:.2g}",
                   lse_counts ? "sum(d_lse q) / sqrt(d) over queries that see a key" : "0", dk_off)},
      {dv_off,
       over_keys * slack.at("dv")[head] +
           rounding(norm(head_of(x.d_o, head)) * std::sqrt(1.0 + static_cast<double>(lse.size()))),
       fmt::format("the sum of dv over the keys should be the sum of d_o, and is off by {:.2g}", dv_off)}};
}

/// Those of products of a gradient and what it is the gradient of.
std::vector<Identity> products(const AttentionProblem& x, const Answer& given, const GradientSlack& slack,
                               Index head, Numbers o) {
  const Numbers q = head_of(x.q, head), k = head_of(x.k, head), v = head_of(x.v, head);
  const Numbers d_o = head_of(x.d_o, head);
  const double q_side = dot(head_of(given.at("dq"), head), q), k_side = dot(head_of(given.at("dk"), head), k);
  const double v_side = dot(head_of(given.at("dv"), head), v), o_side = dot(d_o, o);
  return {{std::abs(q_side - k_side), slack.at("dq")[head] * norm(q) + slack.at("dk")[head] * norm(k),
           fmt::format("<dq, q> is {:.4g} and <dk, k> is {:.4g}, should be equal", q_side, k_side)},
          {std::abs(v_side - o_side), slack.at("dv")[head] * norm(v) + rounding(norm(d_o) * norm(o)),
           fmt::format("<dv, v> is {:.4g}, should be <d_o, o> = {:.4g}", v_side, o_side)}};
}

double loss(const AttentionProblem& x) {
  const reference::Attention<double> forward = reference::attention(x.q, x.k, x.v, x.mask);
  double sum = dot(forward.o.values(), x.d_o.values());
  for (Index i = 0; i < forward.lse.size(); ++i) {
    if (std::isfinite(forward.lse[i])) sum += forward.lse[i] * x.d_lse[i];
  }
  return sum;
}

/// How far a variable may move that scores are the products of with `other`. No score moves by more than
/// 1e-3: the third derivative then costs less than 1e-6, rounding far less.
double step_against(const Tensor64& other) {
  double largest = 1e-3;
  for (const double value : other.values()) largest = std::max(largest, std::abs(value));
  return 1e-3 / (std::sqrt(static_cast<double>(other.extent(2))) * largest);
}

Tensor64 random_signs(const Shape& shape, const char* label) {
  InputGenerator generator = InputGenerator(1).fork(label);
  Tensor64 signs(shape);
  for (double& value : signs.values()) value = 2 * generator.integer(0, 1) - 1;
  return signs;
}

/// The derivative of the loss when `variable`, one of x's tensors, moves along `direction`.
double central_difference(AttentionProblem& x, Tensor64& variable, const Tensor64& direction, double step) {
  const Tensor64 middle = variable;
  const auto loss_at = [&](double along) {
    for (Index i = 0; i < middle.size(); ++i) variable[i] = middle[i] + along * direction[i];
    return loss(x);
  };
  const double difference = (loss_at(step) - loss_at(-step)) / (2 * step);
  variable = middle;
  return difference;
}

/// The norm of what lies on a rank.
double norm_on(const Tensor64& whole, const Layout& layout, int rank) {
  return norm(layout.shard(whole, 1, rank).values());
}

/// How far the baseline is off on the rank where that is most, beside what float32 rounds off there.
double baseline_beside_rounding(const Played& played, const std::string& output) {
  const Layout& layout = played.example->layout;
  const Tensor64 off = difference(played.baseline.at(output), played.expected.at(output));
  double most = 0;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    const double distance = norm_on(off, layout, rank);
    if (distance > 0) most = std::max(most, distance / norm_on(played.rounding.at(output), layout, rank));
  }
  return most;
}

bool is_finite(const Answer& answer) {
  return std::ranges::all_of(answer, [](const auto& output) {
    return std::ranges::all_of(output.second.values(), [](double x) { return std::isfinite(x); });
  });
}

/// Both with as many digits as tell them apart, and four at least.
std::pair<std::string, std::string> told_apart(double a, double b) {
  int digits = 4;
  const auto words = [&](double x) { return fmt::format("{:.{}g}", x, digits); };
  while (digits < std::numeric_limits<double>::max_digits10 && words(a) == words(b)) ++digits;
  return {words(a), words(b)};
}

}  // namespace

AttentionProblem problem_of(const Example& example, Tensor64 d_lse, reference::Mask mask) {
  return {input(example, "q"),   input(example, "k"), input(example, "v"),
          input(example, "d_o"), std::move(d_lse),    std::move(mask)};
}

Answer right_gradients(const AttentionProblem& x) {
  return as_answer(reference::attention_gradients(x.q, x.k, x.v, x.d_o, x.mask, x.d_lse));
}

Answer rounding_of_gradients(const AttentionProblem& x) {
  return rounding::attention_gradients(x.q, x.k, x.v, x.d_o, x.mask, x.d_lse);
}

GradientSlack slack_of(const Answer& expected, const std::map<std::string, double>& relative) {
  GradientSlack slack;
  for (const auto& [name, gradient] : expected) {
    std::vector<double>& by_head = slack[name];
    for (Index head = 0; head < gradient.extent(0); ++head) {
      const double size = norm(head_of(gradient, head));
      by_head.push_back(size == 0 ? 0 : relative.at(name) * size);
    }
  }
  return slack;
}

std::vector<std::string> broken_identities(const AttentionProblem& problem, const Answer& gradients,
                                           const GradientSlack& slack) {
  const reference::Attention<double> forward =
      reference::attention(problem.q, problem.k, problem.v, problem.mask);
  std::vector<std::string> lines;
  for (Index head = 0; head < problem.q.extent(0); ++head) {
    std::vector<Identity> all = sums(problem, gradients, slack, head, forward.lse.matrix().row(head));
    std::ranges::move(products(problem, gradients, slack, head, head_of(forward.o, head)),
                      std::back_inserter(all));
    for (const Identity& identity : all) {
      if (!identity.holds())
        lines.push_back(fmt::format("identity broken in head {}: {}", head, identity.words));
    }
  }
  return lines;
}

std::vector<std::string> broken_differences(const AttentionProblem& problem, const Answer& gradients,
                                            const GradientSlack& slack) {
  AttentionProblem x = problem;
  struct Variable {
    const char* gradient;
    Tensor64& value;
    double step;
  };
  const double rounding_of_loss = 1e-13 * (1 + std::abs(loss(problem)));
  std::vector<std::string> lines;
  for (const Variable& variable : {Variable{"dq", x.q, step_against(x.k)},
                                   {"dk", x.k, step_against(x.q)},
                                   {"dv", x.v, 1}}) {  // the loss is linear in v
    const Tensor64 direction = random_signs(variable.value.shape(), variable.gradient);
    const double expected = central_difference(x, variable.value, direction, variable.step);
    const double given = dot(gradients.at(variable.gradient).values(), direction.values());
    // Six standard deviations: random signs turn an error into a number of mean 0 and deviation its norm.
    const double allowed = 6 * norm(slack.at(variable.gradient)) + rounding_of_loss / variable.step;
    if (std::abs(given - expected) <= allowed) continue;  // NaN is not
    const auto [is, should_be] = told_apart(given, expected);
    lines.push_back(fmt::format("central differences: {} along a random direction is {}, should be {}",
                                variable.gradient, is, should_be));
  }
  return lines;
}

AnswerCheck passes_gradient_checks(ProblemOf problem) {
  return [problem = std::move(problem)](const Played& played) {
    if (!is_finite(played.answer))
      return std::vector<Finding>{{"", "no identity holds of gradients that have a NaN or an infinity"}};
    const GradientSlack slack = slack_of(played.expected, played.tolerance);
    const AttentionProblem whole = problem(*played.example);
    std::vector<Finding> findings;
    for (const auto look : {broken_differences, broken_identities}) {
      for (std::string& line : look(whole, played.answer, slack)) findings.push_back({"", std::move(line)});
    }
    return findings;
  };
}

std::vector<Finding> is_right_on_every_rank(const Played& played) {
  if (!is_right(played)) return {};
  std::vector<Finding> findings;
  for (const auto& [name, answer] : played.answer) {
    const Layout& layout = played.example->layout;
    const Tensor64 off = difference(answer, played.expected.at(name));
    const double factor = std::max(deviations, baseline_factor * baseline_beside_rounding(played, name));
    for (int rank = 0; rank < layout.ranks(); ++rank) {
      const double distance = norm_on(off, layout, rank);
      const double allowed = factor * norm_on(played.rounding.at(name), layout, rank);
      if (distance <= allowed) continue;
      findings.push_back({"", fmt::format("{} on rank {} is off by {:.2g}, the norm of the difference; "
                                          "float32 explains {:.2g}",
                                          name, rank, distance, allowed)});
    }
  }
  return findings;
}

Task gradients_task(std::string id, std::string function, const ProblemOf& problem) {
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {{"dq", {"head", "row", "col"}, 1},
                      {"dk", {"head", "row", "col"}, 1},
                      {"dv", {"head", "row", "col"}, 1}},
          .examples = {},
          .expected = [problem](const Example& example) { return right_gradients(problem(example)); },
          .baseline = {},
          .rounding = [problem](const Example& example) { return rounding_of_gradients(problem(example)); },
          .of_family = true,
          .answer_checks = {passes_gradient_checks(problem)},
          .largest_tolerance = largest_gradient_tolerance,
          .mistakes_cancel = true};
}

}  // namespace course
