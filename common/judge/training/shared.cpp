#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "judge/attention/forward.hpp"
#include "judge/checks/traffic_checks.hpp"
#include "judge/diagnosis/diagnose.hpp"
#include "judge/training/training.hpp"
#include "ring/shards.hpp"

namespace course::training {

Arguments arguments_of(const ModelShape& shape) {
  const auto number = [](Index value) { return std::vector<double>{static_cast<double>(value)}; };
  return {{"vocabulary", number(shape.vocabulary)},
          {"hidden", number(shape.hidden)},
          {"heads", number(shape.heads)},
          {"layers", number(shape.layers)},
          {"ffn", number(shape.ffn)}};
}

ModelShape shape_of(const Example& example) {
  return {integer(example, "vocabulary"), integer(example, "hidden"), integer(example, "heads"),
          integer(example, "layers"), integer(example, "ffn")};
}

Arguments arguments_of(const AdamOptions& options) {
  // As it is read: 1e-8, and not what the float is.
  const auto number = [](float value) { return std::vector<double>{std::stod(fmt::format("{}", value))}; };
  return {{"beta1", number(options.beta1)},
          {"beta2", number(options.beta2)},
          {"epsilon", number(options.epsilon)},
          {"decay", number(options.decay)},
          {"clip", number(options.clip)}};
}

AdamOptions adam_options_of(const Example& example) {
  const auto number = [&](const char* name) {
    return static_cast<float>(example.arguments.at(name).front());
  };
  return {number("beta1"), number("beta2"), number("epsilon"), number("decay"), number("clip")};
}

Tensor words(InputGenerator& generator, Index bytes, Index vocabulary) {
  constexpr int known = 6;
  std::vector<std::vector<int>> all(known);
  for (std::vector<int>& word : all) {
    word.resize(static_cast<std::size_t>(generator.integer(3, 7)));
    for (int& byte : word) byte = generator.integer(0, static_cast<int>(vocabulary) - 1);
  }
  Tensor text({bytes});
  for (Index at = 0; at < bytes;) {
    for (const int byte : all[static_cast<std::size_t>(generator.integer(0, known - 1))])
      if (at < bytes) text[at++] = static_cast<float>(byte);
  }
  return text;
}

Tensor any_weights(InputGenerator& generator, const ModelShape& shape) {
  Tensor weights({weight_count(shape)});
  const std::vector<float> begun = initial_weights(shape, 1);
  for (Index i = 0; i < weights.size(); ++i)
    weights[i] = begun[static_cast<std::size_t>(i)] + static_cast<float>(0.3 * generator.normal());
  return weights;
}

std::vector<Index> whole_numbers(const Tensor& x) {
  return {x.values().begin(), x.values().end()};
}

Tensor64 on_each_rank(const Example& example, const std::vector<double>& row) {
  const Tensor64 one({1, std::ssize(row)}, row);
  return concatenate(std::vector<Tensor64>(static_cast<std::size_t>(example.ranks()), one), 0);
}

std::string wrong_parts(const ModelShape& shape, const Tensor64& answer, const Tensor64& expected,
                        double tolerance) {
  std::string parts;
  Index first = 0, right = 0;
  const auto look = [&](const std::string& name, Index size) {
    double off = 0, whole = 0;
    for (Index i = first; i < first + size; ++i) {
      off += std::pow(answer[i] - expected[i], 2);
      whole += std::pow(expected[i], 2);
    }
    first += size;
    if (std::sqrt(off) <= tolerance * std::sqrt(whole))
      ++right;
    else  // NaN, too
      parts += (parts.empty() ? "in " : ", ") + name;
  };
  look("embedding", shape.vocabulary * shape.hidden);
  for (Index layer = 0; layer < shape.layers; ++layer) {
    const std::string of = fmt::format("layer {}'s ", layer);
    look(of + "norm1", shape.hidden);
    for (const char* heads : {"wq", "wk", "wv", "wo"}) look(of + heads, shape.hidden * shape.hidden);
    look(of + "norm2", shape.hidden);
    for (const char* matrix : {"w_up", "w_down"}) look(of + matrix, shape.ffn * shape.hidden);
  }
  look("final_norm", shape.hidden);
  look("head", shape.vocabulary * shape.hidden);
  return right > 0 || parts.empty() ? parts : "in every part of the model";
}

AnswerCheck is_the_same_on_all_ranks(std::vector<std::string> outputs) {
  return [outputs = std::move(outputs)](const Played& played) {
    std::vector<Finding> findings;
    for (const std::string& name : outputs) {
      const Tensor64& given = played.answer.at(name);
      const Index width = given.size() / given.extent(0);
      for (Index i = width; i < given.size(); ++i) {
        if (std::bit_cast<std::uint64_t>(given[i]) == std::bit_cast<std::uint64_t>(given[i % width]))
          continue;
        findings.push_back(
            {"", fmt::format("rank {} has {:.9g} where rank 0 has {:.9g}, in {} at {}: what ranks hold must "
                             "be the same to the last bit",
                             i / width, given[i], given[i % width], name, i % width)});
        break;
      }
    }
    return findings;
  };
}

std::int64_t bytes_of_attention(const Example& example, Index forward, Index backward) {
  const ModelShape shape = shape_of(example);
  const std::int64_t hop = 2 * shape.hidden * static_cast<std::int64_t>(sizeof(float)) *
                           largest_shard(example.layout.shard_tokens());
  return shape.layers * hop *
         (forward * checks::forward_hops(example.ranks()) +
          backward * checks::backward_hops(example.ranks()));
}

std::vector<CommunicationCheck> sends_at_most(std::function<std::int64_t(const Example&, int rank)> bytes) {
  using namespace checks;
  return {first_of({without_fact(fact_world, ""), sends_in_all_at_most(std::move(bytes), "")}),
          uses_only_known_calls(), stays_in_its_memory(), completes_its_requests(""),
          frees_what_it_makes("")};
}

}  // namespace course::training
