#include "timed/timed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "course/build/build.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/judging.hpp"
#include "gpu/simulator/host/model_time.hpp"
#include "protocol/errors.hpp"

namespace course::timed {

Code code_of(const program::Checkout& checkout, const LessonInfo& lesson, const std::string& subject) {
  const std::string target = program::subject_target(lesson, subject);
  return {lesson.id,           subject, target, checkout.build() / "lib" / (target + ".so"), lesson.ring,
          lesson.ring_backward};
}

void build(const program::Checkout& checkout, const std::string& what, const std::vector<Code>& codes,
           std::vector<std::string> targets) {
  for (const Code& code : codes) targets.push_back(code.target);
  require_built(program::build({checkout.root, checkout.build(), targets, what}), what);
}

Arguments ring_arguments(const Layout& layout) {
  Arguments told;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    told["shard_tokens"].push_back(layout.tokens(rank));
    std::ranges::copy(layout.positions(rank), std::back_inserter(told["positions"]));
  }
  return told;
}

Case generated_case(const std::string& function, const std::vector<int>& shard_tokens, Index heads,
                    Index head_dim) {
  Case made{{function, {{"shard_tokens", {shard_tokens.begin(), shard_tokens.end()}}}}};
  for (const int tokens : shard_tokens) {
    std::mt19937 generator(static_cast<unsigned>(made.ranks()) + 1);
    std::normal_distribution<float> normal;
    auto& shard = made.inputs.emplace_back();
    for (const char* name : {"q", "k", "v"}) {
      Tensor& tensor = shard.emplace(name, Shape{heads, tokens, head_dim}).first->second;
      for (float& value : tensor.values()) value = normal(generator);
    }
  }
  return made;
}

std::vector<Outcome> play(const std::vector<Case>& cases, LauncherOptions options) {
  using Ending = Outcome::Ending;
  if (options.player.empty()) options.player = {player_program(true)};
  options.mpi = true;
  std::vector<Outcome> outcomes = Launcher(std::move(options)).play(cases);
  for (const Outcome& outcome : outcomes) {
    if (outcome.ending == Ending::Finished || outcome.ending == Ending::NotPlayed) continue;
    throw std::runtime_error((outcome.ending == Ending::Deadlock ? "the ring is in a deadlock\n" : "") +
                             outcome.text);
  }
  return outcomes;
}

Call call_of(const Outcome& outcome) {
  const auto shown = static_cast<std::size_t>(outcome.timings.at(0).shown);
  const std::vector<double> seconds = slowest_seconds(outcome);
  return {"", seconds.at(shown), static_cast<int>(seconds.size()), rank_records(outcome)};
}

Page page_of_stdout() {
  return {std::min(program::columns(stdout, 100), 140), program::colour_on(stdout)};
}

std::string plural(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

double exposed_share(double seconds, double compute_s) {
  return compute_s > 0 ? seconds / compute_s - 1 : 0;
}

double computation_s(const std::vector<RankRecord>& ranks) {
  struct Host {
    int ranks = 0, cores = 0;
    std::vector<std::pair<double, int>> changes =
        {};  ///< when, and whether one more rank computes or one less
  };
  std::map<std::string, Host> hosts;
  for (const RankRecord& rank : ranks) {
    Host& host = hosts[rank.host_id];
    host.cores = std::min(++host.ranks, rank.cores);
    for (const Span& span : rank.trace.spans) {
      if (span.kind != Span::Kind::Compute) continue;
      host.changes.insert(host.changes.end(), {{span.begin_s, 1}, {span.end_s, -1}});
    }
  }
  double busy_s = 0;
  int cores = 0;
  for (auto& [name, host] : hosts) {
    std::ranges::sort(host.changes);
    cores += host.cores;
    int computing = 0;
    double since_s = 0;
    for (const auto& [now_s, change] : host.changes) {
      busy_s += std::min(computing, host.cores) * (now_s - since_s);
      since_s = now_s;
      computing += change;
    }
  }
  return cores > 0 ? busy_s / cores : 0;
}

std::vector<RankTrace> traces_of(const std::vector<RankRecord>& ranks, bool by_streams) {
  std::vector<RankTrace> all;
  for (const RankRecord& rank : ranks) {
    if (by_streams) {
      std::ranges::move(by_stream(rank.trace), std::back_inserter(all));
    } else {
      all.push_back(rank.trace);
    }
  }
  return all;
}

std::string model_text() {
  return fmt::format(
      "simulated GPUs: bars stand in the order that streams and events give, each as early as it may;\n"
      "their lengths are a model's, not a device's: {:g} ns for each access of a kernel to memory, {:g} ns "
      "for\n"
      "each byte that NCCL moves. Rank 2/1 is stream 1 of rank 2's GPU\n",
      1e9 * gpu::access_s, 1e9 * gpu::byte_s);
}

std::string model_note() {
  std::string note = model_text();
  std::ranges::replace(note, '\n', ' ');
  return note;
}

nlohmann::ordered_json per_rank_json(const std::vector<RankRecord>& ranks) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const RankRecord& rank : ranks) {
    all.push_back({{"rank", rank.trace.rank},
                   {"bytes_sent", rank.bytes_sent},
                   {"compute_s", total_s(rank.trace, Span::Kind::Compute)},
                   {"transfer_s", total_s(rank.trace, Span::Kind::Transfer)},
                   {"wait_s", total_s(rank.trace, Span::Kind::Wait)}});
  }
  return all;
}

}  // namespace course::timed
