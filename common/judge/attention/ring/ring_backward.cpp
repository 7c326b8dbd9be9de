#include "judge/attention/ring/ring_backward.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "judge/attention/backward.hpp"
#include "judge/attention/forward.hpp"
#include "judge/attention/ring/ring_backward_steps.hpp"
#include "judge/attention/taken_inputs.hpp"
#include "judge/checks/communication_checks.hpp"
#include "judge/numbers/compare.hpp"
#include "judge/numbers/origin.hpp"

namespace course::ring_backward {

namespace {

/// What an output holds that nobody has cleared.
const double uncleared = never_written();

std::vector<WrongSteps<Steps>> wrong_steps() {
  std::vector<WrongSteps<Steps>> all{
      {"own_share_only", {.dk_travels = false, .dv_travels = false, .others_blocks = false}},
      {"own_share_lost", {.shares = Shares::OwnLost}},
      {"own_share_twice", {.shares = Shares::OwnTwice}},
      {"last_share_lost", {.shares = Shares::LastLost}},
      {"dk_dv_kept_local", {.dk_travels = false, .dv_travels = false}},
      {"dk_dv_kept_local", {.dk_travels = false}},
      {"dk_dv_kept_local", {.dv_travels = false}},
      {"dk_dv_kept_local", {.dk_travels = false, .dv_travels = false, .by_token = true}},
      // Copied with the length of the block that is held last, as far as that goes.
      {"dk_dv_kept_local", {.dk_travels = false, .dv_travels = false, .gradient_hops = -1, .beyond = 0.0}},
      {"dk_dv_kept_local",
       {.dk_travels = false, .dv_travels = false, .gradient_hops = -1, .beyond = uncleared}},
      {"dk_and_dv_swapped", {.swapped = Swapped::AtTheEnd}},
      {"dk_and_dv_swapped", {.swapped = Swapped::EveryHop}},
      {"dk_and_dv_swapped", {.swapped = Swapped::LastHop}},
      {"dk_and_dv_swapped", {.swapped = Swapped::OtherHops}},
      {"dk_and_dv_swapped", {.swapped = Swapped::OwnShare}},
      {"dk_and_dv_swapped", {.swapped = Swapped::OtherShares}},
      {"keys_and_values_sent_home", {.returned = Returned::KeysValues}},
      {"overwritten_not_accumulated", {.dk_dv_overwritten = true}},
      {"overwritten_not_accumulated", {.dq_overwritten = true}},
      {"overwritten_not_accumulated", {.dk_dv_overwritten = true, .dq_overwritten = true}},
      {"own_block_every_time", {.k_travels = false, .v_travels = false}},
      {"v_left_behind", {.v_travels = false}},
      {"one_block_short", {.blocks = -1}},
      {"one_block_short", {.blocks = -1, .gradient_hops = -1}},
      {"one_block_too_many", {.blocks = 1}},
      {"one_block_too_many", {.blocks = 1, .own_again_alone = true}},
      {"share_to_block_before", {.share_to_block_before = true}},
      {"mean_over_ranks", {.dk_dv_averaged = true}},
      {"mean_over_ranks", {.dk_dv_averaged = true, .dq_averaged = true}},
      {"delta_left_out", {.delta = Delta::LeftOut}},
      {"delta_of_first_head", {.delta = Delta::OfFirstHead}},
      {"delta_by_query", {.delta = Delta::ByQuery}},
      {"lse_and_delta_exchanged", {.delta = Delta::ForLse}},
      {"sums_not_cleared", {.dq_start = uncleared}},
      {"sums_not_cleared", {.dk_dv_start = uncleared}},
      {"sums_not_cleared", {.dq_start = uncleared, .dk_dv_start = uncleared}}};
  for (const Brought brought : {Brought::DkTwice, Brought::DvTwice, Brought::DvForDk}) {
    all.push_back({"dk_for_dv", {.at_home = brought}});
    all.push_back({"dk_for_dv", {.at_hops = brought}});
    all.push_back({"dk_for_dv", {.at_hops = brought, .at_home = brought}});
  }
  all.push_back({"dk_for_dv", {.at_home = Brought::DvForDk, .own_in_room = true, .beyond = uncleared}});
  for (const Leftover leftover : {Leftover::Sum, Leftover::Shares}) {
    const Leftover none = Leftover::None;
    for (const auto& [dk, dv] : {std::pair{leftover, leftover}, {leftover, none}, {none, leftover}}) {
      all.push_back({"share_not_cleared", {.leftover_dk = dk, .leftover_dv = dv, .own_in_room = true}});
    }
  }
  // These end with another block's gradients, whose lengths differ: with whatever is read beyond.
  using Room = std::pair<bool, std::optional<double>>;
  for (const auto& [own_in_room, beyond] : {Room{false, {}}, {true, {}}, {true, 0.0}, {true, uncleared}}) {
    all.push_back(
        {"one_hop_short_of_home", {.gradient_hops = -1, .own_in_room = own_in_room, .beyond = beyond}});
    for (const Returned returned : {Returned::SumsOfPair, Returned::FirstsOfPair})
      all.push_back(
          {"received_and_sent", {.returned = returned, .own_in_room = own_in_room, .beyond = beyond}});
  }
  return all;
}

/// Whatever a copy of another block's gradients, longer or shorter than the own, leaves on unequal shards.
Mistake one_hop_short_however_copied() {
  return {"one_hop_short_of_home", [](const Example& example) -> std::optional<Answer> {
            const std::vector<int> shards = example.layout.shard_tokens();
            if (std::ranges::count(shards, shards.front()) != std::ssize(shards)) return std::nullopt;
            return gradients<double>({.gradient_hops = -1}, example);
          }};
}

AttentionProblem problem(const Example& example) {
  return problem_of(example, Tensor64(example.inputs.at("lse").shape()), keys_seen(example));
}

/// Two more blocks with their gradients, and as much again for copies that MPI itself or a message of several
/// tensors takes.
std::int64_t memory_of_a_ring(const Example& example) {
  return checks::memory_of_blocks(example, 2 * (2 * 2 + 1));
}

/// Whether this output is within its tolerance.
bool output_is_right(const Played& played, const char* output) {
  return relative_error(played.answer.at(output), played.expected.at(output)) <= played.tolerance.at(output);
}

bool output_equals(const Played& played, const char* output, const Tensor64& made) {
  return error_as_mistake(played.answer.at(output), made, made) <=
         mistake_factor * played.tolerance.at(output);
}

/// Where dq holds one block's share alone: which.
std::string only_share_in_dq(const Played& played) {
  struct Share {
    Steps steps;
    const char* words;
  };
  const Example& example = *played.example;
  if (example.ranks() == 1) return "";
  for (const Share& share :
       {Share{{.dq_overwritten = true},
              "dq is the share of the last block alone, as if it were cleared or overwritten at each block"},
        Share{{.blocks = 1 - example.ranks()}, "dq is the share of the own block alone"}}) {
    if (output_equals(played, "dq", gradients<double>(share.steps, example).at("dq"))) return share.words;
  }
  return "";
}

bool has_nan(const Played& played, const char* output) {
  return std::ranges::any_of(played.answer.at(output).values(), [](double x) { return std::isnan(x); });
}

/// Whether dk and dv are one hop short of home, although every rank sent the bytes of the last hop, too: what
/// it brought is not what is returned.
bool made_the_last_hop_in_vain(const Played& played) {
  if (!log_reading::sent_bytes_of_hops(checks::backward_hops, *played.example, *played.outcome)) return false;
  const Answer short_of_home = gradients<double>({.gradient_hops = -1}, *played.example);
  return std::ranges::all_of(std::array{"dk", "dv"}, [&](const char* output) {
    return output_equals(played, output, short_of_home.at(output));
  });
}

/// A rank that skips the block of another, having computed one before.
struct Skipped {
  int rank, owner;
};

std::optional<Skipped> first_skipped(const Example& example) {
  for (int rank = 0; rank < example.ranks(); ++rank) {
    bool has_computed = false;
    for (int hop = 0; hop < example.ranks(); ++hop) {
      const int owner = log_reading::holder(example, rank, hop);
      if (ring_mask::is_seen(example, rank, owner)) {
        has_computed = true;
      } else if (has_computed && example.layout.tokens(owner) > 0) {
        return Skipped{rank, owner};
      }
    }
  }
  return std::nullopt;
}

/// The mistake share_of_skipped_block.
std::vector<WrongSteps<Steps>> wrong_with_skipped_blocks() {
  return {{"share_of_skipped_block", {.skipped_blocks = SkippedBlocks::GetLastShare}},
          {"share_of_skipped_block", {.skipped_blocks = SkippedBlocks::GetLastOnOthers}}};
}

/// Where dk and dv are as if a rank had added something to those of a block that it skips: which.
std::string share_of_skipped_block(const Played& played) {
  const std::optional<Skipped> skipped = first_skipped(*played.example);
  if (!skipped || !output_is_right(played, "dq") || output_is_right(played, "dk")) return "";
  for (const auto& [mistake, steps] : wrong_with_skipped_blocks()) {
    const Answer made = gradients<double>(steps, *played.example);
    if (output_equals(played, "dk", made.at("dk")) && output_equals(played, "dv", made.at("dv"))) {
      return fmt::format(
          "dk and dv of rank {}'s block came back changed by rank {}, of whose queries none sees a key of it",
          skipped->owner, skipped->rank);
    }
  }
  return "";
}

const std::string where_leftovers_belong =
    "the sum of this block's gradients belongs there, as the other ranks have left it, or in a temporary "
    "zeros";

}  // namespace

log_reading::BlocksRight where_to_look(std::string of_dk_and_dv, std::string of_leftover) {
  return [=](const Played& played) -> std::string {
    const bool alone = played.example->ranks() == 1;
    if (output_is_right(played, "dq")) {
      const std::string leftover = log_reading::leftover(*played.example, *played.outcome);
      if (!leftover.empty()) return leftover + "; " + of_leftover;
      if (alone || has_nan(played, "dk") || has_nan(played, "dv")) return "";
      return made_the_last_hop_in_vain(played)
                 ? "every rank sent the bytes of all hops, the last too: look at what is returned after it"
                 : of_dk_and_dv;
    }
    if (const std::string share = only_share_in_dq(played); !share.empty()) return share;
    if (output_is_right(played, "dv"))
      return output_is_right(played, "dk") ? "" : "look at delta, which dv does without";
    if (!alone || has_nan(played, "dq")) return "";
    return fmt::format(
        "with one rank nothing travels: look at {}lse, and at the order of accumulate's arguments",
        ring_mask::is_masked(*played.example) ? "which keys each query sees, at " : "");
  };
}

Task task(std::string id, std::string function) {
  Task made = gradients_task(std::move(id), std::move(function), problem);
  made.examples = examples;
  // From the lse that the student is given: rounding an lse of 100 costs 4e-6 of all weights of its row,
  // which the reference, with a softmax of its own, does not have.
  made.baseline = [](const Example& example) { return gradients<float>({}, example); };
  made.mistakes = mistakes_of<Steps>(gradients<double>, wrong_steps());
  made.fail_on_all_inputs = {"every_rank_sends_first"};
  made.explain_answers = {"world_communicator", "computes_on_arriving", "send_buffer_reused",
                          "ends_not_joined"};
  made.follows_from = {{"every_rank_sends_first", "world_communicator"}};
  made.readings = inputs_taken_wrongly({{{"k", "v"}, {"q", "o", "d_o"}}, {"q", "k", "v", "o", "d_o", "lse"}},
                                       [](const Example& example) { return gradients<double>({}, example); });
  made.mistakes.push_back(one_hop_short_however_copied());
  made.mistakes.push_back({"no_block_attended", [](const Example& example) {
                             return gradients<double>({.blocks = -example.ranks()}, example);
                           }});
  made.words = {
      {"delta_left_out", "every answer is as if delta were 0"},
      {"delta_of_first_head", "every answer is as if all heads were given the first one's delta"},
      {"delta_by_query",
       "every answer is as if delta were laid out [queries, heads]; it is [heads, queries]"},
      {"lse_and_delta_exchanged",
       "every answer is as if accumulate were given delta in the place of lse, and lse in that of delta"},
      {"no_block_attended", "every answer is as if no block were computed, by any rank"},
      {"one_block_too_many",
       "every answer is as if the own block were computed once more after the last hop"},
      {"dk_and_dv_swapped",
       "every answer is as if dk and dv changed places, in a share, at a hop or at the end"},
      {"keys_and_values_sent_home", "every answer is as if the last hop brought k and v for dk and dv"}};
  made.answer_checks.insert(made.answer_checks.begin(), checks::joins_its_ends("ends_not_joined"));
  made.answer_checks.push_back(is_right_on_every_rank);
  made.answer_checks.push_back(log_reading::gives_each_block_once);
  made.split_axis = {{"q", 1}, {"k", 1}, {"v", 1}, {"o", 1}, {"lse", 1}, {"d_o", 1}};
  made.logs = {{block_log::output, block_log::columns},
               {block_log::leftover_output, block_log::leftover_columns}};
  made.explain = log_reading::explaining(
      where_to_look("look at where dk and dv go between them, what is added to them, and how they come home",
                    where_leftovers_belong));
  return made;
}

Task masked_task(std::string id, std::string function) {
  Task made = task(std::move(id), std::move(function));
  made.examples = masked_examples;
  made.follows_from.emplace("wrong_direction", "rule_of_other_direction");
  made.logs[block_log::scores_output] = 1;
  for (const auto& [mistake, mask] : ring_mask::wrong_steps())
    made.mistakes.push_back(ring_mask::mistake_of(mistake, mask, [mask = mask](const Example& example) {
      return gradients<double>({.mask = mask}, example);
    }));
  std::ranges::move(mistakes_of<Steps>(gradients<double>, wrong_with_skipped_blocks()),
                    std::back_inserter(made.mistakes));
  const log_reading::BlocksRight elsewhere = where_to_look(
      "look at what becomes of dk and dv of a block that a rank skips, at where they go between ranks, "
      "and how they come home",
      where_leftovers_belong);
  made.explain = log_reading::explaining([elsewhere](const Played& played) {
    const std::string skipped = share_of_skipped_block(played);
    return skipped.empty() ? elsewhere(played) : skipped;
  });
  made.answer_checks.push_back(log_reading::gives_no_empty_block);
  return made;
}

std::vector<Finding> begins_shares_at_0(const Played& played) {
  if (!output_is_right(played, "dq") || (output_is_right(played, "dk") && output_is_right(played, "dv")) ||
      log_reading::leftover(*played.example, *played.outcome).empty())
    return {};
  return {{"share_not_cleared", ""}};
}

std::vector<CommunicationCheck> blocking_checks(const Task& task) {
  using namespace checks;
  // With a right answer, so that it is not the gradients that went too far.
  const auto one_hop_more = [task](const Example& example, const Outcome& outcome) {
    return sent_one_hop_more(backward_hops, 3)(example, outcome) &&
           is_right(compare(task, example, task.expected(example), outcome));
  };
  const auto limit = [](const Example& example, int) { return bytes_of_hops(backward_hops, example); };
  std::vector<CommunicationCheck> all =
      blocking_ring(first_of({without_fact(fact_world, "world_communicator"),
                              sends_nothing_to_itself("sends_to_itself_alone"),
                              named_if(sends_only_to_next(""), sent_only_to_previous, "wrong_direction"),
                              named_if(sends_at_most(limit, ""), one_hop_more, "useless_last_hop"),
                              log_reading::names_the_owners}),
                    memory_of_a_ring);
  all.push_back(deadlocks(waits_for_itself_alone, "sends_to_itself_alone"));
  all.push_back(deadlocks(ring_mask::skipped_a_hop, "hop_skipped"));
  all.push_back(keeps_empty_ranks("empty_rank_leaves"));
  all.push_back(log_reading::sends_whole_blocks(backward_hops));
  return all;
}

}  // namespace course::ring_backward
