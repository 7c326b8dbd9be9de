#include <sys/prctl.h>

#include <bit>
#include <cstdio>
#include <optional>
#include <type_traits>
#include <vector>

#include "player/earlier_calls.hpp"
#include "player/gradient_rooms.hpp"
#include "player/own_process.hpp"
#include "player/plain_attention.hpp"
#include "player/played_case.hpp"
#include "player/stage.hpp"
#include "protocol/block_log.hpp"
#include "protocol/compute_observer.hpp"

namespace course {

namespace {

template <class T>
ComputeBuffer buffer(HeadsView<T> x) {
  return {x.data(), x.extent() * static_cast<std::int64_t>(sizeof(float)), !std::is_const_v<T>};
}

/// While it lives the instruments know that a block is being computed.
class Computing {
 public:
  Computing(ComputeObserver& observer, const std::vector<ComputeBuffer>& buffers) : observer_(observer) {
    observer_.begin(buffers);
  }
  ~Computing() { observer_.end(); }

  /// The request, after each of whose tiles the instruments know it.
  BlockRequest watched(BlockRequest request) {
    request.between_tiles = [this, between_tiles = std::move(request.between_tiles)] {
      observer_.pause();
      if (between_tiles) between_tiles();
    };
    return request;
  }

  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;

 private:
  ComputeObserver& observer_;
};

/// The plain computation, the same for everybody's ring. What each block was is logged for the judge; a
/// computation in tiles is told to the observer, too.
class GradedBlocks : public Blocks {
 public:
  explicit GradedBlocks(ComputeObserver& observer) : observer_(observer) {}

  /// The next call begins: nothing is handed out or logged yet.
  void forget() {
    handed_out_ = masked_ = false;
    entries_.clear();
    scores_.clear();
    leftovers_.clear();
    rooms_ = {};
  }

  /// The output `log` [calls, block_log::columns] of a function that was handed one of them.
  std::optional<Tensor> log() const {
    if (!handed_out_) return std::nullopt;
    std::vector<float> values;
    for (const block_log::Entry& entry : entries_)
      values.insert(values.end(), {entry.owner, entry.keys, entry.k, entry.v});
    return Tensor({static_cast<Index>(entries_.size()), block_log::columns}, std::move(values));
  }

  /// The output `scores` [calls, 1] of one that was handed a computation under a mask.
  std::optional<Tensor> scores() const {
    if (!masked_) return std::nullopt;
    return Tensor({std::ssize(scores_), 1}, scores_);
  }

  /// The output `leftover` [calls, block_log::leftover_columns] of one that was handed a backward
  /// computation.
  std::optional<Tensor> leftovers() const {
    if (leftovers_.empty()) return std::nullopt;
    std::vector<float> values;
    for (const block_log::Leftover& left : leftovers_) {
      for (const Index number : {left.tensor, left.head, left.row, left.col, left.owner})
        values.push_back(static_cast<float>(number));
    }
    return Tensor({std::ssize(leftovers_), block_log::leftover_columns}, std::move(values));
  }

 private:
  BlockForward make_forward(Taker taker) override {
    hand_out(taker);
    ComputeObserver& told = taker.in_tiles ? observer_ : nobody_;
    return {[this, &told](const BlockRequest& request, AttentionState& state) {
              Computing computing(told, {buffer(request.q), buffer(request.k), buffer(request.v)});
              enter(request);
              plain::accumulate(computing.watched(request), state);
            },
            plain::finish};
  }

  BlockBackward make_backward(Taker taker) override {
    hand_out(taker);
    ComputeObserver& told = taker.in_tiles ? observer_ : nobody_;
    return {[this, &told](const BlockRequest& request, HeadsView<const float> d_o,
                          MatrixView<const float> lse, MatrixView<const float> delta, HeadsView<float> dq,
                          HeadsView<float> dk, HeadsView<float> dv) {
      Computing computing(told, {buffer(request.q), buffer(request.k), buffer(request.v), buffer(d_o),
                                 buffer(dq), buffer(dk), buffer(dv)});
      enter(request);
      leftovers_.push_back(rooms_.look(request.owner, dk, dv));
      plain::accumulate_backward(computing.watched(request), d_o, lse, delta, dq, dk, dv);
      rooms_.leave(request.owner, dk, dv);
    }};
  }

  void hand_out(Taker taker) {
    handed_out_ = true;
    masked_ = masked_ || taker.masked;
  }

  void enter(const BlockRequest& request) {
    entries_.push_back({static_cast<float>(request.owner), static_cast<float>(request.k.seq()),
                        block_log::fingerprint(request.k), block_log::fingerprint(request.v)});
    Index scores = 0;
    for (Index i = 0; i < (request.seen ? std::ssize(*request.seen) : request.q.seq()); ++i)
      scores += request.seen_by(i).last - request.seen_by(i).first;
    scores_.push_back(static_cast<float>(scores));
  }

  ComputeObserver& observer_;
  ComputeObserver nobody_;
  bool handed_out_ = false;
  bool masked_ = false;
  std::vector<block_log::Entry> entries_;
  std::vector<float> scores_;
  std::vector<block_log::Leftover> leftovers_;
  GradientRooms rooms_;
};

/// Different for every drawn case, and for its ranks.
std::uint64_t seed_of(const LoadedCase& loaded) {
  std::uint64_t seed = static_cast<std::uint64_t>(loaded.rank);
  for (const auto& [name, tensor] : loaded.inputs)
    for (const float x : tensor.values()) seed = seed * 1'000'003 + std::bit_cast<std::uint32_t>(x);
  return seed % 2'147'483'646 + 1;
}

/// Those whom every call needs.
struct Watchers {
  Stage& stage;
  RankStatus& page;
  MemoryMeter& memory;
};

/// One call, with every instrument.
RankReport call_watched(const Library& subject, const LoadedCase& loaded, const void* communicator,
                        Call& call, const Watchers& watchers) {
  auto& [stage, page, memory] = watchers;
  stage.count_kernels(loaded.manifest.counted);
  const bool measured = memory.reset();
  set_phase(page, Phase::Computing);
  const Call::InputMarks marks = call.mark_inputs();
  stage.begin_watching(communicator, Watching::Graded, page,
                       [&call](const void* address) { return call.tensor_at(address).memory; });
  RankReport report = call_function(subject, loaded.manifest.function, call, &marks);
  if (report.ending == "finished") stage.settle();
  if (report.ending != "finished") set_text(page, report.what);
  if (report.told && loaded.manifest.ranks > 1) set_told(page, *report.told);
  set_phase(page, report.ending == "finished" ? Phase::Finished : Phase::Threw);
  if (measured) report.peak_bytes = memory.peak();
  stage.end_watching(report);
  return report;
}

/// The calls of a case on one of its ranks, that which counts last; a rank that does not finish one makes no
/// more. All ranks of the world meet between two, as they do between cases.
RankReport play_calls(const Library& subject, const LoadedCase& loaded, const void* communicator, Call& call,
                      GradedBlocks& blocks, std::uint64_t seed, std::size_t index, const Watchers& watchers) {
  const auto play_one = [&] {
    watchers.stage.draw_from(seed);
    return call_watched(subject, loaded, communicator, call, watchers);
  };
  if (!loaded.manifest.called_before) return play_one();
  RankReport report;
  for (const auto& inputs : earlier_inputs(loaded.inputs)) {
    call.refill(inputs);
    if (report.ending == "finished") report = play_one();
    watchers.stage.barrier();
    if (report.ending != "finished") continue;
    begin_case(watchers.page, index);
    call.forget_outputs();
    blocks.forget();
  }
  call.refill(loaded.inputs);
  return report.ending == "finished" ? play_one() : report;
}

void play_case(const Library& subject, LoadedCase& loaded, std::size_t index, const Watchers& watchers) {
  Stage& stage = watchers.stage;
  const std::shared_ptr<const void> communicator = stage.enter(loaded.rank);
  if (loaded.rank >= 0) {
    GradedBlocks blocks(stage.compute_observer());
    const std::uint64_t seed = seed_of(loaded);
    Call call(loaded.manifest.called_before ? loaded.inputs : std::move(loaded.inputs),
              loaded.manifest.arguments, communicator.get(), blocks);
    call.watch_progress([&page = watchers.page](const std::string& text) { set_text(page, text); });
    RankReport report = play_calls(subject, loaded, communicator.get(), call, blocks, seed, index, watchers);
    if (std::optional<Tensor> log = blocks.log())
      call.output(block_log::output, log->shape()) = *std::move(log);
    if (std::optional<Tensor> scores = blocks.scores())
      call.output(block_log::scores_output, scores->shape()) = *std::move(scores);
    if (std::optional<Tensor> leftovers = blocks.leftovers())
      call.output(block_log::leftover_output, leftovers->shape()) = *std::move(leftovers);
    write_outputs(output_folder(loaded.folder, loaded.rank), call.outputs(), std::move(report));
  } else {
    for (int i = 0; loaded.manifest.called_before && i < earlier_calls; ++i) stage.barrier();
  }
  stage.barrier();
}

void play_graded(const PlayerOptions& options, std::vector<LoadedCase> cases, const Watchers& watchers) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Library& subject = Library::at(options.cases[i].subject);
    begin_case(watchers.page, i);
    play_case(subject, cases[i], i, watchers);
  }
  watchers.stage.barrier();
}

/// A rank that cannot go on tells those who watch, or else everybody. Returns the exit code.
int play_timed_or_tell(const PlayerOptions& options, std::vector<LoadedCase> cases, Stage& stage,
                       RankStatus& page) {
  try {
    play_timed(options, std::move(cases), stage, page);
    set_phase(page, Phase::Done);
    return 0;
  } catch (const std::exception& error) {
    set_text(page, error.what());
    set_phase(page, Phase::Threw);
    if (options.status.empty())
      std::fprintf(stderr, "player: rank %d threw: %s\n", stage.world_rank(), error.what());
    return 1;
  }
}

}  // namespace

int play(int argc, char** argv, Stage& stage) {
  try {
    const PlayerOptions options = parse_player_options(argc, argv);
    RankStatus& page = enter_page(options.status, stage.world_rank());
    const bool keep_inputs = options.keep_inputs || options.timed;
    std::vector<LoadedCase> cases;
    for (const PlannedCase& planned : options.cases)
      cases.push_back(load_case(planned.folder, stage, keep_inputs));
    for (const PlannedCase& planned : options.cases) require_loadable(planned.subject);
    MemoryMeter memory;
    // Nobody of the same user, such as another rank's code, may look into this process; a debugger may.
    if (!keep_inputs) prctl(PR_SET_DUMPABLE, 0);
    stage.barrier();
    report_crashes(page);
    keep_stderr(options.status);
    break_seal(options.status);
    if (options.timed) return play_timed_or_tell(options, std::move(cases), stage, page);
    play_graded(options, std::move(cases), {stage, page, memory});
    set_phase(page, Phase::Done);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "player: %s\n", error.what());
    return 2;
  }
}

}  // namespace course
