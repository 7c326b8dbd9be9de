#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "../common/sitting.hpp"

namespace course {

namespace {

/// What of a wrong answer's findings is told in the README of lesson 06: which identities are broken, by
/// their number there, and which gradients disagree with central differences.
using Kinds = std::set<std::string>;

std::string kind_of(const std::string& line) {
  const std::pair<const char*, const char*> words[] = {
      {"the sum of dk", "1"},   {"the sum of dv", "2"},   {"<dq, q>", "3"},        {"<dv, v>", "4"},
      {"differences: dq", "q"}, {"differences: dk", "k"}, {"differences: dv", "v"}};
  for (const auto& [part, kind] : words) {
    if (line.find(part) != std::string::npos) return kind;
  }
  return line;
}

Kinds broken(const Task& task, const Played& played) {
  Kinds kinds;
  for (const Finding& finding : task.answer_checks.front()(played)) {
    if (finding.text.starts_with("no identity holds")) return {"1", "2", "3", "4", "k", "q", "v"};
    kinds.insert(kind_of(finding.text));
  }
  return kinds;
}

std::string joined(const Kinds& kinds) {
  std::string text;
  for (const std::string& kind : kinds) text += kind;
  return text;
}

bool lse_counts(const Example& example) {
  return std::ranges::any_of(example.inputs.at("d_lse").values(), [](float value) { return value != 0; });
}

/// Rounding errors of such an answer exceed the right gradients, so identities say nothing of it. In it
/// hidden scores far above the others have weights.
bool is_huge(const Answer& answer) {
  return std::ranges::any_of(answer, [](const auto& output) {
    return std::ranges::any_of(output.second.values(), [](double value) { return std::abs(value) > 1e8; });
  });
}

/// What the checks see of each mistake of a task on any example, by the mistake's id; apart where lse has a
/// gradient, of which the first identity knows.
struct Seen {
  std::map<std::string, Kinds> without_d_lse, with_d_lse;
};

Seen seen_by_checks(const Task& task) {
  Seen seen;
  InputGenerator generator(1);
  for (const Example& example : task.examples(generator, 1)) {
    if (example.large) continue;
    for (const Mistake& mistake : task.mistakes) {
      const std::optional<Answer> answer = mistake.answer(example);
      if (!answer || is_huge(*answer)) continue;
      const Outcome outcome = returned(*answer);
      const Played played = compare(task, example, task.expected(example), outcome);
      const Kinds kinds = broken(task, played);
      const bool right = is_right(played);
      EXPECT_EQ(kinds.empty(), right) << mistake.id << " on " << example.what << ": " << joined(kinds);
      (lse_counts(example) ? seen.with_d_lse : seen.without_d_lse)[mistake.id].insert(kinds.begin(),
                                                                                      kinds.end());
    }
  }
  return seen;
}

using Table = std::map<std::string, std::string>;

Table as_text(const std::map<std::string, Kinds>& all) {
  Table table;
  for (const auto& [id, kinds] : all) table[id] = joined(kinds);
  return table;
}

/// The table in the lesson's README. What the reference calls wrong, differences or identities do, too.
TEST(Lesson06Checks, SeeOfEachMistakeWhatTheReadmeSays) {
  const Seen seen = seen_by_checks(lesson_judge().tasks.at(2));
  EXPECT_EQ(as_text(seen.without_d_lse), (Table{{"d_added", "1kq"},
                                                {"d_from_block_softmax", "kq"},
                                                {"d_from_one_block", "1kq"},
                                                {"d_is_a_mean", "1kq"},
                                                {"d_left_out", "1kq"},
                                                {"d_lse_left_out", ""},
                                                {"d_lse_subtracted", ""},
                                                {"d_of_one_column", "1kq"},
                                                {"dk_unscaled", "3k"},
                                                {"dp_from_k", "1kq"},
                                                {"dp_scaled", "1kq"},
                                                {"dq_and_dk_unscaled", "kq"},
                                                {"dq_overwritten", "3q"},
                                                {"dq_unscaled", "3q"},
                                                {"ds_from_scores", "1kq"},
                                                {"dv_from_ds", "24v"},
                                                {"gradients_in_first_rows", "34kv"},
                                                {"hidden_score_zero", "124kqv"},
                                                {"hidden_times_zero", "1234kqv"},
                                                {"last_query_decides", "124kqv"},
                                                {"lse_in_other_units", "24kqv"},
                                                {"mask_ignored", "124kqv"},
                                                {"mask_off_by_one", "124kqv"},
                                                {"masked_row_nan", ""},
                                                {"not_transposed", "1234kv"},
                                                {"q_and_k_swapped", "13kq"},
                                                {"ragged_block_dropped", "1234kqv"},
                                                {"root_of_queries", "124kqv"},
                                                {"scaled_twice", "3kq"},
                                                {"scores_unscaled", "1234kqv"},
                                                {"sums_not_cleared", "1234kqv"},
                                                {"visible_less_block_number", "124kqv"},
                                                {"visible_not_shifted", "124kqv"},
                                                {"visible_unclamped", ""},
                                                {"weights_not_normalised", "124kqv"}}));
  EXPECT_EQ(as_text(seen.with_d_lse), (Table{{"d_added", "1kq"},
                                             {"d_from_block_softmax", "1kq"},
                                             {"d_from_one_block", "1kq"},
                                             {"d_is_a_mean", "1kq"},
                                             {"d_left_out", "1kq"},
                                             {"d_lse_left_out", "1kq"},
                                             {"d_lse_subtracted", "1kq"},
                                             {"d_of_one_column", "1kq"},
                                             {"dk_unscaled", "13k"},
                                             {"dp_from_k", "1kq"},
                                             {"dp_scaled", "1kq"},
                                             {"dq_and_dk_unscaled", "1kq"},
                                             {"dq_overwritten", "3q"},
                                             {"dq_unscaled", "3q"},
                                             {"ds_from_scores", "1kq"},
                                             {"dv_from_ds", "24v"},
                                             {"gradients_in_first_rows", "34kv"},
                                             {"hidden_score_zero", "124kqv"},
                                             {"hidden_times_zero", "1234kqv"},
                                             {"last_query_decides", ""},
                                             {"lse_in_other_units", "124kqv"},
                                             {"mask_ignored", "124kqv"},
                                             {"mask_off_by_one", "124kqv"},
                                             {"masked_row_nan", "1234kqv"},
                                             {"not_transposed", ""},
                                             {"q_and_k_swapped", "13kq"},
                                             {"ragged_block_dropped", "1234kqv"},
                                             {"root_of_queries", "124kqv"},
                                             {"scaled_twice", "13kq"},
                                             {"scores_unscaled", "124kqv"},
                                             {"sums_not_cleared", "1234kqv"},
                                             {"visible_less_block_number", "124kqv"},
                                             {"visible_not_shifted", "124kqv"},
                                             {"visible_unclamped", ""},
                                             {"weights_not_normalised", "124kqv"}}));
}

}  // namespace

}  // namespace course
