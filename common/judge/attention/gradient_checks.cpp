#include "judge/attention/gradient_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "judge/diagnose.hpp"
#include "judge/numbers/dot.hpp"
#include "judge/numbers/input_generator.hpp"

namespace course {

namespace {

using View = MatrixView<const double>;

double norm(std::span<const double> x) {
  return std::sqrt(dot(x, x));
}

std::span<const double> flat(View x) {
  return {x.data(), static_cast<std::size_t>(x.size())};
}

/// sum_i weights_i x_i over the rows of x [rows, cols].
std::vector<double> weighted_sum(View x, std::span<const double> weights) {
  std::vector<double> sum(x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index c = 0; c < x.cols(); ++c) sum[c] += weights[i] * x(i, c);
  }
  return sum;
}

double distance(std::vector<double> a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return norm(a);
}

/// What float64 itself may lose in sums of terms of this size.
double rounding(double terms) {
  return 1e-12 * terms;
}

/// One head's identities.
class Identities {
 public:
  Identities(const AttentionProblem& problem, const Gradients64& gradients, const GradientSlack& slack,
             Index head)
      : q_(problem.q.heads().head(head)),
        k_(problem.k.heads().head(head)),
        v_(problem.v.heads().head(head)),
        d_o_(problem.d_o.heads().head(head)),
        d_lse_(problem.d_lse.matrix().row(head)),
        dq_(gradients.dq.heads().head(head)),
        dk_(gradients.dk.heads().head(head)),
        dv_(gradients.dv.heads().head(head)),
        dq_slack_(slack.dq[head]),
        dk_slack_(slack.dk[head]),
        dv_slack_(slack.dv[head]),
        head_(head) {}

  std::vector<std::string> broken(const reference::Attention<double>& forward) {
    const View o = forward.o.heads().head(head_);
    const std::span<const double> lse = forward.lse.matrix().row(head_);
    sum_of_dk(lse);
    sum_of_dv(lse);
    const double q_side = dot(flat(dq_), flat(q_));
    const double k_side = dot(flat(dk_), flat(k_));
    expect(std::abs(q_side - k_side), dq_slack_ * norm(flat(q_)) + dk_slack_ * norm(flat(k_)),
           fmt::format("<dq, q> is {:.4g} and <dk, k> is {:.4g}, should be equal", q_side, k_side));
    const double v_side = dot(flat(dv_), flat(v_));
    const double o_side = dot(flat(d_o_), flat(o));
    expect(std::abs(v_side - o_side), dv_slack_ * norm(flat(v_)) + rounding(norm(flat(d_o_)) * norm(flat(o))),
           fmt::format("<dv, v> is {:.4g}, should be <d_o, o> = {:.4g}", v_side, o_side));
    return std::move(lines_);
  }

 private:
  /// A sum over n keys is off by at most sqrt(n) times the norm of what its terms are off by.
  double over_keys(double slack) const { return std::sqrt(static_cast<double>(k_.rows())) * slack; }

  void sum_of_dk(std::span<const double> lse) {
    std::vector<double> weights(q_.rows());
    for (Index i = 0; i < q_.rows(); ++i) {
      if (std::isfinite(lse[i])) weights[i] = d_lse_[i] / std::sqrt(static_cast<double>(q_.cols()));
    }
    const double off =
        distance(weighted_sum(dk_, std::vector<double>(k_.rows(), 1)), weighted_sum(q_, weights));
    const bool lse_counts = std::ranges::any_of(d_lse_, [](double value) { return value != 0; });
    expect(off, over_keys(dk_slack_) + rounding(norm(d_lse_) * norm(flat(q_))),
           fmt::format("the sum of dk over the keys is off by {:.2g}, should be {}", off,
                       lse_counts ? "sum(d_lse q) / sqrt(d) over queries that see a key" : "0"));
  }

  void sum_of_dv(std::span<const double> lse) {
    std::vector<double> weights(q_.rows());
    for (Index i = 0; i < q_.rows(); ++i) weights[i] = std::isfinite(lse[i]) ? 1 : 0;
    const double off =
        distance(weighted_sum(dv_, std::vector<double>(k_.rows(), 1)), weighted_sum(d_o_, weights));
    expect(off, over_keys(dv_slack_) + rounding(norm(flat(d_o_)) * std::sqrt(1.0 + q_.rows())),
           fmt::format("the sum of dv over the keys is off by {:.2g}, should be the sum of d_o", off));
  }

  void expect(double off, double allowed, std::string line) {
    if (off <= allowed) return;  // NaN is not
    lines_.push_back(fmt::format("identity broken in head {}: {}", head_, line));
  }

  View q_, k_, v_, d_o_;
  std::span<const double> d_lse_;
  View dq_, dk_, dv_;
  double dq_slack_, dk_slack_, dv_slack_;
  Index head_;
  std::vector<std::string> lines_;
};

double loss(const AttentionProblem& x) {
  const reference::Attention<double> forward = reference::attention(x.q, x.k, x.v, x.mask);
  double sum = dot(forward.o.values(), x.d_o.values());
  for (Index i = 0; i < forward.lse.size(); ++i) {
    if (std::isfinite(forward.lse[i])) sum += forward.lse[i] * x.d_lse[i];
  }
  return sum;
}

double largest(const Tensor64& x) {
  double most = 0;
  for (const double value : x.values()) most = std::max(most, std::abs(value));
  return most;
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

/// Six standard deviations: random signs turn an error into a number of mean 0 and deviation its norm.
double allowed_along_signs(const std::vector<double>& slack) {
  return 6 * norm(slack);
}

}  // namespace

GradientSlack slack_of(const Gradients64& expected, double dq, double dk, double dv) {
  const auto by_head = [](const Tensor64& x, double relative) {
    std::vector<double> slack(x.extent(0));
    for (Index head = 0; head < x.extent(0); ++head) {
      const double size = norm(flat(x.heads().head(head)));
      slack[head] = size == 0 ? 0 : relative * size;
    }
    return slack;
  };
  return {by_head(expected.dq, dq), by_head(expected.dk, dk), by_head(expected.dv, dv)};
}

std::vector<std::string> broken_identities(const AttentionProblem& problem, const Gradients64& gradients,
                                           const GradientSlack& slack) {
  const reference::Attention<double> forward =
      reference::attention(problem.q, problem.k, problem.v, problem.mask);
  std::vector<std::string> lines;
  for (Index head = 0; head < problem.q.extent(0); ++head) {
    for (std::string& line : Identities(problem, gradients, slack, head).broken(forward)) {
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

std::vector<std::string> broken_differences(const AttentionProblem& problem, const Gradients64& gradients,
                                            const GradientSlack& slack) {
  AttentionProblem x = problem;
  const double root_dim = std::sqrt(static_cast<double>(x.q.extent(2)));
  // No score moves by more than 1e-3: the third derivative then costs less than 1e-6, rounding far less.
  const auto step_against = [&](const Tensor64& other) {
    return 1e-3 / (root_dim * std::max(largest(other), 1e-3));
  };
  struct Variable {
    const char* name;
    Tensor64& value;
    const Tensor64& gradient;
    double step;
    double allowed;
  };
  const Variable variables[] = {
      {"dq", x.q, gradients.dq, step_against(x.k), allowed_along_signs(slack.dq)},
      {"dk", x.k, gradients.dk, step_against(x.q), allowed_along_signs(slack.dk)},
      {"dv", x.v, gradients.dv, 1, allowed_along_signs(slack.dv)}};  // the loss is linear in v
  const double rounding_of_loss = 1e-13 * (1 + std::abs(loss(problem)));
  std::vector<std::string> lines;
  for (const Variable& variable : variables) {
    const Tensor64 direction = random_signs(variable.value.shape(), variable.name);
    const double expected = central_difference(x, variable.value, direction, variable.step);
    const double given = dot(variable.gradient.values(), direction.values());
    const double rounding = rounding_of_loss / variable.step;
    if (std::abs(given - expected) <= variable.allowed + rounding) continue;  // NaN is not
    lines.push_back(
        fmt::format("central differences: {} along a random direction is {:.4g}, should be {:.4g}",
                    variable.name, given, expected));
  }
  return lines;
}

AnswerCheck passes_gradient_checks(std::function<AttentionProblem(const Example&)> problem) {
  return [problem = std::move(problem)](const Played& played) {
    const Answer& expected = played.expected;
    const Answer& answer = played.answer;
    const GradientSlack slack =
        slack_of({expected.at("dq"), expected.at("dk"), expected.at("dv")}, played.tolerance.at("dq"),
                 played.tolerance.at("dk"), played.tolerance.at("dv"));
    const Gradients64 given{answer.at("dq"), answer.at("dk"), answer.at("dv")};
    const AttentionProblem whole = problem(*played.example);
    std::vector<Finding> findings;
    for (std::string& line : broken_differences(whole, given, slack))
      findings.push_back({"", std::move(line)});
    for (std::string& line : broken_identities(whole, given, slack))
      findings.push_back({"", std::move(line)});
    return findings;
  };
}

}  // namespace course
