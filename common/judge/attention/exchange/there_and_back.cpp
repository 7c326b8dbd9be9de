#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "judge/attention/exchange/examples.hpp"
#include "judge/attention/exchange/tasks.hpp"
#include "judge/attention/exchange/traffic.hpp"
#include "judge/attention/forward.hpp"
#include "judge/attention/layouts/layouts.hpp"
#include "judge/diagnosis/diagnose.hpp"
#include "judge/exact_task.hpp"
#include "judge/refusal.hpp"

namespace course::exchange {

namespace {

/// Numbers that say where they belong: head + token / 100 + col / 10000.
Tensor coded(Index heads, Index tokens, Index width) {
  Tensor x({heads, tokens, width});
  for (Index i = 0; i < x.size(); ++i) {
    const double head = static_cast<double>(i / (tokens * width)),
                 token = static_cast<double>(i / width % tokens);
    x[i] = static_cast<float>(head + token / 100 + static_cast<double>(i % width) / 10000);
  }
  return x;
}

/// "token 3 of head 2", by the first number of a row; empty where no token's row begins with it.
std::string place_of(double number, Index heads, Index tokens) {
  const double head = std::floor(number + 1e-5), token = std::floor((number - head) * 100 + 1e-3);
  const bool is_one = number >= 0 && head < static_cast<double>(heads) &&
                      token < static_cast<double>(tokens) && std::abs(head + token / 100 - number) < 1e-5;
  return is_one ? fmt::format("token {} of head {}", token, head) : "";
}

/// Where several ranks have a row's key heads, those are exchanged, else its query heads.
Index heads_exchanged(const Row& row) {
  return row.several_have_keys ? row.kv_heads : row.heads;
}

Ranges shares_exchanged(const Row& row) {
  const int ranks = row.layout.ranks();
  return row.several_have_keys ? key_shares(row.heads, row.kv_heads, ranks) : query_shares(row.heads, ranks);
}

Example exchange_example(const Row& row, const char* name, Tensor x) {
  Example example{row.what, {{name, std::move(x)}}, layouts::arguments_of(row.layout), row.layout};
  example.arguments[by_heads] = as_argument(shares_exchanged(row));
  example.less_telling = is_less_telling(row);
  return example;
}

/// On one rank, of 17 heads 2 wide: an output of other heads or of another width.
Example refused(const char* name, std::string what, double heads, double width, std::vector<double> numbers) {
  Example example = exchange_example({std::move(what), 17, 17, Layout({3})}, name, coded(17, 3, 2));
  for (const char* argument : {"heads_given", "heads"}) example.arguments[argument] = {heads};
  example.arguments["width_given"] = {width};
  return refusal::refusing(std::move(example), std::move(numbers));
}

/// On one rank: of a tensor of 17 heads the first 23.
Example out_of_range(const char* name) {
  const Index heads_given = name == std::string("x") ? 23 : 17;
  Example example = exchange_example({"a range of 23 heads where there are 17", 17, 17, Layout({3})}, name,
                                     coded(40 - heads_given, 3, 2));
  example.arguments[by_heads] = {0, 23};
  example.arguments["heads_given"] = {static_cast<double>(heads_given)};
  example.arguments["heads"] = {17};
  example.arguments["width_given"] = {2};
  return refusal::refusing(std::move(example), {17, 23});
}

void add_refused(std::vector<Example>& all, const char* name) {
  all.push_back(refused(name, "13 heads where there should be 17", 13, 2, {13, 17}));
  all.push_back(refused(name, "an output 29 wide of an input 2 wide", 17, 29, {2, 29}));
  all.push_back(out_of_range(name));
}

std::vector<Example> there(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  for (const Row& row : rows(generator, ranks))
    all.push_back(exchange_example(
        row, "x", coded(heads_exchanged(row), row.layout.tokens(), generator.integer(2, 5))));
  if (ranks == 1) add_refused(all, "x");
  return all;
}

/// Where several ranks have a head, each has numbers of its own for it. A head more is nobody's.
std::vector<Example> back(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  for (const Row& row : rows(generator, ranks)) {
    const Ranges ranges = shares_exchanged(row);
    Index held = 0;
    for (int rank = 0; rank < ranks; ++rank) held += ranges.count(rank);
    all.push_back(
        exchange_example(row, "y", generator.normal({held, row.layout.tokens(), generator.integer(2, 5)})));
    all.back().arguments["heads"] = {double(heads_exchanged(row) + (row.several_have_keys ? 1 : 0))};
  }
  if (ranks == 1) add_refused(all, "y");
  return all;
}

Answer gathered_heads(const Example& example) {
  const Tensor64 x = input(example, "x");
  if (refusal::is_refused(example))
    return {{"y", Tensor64({integer(example, "heads_given"), x.extent(1), integer(example, "width_given")})}};
  return {{"y", gathered(x, ranges_of(example, by_heads))}};
}

Answer summed_heads(const Example& example) {
  const Tensor64 y = input(example, "y");
  if (refusal::is_refused(example))
    return {{"x", Tensor64({integer(example, "heads"), y.extent(1), integer(example, "width_given")})}};
  Tensor64 x({integer(example, "heads"), y.extent(1), y.extent(2)});
  const Ranges ranges = ranges_of(example, by_heads);
  const Index size_of_head = y.extent(1) * y.extent(2);
  Index from = 0;
  for (int rank = 0; rank < ranges.ranks(); ++rank) {
    for (Index i = ranges.first[rank] * size_of_head; i < ranges.last[rank] * size_of_head; ++i)
      x[i] += y[from++];
  }
  return {{"x", std::move(x)}};
}

/// "the first wrong row holds token 3 of head 0; it should hold token 4 of head 1"
std::string what_came(const Played& played) {
  const auto found = played.answer.find("y");
  if (found == played.answer.end()) return "";
  const Tensor64 &y = found->second, &expected = played.expected.at("y");
  const Tensor& x = played.example->inputs.at("x");
  for (Index i = 0; i < y.size(); i += y.extent(2)) {
    if (y[i] == expected[i]) continue;
    // What was never filled may be 0, too.
    const std::string found_there =
        y[i] == 0 ? "token 0 of head 0, or zeros" : place_of(y[i], x.extent(0), x.extent(1));
    const std::string belongs_there = place_of(expected[i], x.extent(0), x.extent(1));
    if (found_there.empty() || belongs_there.empty()) return "";
    return fmt::format("the first wrong row holds {}; it should hold {}", found_there, belongs_there);
  }
  return "";
}

}  // namespace

Task there_task(std::string id, std::string function) {
  Task task = refusal::with_refusals_of_ranks(exact_task(
      std::move(id), std::move(function),
      {{.name = "y", .axes = {"head", "row", "col"}, .layout = layout_of(by_heads)}}, there, gathered_heads));
  task.communication_checks = exchange_checks(padded_parts([](const Example& example) {
    return std::vector<Exchange>{{by_heads, example.inputs.at("x").extent(2)}};
  }));
  task.split_axis = {{"x", 1}};
  task.explain = what_came;
  return task;
}

Task back_task(std::string id, std::string function) {
  Task task = refusal::with_refusals_of_ranks(
      exact_task(std::move(id), std::move(function), {{"x", {"head", "row", "col"}, 1}}, back, summed_heads));
  task.communication_checks = exchange_checks(padded_parts([](const Example& example) {
    return std::vector<Exchange>{{by_heads, example.inputs.at("y").extent(2), true}};
  }));
  task.split_axis = {{"y", 0}};
  task.split_layout = {{"y", layout_of(by_heads)}};
  return task;
}

}  // namespace course::exchange
