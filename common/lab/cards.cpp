#include "lab/cards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "course/terminal/terminal.hpp"
#include "ring/shards.hpp"
#include "trace/timeline.hpp"

namespace course::lab {

namespace {

using Json = nlohmann::ordered_json;
using timed::plural;
using timeline::format_duration;

constexpr int hosts = 2;
constexpr Index queries_of_key_head = 4;
constexpr const char* inputs_name = "inputs";  ///< of the case that the others take theirs from

/// How many blocks a cable carries where every rank of a host sends one.
int blocks_of_cable(const CardsProblem& problem) {
  return (problem.node() + problem.cards - 1) / problem.cards;
}

// ---- playing ----

CardsProblem of_size(const CardsLaboratory& laboratory, Index tokens, Index kv_heads) {
  return {.ranks = laboratory.ranks,
          .cards = laboratory.cards,
          .bytes_per_s = laboratory.bytes_per_s,
          .tokens = tokens,
          .heads = queries_of_key_head * kv_heads,
          .kv_heads = kv_heads};
}

std::vector<int> shards_of(int ranks, const CardsProblem& problem) {
  return even_shards(ranks * static_cast<int>(problem.tokens), ranks);
}

/// As many blocks as there are ranks, all of a rank's own tokens, with as many heads of keys as of queries.
Case computation_alone(const CardsLaboratory& laboratory, const CardsProblem& problem) {
  Case made =
      timed::generated_case("own_blocks", shards_of(problem.ranks, problem), problem.heads, problem.head_dim);
  made.arguments["blocks"] = {static_cast<double>(problem.ranks)};
  made.subject = laboratory.block.library;
  return made;
}

/// A function on the first `ranks` ranks, with inputs that another case brings.
Case on_ranks(const CardsLaboratory& laboratory, const CardsProblem& problem, int ranks, const char* function,
              const char* argument, int group) {
  Case made{{function, timed::ring_arguments(shards_of(ranks, problem))}};
  made.arguments[argument] = {static_cast<double>(group)};
  made.inputs.resize(static_cast<std::size_t>(ranks));
  for (const char* name : {"q", "k", "v"}) made.from[name] = inputs_name;
  made.subject = laboratory.grids.library;
  return made;
}

/// Has a case bring the inputs of all.
void bring_inputs(Case& to, const CardsProblem& problem) {
  to.inputs =
      timed::generated_case("", shards_of(problem.ranks, problem), problem.heads, problem.head_dim).inputs;
  for (auto& shard : to.inputs) {
    for (const char* name : {"k", "v"}) shard.at(name) = slice(shard.at(name), 0, 0, problem.kv_heads);
  }
  to.from.clear();
  to.name = inputs_name;
}

/// World ranks that swap the grid's groups: neighbours are on different hosts, and a ring stays on one.
std::vector<int> ranks_across(const CardsProblem& problem) {
  std::vector<int> order;
  for (int rank = 0; rank < problem.ranks; ++rank)
    order.push_back(rank % hosts * problem.node() + rank / hosts);
  return order;
}

Case played(CardsWay way, const CardsLaboratory& laboratory, const CardsProblem& problem, bool works) {
  const auto all = [&](const char* function, const char* argument, int group) {
    Case made = on_ranks(laboratory, problem, problem.ranks, function, argument, group);
    if (!works) made.block_mode = "idle";
    return made;
  };
  if (way == CardsWay::Ring) return all("double_ring_attention", "node", 1);
  if (way == CardsWay::DoubleRing) return all("double_ring_attention", "node", problem.node());
  if (way == CardsWay::Grid) return all("usp_attention", "ulysses", problem.node());
  Case swapped = all("usp_attention", "ulysses", hosts);
  swapped.world_ranks = ranks_across(problem);
  return swapped;
}

/// Has the kernel alone move a message once it is sent, as a card would. Without that two ranks that send to
/// each other take turns: one's leave to send waits behind the other's data. And who waits leaves the core to
/// others.
Starter moves_without_its_ranks(Starter starter, const CardsProblem& problem) {
  constexpr double header = 4096;
  const std::string longest = fmt::format("{:.0f}", block_bytes(problem) + header);
  for (const char* limit : {"eager_limit", "rndv_eager_limit", "max_send_size"})
    starter.environment[std::string("OMPI_MCA_btl_tcp_") + limit] = longest;
  starter.environment["OMPI_MCA_btl_tcp_free_list_inc"] = "4";
  starter.environment["OMPI_MCA_mpi_yield_when_idle"] = "1";
  return starter;
}

std::vector<timed::Call> calls_of(const std::vector<Case>& cases, int rounds, const CardsProblem& problem,
                                  const CardsLaboratory& laboratory, const Starter& starter) {
  LauncherOptions options;
  options.player = laboratory.player;
  options.quiet_limit_s = 60;  // as in the other laboratories
  options.launch_limit_s = 2 * longest_setting_s;
  options.timed = TimedPlay{rounds, true, laboratory.block.library, {}};
  options.starter = moves_without_its_ranks(starter, problem);
  std::vector<timed::Call> calls;
  for (const Outcome& outcome : timed::play(cases, options)) calls.push_back(timed::call_of(outcome));
  return calls;
}

/// The work of a block grows with the square of its tokens, its bytes grow with them: tokens by both,
/// measured with this problem, then heads that make the hop long enough to be measured.
CardsProblem better_problem(const CardsProblem& problem, const CardsLaboratory& laboratory,
                            const Starter& starter) {
  constexpr double hop_over_work = 6, shortest_hop_s = 0.1;
  constexpr Index least_tokens = 16, most_tokens = 1024, most_kv_heads = 64;
  const timed::Call alone =
      calls_of({computation_alone(laboratory, problem)}, speed_calls, problem, laboratory, starter).at(0);
  const double work_s = alone.seconds / problem.ranks;
  const double tokens = static_cast<double>(problem.tokens) * outer_hop_s(problem) / (hop_over_work * work_s);
  const CardsProblem least =
      of_size(laboratory, std::clamp<Index>(std::lround(tokens / 16) * 16, least_tokens, most_tokens),
              problem.node());
  const auto times = static_cast<Index>(std::ceil(shortest_hop_s / outer_hop_s(least)));
  return of_size(laboratory, least.tokens,
                 std::clamp<Index>(times, 1, most_kv_heads / least.kv_heads) * least.kv_heads);
}

// ---- showing ----

std::string times(double ratio) {
  return fmt::format("{:.2f}", ratio);
}

/// Each way under its name and its time.
std::vector<Timeline> timelines(const CardsMeasured& measured) {
  std::vector<Timeline> all;
  for (const CardsWay way : cards_ways) {
    const timed::Call& call = measured.with_work.at(static_cast<std::size_t>(way));
    all.push_back({fmt::format("{}: {}", name_of(way, measured.problem.ranks), format_duration(call.seconds)),
                   timed::traces_of(call.ranks)});
  }
  return all;
}

std::string title(const CardsProblem& problem) {
  return fmt::format("{} a rank, {}/{} heads of {}, all keys seen", plural(problem.tokens, "token"),
                     problem.heads, problem.kv_heads, problem.head_dim);
}

std::string orders_text(const CardsMeasured& measured) {
  std::string text = "How many times as long, derived and measured\n";
  for (const CardsOrder& order : orders(measured)) {
    const std::string pair = fmt::format("{} against {}", name_of(order.slower, measured.problem.ranks),
                                         name_of(order.faster, measured.problem.ranks));
    text += fmt::format("  {:<50}{} to {}: {:>5}   {}\n", pair, times(order.derived_least),
                        times(order.derived_most), times(order.measured), order.met() ? "met" : "MISSED");
  }
  return text;
}

}  // namespace

double block_bytes(const CardsProblem& problem) {
  return hop_bytes({problem.kv_heads, problem.tokens, problem.head_dim});
}

double exchange_bytes(const CardsProblem& problem, int group) {
  const auto tokens = static_cast<double>(problem.tokens * (group - 1));
  const auto both = static_cast<double>(2 * (problem.heads + problem.kv_heads) * problem.head_dim) / group;
  return static_cast<double>(sizeof(float)) * tokens * (both + static_cast<double>(problem.heads) / group);
}

double outer_hop_s(const CardsProblem& problem) {
  return block_bytes(problem) / problem.bytes_per_s;
}

std::string name_of(CardsWay way, int ranks) {
  const int node = ranks / hosts;
  if (way == CardsWay::Ring) return "ring";
  if (way == CardsWay::DoubleRing) return "double ring";
  if (way == CardsWay::Grid) return fmt::format("grid {} x {}", node, hosts);
  return fmt::format("grid {} x {}, groups swapped", hosts, node);
}

Derived derive(CardsWay way, const CardsProblem& problem, double work_s, double inner_s) {
  const int node = problem.node();
  const double work = problem.ranks * work_s, of_node = node * work_s, inner = (node - 1) * inner_s,
               outer = outer_hop_s(problem), cable = blocks_of_cable(problem) * outer;
  const auto exchange = [&](int group, double hop_s) {
    return exchange_bytes(problem, group) / block_bytes(problem) * hop_s;
  };
  if (way == CardsWay::Ring) {
    const double hops = (problem.ranks - 1) * outer;
    return {hops, std::max(work, hops + work_s), work + hops};
  }
  if (way == CardsWay::DoubleRing) {
    return {std::max(cable, inner) + inner, std::max(work, cable + of_node), work + cable + hosts * inner};
  }
  if (way == CardsWay::Grid) {
    const double inside = exchange(node, inner_s);
    return {inside + cable, inside + std::max(work, cable + of_node), inside + work + cable};
  }
  const double across = exchange(hosts, cable);
  return {across + inner, across + std::max(work, inner + hosts * work_s), across + work + inner};
}

std::vector<CardsOrder> orders(const CardsMeasured& measured) {
  constexpr double clearly = 1.25;
  const auto of = [&](CardsWay way) {
    return derive(way, measured.problem, measured.work_s, measured.inner_s);
  };
  const auto seconds = [&](CardsWay way) {
    return measured.with_work.at(static_cast<std::size_t>(way)).seconds;
  };
  std::vector<CardsOrder> all;
  for (const CardsWay faster : cards_ways) {
    for (const CardsWay slower : cards_ways) {
      const double hidden = of(slower).hidden_s / of(faster).hidden_s,
                   in_turns = of(slower).in_turns_s / of(faster).in_turns_s;
      if (std::min(hidden, in_turns) < clearly) continue;
      all.push_back({faster, slower, std::min(hidden, in_turns), std::max(hidden, in_turns),
                     seconds(slower) / seconds(faster)});
    }
  }
  return all;
}

CardsMeasured measure(const CardsLaboratory& laboratory, const Starter& starter, const Say& say) {
  constexpr double enough_s = 40;
  constexpr int most_rounds = 9;
  say("measuring the speed of a block");
  CardsMeasured measured;
  const CardsProblem first = of_size(laboratory, 128, laboratory.ranks / hosts);
  // The speed depends on the size.
  measured.problem = better_problem(better_problem(first, laboratory, starter), laboratory, starter);
  const CardsProblem& problem = measured.problem;
  std::vector<Case> cases;
  for (const bool works : {false, true}) {
    for (const CardsWay way : cards_ways) cases.push_back(played(way, laboratory, problem, works));
  }
  bring_inputs(cases.front(), problem);
  cases.push_back(computation_alone(laboratory, problem));
  cases.push_back(on_ranks(laboratory, problem, problem.node(), "double_ring_attention", "node", 1));
  cases.back().block_mode = "idle";
  double round_s = 0;
  for (const CardsWay way : cards_ways) {
    const Derived derived = derive(way, problem, outer_hop_s(problem) / 3, 0);
    round_s += derived.transfers_s + derived.in_turns_s;
  }
  const int rounds = static_cast<int>(std::clamp<double>(enough_s / round_s, least_rounds, most_rounds));
  say(fmt::format("four ways over the cables, {} rounds", rounds));
  std::vector<timed::Call> calls = calls_of(cases, rounds, problem, laboratory, starter);
  constexpr std::size_t ways = std::size(cards_ways);
  for (std::size_t i = 0; i < ways; ++i) {
    measured.transfers_s.push_back(calls[i].seconds);
    measured.with_work.push_back(calls[ways + i]);
  }
  measured.work_s = calls[2 * ways].seconds / problem.ranks;
  measured.inner_s = calls[2 * ways + 1].seconds / (problem.node() - 1);
  return measured;
}

std::string cards_text(const CardsLaboratory& laboratory, const CardsMeasured& measured,
                       const timed::Page& page) {
  const CardsProblem& problem = measured.problem;
  const int cores = measured.with_work.at(0).ranks.at(0).cores;
  std::string text = fmt::format(
      "Laboratory two-hosts --cards {}\n  link    {}\n  ranks   {} on {}; what goes to a rank goes by the "
      "cable of its "
      "card\n  code    lesson {}, {}; blocks: lesson {}, {}\n  times   of the median of {}, all in turn; "
      "{}\n\n",
      problem.cards, laboratory.link, problem.ranks, plural(cores, "core"), laboratory.grids.lesson,
      laboratory.grids.whose(), laboratory.block.lesson, laboratory.block.whose(),
      plural(measured.with_work.at(0).calls, "call"), title(problem));
  text = program::fitted(text);
  text += fmt::format("A block takes {}, a hop to the other host {} (by its bytes), one inside {}\n\n",
                      format_duration(measured.work_s), format_duration(outer_hop_s(problem)),
                      format_duration(measured.inner_s));
  text += fmt::format("  {:<26}{:>12}{:>10}{:>12}{:>13}{:>10}\n", "", "no work", "derived", "with work",
                      "all hidden", "in turns");
  for (const CardsWay way : cards_ways) {
    const auto i = static_cast<std::size_t>(way);
    const Derived derived = derive(way, problem, measured.work_s, measured.inner_s);
    text += fmt::format("  {:<26}{:>12}{:>10}{:>12}{:>13}{:>10}\n", name_of(way, problem.ranks),
                        format_duration(measured.transfers_s.at(i)), format_duration(derived.transfers_s),
                        format_duration(measured.with_work.at(i).seconds), format_duration(derived.hidden_s),
                        format_duration(derived.in_turns_s));
  }
  return text + "\n" + orders_text(measured) + "\n" +
         terminal_timelines(timelines(measured), page.columns, page.colour);
}

std::string cards_json(const CardsLaboratory& laboratory, const CardsMeasured& measured,
                       const std::vector<std::filesystem::path>& files) {
  const CardsProblem& problem = measured.problem;
  Json json{{"laboratory", "two-hosts"},
            {"cards", problem.cards},
            {"link", laboratory.link},
            {"ranks", problem.ranks},
            {"code",
             {{laboratory.grids.lesson, laboratory.grids.subject},
              {laboratory.block.lesson, laboratory.block.subject}}},
            {"tokens", problem.tokens},
            {"heads", problem.heads},
            {"kv_heads", problem.kv_heads},
            {"head_dim", problem.head_dim},
            {"block_s", measured.work_s},
            {"outer_hop_s", outer_hop_s(problem)},
            {"inner_hop_s", measured.inner_s}};
  for (const CardsWay way : cards_ways) {
    const auto i = static_cast<std::size_t>(way);
    const Derived derived = derive(way, problem, measured.work_s, measured.inner_s);
    const timed::Call& call = measured.with_work.at(i);
    json["ways"].push_back({{"name", name_of(way, problem.ranks)},
                            {"transfers_s", measured.transfers_s.at(i)},
                            {"transfers_derived_s", derived.transfers_s},
                            {"seconds", call.seconds},
                            {"hidden_s", derived.hidden_s},
                            {"in_turns_s", derived.in_turns_s},
                            {"per_rank", timed::per_rank_json(call.ranks)}});
  }
  json["orders"] = Json::array();
  for (const CardsOrder& order : orders(measured)) {
    json["orders"].push_back({{"faster", name_of(order.faster, problem.ranks)},
                              {"slower", name_of(order.slower, problem.ranks)},
                              {"derived", {order.derived_least, order.derived_most}},
                              {"measured", order.measured},
                              {"met", order.met()}});
  }
  json["files"] = files;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string cards_svg(const CardsMeasured& measured) {
  return svg_timelines(
      timelines(measured),
      fmt::format("two-hosts, {}, {}", plural(measured.problem.cards, "card"), title(measured.problem)));
}

}  // namespace course::lab
