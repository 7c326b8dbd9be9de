#include "demo/demonstration.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "demo/exchange.hpp"
#include "protocol/errors.hpp"
#include "ring/shards.hpp"
#include "runner/launch_files.hpp"
#include "tensor/npy.hpp"
#include "text/text_file.hpp"
#include "timed/extents.hpp"
#include "timed/timed.hpp"

namespace course::demo {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t header_bytes = 4096;  ///< more than a .npy file's header takes

Case ring_case(const Demonstration& shown, const std::string& name, const std::string& function,
               const fs::path& library, const std::vector<std::string>& outputs) {
  Case made{{function, timed::ring_arguments(shown.layout())}};
  made.inputs.resize(static_cast<std::size_t>(shown.ranks));
  if (shown.is_packed()) timed::add_row(made, shown.row);
  // A ring on GPUs and an exchange have positions for every mask; the causal ring of cores needs no word.
  if (shown.causal() && (shown.backend != "mpi" || shown.is_exchange())) made.arguments["causal"] = {1};
  if (shown.is_exchange()) made.arguments["kv_heads"] = {static_cast<double>(shown.input.kv_heads())};
  for (const auto& [size, value] : shown.exchange_sizes) made.arguments[size] = {static_cast<double>(value)};
  const std::int64_t bytes = shown.input.q.size() * static_cast<std::int64_t>(sizeof(float));
  for (const std::string& output : outputs) made.outputs[output] = {bytes + header_bytes, 0};
  made.subject = library;
  made.name = name;
  return made;
}

/// Gives each rank of the case its shard, or has it take that from the case `holder`, which was given it.
void give(Case& to, const std::string& name, const Tensor& whole, const std::string& holder,
          const Layout& layout) {
  if (to.name != holder) {
    to.from[name] = holder;
    return;
  }
  for (int rank = 0; rank < layout.ranks(); ++rank)
    to.inputs[rank].emplace(name, layout.shard(whole, 1, rank));
}

/// When the first rank began and the last one ended: in their calls, or in a model's time, which has none, in
/// their spans.
std::pair<double, double> begin_and_end(const std::vector<RankRecord>& ranks, bool in_model) {
  double begin_s = std::numeric_limits<double>::max(), end_s = std::numeric_limits<double>::lowest();
  const auto enter = [&](const auto& time) {
    begin_s = std::min(begin_s, time.begin_s);
    end_s = std::max(end_s, time.end_s);
  };
  for (const RankRecord& rank : ranks) {
    if (in_model) {
      std::ranges::for_each(rank.trace.spans, enter);
    } else {
      enter(rank.call);
    }
  }
  return {begin_s, end_s};
}

/// Adds what a rank did later to what it did before.
void append(RankRecord& to, RankRecord later, double delay_s) {
  to.bytes_sent += later.bytes_sent;
  to.collective_bytes += later.collective_bytes;
  std::ranges::copy(later.call.blocks, std::back_inserter(to.call.blocks));
  std::ranges::move(later.facts, std::back_inserter(to.facts));
  for (Span& span : later.trace.spans) {
    span.begin_s += delay_s;
    span.end_s += delay_s;
    to.trace.spans.push_back(std::move(span));
  }
}

std::vector<RankRecord> one_after_the_other(std::vector<RankRecord> first, std::vector<RankRecord> second,
                                            bool in_model) {
  const double end_s = begin_and_end(first, in_model).second, begin_s = begin_and_end(second, in_model).first;
  for (std::size_t rank = 0; rank < first.size(); ++rank)
    append(first[rank], std::move(second[rank]), end_s - begin_s);
  return first;
}

/// What a ring is given that sends a latent: value_up and key_up whole.
void give_latent(Case& to, const Latent& given, const Layout& layout) {
  for (const auto& [name, tensor] :
       {std::pair{"q_nope", &given.q_nope}, {"q_rope", &given.q_rope}, {"latent", &given.latent}})
    give(to, name, *tensor, to.name, layout);
  for (auto& inputs : to.inputs) {
    inputs.emplace("key_up", given.key_up);
    inputs.emplace("value_up", given.value_up);
  }
}

/// A forward case of each ring and, with a gradient, a backward one, for the player in this order: each ring
/// goes back from its own o and lse, or from what its exchange has kept, and the first ring's cases hold what
/// all are given.
std::vector<Case> cases_of(const Demonstration& shown) {
  std::vector<Case> all;
  const Layout layout = shown.layout();
  const std::string first = shown.rings.front().name;
  if (shown.input.latent) {
    const timed::Code& ring = shown.rings.front().forward;
    give_latent(all.emplace_back(ring_case(shown, first, ring.ring, ring.library, {"o", "lse"})),
                *shown.input.latent, layout);
    return all;
  }
  const auto give_qkv = [&](Case& to) {
    give(to, "q", shown.input.q, first + "-forward", layout);
    give(to, "k", shown.input.k, first + "-forward", layout);
    give(to, "v", shown.input.v, first + "-forward", layout);
  };
  for (const Ring& ring : shown.rings) {
    const std::string forward = ring.name + "-forward", backward = ring.name + "-backward";
    give_qkv(
        all.emplace_back(ring_case(shown, forward, ring.forward.ring, ring.forward.library, {"o", "lse"})));
    if (!shown.backward) continue;
    Case& after = all.emplace_back(
        ring_case(shown, backward, ring.backward.ring_backward, ring.backward.library, {"dq", "dk", "dv"}));
    if (const std::vector<std::string> kept = kept_by(shown); !kept.empty()) {
      for (const std::string& name : kept) after.from[name] = forward;
    } else {
      give_qkv(after);
      after.from["o"] = after.from["lse"] = forward;
    }
    give(after, "d_o", *shown.input.d_o, first + "-backward", layout);
  }
  return all;
}

TimedPlay timed_play(const Demonstration& shown) {
  return {.rounds = shown.runs,
          .show_median = false,
          .block = shown.block.library,
          .block_backward = shown.block_backward.library};
}

/// By ring, from the outcomes of the cases.
std::vector<RingResult> answers_of(const Demonstration& shown, const std::vector<Outcome>& outcomes) {
  const Layout layout = shown.layout();
  std::vector<RingResult> all;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const bool backward = shown.backward && i % 2 == 1;
    RingResult& answer = backward ? all.back() : all.emplace_back();
    answer.name = shown.rings[all.size() - 1].name;
    for (const auto& [name, part] : outcomes[i].outputs.front()) {
      std::vector<Tensor> parts;
      for (const auto& outputs : outcomes[i].outputs) parts.push_back(outputs.at(name));
      answer.outputs[name] = layout.join(parts, 1);
    }
    std::vector<RankRecord> ranks = rank_records(outcomes[i]);
    answer.ranks = backward
                       ? one_after_the_other(std::move(answer.ranks), std::move(ranks), shown.simulated())
                       : std::move(ranks);
  }
  return all;
}

// ---- on this machine ----

/// The sizes of the longest block: of a ring a shard of every head, of an exchange all tokens of the heads
/// that a rank has.
timed::Extents longest_block(const Demonstration& shown) {
  if (shown.is_exchange())
    return {std::ranges::max(shares_of(shown).heads), shown.input.seq(), shown.input.head_dim()};
  return {shown.input.heads(), largest_shard(shown.layout().shard_tokens()), shown.input.head_dim()};
}

/// A minute, and what reading the input and the longest block take on a slow machine with as many ranks a
/// core as here.
double quiet_limit_s(const Demonstration& shown) {
  const double slow_flops = shown.simulated() ? 1e7 : 1e8;
  constexpr double slow_bytes = 2e7, quiet_s = 60, start_s = 1;
  const timed::Extents block = longest_block(shown);
  const double block_flops =
      shown.backward ? timed::backward_operations(block) : timed::forward_operations(block);
  const double ranks_a_core =
      std::max(1.0, shown.ranks / static_cast<double>(std::thread::hardware_concurrency()));
  return quiet_s + start_s * shown.ranks +
         3 * sizeof(float) * static_cast<double>(shown.input.q.size()) / slow_bytes +
         block_flops * ranks_a_core / slow_flops;
}

/// "[host:", which Open MPI puts before the process id and what it logs.
std::string log_prefix() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  const std::string host = name;
  return "[" + host.substr(0, host.find('.')) + ":";
}

/// Passes on what the ranks print, line by line. Open MPI's own log lines are kept back, and so is all that
/// comes once it explains, below a line of dashes, that the job has ended: the demo says that better.
class RankOutput {
 public:
  /// New lines go to stderr, below the progress line.
  void pass_on(const fs::path& printed, program::ProgressLine& progress) {
    std::ifstream file(printed, std::ios::binary);
    file.seekg(passed_);
    for (std::string line; std::getline(file, line) && !file.eof();) {
      passed_ += static_cast<std::streamoff>(line.size()) + 1;
      explaining_ |= line.starts_with("--------------------");
      if (explaining_ || line.starts_with(log_prefix_)) continue;
      progress.clear();
      fmt::print(stderr, "{}\n", line);
    }
  }

 private:
  const std::string log_prefix_ = log_prefix();
  std::streamoff passed_ = 0;
  bool explaining_ = false;
};

/// "blocking ring, forward: 2 blocks done", as rank 0 says.
std::string news(const Demonstration& shown, const std::vector<RankSnapshot>& ranks) {
  const auto begun = [](const RankSnapshot& rank) { return rank.case_index >= 0; };
  if (!std::ranges::all_of(ranks, begun)) return "starting " + timed::plural(shown.ranks, "rank");
  const auto played = static_cast<std::size_t>(ranks[0].case_index);
  const std::size_t passes = shown.backward ? 2 : 1;
  return fmt::format("{}, {}{}{}", called(shown.rings.at(played / passes).name),
                     played % passes == 0 ? "forward" : "backward", ranks[0].text.empty() ? "" : ": ",
                     ranks[0].text);
}

// ---- elsewhere ----

/// What the cases do not say, in this file beside them.
constexpr const char* about_file = "demo.json";

void make_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder) && !(fs::is_directory(folder) && fs::is_empty(folder)))
    throw UsageError(folder.string() + ": is not empty, expected an empty folder or a free name");
  fs::create_directories(folder, error);
  if (error) throw UsageError(folder.string() + ": cannot be made: " + error.message());
}

/// The layout of a row of so many tokens.
Layout layout_of(const Demonstration& shown, int tokens) {
  return shown.layout_name == "documents" ? Layout::documents(shown.row.starts, tokens, shown.ranks)
                                          : Layout::named(shown.layout_name, tokens, shown.ranks);
}

/// An input of all ranks of a case, whole.
Tensor joined_input(const fs::path& folder, const Layout& layout, const std::string& name) {
  std::vector<Tensor> parts;
  for (int rank = 0; rank < layout.ranks(); ++rank)
    parts.push_back(read_npy<float>(input_folder(folder, rank) / (name + ".npy")));
  return layout.join(parts, 1);
}

}  // namespace

Layout Demonstration::layout() const {
  return layout_of(*this, static_cast<int>(input.seq()));
}

std::string called(const std::string& ring) {
  return ring + (ring_kind(ring).is_exchange() ? " exchange" : " ring");
}

int worthwhile_runs(const Input& input) {
  constexpr double brief_operations = 1e9;
  // A latent's scores and values are as wide as it is.
  timed::Extents extents = input.extents();
  if (input.latent) extents.head_dim = input.latent->latent.extent(2);
  return timed::forward_operations(extents) < brief_operations ? 8 : 1;
}

std::vector<RingResult> play(const Demonstration& shown, program::ProgressLine& progress) {
  RankOutput output;
  LauncherOptions options;
  options.player = shown.player;
  options.quiet_limit_s = quiet_limit_s(shown);
  options.timed = timed_play(shown);
  options.on_look = [&](const LaunchView& view) {
    output.pass_on(view.printed, progress);
    progress.show(news(shown, view.ranks));
  };
  const std::vector<Outcome> outcomes = timed::play(cases_of(shown), options);
  progress.clear();
  return answers_of(shown, outcomes);
}

std::vector<std::string> prepare(const fs::path& folder, const Demonstration& shown) {
  make_folder(folder);
  std::vector<int> world_ranks(static_cast<std::size_t>(shown.ranks));
  std::iota(world_ranks.begin(), world_ranks.end(), 0);
  PlayerOptions options{.cases = {}, .timed = timed_play(shown)};
  for (const Case& one : cases_of(shown)) {
    options.cases.push_back({fs::absolute(folder) / one.name, one.subject});
    Launcher::write_case(options.cases.back().folder, one, world_ranks);
  }
  nlohmann::json about{{"shape", shown.input.shape},
                       {"input", shown.input.description},
                       {"ranks", shown.ranks},
                       {"layout", shown.layout_name},
                       {"exchange_sizes", shown.exchange_sizes},
                       {"backend", shown.backend},
                       {"runs", shown.runs},
                       {"mine", shown.mine},
                       {"backward", shown.backward},
                       {"starts", shown.row.starts},
                       {"window", shown.row.window},
                       {"causal", shown.causal()},
                       {"slopes", shown.row.bias.slopes},
                       {"sinks", shown.row.bias.sinks},
                       {"in_registers", shown.in_registers}};
  for (const Ring& ring : shown.rings) about["rings"].push_back(ring.name);
  write_text(folder / about_file, about.dump(1) + "\n");
  return player_arguments(options);
}

Demonstration read_prepared(const program::Checkout& checkout, const fs::path& folder) {
  const fs::path path = folder / about_file;
  if (!fs::is_regular_file(path))
    throw UsageError(path.string() + ": cannot be opened, expected a folder of --prepare");
  try {
    const nlohmann::json json = nlohmann::json::parse(read_text(path));
    Demonstration shown = with_rings(checkout, json.at("rings").get<std::vector<std::string>>(),
                                     {.backward = json.at("backward"),
                                      .mine = json.at("mine"),
                                      .in_registers = json.at("in_registers"),
                                      .row = {json.at("starts"),
                                              json.at("window"),
                                              json.at("causal"),
                                              {json.at("slopes"), json.at("sinks")}},
                                      .backend = json.at("backend"),
                                      .ranks = json.at("ranks"),
                                      .layout_name = json.at("layout"),
                                      .exchange_sizes = json.at("exchange_sizes")});
    json.at("shape").get_to(shown.input.shape);
    json.at("input").get_to(shown.input.description);
    json.at("runs").get_to(shown.runs);
    const std::string first = folder / shown.rings.at(0).name;
    const Layout layout = layout_of(shown, json.at("shape").end()[-2]);
    shown.input.q = joined_input(first + "-forward", layout, "q");
    shown.input.k = joined_input(first + "-forward", layout, "k");
    shown.input.v = joined_input(first + "-forward", layout, "v");
    if (shown.backward) shown.input.d_o = joined_input(first + "-backward", layout, "d_o");
    return shown;
  } catch (const std::exception& error) {
    throw UsageError(path.string() + ": is not what --prepare wrote: " + error.what());
  }
}

std::vector<RingResult> read_played(const fs::path& folder, const Demonstration& shown) {
  std::vector<Outcome> outcomes;
  for (const Case& one : cases_of(shown)) {
    try {
      outcomes.push_back(read_outcome({folder, one.name, geteuid()}, shown.ranks, one.outputs, true));
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(fmt::format("{}: {}; have its cases been played to the end?",
                                           (folder / one.name).string(), error.what()));
    }
  }
  return answers_of(shown, outcomes);
}

}  // namespace course::demo
