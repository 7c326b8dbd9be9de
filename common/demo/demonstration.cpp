#include "demo/demonstration.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "ring/shards.hpp"

namespace course::demo {

namespace {

using Tensors = std::map<std::string, Tensor>;

constexpr std::int64_t header_bytes = 4096;  ///< more than a .npy file's header takes

std::string forward_name(const RingKind& ring) {
  return std::string(ring.name) + "-forward";
}

std::string backward_name(const RingKind& ring) {
  return std::string(ring.name) + "-backward";
}

Case ring_case(const Demonstration& shown, std::string name, std::string_view function,
               const std::filesystem::path& library, const std::vector<std::string>& outputs) {
  const std::vector<int> tokens = shown.shard_tokens();
  Case made{{std::string(function), {{"shard_tokens", {tokens.begin(), tokens.end()}}}}};
  made.inputs.resize(tokens.size());
  const std::int64_t bytes = shown.input.q.size() * static_cast<std::int64_t>(sizeof(float));
  for (const std::string& output : outputs) made.outputs[output] = {bytes + header_bytes, 0};
  made.subject = library;
  made.name = std::move(name);
  return made;
}

/// Gives each rank of the case its shard.
void hand_out(Case& to, const std::string& name, const Tensor& whole, const std::vector<int>& shard_tokens) {
  const std::vector<int> offsets = shard_offsets(shard_tokens);
  for (std::size_t rank = 0; rank < shard_tokens.size(); ++rank)
    to.inputs[rank].emplace(name, slice(whole, 1, offsets[rank], shard_tokens[rank]));
}

/// The ranks' parts joined along the sequence.
Tensor joined(const Outcome& outcome, const std::string& name) {
  std::vector<Tensor> parts;
  for (const Tensors& outputs : outcome.outputs) parts.push_back(outputs.at(name));
  return concatenate(parts, 1);
}

/// Adds what a rank did later to what it did before.
void append(RankRecord& to, RankRecord later, double delay_s) {
  to.bytes_sent += later.bytes_sent;
  to.collective_bytes += later.collective_bytes;
  std::ranges::move(later.facts, std::back_inserter(to.facts));
  for (Span& span : later.trace.spans)
    to.trace.spans.push_back(
        {span.kind, span.begin_s + delay_s, span.end_s + delay_s, std::move(span.label)});
}

std::vector<RankRecord> one_after_the_other(std::vector<RankRecord> first, std::vector<RankRecord> second) {
  double end_s = std::numeric_limits<double>::lowest();
  double begin_s = std::numeric_limits<double>::max();
  for (const RankRecord& rank : first) end_s = std::max(end_s, rank.call.end_s);
  for (const RankRecord& rank : second) begin_s = std::min(begin_s, rank.call.begin_s);
  for (std::size_t rank = 0; rank < first.size(); ++rank)
    append(first[rank], std::move(second[rank]), end_s - begin_s);
  return first;
}

}  // namespace

std::vector<int> Demonstration::shard_tokens() const {
  return even_shards(static_cast<int>(input.seq()), ranks);
}

int worthwhile_runs(const Input& input) {
  constexpr double brief_operations = 1e9;
  const double rows = static_cast<double>(input.seq());
  return 4 * static_cast<double>(input.heads() * input.head_dim()) * rows * rows < brief_operations ? 8 : 1;
}

std::vector<Case> cases_of(const Demonstration& shown, const Libraries& libraries) {
  std::vector<Case> all;
  const RingKind& first = shown.rings.front();
  const std::map<std::string, std::string> given{
      {"q", forward_name(first)}, {"k", forward_name(first)}, {"v", forward_name(first)}};
  for (const RingKind& ring : shown.rings) {
    const bool is_first = all.empty();
    Case& forward = all.emplace_back(
        ring_case(shown, forward_name(ring), ring.function, libraries.*ring.library, {"o", "lse"}));
    if (is_first) {
      hand_out(forward, "q", shown.input.q, shown.shard_tokens());
      hand_out(forward, "k", shown.input.k, shown.shard_tokens());
      hand_out(forward, "v", shown.input.v, shown.shard_tokens());
    } else {
      forward.from = given;
    }
    if (!shown.backward()) continue;
    Case& backward = all.emplace_back(ring_case(shown, backward_name(ring), ring.backward_function,
                                                libraries.*ring.backward_library, {"dq", "dk", "dv"}));
    backward.from = given;
    backward.from["o"] = backward.from["lse"] = forward_name(ring);
    if (is_first) {
      hand_out(backward, "d_o", *shown.input.d_o, shown.shard_tokens());
    } else {
      backward.from["d_o"] = backward_name(first);
    }
  }
  return all;
}

TimedPlay timed_play(const Demonstration& shown, const Libraries& libraries) {
  TimedPlay timed{.rounds = shown.runs, .show_median = false, .block = libraries.block, .block_backward = {}};
  if (shown.backward()) timed.block_backward = libraries.block_backward;
  return timed;
}

std::string pass_name(const Demonstration& shown, std::size_t which_case) {
  const std::size_t passes = shown.backward() ? 2 : 1;
  return std::string(shown.rings.at(which_case / passes).name) + " ring, " +
         (which_case % passes == 0 ? "forward" : "backward");
}

std::vector<RingAnswer> answers_of(const Demonstration& shown, std::vector<Outcome> outcomes) {
  std::vector<RingAnswer> all;
  auto next = outcomes.begin();
  for (std::size_t ring = 0; ring < shown.rings.size(); ++ring) {
    RingAnswer& answer = all.emplace_back();
    const Outcome forward = std::move(*next++);
    answer.o = joined(forward, "o");
    answer.lse = joined(forward, "lse");
    answer.ranks = rank_records(forward);
    if (!shown.backward()) continue;
    const Outcome backward = std::move(*next++);
    answer.dq = joined(backward, "dq");
    answer.dk = joined(backward, "dk");
    answer.dv = joined(backward, "dv");
    answer.ranks = one_after_the_other(std::move(answer.ranks), rank_records(backward));
  }
  return all;
}

}  // namespace course::demo
