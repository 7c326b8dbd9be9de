#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "course/workspace/checkout.hpp"
#include "ring/layout.hpp"
#include "runner/launcher.hpp"
#include "runner/outcome.hpp"

/// What the demo, the trace, the laboratories and the bench have in common: lessons' code is built, played to
/// be timed, and shown.
namespace course::timed {

/// A lesson's code, which has a shared object.
struct Code {
  std::string lesson;   ///< its id
  std::string subject;  ///< "student" or "solution"
  std::string target;
  std::filesystem::path library;
  std::string ring = {}, ring_backward = {};  ///< its functions that are rings, if it has any

  /// "your own code" or "the solution".
  std::string whose() const { return subject == "student" ? "your own code" : "the solution"; }
};
Code code_of(const program::Checkout& checkout, const LessonInfo& lesson, const std::string& subject);

/// Builds them, and targets beside them, with progress on stderr; `what` is "the demo". Throws
/// std::runtime_error with what a failed build printed.
void build(const program::Checkout& checkout, const std::string& what, const std::vector<Code>& codes,
           std::vector<std::string> targets = {});

// ---- playing ----

/// What a ring is told of who owns what: `shard_tokens`, the length of each rank's shard, and `positions`,
/// those of all ranks one after another. A ring of contiguous shards needs the lengths alone.
Arguments ring_arguments(const Layout& layout);

/// A forward ring's case, with these shards of generated tokens: numbers as they may come out of a layer
/// norm.
Case generated_case(const std::string& function, const std::vector<int>& shard_tokens, Index heads,
                    Index head_dim);

/// Plays the cases with the player of ranks, unless `options` have another, as they say otherwise. Throws
/// Unavailable where this machine cannot start the ranks, and std::runtime_error that says why a case came to
/// no end.
std::vector<Outcome> play(const std::vector<Case>& cases, LauncherOptions options);

/// The calls of one case, of which one is shown, as all ranks saw it.
struct Call {
  std::string name;
  double seconds = 0;  ///< of the call shown, by the rank that took longest
  int calls = 1;
  std::vector<RankRecord> ranks;
};
Call call_of(const Outcome& outcome);

// ---- showing ----

/// Where text goes.
struct Page {
  int columns = 100;
  bool colour = false;
};
/// That of stdout. No timeline gains by more than 140 columns.
Page page_of_stdout();

/// "3 tokens"
std::string plural(std::int64_t count, const std::string& noun);

/// Communication that no work hid: time beyond that of the computation alone on the cores that the ranks
/// have, as a share of it. 0.25 is a quarter more; below 0 where noise is larger.
double exposed_share(double seconds, double compute_s);

/// How long those cores took for what the ranks computed, on average. Where ranks share cores, no more of
/// them compute at a time than there are cores, however many are in the middle of a block.
double computation_s(const std::vector<RankRecord>& ranks);

/// A trace for each rank, or for each stream of its GPU.
std::vector<RankTrace> traces_of(const std::vector<RankRecord>& ranks, bool by_streams = false);

/// What a timeline shows of simulated GPUs, in lines, and in one line.
std::string model_text();
std::string model_note();

/// Of each rank its number, what it sent and how long it computed, transferred and waited.
nlohmann::ordered_json per_rank_json(const std::vector<RankRecord>& ranks);

}  // namespace course::timed
