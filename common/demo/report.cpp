#include "demo/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "demo/exchange.hpp"
#include "demo/load.hpp"
#include "demo/tables.hpp"
#include "text/text_file.hpp"
#include "timed/output_folder.hpp"
#include "trace/timeline.hpp"

namespace course::demo {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using program::Colour;
using program::fitted;
using program::painted;
using timed::plural;
using timeline::format_duration;
using timeline::format_percent;

std::string capital(std::string text) {
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

/// "ring attention", or "ulysses attention".
std::string attention(const RunResult& run) {
  return (run.shown.is_exchange() ? run.shown.rings.front().name : "ring") + " attention";
}

/// How many ranks each host has.
std::map<std::string, int> hosts_of(const RunResult& run) {
  std::map<std::string, int> ranks_on;
  for (const RankRecord& rank : run.rings.front().ranks) ++ranks_on[rank.host_id];
  return ranks_on;
}

/// Whether some host has more ranks than cores.
bool share_cores(const RunResult& run) {
  const std::map<std::string, int> ranks_on = hosts_of(run);
  return std::ranges::any_of(run.rings.front().ranks,
                             [&](const RankRecord& rank) { return ranks_on.at(rank.host_id) > rank.cores; });
}

/// What each ring's ranks did, under "blocking ring: 12.3 ms".
std::vector<Timeline> timelines(const RunResult& run) {
  std::vector<Timeline> all;
  for (const RingResult& ring : run.rings) {
    all.push_back({fmt::format("{}: {}", called(ring.name), format_duration(slowest_s(ring))),
                   timed::traces_of(ring.ranks, run.shown.simulated())});
  }
  return all;
}

/// What the pictures can show here and what they cannot, in one line; empty where nothing is to be said.
std::string timeline_note(const RunResult& run) {
  if (run.shown.simulated()) return timed::model_note();
  if (run.rings.size() == 1) return "";
  if (const std::size_t hosts = hosts_of(run).size(); hosts > 1)
    return fmt::format("On {} hosts only the transfers between hosts cost what can be hidden", hosts);
  return fmt::format("{} transfers are nearly free; what overlap saves: ./course lab slow-network",
                     share_cores(run) ? "Ranks share cores, and" : "On one host");
}

std::string under_timelines(const RunResult& run) {
  if (run.shown.simulated()) return timed::model_text();
  const std::string note = timeline_note(run);
  return note.empty() ? "" : note + "\n";
}

/// With the bound of contiguous shards, which long ones come near.
std::string load_note(const RunResult& run) {
  const std::string bound =
      run.shown.layout_name == "contiguous"
          ? fmt::format(" (scores: at most 2 - 1/P = {:.2f})", 2 - 1.0 / run.shown.ranks)
          : "";
  return painted("scores: of one head; all of equal share: every step waits for its slowest rank" + bound,
                 Colour::Grey) +
         "\n";
}

/// "5 of 8 ranks have no heads", "5 heads are uneven shares: 2 to 3 a rank", or nothing.
std::string uneven_shares(const RunResult& run) {
  const ExchangeShares shares = shares_of(run.shown);
  const auto [least, most] = std::ranges::minmax(shares.heads);
  if (const int idle = shares.idle_ranks(); idle > 0)
    return fmt::format("{} of {} ranks {} no heads\n", idle, run.shown.ranks, idle == 1 ? "has" : "have");
  if (least == most) return "";
  return fmt::format("{} heads are uneven shares: {} to {} a rank\n", run.shown.input.heads(), least, most);
}

/// Who has nothing to compute, and what the table's bytes are.
std::string exchange_note(const RunResult& run) {
  return uneven_shares(run) +
         painted(
             "bytes: what a rank sends on each way; ring: what it would send in a ring, every block all the "
             "way round",
             Colour::Grey) +
         "\n";
}

// ---- text ----

/// " with simulated GPUs", or nothing where ranks compute on cores.
std::string gpus(const RunResult& run) {
  return run.shown.simulated() ? " with simulated GPUs" : run.shown.on_device() ? " with CUDA devices" : "";
}

/// "4 MPI ranks on one host with 2 cores".
std::string where(const RunResult& run) {
  const std::vector<RankRecord>& ranks = run.rings.front().ranks;
  const std::string how_many = plural(run.shown.ranks, "MPI rank") + gpus(run);
  if (const std::size_t hosts = hosts_of(run).size(); hosts > 1)
    return fmt::format("{} on {} hosts", how_many, hosts);
  return fmt::format("{} on one host with {}", how_many, plural(ranks[0].cores, "core"));
}

/// "04 (blocks) and 05 (ring), 06 and 07 (the same backward)".
std::string lessons(const RunResult& run) {
  std::vector<std::string> forward, backward;
  if (run.shown.backend == "mpi") {
    forward.push_back(run.shown.block.lesson + " (blocks)");
    backward.push_back(run.shown.block_backward.lesson);
  }
  const std::string kind = run.shown.is_exchange() ? "exchange" : "ring";
  for (const Ring& ring : run.shown.rings) {
    forward.push_back(
        fmt::format("{} ({})", ring.forward.lesson, run.rings.size() == 1 ? kind : called(ring.name)));
    backward.push_back(ring.backward.lesson);
  }
  return listed(forward) + (run.shown.backward ? ", " + listed(backward) + " (the same backward)" : "");
}

/// "each ring's fastest of 8 runs"
std::string times(const RunResult& run) {
  return fmt::format("{} fastest of {} runs", run.rings.size() == 1 ? "the" : "each ring's", run.shown.runs);
}

/// "2 x 12 heads of 512 tokens": what the axes of a shape were taken for.
std::string in_words(const Input& input) {
  const std::string of_tokens = " of " + plural(input.seq(), "token");
  const bool shared = input.kv_heads() < input.heads();
  const std::string of_keys = shared ? fmt::format(" ({} of keys)", input.kv_heads()) : "";
  if (input.shape.size() < 4) return plural(input.heads(), "head") + of_keys + of_tokens;
  const std::string of_batch = shared ? fmt::format(" ({} of keys)", input.kv_heads() / input.batches()) : "";
  return fmt::format("{} x {}{}{}", input.batches(), plural(input.shape[1], "head"), of_batch, of_tokens);
}

/// "zigzag shards"
std::string shards(const RunResult& run) {
  return run.shown.layout_name == "documents" ? "each document in zigzag" : run.shown.layout_name + " shards";
}

std::string heading(const RunResult& run) {
  std::string row = demo::in_words(run.shown.row, run.shown.input.seq());
  if (const std::string sizes = sizes_in_words(run.shown); !sizes.empty())
    row += std::string(row.empty() ? "" : ", ") + sizes;
  if (run.shown.in_registers)
    row += std::string(row.empty() ? "" : ", ") + "blocks of lesson " + run.shown.block.lesson;
  return painted(fmt::format("{}, forward{}, {}causal, {}: {}{}", capital(attention(run)),
                             run.shown.backward ? " and backward" : "", run.shown.causal() ? "" : "not ",
                             shards(run), where(run), run.shown.mine ? ", your own code" : ""),
                 Colour::Bold) +
         fmt::format("\n{}, {}{}: {}\n", to_string(run.shown.input.shape), in_words(run.shown.input),
                     row.empty() ? "" : "; " + row, run.shown.input.description);
}

/// What is under a table of times.
std::string what_times_are(const RunResult& run) {
  if (run.shown.simulated())
    return "simulated GPUs: the answer is computed, the time is a model's, which shows order and no speed";
  if (run.shown.on_device())
    return "time: of the whole call, with copies to the device and the start of NCCL, whose bytes nobody "
           "counts";
  return fmt::format("exposed: time beyond that of computing, as a share of it{}",
                     share_cores(run) ? "; on shared cores mostly waiting for a turn" : "");
}

/// What the heading leaves out.
std::string details(const RunResult& run) {
  std::string text = fmt::format("  code   {} lessons {}\n  times  ",
                                 run.shown.mine ? "your own" : "the solutions of", lessons(run));
  if (run.shown.backend != "mpi") return text + what_times_are(run) + "\n\n";
  if (run.shown.runs > 1) text += times(run) + (run.rings.size() == 1 ? "; " : ", in turns; ");
  text += fmt::format("a transfer includes waiting for the {}\n",
                      run.shown.is_exchange() ? "others" : "neighbour");
  if (share_cores(run)) {
    text +=
        "         more ranks than cores (mpirun oversubscribes): ranks take turns, and most of a transfer or "
        "wait is such waiting\n";
  }
  return text + "\n";
}

/// "Blocking ring", over what is that ring's alone; nothing where there is no other.
std::string ring_heading(const RunResult& run, const RingResult& ring) {
  if (run.rings.size() == 1) return "";
  return painted(capital(called(ring.name)), Colour::Bold) + "\n";
}

std::string tables(const RunResult& run) {
  std::string text;
  for (const RingResult& ring : run.rings) {
    const std::span outputs(ring.comparison.outputs);
    text += ring_heading(run, ring) + time_table(run, ring.ranks) + "\n" +
            error_table(run, outputs.first(2)) + "\n";
    if (!run.shown.backward) continue;
    text += error_table(run, outputs.subspan(2)) +
            painted("relative: of that rank's part of one head, which may itself be next to nothing",
                    Colour::Grey) +
            "\n\n";
  }
  return text;
}

/// What was compared, the same of every ring: "every query row".
std::string coverage(const Comparison& compared) {
  std::string text =
      compared.rows == compared.seq
          ? "every query row"
          : fmt::format("{} of {} query rows of each head, evenly spread", compared.rows, compared.seq);
  if (compared.gradient_heads < compared.heads)
    text += fmt::format(", and in the gradients of {} of {} heads", compared.gradient_heads, compared.heads);
  return text;
}

/// "Right in every query row, compared with float64 attention (Eigen); times: the fastest of 8 runs"
std::string conclusion(const RunResult& run) {
  const Comparison& first = run.rings.front().comparison;
  std::vector<std::string> wrong;
  for (const RingResult& ring : run.rings) {
    std::vector<std::string> outputs;
    for (const OutputComparison& output : ring.comparison.outputs) {
      if (!output.right()) outputs.push_back(output.name);
    }
    if (!outputs.empty()) wrong.push_back(fmt::format("{} of the {}", listed(outputs), called(ring.name)));
  }
  std::string text = wrong.empty() ? painted("Right", Colour::Green) + " in "
                                   : painted("WRONG", Colour::Red) + ": " + listed(wrong) + ", looking at ";
  text += coverage(first) + ", compared with float64 attention (Eigen)";
  if (run.shown.runs > 1) text += "; times: " + times(run);
  if (first.beyond_float32)
    text += "\nscores this large are beyond float32, whatever the order of the computation";
  return text + "\n";
}

std::string verdicts(const RunResult& run) {
  std::string text;
  for (const RingResult& ring : run.rings) {
    text += ring_heading(run, ring);
    for (const OutputComparison& output : ring.comparison.outputs) {
      text += fmt::format(
          "  {:<3} is {}: relative error {:.1e} in the worst head; plain float32 attention has {:.1e}, "
          "allowed "
          "is {:.1e}\n",
          output.name, output.right() ? painted("right", Colour::Green) : painted("WRONG", Colour::Red),
          output.overall.relative, output.baseline, output.tolerance);
    }
  }
  return text + "\n";
}

/// Who sent more than an exchange needs.
std::string exchange_remarks(const RunResult& run) {
  const std::vector<std::int64_t> needed = shares_of(run.shown).bytes_to_send();
  std::string text;
  for (const RankRecord& rank : run.rings.front().ranks) {
    const auto number = static_cast<std::size_t>(rank.trace.rank);
    if (rank.bytes_sent > needed[number])
      text +=
          fmt::format("  rank {}: sent {} bytes, of which {} are needed: it pads, or sends something twice\n",
                      number, rank.bytes_sent, needed[number]);
    for (const std::string& fact : rank.facts) text += fmt::format("  rank {}: {}\n", number, fact);
  }
  return text;
}

/// Of rings on cores: that on GPUs may well use collectives, for NCCL's id.
std::string ring_remarks(const RunResult& run) {
  std::string text;
  // Sinks belong to the queries of all ranks, which add up their gradients.
  const std::int64_t allowed =
      run.shown.backward ? std::ssize(run.shown.row.bias.sinks) * Index{sizeof(float)} : 0;
  const std::int64_t first_sent = bytes_sent(run.rings.front().ranks);
  for (const RingResult& ring : run.rings) {
    for (const RankRecord& rank : ring.ranks) {
      const std::string who =
          fmt::format("  {}rank {}: ", run.rings.size() == 1 ? "" : ring.name + " ring, ", rank.trace.rank);
      if (rank.collective_bytes > allowed) {
        text += who + fmt::format("received {} in collectives, which a ring does without\n",
                                  format_bytes(rank.collective_bytes));
      }
      for (const std::string& fact : rank.facts) text += who + fact + "\n";
    }
    const std::int64_t sent = bytes_sent(ring.ranks);
    if (sent == first_sent) continue;
    text +=
        fmt::format("  the {} ring sent {} bytes and the {} one {}: one of them pads, or makes a hop more\n",
                    ring.name, sent, run.rings.front().name, first_sent);
  }
  return text;
}

std::string remarks(const RunResult& run) {
  if (run.shown.backend != "mpi") return "";
  const std::string text = run.shown.is_exchange() ? exchange_remarks(run) : ring_remarks(run);
  return text.empty() ? "" : "Noticed\n" + text;
}

// ---- JSON ----

/// A number of every output.
template <class Number>
Json by_output(const Comparison& comparison, Number number) {
  Json json;
  for (const OutputComparison& output : comparison.outputs) json[output.name] = number(output);
  return json;
}

Json relative_errors(const Comparison& comparison) {
  return by_output(comparison, [](const OutputComparison& output) { return output.overall.relative; });
}

void add_shares(Json& ranks, const Demonstration& shown) {
  const ExchangeShares shares = shares_of(shown);
  const std::vector<std::int64_t> of_ring = bytes_of_ring(shown);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ranks[rank]["heads"] = shares.heads[rank];
    ranks[rank]["kv_heads"] = shares.kv_heads[rank];
    for (const Way& way : shares.ways) ranks[rank]["bytes_" + way.name] = way.bytes[rank];
    ranks[rank]["bytes_of_ring"] = of_ring[rank];
  }
}

Json per_rank(const RunResult& run, const RingResult& ring) {
  Json all = timed::per_rank_json(ring.ranks);
  if (run.shown.on_device()) {
    for (Json& rank : all) rank["bytes_sent"] = nullptr;
  }
  const std::vector<int> tokens = run.shown.layout().shard_tokens();
  for (std::size_t rank = 0; rank < all.size(); ++rank) all[rank]["tokens"] = tokens[rank];
  if (run.shown.is_exchange()) add_shares(all, run.shown);
  return all;
}

/// Beside each other: what there is to compute and how it was shared, 1 being in balance.
Json load(const RunResult& run) {
  const WorkTable scores = scores_to_compute(run.shown);
  return {{"scores_by_step", scores},
          {"slowest_steps", slowest_steps(scores)},
          {"slowest_steps_measured",
           run.shown.backend == "mpi"
               ? Json(slowest_steps(seconds_by_step(run.rings.front().ranks, owners_by_step(run.shown))))
               : Json(nullptr)}};
}

// ---- files ----

/// That of q, with as many heads as the keys have.
Shape shape_of_keys(const Input& input) {
  Shape shape = input.shape;
  if (shape.size() >= 3) shape[shape.size() - 3] /= input.heads() / input.kv_heads();
  return shape;
}

/// Of the first ring.
void add_tensors(timed::OutputFolder& folder, const RunResult& run) {
  const std::map<std::string, Tensor>& outputs = run.rings.front().outputs;
  for (const std::string name : {"o", "lse", "dq", "dk", "dv"}) {
    const auto output = outputs.find(name);
    if (output == outputs.end()) {
      folder.drop(name + ".npy");
      continue;
    }
    Shape shape = run.shown.input.shape;
    if (output->second.rank() == 2) shape.pop_back();
    if (name == "dk" || name == "dv") shape = shape_of_keys(run.shown.input);
    folder.add(name + ".npy", Tensor(shape, output->second.values()));
  }
}

}  // namespace

std::vector<std::string> RunResult::wrong_rings() const {
  std::vector<std::string> names;
  for (const RingResult& ring : rings) {
    if (!ring.comparison.passed()) names.push_back(ring.name);
  }
  return names;
}

RunResult compared(const Demonstration& shown, std::vector<RingResult> rings, const Progress& progress) {
  const Reference reference(shown.input, shown.layout(), {shown.mask(), shown.row.bias}, progress);
  for (RingResult& ring : rings) ring.comparison = reference.compare(ring.outputs);
  return {shown, std::move(rings)};
}

std::string report_text(const RunResult& run, const timed::Page& page, bool verbose) {
  std::string text = fitted(heading(run));
  if (verbose) text += details(run) + tables(run) + verdicts(run);
  const bool uneven = run.shown.causal() || run.shown.is_packed();
  const std::string load = run.shown.is_exchange()
                               ? exchange_table(run, run.rings.front()) + fitted(exchange_note(run))
                           : uneven ? load_table(run, run.rings.front()) + fitted(load_note(run))
                                    : "";
  return text + ring_table(run) + fitted(painted(what_times_are(run), Colour::Grey) + "\n") + load +
         fitted(conclusion(run) + remarks(run)) +
         terminal_timelines(with_joined_tiles(timelines(run)), page.columns, page.colour) +
         fitted(under_timelines(run));
}

std::string report_json(const RunResult& run) {
  const RingResult& first = run.rings.front();
  Json json{{"ranks", run.shown.ranks},
            {"causal", run.shown.causal()},
            {"layout", run.shown.layout_name},
            {"exchange", run.shown.is_exchange() ? run.shown.rings.front().name : ring_exchange},
            {"kv_heads", run.shown.input.kv_heads()},
            {"bytes_needed", bytes_needed(run)},
            {"hops", run.shown.is_exchange() ? Json(nullptr) : Json(hops_of_blocks(run.shown))},
            {"backend", run.shown.backend},
            {"relative_error", relative_errors(first.comparison)},
            {"tolerance", by_output(first.comparison, [](const auto& output) { return output.tolerance; })},
            {"rows_compared", first.comparison.rows},
            {"heads_with_gradients_compared", first.comparison.gradient_heads},
            {"per_rank", per_rank(run, first)},
            {"load", load(run)},
            {"rings", Json::array()}};
  if (!run.shown.exchange_sizes.empty()) json["exchange_sizes"] = run.shown.exchange_sizes;
  for (const RingResult& ring : run.rings) {
    json["rings"].push_back(
        {{"name", ring.name},
         {"passed", ring.comparison.passed()},
         {"seconds", slowest_s(ring)},
         {"exposed", exposed(run, ring)},
         {"bytes_sent", run.shown.on_device() ? Json(nullptr) : Json(bytes_sent(ring.ranks))},
         {"largest_error",
          by_output(ring.comparison, [](const auto& output) { return output.overall.largest; })},
         {"relative_error", relative_errors(ring.comparison)},
         {"per_rank", per_rank(run, ring)}});
  }
  return json.dump(2) + "\n";
}

Saved save(const fs::path& out, const fs::path& pictures, const RunResult& run) {
  const auto nothing = [](const std::string& why) {
    return Saved{false, "Nothing was written: " + why + "\n"};
  };
  if (const std::vector<std::string> wrong = run.wrong_rings(); !wrong.empty()) {
    if (run.rings.size() == 1) return nothing("the answer is wrong");
    return nothing("the " + listed(wrong) +
                   (wrong.size() == 1 ? " ring's answer is wrong" : " rings' answers are wrong"));
  }
  const Demonstration& shown = run.shown;
  try {
    timed::OutputFolder folder(out.empty() ? pictures : out);
    if (!out.empty()) add_tensors(folder, run);
    const std::string title =
        fmt::format("{} on {}, {}: {}, {} of {}", capital((shown.causal() ? "causal " : "") + attention(run)),
                    plural(shown.ranks, "rank") + gpus(run), shards(run), plural(shown.input.seq(), "token"),
                    plural(shown.input.heads(), "head"), shown.input.head_dim());
    folder.add("timeline.svg", svg_timelines(with_joined_tiles(timelines(run)), title, timeline_note(run)));
    folder.add("trace.json", chrome_traces(timelines(run)));
    std::string written;
    for (const fs::path& file : folder.commit())
      written += written.empty() ? "Written: " + file.string() : ", " + file.filename().string();
    return {true, written + "\n"};
  } catch (const std::exception& error) {
    if (!out.empty()) throw;
    return nothing(error.what());
  }
}

}  // namespace course::demo
