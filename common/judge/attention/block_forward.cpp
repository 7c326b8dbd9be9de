#include "judge/attention/block_forward.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/attention/forward.hpp"
#include "judge/numbers/dot.hpp"
#include "reference/reference.hpp"
#include "tensor/exponential.hpp"

namespace course::block_forward {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Index keys_of(const Example& example) {
  return example.inputs.at("k").extent(1);
}
Index head_dim_of(const Example& example) {
  return example.inputs.at("q").extent(2);
}

Answer answer_to(const Tensor64& q, const Tensor64& k, const Tensor64& v) {
  const reference::Attention<double> attention = reference::attention(q, k, v);
  return {{"o", attention.o}, {"lse", attention.lse}};
}

/// The answer when only keys first .. first + count - 1 are seen.
Answer answer_from_keys(const Example& example, Index first, Index count) {
  return answer_to(input(example, "q"), slice(input(example, "k"), 1, first, count),
                   slice(input(example, "v"), 1, first, count));
}

void multiply(Tensor64& tensor, double factor) {
  for (double& value : tensor.values()) value *= factor;
}

// Where the scale goes

/// The scores are q k^T times head_dim to this power, where -1/2 is right.
Answer with_scale(const Example& example, double power) {
  Tensor64 q = input(example, "q");
  multiply(q, std::pow(static_cast<double>(head_dim_of(example)), power + 0.5));
  return answer_to(q, input(example, "k"), input(example, "v"));
}

Answer without_scale(const Example& example) {
  return with_scale(example, 0);
}

Answer scale_on_output(const Example& example) {
  Answer wrong = without_scale(example);
  multiply(wrong["o"], 1 / std::sqrt(static_cast<double>(head_dim_of(example))));
  return wrong;
}

/// The weights are scaled before they are summed: the scale cancels in o and shifts lse.
Answer scale_on_weights(const Example& example) {
  Answer wrong = without_scale(example);
  for (double& lse : wrong["lse"].values()) lse -= 0.5 * std::log(static_cast<double>(head_dim_of(example)));
  return wrong;
}

// What is rescaled and divided, and when

/// What a sum over earlier blocks is multiplied by when a block is added to it.
enum class Rescale { Right, LeftOut, Twice, Inverted, InvertedOnceSeen, Dropped };

/// The loop over blocks with its steps as switches.
struct Loop {
  Rescale l = Rescale::Right;
  Rescale o = Rescale::Right;
  double start = -infinity;              ///< of the running maximum
  bool forgets_running_maximum = false;  ///< m becomes the block's own maximum
  bool without_maximum = false;          ///< m stays 0
  bool first_block_only = false;
  Index columns_at_once = 1;      ///< in the products of q and k; what is left over is left out
  bool k_from_first_row = false;  ///< every block reads K there
  bool v_from_first_row = false;  ///< every block reads V there
  bool divide_every_block = false;
  bool divide_at_end = true;
  bool divide_by_zero = false;  ///< where l is 0 and m is not -inf
  bool lse_without_m = false;
  bool lse_without_log = false;
  float (*exponential)(float) = std::exp;
};

double factor(Rescale rescale, double m_old, double m_new) {
  const auto exponential = [](double x) { return static_cast<double>(std::exp(static_cast<float>(x))); };
  switch (rescale) {
    case Rescale::Right:
      return exponential(m_old - m_new);
    case Rescale::LeftOut:
      return 1;
    case Rescale::Twice:
      return exponential(2 * (m_old - m_new));
    case Rescale::InvertedOnceSeen:
      if (m_old == -infinity) return 0;
      [[fallthrough]];
    case Rescale::Inverted:
      return exponential(m_new - m_old);
    default:
      return 0;
  }
}

/// Of k or v, the rows of a block.
MatrixView<const double> rows_of_block(MatrixView<const double> all, Index first, Index block,
                                       bool from_first_row) {
  return all.rows(from_first_row ? 0 : first, std::min(block, all.rows() - first));
}

/// One query of one head, k and v [keys, d]; o [d] is written, lse returned. Sums overflow where float32's
/// do.
double run_query(const Loop& loop, std::span<const double> q, MatrixView<const double> k,
                 MatrixView<const double> v, Index block, std::span<double> o) {
  double m = loop.start;
  double l = 0;
  std::ranges::fill(o, 0.0);
  for (Index first = 0; first < (loop.first_block_only ? std::min(block, k.rows()) : k.rows());
       first += block) {
    const MatrixView<const double> keys = rows_of_block(k, first, block, loop.k_from_first_row);
    const MatrixView<const double> values = rows_of_block(v, first, block, loop.v_from_first_row);
    std::vector<double> scores(keys.rows());
    const std::size_t columns = q.size() - q.size() % loop.columns_at_once;
    for (Index j = 0; j < keys.rows(); ++j)
      scores[j] =
          dot(q.first(columns), keys.row(j).first(columns)) / std::sqrt(static_cast<double>(q.size()));
    const double m_old = m;
    m = std::max(loop.forgets_running_maximum ? -infinity : m, std::ranges::max(scores));
    if (loop.without_maximum) m = 0;
    l *= factor(loop.l, m_old, m);
    for (double& value : o) value *= factor(loop.o, m_old, m);
    for (Index j = 0; j < keys.rows(); ++j) {
      const double p = loop.exponential(static_cast<float>(scores[j] - m));
      l += p;
      for (std::size_t c = 0; c < o.size(); ++c) o[c] += p * values(j, static_cast<Index>(c));
    }
    for (double& value : o) value /= loop.divide_every_block ? l : 1;
    l = static_cast<float>(l);
    for (double& value : o) value = static_cast<float>(value);
  }
  const bool divides = loop.divide_at_end && (l > 0 || (loop.divide_by_zero && m > -infinity));
  for (double& value : o) value /= divides ? l : 1;
  return (loop.lse_without_m ? 0 : m) + (loop.lse_without_log && l > 0 ? l : std::log(l));
}

Answer run(const Loop& loop, const Example& example) {
  const Tensor64 q = input(example, "q");
  const Tensor64 k = input(example, "k");
  const Tensor64 v = input(example, "v");
  Answer result{{"o", Tensor64(q.shape())}, {"lse", Tensor64({q.extent(0), q.extent(1)})}};
  for (Index head = 0; head < q.extent(0); ++head) {
    for (Index i = 0; i < q.extent(1); ++i) {
      result["lse"].matrix()(head, i) =
          run_query(loop, q.heads().head(head).row(i), k.heads().head(head), v.heads().head(head),
                    integer(example, "block"), result["o"].heads().head(head).row(i));
    }
  }
  return result;
}

/// Each block's own attention, added with weight 1, 1 / blocks or keys in the block / keys; the lse is right
/// or that of the last block.
enum class BlockWeight { One, Mean, ByKeys };

Answer blocks_normalised(const Example& example, BlockWeight weight, bool last_lse) {
  Answer wrong = attention_answer<double>(example);
  if (keys_of(example) == 0) return wrong;
  multiply(wrong["o"], 0);
  const Index block = integer(example, "block");
  const Index keys = keys_of(example);
  for (Index first = 0; first < keys; first += block) {
    const Index count = std::min(block, keys - first);
    const Answer part = answer_from_keys(example, first, count);
    double factor = 1;
    if (weight == BlockWeight::Mean) factor = 1 / static_cast<double>((keys + block - 1) / block);
    if (weight == BlockWeight::ByKeys) factor = static_cast<double>(count) / static_cast<double>(keys);
    for (Index i = 0; i < wrong["o"].size(); ++i) wrong["o"][i] += factor * part.at("o")[i];
    if (last_lse) wrong["lse"] = part.at("lse");
  }
  return wrong;
}

// The last block, and no block at all

/// `tensor` [heads, keys, d] with keys of zeros up to a multiple of `block`.
Tensor64 padded(const Tensor64& tensor, Index block) {
  const Index missing = (block - tensor.extent(1) % block) % block;
  return concatenate<double>({tensor, Tensor64({tensor.extent(0), missing, tensor.extent(2)})}, 1);
}

Answer ragged_block_padded(const Example& example) {
  return answer_to(input(example, "q"), padded(input(example, "k"), integer(example, "block")),
                   padded(input(example, "v"), integer(example, "block")));
}

Answer ragged_block_dropped(const Example& example) {
  const Index keys = keys_of(example);
  return answer_from_keys(example, 0, keys - keys % integer(example, "block"));
}

/// Where lse says that a query saw no key, the division of zero by zero stands in o.
Answer with_zero_by_zero(Answer wrong) {
  const Index head_dim = wrong["o"].extent(2);
  for (Index row = 0; row < wrong["lse"].size(); ++row) {
    if (wrong["lse"][row] != -infinity) continue;
    std::fill_n(wrong["o"].values().begin() + row * head_dim, head_dim, std::nan(""));
  }
  return wrong;
}

/// exp(-inf - (-inf)) on an empty block makes NaN of l and o both.
Answer empty_block_nan(const Example& example) {
  Answer wrong = with_zero_by_zero(attention_answer<double>(example));
  for (double& lse : wrong["lse"].values()) lse = lse == -infinity ? std::nan("") : lse;
  return wrong;
}

std::vector<WrongSteps<Loop>> wrong_loops() {
  using enum Rescale;
  std::vector<WrongSteps<Loop>> all{
      {"o_not_rescaled", {.o = LeftOut}},
      {"l_not_rescaled", {.l = LeftOut}},
      {"l_not_rescaled", {.l = LeftOut, .o = LeftOut}},
      {"overwritten_not_accumulated", {.o = Dropped}},
      {"rescale_by_block_maximum", {.forgets_running_maximum = true}},
      {"first_rows_every_block", {.k_from_first_row = true, .v_from_first_row = true}},
      {"first_rows_every_block", {.k_from_first_row = true}},
      {"first_rows_every_block", {.v_from_first_row = true}},
      {"divided_every_block", {.divide_every_block = true}},
      {"divided_every_block", {.divide_every_block = true, .divide_at_end = false}},
      {"final_division_missing", {.divide_at_end = false}},
      {"first_block_only", {.first_block_only = true}},
      {"rescaled_twice", {.o = Twice}},
      {"lse_without_log", {.lse_without_log = true}},
      {"lse_without_m", {.lse_without_m = true}}};
  for (float (*const exponential)(float) : {static_cast<float (*)(float)>(std::exp), course::exponential}) {
    for (const bool by_zero : {false, true}) {
      const Loop loop{.divide_by_zero = by_zero, .exponential = exponential};
      Loop from_zero = loop, no_maximum = loop, new_l = loop, new_l_and_o = loop;
      from_zero.start = 0;
      no_maximum.without_maximum = true;
      new_l.l = new_l_and_o.l = new_l_and_o.o = Dropped;
      all.insert(all.end(), {{"m_starts_at_zero", from_zero},
                             {"no_maximum", no_maximum},
                             {"overwritten_not_accumulated", new_l},
                             {"overwritten_not_accumulated", new_l_and_o}});
    }
  }
  for (const Index at_once : {2, 4, 8, 16})
    all.push_back({"columns_left_over", {.columns_at_once = at_once}});
  for (const Rescale inverted : {Inverted, InvertedOnceSeen})
    all.push_back({"rescale_inverted", {.l = inverted, .o = inverted}});
  return all;
}

std::vector<Mistake> known_mistakes() {
  const auto without_last_block = [](const Example& example) {
    return with_zero_by_zero(ragged_block_dropped(example));
  };
  const auto divided_by_zero = [](const Example& example) {
    return with_zero_by_zero(attention_answer<double>(example));
  };
  std::vector<Mistake> all = mistakes_of(run, wrong_loops());
  all.insert(all.end(),
             {{"scale_missing", without_scale},
              {"scale_is_one_over_d", [](const Example& example) { return with_scale(example, -1); }},
              {"scale_inverted", [](const Example& example) { return with_scale(example, 0.5); }},
              {"scale_after_softmax", scale_on_output},
              {"scale_after_softmax", scale_on_weights},
              {"ragged_block_padded", ragged_block_padded},
              {"ragged_block_dropped", ragged_block_dropped},
              {"ragged_block_dropped", without_last_block},
              {"no_keys_nan", empty_block_nan},
              {"no_keys_nan", divided_by_zero}});
  for (const BlockWeight weight : {BlockWeight::One, BlockWeight::Mean, BlockWeight::ByKeys}) {
    for (const bool last_lse : {false, true}) {
      all.push_back({"blocks_normalised", [weight, last_lse](const Example& example) {
                       return blocks_normalised(example, weight, last_lse);
                     }});
    }
  }
  return all;
}

}  // namespace

Example make_example(std::string what, QKV qkv, Index block) {
  return {std::move(what),
          {{"q", std::move(qkv.q)}, {"k", std::move(qkv.k)}, {"v", std::move(qkv.v)}},
          {{"block", {static_cast<double>(block)}}, {"empty_block", {0}}}};
}

std::vector<Example> examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](std::string what, QKV qkv, Index block) {
    all.push_back(make_example(std::move(what), std::move(qkv), block));
  };
  const Index keys = generator.integer(16, 40);
  const Index queries = keys + 3;
  // With a single key of padding that takes all the weight, lse would be log(1 + next to nothing), of which
  // float32 keeps no digit: that the last block is padded could not be recognised. Ragged blocks lack two.
  add("ordinary scores, a shorter last block", random_qkv(generator, 3, queries, keys, 8),
      ragged_block(generator, keys));
  add("a maximum that comes last", late_maximum_qkv(generator, 2, queries, keys, 5),
      ragged_block(generator, keys));
  add("scores more than 110 apart", wide_scores_qkv(generator, 2, queries, keys, 6),
      ragged_block(generator, keys));
  add("all scores near -20, a shorter last block", very_negative_qkv(generator, 2, 9, keys, 7, -20),
      ragged_block(generator, keys));
  // Here the blocks divide the keys: what padding leaves of o would be below float32's range, and exp's
  // choice.
  add("all scores near -150", very_negative_qkv(generator, 2, 9, 24, 7, -150), 6);
  add("all scores near -2e4", very_negative_qkv(generator, 1, 9, 30, 16, -2e4), 10);
  add("real q, k, v", minilm_qkv(generator.integer(0, 460), 50, two_real_heads(generator)),
      generator.integer(8, 16));
  add("real q, k, v with q doubled", minilm_qkv(generator.integer(0, 460), 50, two_real_heads(generator), 2),
      17);
  add("blocks of one key", random_qkv(generator, 2, 6, 11, 3), 1);
  add("blocks that divide the keys", random_qkv(generator, 2, 7, 24, 9), 8);
  add("a block larger than all keys", random_qkv(generator, 2, 8, 13, 5), 64);
  add("more queries than a tile is likely to hold", random_qkv(generator, 1, 300, 20, 4), 7);
  add("head_dim 1", random_qkv(generator, 2, 6, 15, 1), 4);
  add("one query", random_qkv(generator, 2, 1, 19, 4), 5);
  add("one key", random_qkv(generator, 2, 5, 1, 4), 3);
  add("no queries", random_qkv(generator, 2, 0, 6, 4), 4);
  add("no keys", random_qkv(generator, 2, 4, 0, 4), 4);
  add("a block without keys behind the others", random_qkv(generator, 2, 5, 12, 4), 5);
  all.back().arguments["empty_block"] = {1};
  return all;
}

std::vector<Example> with_a_long_one(InputGenerator& generator, int ranks) {
  std::vector<Example> all = examples(generator, ranks);
  all.push_back(make_example("1024 queries and 2048 keys", random_qkv(generator, 1, 1024, 2048, 4),
                             generator.integer(64, 100)));
  all.back().large = true;
  return all;
}

std::int64_t memory_limit(const Example& example) {
  const Index queries = example.inputs.at("q").extent(1);
  return (2 << 20) + 4 * 4 * queries * (head_dim_of(example) + integer(example, "block"));
}

Task task(std::string id, std::string function) {
  Task made = attention_task(std::move(id), std::move(function));
  made.examples = examples;
  made.mistakes = known_mistakes();
  made.mistakes_cancel = true;  // log l of one key is 0
  return made;
}

}  // namespace course::block_forward
