#include <string>

#include "player/position_lists.hpp"
#include "player/refusal.hpp"
#include "ulysses.hpp"

namespace {

using course::Call;
using course::Index;
using course::Tensor;
using lesson17::HeadRange;

/// The shares of all ranks, empty ranges as [0, 0), and what each rank sends to each.
void head_share(Call& call) {
  const Index heads = call.integer("heads"), kv_heads = call.integer("kv_heads");
  const std::vector<int> tokens = call.integers("shard_tokens");
  const int ranks = static_cast<int>(tokens.size());
  const auto output = [&](const char* name) -> std::span<float> {
    return call.output(name, {ranks}).values();
  };
  const auto first = output("first"), last = output("last"), kv_first = output("kv_first"),
             kv_last = output("kv_last");
  const auto traffic = call.output("traffic", {ranks, ranks + 1}).matrix();
  const auto write = [](Index from, Index to, float& first_head, float& last_head) {
    first_head = from == to ? 0.0f : static_cast<float>(from);
    last_head = from == to ? 0.0f : static_cast<float>(to);
  };
  course::call_or_refuse(call, [&] {
    for (int rank = 0; rank < ranks; ++rank) {
      const lesson17::HeadShare share = lesson17::head_share(heads, kv_heads, ranks, rank);
      write(share.first, share.last, first[rank], last[rank]);
      write(share.kv_first, share.kv_last, kv_first[rank], kv_last[rank]);
      course::write_list("ulysses_traffic",
                         lesson17::ulysses_traffic(tokens, heads, kv_heads, call.integer("head_dim"), rank),
                         traffic.row(rank));
    }
  });
}

/// Pairs of numbers, one a rank.
std::vector<HeadRange> ranges(const Call& call, const char* name) {
  const std::vector<int> ends = call.integers(name);
  std::vector<HeadRange> all;
  for (std::size_t i = 0; i + 1 < ends.size(); i += 2) all.push_back({ends[i], ends[i + 1]});
  return all;
}

int rank_of(const Call& call) {
  int rank = 0;
  MPI_Comm_rank(call.communicator<MPI_Comm>(), &rank);
  return rank;
}

/// How many heads this rank has by one of these arguments.
Index own_heads(const Call& call, const char* name) {
  const HeadRange own = ranges(call, name).at(rank_of(call));
  return own.last - own.first;
}

Index all_tokens(const Call& call) {
  return std::ssize(call.integers("positions"));
}

/// A case that is to be refused says what the output's heads and width are.
Index given_or(const Call& call, const char* argument, Index otherwise) {
  return call.is_given(argument) ? call.integer(argument) : otherwise;
}

void tokens_to_heads(Call& call) {
  const Tensor& x = call.input("x");
  const Index heads = given_or(call, "heads_given", own_heads(call, "heads_of"));
  const Index width = given_or(call, "width_given", x.extent(2));
  const auto y = call.output("y", {heads, all_tokens(call), width}).heads();
  course::call_or_refuse(call, [&] {
    lesson17::tokens_to_heads(x.heads(), ranges(call, "heads_of"), course::positions_by_rank(call), y,
                              call.communicator<MPI_Comm>());
  });
}

void heads_to_tokens(Call& call) {
  const Tensor& y = call.input("y");
  const Index tokens = call.integers("shard_tokens").at(rank_of(call));
  const Index heads = given_or(call, "heads_given", call.integer("heads")),
              width = given_or(call, "width_given", y.extent(2));
  const auto x = call.output("x", {heads, tokens, width}).heads();
  course::call_or_refuse(call, [&] {
    lesson17::heads_to_tokens(y.heads(), ranges(call, "heads_of"), course::positions_by_rank(call), x,
                              call.communicator<MPI_Comm>());
  });
}

/// Throws std::length_error where the function has kept another number of numbers.
void put(Call& call, const char* name, const std::vector<float>& numbers, const course::Shape& shape) {
  const Index expected = course::element_count(shape);
  if (std::ssize(numbers) != expected) {
    throw std::length_error(std::string(name) + " of the HeadShard has " + std::to_string(numbers.size()) +
                            " numbers, expected " + std::to_string(expected));
  }
  std::ranges::copy(numbers, call.output(std::string("kept_") + name, shape).data());
}

/// How many heads this rank has by the argument or, where a case does not say, by what was kept of them.
Index kept_heads(const Call& call, const char* argument, const std::vector<float>& kept, Index each) {
  return call.is_given(argument) ? own_heads(call, argument) : std::ssize(kept) / each;
}

void ulysses_attention(Call& call) {
  const Tensor &q = call.input("q"), &k = call.input("k");
  const lesson17::HeadShard kept = lesson17::ulysses_attention(
      q.heads(), k.heads(), call.input("v").heads(), call.output("o", q.shape()).heads(),
      call.output("lse", {q.extent(0), q.extent(1)}).matrix(), course::positions_by_rank(call),
      call.is_set("causal"), call.blocks().block_forward_of_mask(), call.communicator<MPI_Comm>());
  const Index n = all_tokens(call), d = q.extent(2);
  const Index own = kept_heads(call, "heads_of", kept.lse, n),
              own_kv = kept_heads(call, "kv_heads_of", kept.k, n * d);
  put(call, "q", kept.q, {own, n, d});
  put(call, "k", kept.k, {own_kv, n, d});
  put(call, "v", kept.v, {own_kv, n, d});
  put(call, "o", kept.o, {own, n, d});
  put(call, "lse", kept.lse, {own, n});
}

void ulysses_backward(Call& call) {
  const Tensor& d_o = call.input("d_o");
  const auto kept = [&](const char* name) { return call.input(name).values(); };
  const lesson17::HeadShard shard{kept("kept_q"), kept("kept_k"), kept("kept_v"), kept("kept_o"),
                                  kept("kept_lse")};
  const course::Shape of_keys{call.integer("kv_heads"), d_o.extent(1), d_o.extent(2)};
  lesson17::ulysses_backward(shard, d_o.heads(), call.output("dq", d_o.shape()).heads(),
                             call.output("dk", of_keys).heads(), call.output("dv", of_keys).heads(),
                             course::positions_by_rank(call), call.is_set("causal"),
                             call.blocks().block_backward_of_mask(), call.communicator<MPI_Comm>());
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"head_share", head_share},
                                       {"tokens_to_heads", tokens_to_heads},
                                       {"heads_to_tokens", heads_to_tokens},
                                       {"ulysses_attention", ulysses_attention},
                                       {"ulysses_backward", ulysses_backward}};
  return adapter;
}
