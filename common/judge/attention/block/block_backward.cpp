#include "judge/attention/block/block_backward.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <set>

#include "judge/attention/backward.hpp"
#include "judge/attention/block/block_backward_steps.hpp"
#include "judge/attention/block/tile_ranges.hpp"
#include "judge/attention/forward.hpp"
#include "judge/attention/taken_inputs.hpp"
#include "judge/numbers/dot.hpp"
#include "judge/numbers/origin.hpp"
#include "judge/numbers/rounding.hpp"
#include "protocol/fact_kinds.hpp"

namespace course::block_backward {

namespace {

/// What an output holds that nobody has cleared.
const double uncleared = never_written();

/// How the softmax's own gradient goes wrong.
const std::vector<WrongSteps<Steps>> of_rows{{"d_left_out", {.delta = Delta::LeftOut}},
                                             {"d_left_out", {.delta = Delta::LeftOut, .d_lse = 0}},
                                             {"d_is_a_mean", {.delta = Delta::Mean}},
                                             {"d_of_one_column", {.delta = Delta::FirstColumn}},
                                             {"diagonal_only", {.diagonal = true}},
                                             {"diagonal_only", {.d_lse = 0, .diagonal = true}},
                                             {"d_lse_left_out", {.d_lse = 0}},
                                             {"d_lse_subtracted", {.d_lse = -1}},
                                             {"d_added", {.delta = Delta::Added}},
                                             {"d_added", {.delta = Delta::Added, .d_lse = -1}},
                                             {"d_unweighted", {.delta = Delta::Unweighted}},
                                             {"d_lse_outside", {.d_lse_outside = true}}};

/// What a block's gradients can show.
const std::vector<WrongSteps<Steps>> of_blocks{
    {"d_left_out", {.delta = Delta::LeftOut, .d_lse = 0}},
    {"d_added", {.delta = Delta::Added, .d_lse = -1}},
    {"d_from_one_block", {.delta = Delta::OfBlock, .d_lse = 0}},
    {"d_from_block_softmax", {.delta = Delta::OfBlockSoftmax, .d_lse = 0}},
    {"dp_from_k", {.dp_from_k = true}},
    {"dp_scaled", {.dp_scales = 1}},
    {"dp_scaled", {.dp_scales = 1, .dq_scales = 0, .dk_scales = 0}},
    {"dv_from_ds", {.dv_factor = DvFactor::ScoreGradients}},
    {"dv_from_ds", {.dv_factor = DvFactor::ScaledScoreGradients}},
    {"dq_unscaled", {.dq_scales = 0}},
    {"dk_unscaled", {.dk_scales = 0}},
    {"dq_and_dk_unscaled", {.dq_scales = 0, .dk_scales = 0}},
    {"scaled_twice", {.dq_scales = 2, .dk_scales = 2}},
    {"scaled_twice", {.dq_scales = 2}},
    {"scaled_twice", {.dk_scales = 2}},
    {"not_transposed", {.dv_transposed = true}},
    {"not_transposed", {.dk_transposed = true}},
    {"not_transposed", {.dv_transposed = true, .dk_transposed = true}},
    {"weights_not_normalised", {.weights = Weights::BlockMaximum}},
    {"weights_not_normalised", {.weights = Weights::RowMaximum}},
    {"masked_row_nan", {.weights = Weights::NanInMaskedRow}},
    {"hidden_times_zero", {.hidden_times_zero = true}},
    {"hidden_times_zero", {.weights = Weights::NanInMaskedRow, .hidden_times_zero = true}},
    {"mask_ignored", {.weights = Weights::NothingHidden}},
    {"mask_ignored", {.weights = Weights::MaskedRowsToo}},
    {"mask_ignored", {.weights = Weights::FirstIgnored}},
    {"mask_off_by_one", {.weights = Weights::OneKeyLess}},
    {"mask_off_by_one", {.weights = Weights::OneKeyMore}},
    {"ds_from_scores", {.ds_from_scores = true}},
    {"mask_off_by_one", {.weights = Weights::FirstKeyLess}},
    {"mask_off_by_one", {.weights = Weights::OneKeyLessOfAll}},
    {"mask_off_by_one", {.weights = Weights::OneKeyMoreOfAll}},
    {"q_and_k_swapped", {.dq_from_q = true}},
    {"q_and_k_swapped", {.dk_from_k = true}},
    {"q_and_k_swapped", {.dq_from_q = true, .dk_from_k = true}},
    {"dq_overwritten", {.dq_overwritten = true}},
    {"hidden_score_zero", {.weights = Weights::HiddenScoresZero}},
    {"hidden_score_zero", {.weights = Weights::HiddenScoresZeroIfNotAll}}};

/// What only the whole backward pass can do wrong.
const std::vector<WrongSteps<Steps>> of_the_whole{
    {"d_left_out", {.delta = Delta::LeftOut}},
    {"d_added", {.delta = Delta::Added}},
    {"d_from_one_block", {.delta = Delta::OfBlock}},
    {"d_from_block_softmax", {.delta = Delta::OfBlockSoftmax}},
    {"d_is_a_mean", {.delta = Delta::Mean}},
    {"d_of_one_column", {.delta = Delta::FirstColumn}},
    {"d_lse_left_out", {.d_lse = 0}},
    {"d_lse_subtracted", {.d_lse = -1}},
    {"root_of_queries", {.root_of_queries = true}},
    {"visible_not_shifted", {.weights = Weights::CountedPerBlock}},
    {"visible_less_block_number", {.weights = Weights::LessBlockNumber}},
    {"gradients_in_first_rows", {.dk_in_first_rows = true, .dv_in_first_rows = true}},
    {"gradients_in_first_rows", {.dk_in_first_rows = true}},
    {"gradients_in_first_rows", {.dv_in_first_rows = true}},
    {"ragged_block_dropped", {.dropped = {.keys_of_dq = true, .keys_of_dk_dv = true}}},
    {"ragged_block_dropped",
     {.dropped = {.keys_of_dq = true, .keys_of_dk_dv = true}, .ragged_fill = uncleared}},
    {"sums_not_cleared", {.dq_start = uncleared, .dk_dv_start = uncleared}},
    {"sums_not_cleared", {.dq_start = uncleared}},
    {"sums_not_cleared", {.dk_dv_start = uncleared}}};

/// What a block's gradients can show that are made a tile at a time.
std::vector<WrongSteps<Steps>> of_tiles(Index tile) {
  std::vector<WrongSteps<Steps>> all{
      {"d_from_one_block", {.delta = Delta::OfBlock, .d_lse = 0, .tile = tile}},
      {"d_from_block_softmax", {.delta = Delta::OfBlockSoftmax, .d_lse = 0, .tile = tile}},
      {"weights_not_normalised", {.weights = Weights::BlockMaximum, .tile = tile}},
      {"padding_seen", {.tile = tile, .padding_seen = true}},
      {"not_transposed", {.tile = tile, .dv_transposed = true}},
      {"not_transposed", {.tile = tile, .dk_transposed = true}},
      {"not_transposed", {.tile = tile, .dv_transposed = true, .dk_transposed = true}},
      {"dq_transposed", {.tile = tile, .dq_transposed = true}}};
  for (const Dropped& dropped : {Dropped{.keys_of_dq = true}, Dropped{.queries_of_dk_dv = true},
                                 Dropped{.keys_of_dq = true, .queries_of_dk_dv = true},
                                 Dropped{.queries_of_dq = true, .queries_of_dk_dv = true}})
    all.push_back({"ragged_tile_dropped", {.tile = tile, .dropped = dropped}});
  return all;
}

/// Each wrong walk three times: along keys alone, along queries alone, along both.
std::vector<WrongSteps<Steps>> wrong_walks(Index tile) {
  std::vector<WrongSteps<Steps>> all;
  for (const auto& [mistake, walk] : {std::pair{"added_every_tile", Walk::AddsEveryTile},
                                      {"added_every_tile", Walk::AddsEverySeenTile},
                                      {"walk_ended_early", Walk::EndsAtUnseenTile},
                                      {"walk_ended_early", Walk::EndsBehindSeenTiles}}) {
    all.insert(all.end(), {{mistake, {.tile = tile, .along_keys = walk}},
                           {mistake, {.tile = tile, .along_queries = walk}},
                           {mistake, {.tile = tile, .along_keys = walk, .along_queries = walk}}});
  }
  return all;
}

/// ds by the Jacobian itself, written down row by row: J_jk = p_j (delta_jk - p_k).
template <class T>
Answer by_the_jacobian(const Example& example) {
  const TensorOf<T> p = input<T>(example, "p"), dp = input<T>(example, "dp");
  const TensorOf<T> d_lse = input<T>(example, "d_lse");
  TensorOf<T> ds(p.shape());
  for (Index i = 0; i < p.extent(0); ++i) {
    for (Index j = 0; j < p.extent(1); ++j) {
      T sum = p.matrix()(i, j) * d_lse[i];
      for (Index k = 0; k < p.extent(1); ++k)
        sum += p.matrix()(i, j) * (T(j == k) - p.matrix()(i, k)) * dp.matrix()(i, k);
      ds.matrix()(i, j) = sum;
    }
  }
  return {{"ds", cast<double>(ds)}};
}

Answer rounding_of_rows(const Example& example) {
  return rounding::softmax_gradient(input(example, "p"), input(example, "dp"), input(example, "d_lse"));
}

/// Whether some query's count of keys, from the first key of a block on, is negative or more than the block
/// has.
bool has_counts_beyond_a_block(const Example& example) {
  const Index queries = example.inputs.at("q").extent(1), keys = example.inputs.at("k").extent(1);
  const Index block = integer(example, "block");
  const reference::Mask mask = mask_of(example);
  for (Index i = 0; i < queries; ++i) {
    const Index visible = std::min(mask.keys(i).last, keys);
    for (Index first = 0; first < keys; first += block) {
      if (visible < first || visible - first > std::min(block, keys - first)) return true;
    }
  }
  return false;
}

/// What a view of one block throws that is asked for a key outside the block.
bool left_a_block(const Example& example, const Fact& told) {
  if (told.kind != fact_outside_view || told.has(mark_head) || !has_counts_beyond_a_block(example))
    return false;
  const Index keys = example.inputs.at("k").extent(1), block = integer(example, "block");
  return told.extent > 0 && (told.extent == block || told.extent == keys % block);
}

/// The mask of an example, where no query sees more than the last one; of the last block that this one sees
/// others see the whole, if `whole_blocks`.
reference::Mask up_to_the_last_query(const Example& example, bool whole_blocks) {
  const reference::Mask mask = mask_of(example);
  const Index queries = example.inputs.at("q").extent(1), block = integer(example, "block");
  if (queries == 0) return mask;
  Index end = mask.keys(queries - 1).last;
  if (whole_blocks) end = (end + block - 1) / block * block;
  return mask & reference::Mask::ranges(std::vector<KeyRange>(static_cast<std::size_t>(queries), {0, end}));
}

/// How far p (dp - D + d_lse) of a row is off, where D alone may be wrong.
struct RowError {
  double delta;  ///< by how much D is too large, by least squares
  double rest;   ///< the norm of what that leaves
};

RowError row_error(std::span<const double> p, std::span<const double> answer,
                   std::span<const double> expected) {
  std::vector<double> off(p.size());
  std::ranges::transform(expected, answer, off.begin(), std::minus{});
  const double squares = dot<double>(p, p);
  const double delta = squares > 0 ? dot<double>(p, off) / squares : 0;
  add_scaled<double>(off, -delta, p);
  return {delta, std::sqrt(dot<double>(off, off))};
}

/// "every row of ds is as if ...: in row 7 it is -2.37, should be 0.51", where one wrong number a row
/// explains all of an answer; else empty.
std::string of_one_number_a_row(const Played& played) {
  const Tensor64 p = input(*played.example, "p"), dp = input(*played.example, "dp");
  const Tensor64 &answer = played.answer.at("ds"), &expected = played.expected.at("ds");
  Index worst = -1;
  double delta = 0;
  for (Index i = 0; i < p.extent(0); ++i) {
    const std::span<const double> weights = p.matrix().row(i), right = expected.matrix().row(i);
    const RowError error = row_error(weights, answer.matrix().row(i), right);
    const double size = std::sqrt(dot<double>(right, right)) + std::abs(error.delta);
    if (!(error.rest <= 1e-5 * size)) return "";
    // Any two entries of a row have such a number, or nearly so.
    const auto counts = [](double weight) { return weight > 1e-2; };
    if (std::ranges::count_if(weights, counts) < 3 || std::abs(error.delta) <= std::abs(delta)) continue;
    worst = i;
    delta = error.delta;
  }
  if (worst < 0 || std::abs(delta) < 1e-3) return "";
  const double right = dot<double>(p.matrix().row(worst), dp.matrix().row(worst));
  return fmt::format(
      "every row of ds is p (dp - D + d_lse) with a D of its own that is wrong: in row {} D is "
      "{:.6g}, should be {:.6g}",
      worst, right + delta, right);
}

AttentionProblem problem(const Example& example) {
  return problem_of(example, input(example, "d_lse"), mask_of(example));
}

template <class T>
Answer by_steps(const Steps& steps, const Example& example) {
  return gradients<T>(steps, example, mask_of(example));
}

std::vector<KeyRange> ranges_of(const Example& example) {
  const reference::Mask mask = mask_of(example);
  std::vector<KeyRange> own;
  for (Index i = 0; i < example.inputs.at("q").extent(1); ++i) own.push_back(mask.keys(i));
  return own;
}

Tiling tiling_of(const Example& example, Index tile) {
  return {integer(example, "query_block"), tile, integer(example, "block"), tile};
}

Answer gradients_seen(const Example& example, std::vector<KeyRange> seen) {
  return gradients<double>({}, example, reference::Mask::ranges(std::move(seen)));
}

/// The gradients of a kernel with tiles of so many queries and keys that asks one query of a tile which tiles
/// of keys to go through; of two kernels that differ, `outputs` are of the one that does.
std::vector<Mistake> tiles_of_one_query(Index tile, const std::set<std::string>& outputs) {
  std::vector<Mistake> all;
  for (const Leader leader : {Leader::First, Leader::Last, Leader::Both}) {
    all.push_back({"tiles_of_one_query", [=](const Example& example) {
                     const Index keys = example.inputs.at("k").extent(1);
                     Answer answer = by_steps<double>({}, example);
                     Answer wrong = gradients_seen(example, seen_in_tiles_of(leader, tiling_of(example, tile),
                                                                             ranges_of(example), keys));
                     for (const std::string& name : outputs) answer[name] = std::move(wrong.at(name));
                     return answer;
                   }});
  }
  return all;
}

/// What a query that should see `own` sees of the tiles that its tile of queries goes through.
using Seen = std::function<KeyRange(KeyRange own, KeyRange tiles)>;

/// The range with its ends moved by so many keys.
Seen moved(Index of_first, Index of_last) {
  return [=](KeyRange own, KeyRange tiles) {
    return KeyRange{std::max(own.first + of_first, tiles.first), std::min(own.last + of_last, tiles.last)};
  };
}

/// The gradients of a kernel that leaves out the tiles that no query of a tile sees, and masks wrongly within
/// those that some query sees.
std::vector<Mistake> masked_wrongly(Index tile) {
  const auto whole_tiles = [](KeyRange own, KeyRange tiles) {
    return own.first < own.last ? tiles : KeyRange{0, 0};
  };
  const auto from_the_first_key = [](KeyRange own, KeyRange tiles) {
    return KeyRange{tiles.first, own.last};
  };
  const std::pair<const char*, Seen> wrong[] = {
      {"mask_ignored", whole_tiles},    {"mask_ignored", from_the_first_key},
      {"mask_off_by_one", moved(0, 1)}, {"mask_off_by_one", moved(0, -1)},
      {"mask_off_by_one", moved(1, 0)}, {"mask_off_by_one", moved(-1, 0)}};
  std::vector<Mistake> all;
  for (const auto& [mistake, seen] : wrong) {
    all.push_back({mistake, [tile, seen = seen](const Example& example) {
                     const Index keys = example.inputs.at("k").extent(1);
                     std::vector<KeyRange> ranges = ranges_of(example);
                     const std::vector<KeyRange> tiles = tiles_seen(tiling_of(example, tile), ranges, keys);
                     std::ranges::transform(ranges, tiles, ranges.begin(), seen);
                     return gradients_seen(example, std::move(ranges));
                   }});
  }
  return all;
}

/// The gradients that come of `changed` when delta, made of o, d_o and d_lse, stays as it was.
Answer with_right_delta(const Example& changed) {
  Example kept = changed;
  const Tensor &o = kept.inputs.at("o"), &d_o = kept.inputs.at("d_o");
  Tensor& d_lse = kept.inputs.at("d_lse");
  for (Index row = 0; row < d_lse.size(); ++row) {
    double delta = 0;
    for (Index i = row * o.extent(2); i < (row + 1) * o.extent(2); ++i)
      delta += static_cast<double>(o[i]) * d_o[i];
    d_lse[row] = static_cast<float>(delta - kept.inputs.at("delta")[row]);
  }
  return by_steps<double>({}, kept);
}

/// Whether exp(a q k - b lse) stays in float32's range, and far from its ends.
bool weights_are_finite(const Example& example, double a, double b) {
  const Tensor64 q = input(example, "q"), k = input(example, "k"), lse = input(example, "lse");
  for (Index head = 0; head < q.extent(0); ++head) {
    const Tensor64 scores = times_transposed<double>(a, q.heads().head(head), k.heads().head(head));
    for (Index i = 0; i < q.extent(1); ++i) {
      for (const double score : scores.matrix().row(i)) {
        if (std::isfinite(lse.matrix()(head, i)) && score - b * lse.matrix()(head, i) > 60) return false;
      }
    }
  }
  return true;
}

/// The gradients of such weights; of what overflows, anything.
Mistake of_other_exponents(const char* mistake, Weights weights) {
  return {mistake, [weights](const Example& example) -> std::optional<Answer> {
            const double scale = 1 / std::sqrt(static_cast<double>(example.inputs.at("q").extent(2)));
            const bool finite = weights == Weights::UnscaledScores ? weights_are_finite(example, 1, 1)
                                : weights == Weights::LseScaled
                                    ? weights_are_finite(example, scale, scale)
                                    : weights_are_finite(example, scale, std::numbers::ln2);
            if (!finite) return std::nullopt;
            return by_steps<double>({.weights = weights}, example);
          }};
}

Task attention_task(std::string id, std::string function,
                    const std::vector<WrongSteps<Steps>>& beside_blocks) {
  Task made = gradients_task(std::move(id), std::move(function), problem);
  made.examples = examples;
  // From the lse and o that the student is given: float32 rounds an lse of 100 by 4e-6, and all weights of
  // that row with it. The reference, which makes its own softmax, would not have that error.
  made.baseline = [](const Example& example) { return by_steps<float>({}, example); };
  made.mistakes = mistakes_of<Steps>(by_steps<double>, of_blocks);
  std::ranges::move(mistakes_of<Steps>(by_steps<double>, beside_blocks), std::back_inserter(made.mistakes));
  made.mistakes.push_back(of_other_exponents("scores_unscaled", Weights::UnscaledScores));
  for (const Weights weights : {Weights::LseScaled, Weights::LseNotInBase2})
    made.mistakes.push_back(of_other_exponents("lse_in_other_units", weights));
  made.words = {
      {"scores_unscaled",
       "every answer is as if the scores that the weights are made of were not divided by sqrt(head_dim), "
       "and "
       "those of lse were"},
      {"lse_in_other_units",
       "every answer is as if lse were multiplied by 1/sqrt(head_dim), or by log(2), before it is "
       "subtracted"},
      {"hidden_score_zero",
       "every answer is as if a hidden key had the score 0 and so the weight exp(-lse); its weight is 0"}};
  const Exchanges exchanges{{{"k", "v"}, {"q", "o", "d_o"}}, {"q", "k", "v", "o", "d_o", "lse"}};
  made.readings = inputs_taken_wrongly(exchanges, with_right_delta, "; delta is right");
  std::ranges::move(
      inputs_taken_wrongly(exchanges, [](const Example& example) { return by_steps<double>({}, example); }),
      std::back_inserter(made.readings));
  return made;
}

}  // namespace

std::int64_t memory_limit(const Example& example) {
  const Index block = integer(example, "block");
  const Tensor& q = example.inputs.at("q");
  return (2 << 20) + 4 * 4 * (q.extent(1) + block) * (q.extent(2) + block);
}

Task rows_task(std::string id, std::string function) {
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {{"ds", {"row", "col"}}},
          .examples = rows_examples,
          .expected = by_the_jacobian<double>,
          .baseline = by_the_jacobian<float>,
          .rounding = rounding_of_rows,
          .mistakes = mistakes_of<Steps>(row_gradients, of_rows),
          .of_family = true,
          .largest_tolerance = largest_gradient_tolerance,
          .explain = of_one_number_a_row};
}

Task block_task(std::string id, std::string function, std::span<const Index> tiles) {
  std::vector<WrongSteps<Steps>> beside_blocks{{"dk_dv_overwritten", {.dk_dv_overwritten = true}}};
  for (const Index tile : tiles) {
    std::ranges::move(of_tiles(tile), std::back_inserter(beside_blocks));
    std::ranges::move(wrong_walks(tile), std::back_inserter(beside_blocks));
  }
  Task made = attention_task(std::move(id), std::move(function), beside_blocks);
  for (const Index tile : tiles) {
    for (const std::set<std::string>& outputs :
         {std::set<std::string>{"dq", "dk", "dv"}, {"dq"}, {"dk", "dv"}})
      std::ranges::move(tiles_of_one_query(tile, outputs), std::back_inserter(made.mistakes));
    std::ranges::move(masked_wrongly(tile), std::back_inserter(made.mistakes));
  }
  return made;
}

Task whole_task(std::string id, std::string function) {
  Task made = attention_task(std::move(id), std::move(function), of_the_whole);
  const auto right = [](const Example& example) { return by_steps<double>({}, example); };
  made.mistakes.push_back({"visible_unclamped", right, left_a_block});
  for (const bool whole_blocks : {true, false}) {
    made.mistakes.push_back({"last_query_decides", [whole_blocks](const Example& example) {
                               return gradients<double>({}, example,
                                                        up_to_the_last_query(example, whole_blocks));
                             }});
  }
  return made;
}

}  // namespace course::block_backward
