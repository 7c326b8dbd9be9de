#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "player/masked_blocks.hpp"
#include "player/own_process.hpp"
#include "player/plain_attention.hpp"
#include "player/played_case.hpp"
#include "protocol/timing.hpp"
#include "trace/trace.hpp"

namespace course {

namespace {

/// They compute nothing: a ring that is given them only sends.
const LessonBlocks idle_blocks{{[](auto&&...) {}, [](auto&&...) {}}, {[](auto&&...) {}}};

std::string block_of(int owner) {
  return "block of rank " + std::to_string(owner);
}

void require(bool given, const std::string& option) {
  if (!given) throw std::runtime_error(option + " has no such block computation");
}

/// Blocks of somebody's own, with every block and every tile in a span of compute, and what is done between
/// tiles in one called progress_label: MPI's tests are no spans of the layer's.
class TimedBlocks : public Blocks {
 public:
  /// @param mode CaseManifest::block_mode. Throws std::invalid_argument for a word that is none.
  /// @param records whether there are spans
  TimedBlocks(LessonBlocks blocks, const std::string& mode, bool records, std::function<void()> after_block)
      : blocks_(mode == "idle" ? idle_blocks : std::move(blocks)),
        computes_(mode != "idle"),
        tells_(mode != "without_progress"),
        records_(records),
        after_block_(std::move(after_block)) {
    if (!mode.empty() && mode != "idle" && mode != "without_progress")
      throw std::invalid_argument("block " + mode + ": expected idle or without_progress");
  }

  /// Whether a function has been handed one: it computes in blocks alone, if in any.
  bool are_handed_out() const { return handed_out_; }
  /// The spans since the last look, on this host's monotonic clock.
  std::vector<Span> take_spans() { return std::exchange(spans_, {}); }
  /// What the blocks since the last look took.
  std::vector<BlockTime> take_times() { return std::exchange(times_, {}); }

 private:
  /// Throws std::runtime_error where the lesson that was given has none.
  BlockForward make_forward(Taker) override {
    require(static_cast<bool>(blocks_.forward.accumulate), "--block");
    handed_out_ = true;
    return {[this](const BlockRequest& request, AttentionState& state) {
              compute_block(block_of(request.owner), request,
                            [&](const BlockRequest& told) { masked::accumulate(blocks_, told, state); });
            },
            finish()};
  }

  BlockBackward make_backward(Taker) override {
    require(static_cast<bool>(blocks_.backward.accumulate), "--block-backward");
    handed_out_ = true;
    return {[this](const BlockRequest& request, HeadsView<const float> d_o, MatrixView<const float> lse,
                   MatrixView<const float> delta, HeadsView<float> dq, HeadsView<float> dk,
                   HeadsView<float> dv) {
      compute_block("backward, " + block_of(request.owner), request, [&](const BlockRequest& told) {
        masked::accumulate_backward(blocks_, told, d_o, lse, delta, dq, dk, dv);
      });
    }};
  }

  std::function<void(AttentionState&, HeadsView<float>, MatrixView<float>)> finish() {
    return [this](AttentionState& state, HeadsView<float> o, MatrixView<float> lse) {
      const double begin_s = now_s();
      blocks_.forward.finish(state, o, lse);
      compute("divide by l", begin_s);
    };
  }

  using Work = std::function<void(const BlockRequest&)>;
  void compute_block(const std::string& label, const BlockRequest& request, const Work& work) {
    const double cpu_begin_s = thread_cpu_s();
    double begin_s = now_s();
    const auto pause = [&] {
      compute(label, begin_s);
      const double paused_s = now_s();
      request.between_tiles();
      begin_s = now_s();
      spans_.push_back({Span::Kind::Transfer, paused_s, begin_s, progress_label});
    };
    BlockRequest told = request;
    if (!tells_) told.between_tiles = {};
    if (told.between_tiles && records_) told.between_tiles = pause;
    if (computes_) work(told);
    compute(label, begin_s);
    times_.push_back({request.owner, thread_cpu_s() - cpu_begin_s});
    after_block_();
  }

  void compute(const std::string& label, double begin_s) {
    if (records_) spans_.push_back({Span::Kind::Compute, begin_s, now_s(), label});
  }

  LessonBlocks blocks_;
  bool computes_;
  bool tells_;  ///< whether between_tiles is called
  bool records_;
  std::function<void()> after_block_;
  bool handed_out_ = false;
  std::vector<Span> spans_;
  std::vector<BlockTime> times_;
};

/// All that is known of code that is handed no blocks: wherever no MPI call is under way it may.
void take_gaps_for_compute(std::vector<Span>& spans, const CallTime& call) {
  std::vector<Span> all;
  double until_s = call.begin_s;
  const auto fill = [&](double to_s) {
    if (to_s > until_s) all.push_back({Span::Kind::Compute, until_s, to_s, "between MPI calls"});
  };
  for (const Span& span : spans) {
    fill(span.begin_s);
    all.push_back(span);
    until_s = span.end_s;
  }
  fill(call.end_s);
  spans = std::move(all);
}

/// One case, which is called again and again.
class TimedCase {
 public:
  TimedCase(LoadedCase loaded, const Library& subject, const LessonBlocks& blocks, Stage& stage,
            RankStatus& page)
      : case_(std::move(loaded)),
        subject_(subject),
        stage_(stage),
        page_(page),
        together_(stage.enter(case_.rank)),
        communicator_(case_.manifest.apart ? stage.enter(case_.rank, true) : together_),
        blocks_(blocks, case_.manifest.block_mode, case_.manifest.spans, [this] { say_block(); }),
        call_(std::move(case_.inputs), case_.manifest.arguments, communicator_.get(), blocks_) {
    if (takes_part()) stage_.connect_neighbours(communicator_.get());
  }
  TimedCase(const TimedCase&) = delete;
  TimedCase& operator=(const TimedCase&) = delete;

  void call_again(const std::deque<TimedCase>& all) {
    if (!takes_part()) return;
    for (const auto& [input, from] : case_.manifest.from) call_.lend(input, tensor_of(all, from, input));
    call_.forget_outputs();
    blocks_done_ = 0;
    set_text(page_, "");
    stage_.start_together(together_.get());
    set_phase(page_, Phase::Computing);
    stage_.begin_watching(communicator_.get(), watching(), page_);
    PlayedCall played;
    played.time.begin_s = now_s();
    played.report = call_function(subject_, case_.manifest.function, call_);
    played.time.end_s = now_s();
    played.time.blocks = blocks_.take_times();
    std::vector<Span> transfers = stage_.end_watching(played.report);
    if (played.report.ending != "finished") {
      write_outputs(output_folder(case_.folder, case_.rank), {}, played.report);
      throw std::runtime_error(played.report.what);
    }
    set_phase(page_, Phase::Finished);
    played.spans = all_spans(played.time, std::move(transfers));
    calls_.push_back(std::move(played));
  }

  void write(double offset_s, bool median) {
    if (!takes_part()) return;
    RankTiming timing;
    timing.shown = choose(median);
    for (PlayedCall& played : calls_) {
      timing.calls.push_back(
          {played.time.begin_s + offset_s, played.time.end_s + offset_s, std::move(played.time.blocks)});
    }
    PlayedCall& shown = calls_[static_cast<std::size_t>(timing.shown)];
    timing.spans = std::move(shown.spans);
    for (Span& span : timing.spans) {
      span.begin_s += offset_s;
      span.end_s += offset_s;
    }
    timing.host_id = host_id();
    timing.cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    const std::filesystem::path folder = output_folder(case_.folder, case_.rank);
    std::filesystem::create_directories(folder);
    write_timing(folder, timing);
    write_outputs(folder, call_.outputs(), std::move(shown.report));
  }

 private:
  Watching watching() const {
    if (case_.manifest.checked) return Watching::TimedAndChecked;
    return case_.manifest.spans ? Watching::Timed : Watching::TimedWithoutSpans;
  }

  struct PlayedCall {
    CallTime time;
    std::vector<Span> spans;
    RankReport report;
  };

  bool takes_part() const { return case_.rank >= 0; }

  /// Throws std::invalid_argument with both names when no case before this one has it.
  const Tensor& tensor_of(const std::deque<TimedCase>& all, const std::string& other,
                          const std::string& name) const {
    for (const TimedCase& one : all) {
      if (&one == this) break;
      if (one.case_.folder != case_.folder.parent_path() / other) continue;
      const auto output = one.call_.outputs().find(name);
      return output != one.call_.outputs().end() ? output->second : one.call_.input(name);
    }
    throw std::invalid_argument(case_.folder.string() + " takes " + name + " from " + other +
                                ", which is not played before it");
  }

  void say_block() {
    ++page_.completed;
    ++blocks_done_;
    set_text(page_, std::to_string(blocks_done_) + (blocks_done_ == 1 ? " block done" : " blocks done"));
  }

  /// Of a GPU's streams, nothing is to be filled in: they do nothing beside their spans.
  std::vector<Span> all_spans(const CallTime& call, std::vector<Span> transfers) {
    if (!case_.manifest.spans) return {};
    if (stage_.has_streams()) return transfers;
    std::vector<Span> spans = blocks_.take_spans();
    std::ranges::move(transfers, std::back_inserter(spans));
    make_disjoint(spans);
    if (!blocks_.are_handed_out()) take_gaps_for_compute(spans, call);
    return spans;
  }

  /// The fastest call or the lower median, by the rank that took longest.
  int choose(bool median) {
    std::vector<double> seconds;
    for (const PlayedCall& played : calls_) seconds.push_back(played.time.end_s - played.time.begin_s);
    seconds = stage_.largest(std::move(seconds), together_.get());
    std::vector<int> order(seconds.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](int i) { return seconds[static_cast<std::size_t>(i)]; });
    return order[median ? (order.size() - 1) / 2 : 0];
  }

  LoadedCase case_;
  const Library& subject_;
  Stage& stage_;
  RankStatus& page_;
  std::shared_ptr<const void> together_;  ///< with all ranks of the case
  std::shared_ptr<const void> communicator_;
  TimedBlocks blocks_;
  Call call_;
  int blocks_done_ = 0;
  std::vector<PlayedCall> calls_;
};

/// Those of --block and --block-backward; the plain ones in place of what is not given.
LessonBlocks chosen_blocks(const TimedPlay& timed) {
  LessonBlocks chosen = plain::blocks;
  if (!timed.block.empty()) {
    const LessonBlocks& given = Library::at(timed.block).blocks();
    chosen.forward = given.forward;
    chosen.forward_knows_masks = given.forward_knows_masks;
  }
  if (!timed.block_backward.empty()) {
    const LessonBlocks& given = Library::at(timed.block_backward).blocks();
    chosen.backward = given.backward;
    chosen.backward_knows_masks = given.backward_knows_masks;
  }
  return chosen;
}

}  // namespace

void play_timed(const PlayerOptions& options, std::vector<LoadedCase> loaded, Stage& stage,
                RankStatus& page) {
  const LessonBlocks blocks = chosen_blocks(*options.timed);
  const double offset_s = stage.clock_offset_s();
  std::deque<TimedCase> cases;
  for (std::size_t i = 0; i < loaded.size(); ++i)
    cases.emplace_back(std::move(loaded[i]), Library::at(options.cases[i].subject), blocks, stage, page);
  for (int round = 0; round < options.timed->rounds; ++round) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      begin_case(page, i);
      stage.barrier();
      cases[i].call_again(cases);
    }
  }
  stage.barrier();
  for (TimedCase& one : cases) one.write(offset_s, options.timed->show_median);
  stage.barrier();
}

}  // namespace course
