#include "train/ranks/training.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <numeric>
#include <stdexcept>

#include "mpi_layer/mpi_layer.hpp"
#include "player/own_process.hpp"
#include "player/played_case.hpp"
#include "protocol/timing.hpp"
#include "ring/layout.hpp"
#include "text/text_file.hpp"
#include "train/checkpoints.hpp"
#include "train/ranks/disk.hpp"
#include "train/ranks/lesson_attention.hpp"
#include "train/ranks/sampling.hpp"
#include "training/lesson_code.hpp"

namespace course::train {

namespace fs = std::filesystem;

namespace {

using training::LayerFunctions;
using training::StepReport;
using training::TrainState;

int rank_in(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}

/// Blocks of two lessons, or of one that has both.
LessonBlocks blocks_of(const Order& order) {
  LessonBlocks blocks = Library::at(order.block).blocks();
  const LessonBlocks& backward = Library::at(order.block_backward).blocks();
  blocks.backward = backward.backward;
  blocks.backward_knows_masks = backward.backward_knows_masks;
  return blocks;
}

bool is_finite(MatrixView<const float> x) {
  return std::all_of(x.data(), x.data() + x.size(), [](float value) { return std::isfinite(value); });
}

/// The lesson's layer, which notes where numbers stop being finite.
class WatchedLayer {
 public:
  /// @param layers of the model: each pass calls all of them, a held-out window's, too
  WatchedLayer(const LayerFunctions& given, Index layers) : given_(given), layers_(layers) {}

  /// Its functions, with this attention; positions are left empty.
  LayerFunctions functions(LessonAttention& attention) {
    LayerFunctions watched = given_;
    watched.attention = [&](std::span<const Positions> positions, MPI_Comm comm) {
      return attention.over(positions, comm);
    };
    watched.forward = [this](MatrixView<const float> x, std::span<const Index> positions,
                             const training::LayerWeights<const float>& weights, const ShardAttention& bound,
                             MatrixView<float> z, const training::Kept<float>& kept) {
      given_.forward(x, positions, weights, bound, z, kept);
      const Index layer = calls_++ % layers_ + 1;
      if (wrong_.empty() && !is_finite(z))
        wrong_ = fmt::format("the output of layer {} is not finite", layer);
    };
    return watched;
  }
  /// Which layer's output was not finite first; empty where all were.
  const std::string& wrong() const { return wrong_; }

 private:
  const LayerFunctions& given_;
  Index layers_, calls_ = 0;
  std::string wrong_;
};

/// One rank of a run.
class Run {
 public:
  Run(fs::path folder, MPI_Comm comm, RankStatus& page)
      : folder_(std::move(folder)),
        order_(read_order(folder_)),
        comm_(comm),
        page_(page),
        text_(read_text(order_.settings.text)),
        trainer_(Library::at(order_.library).entry<decltype(course_trainer)>("course_trainer")()),
        attention_({order_.ring, order_.ring_forward, order_.ring_backward}, blocks_of(order_)),
        layer_(Library::at(order_.layer).entry<decltype(course_layer)>("course_layer")(),
               order_.settings.layers),
        functions_(layer_.functions(attention_)),
        disk_(real_disk()) {
    options_ = options_of(order_.settings);
    functions_.positions = [this](Index context, int ranks) {
      const Layout layout = Layout::named(order_.settings.layout, static_cast<int>(context), ranks);
      std::vector<Positions> all;
      for (int rank = 0; rank < ranks; ++rank) all.push_back(layout.positions(rank));
      return all;
    };
    use_.rank = rank_in(comm);
  }

  void make() {
    begin();
    Index saved = state_.step;
    bool stopped = false;
    while (state_.step < order_.last && !stopped) {
      one_step();
      stopped = someone_stops();
      const bool ends = stopped || state_.step == order_.last;
      if (!order_.out.empty() && saved != state_.step && (ends || state_.step % order_.save == 0)) {
        save();
        saved = state_.step;
      }
    }
    use_.peak_bytes = status_bytes("VmHWM:");
    if (order_.settings.sample > 0 && !stopped) write_sample();
    write_use(folder_, use_);
  }

 private:
  std::span<const std::uint8_t> text() const {
    return {reinterpret_cast<const std::uint8_t*>(text_.data()), text_.size()};
  }

  void begin() {
    facts_ = training::facts_of(options_, text());
    state_ = order_.from.empty() ? training::initial_state(options_)
                                 : trainer_.load_checkpoint(order_.from, facts_, disk_, comm_);
    int ranks = 0;
    PMPI_Comm_size(comm_, &ranks);
    use_.tokens = std::ssize(
        functions_.positions(order_.settings.context, ranks).at(static_cast<std::size_t>(use_.rank)));
  }

  /// One step, watched: what it sends, and for how long it is in MPI.
  void one_step() {
    const Index made = state_.step + 1;
    const bool asked = order_.evaluate > 0 && (made % order_.evaluate == 0 || made == order_.last);
    options_.evaluate = asked ? 1 : 0;
    StepNews news;
    const double begin_s = now_s();
    mpi_layer::begin(comm_, {.record_spans = true}, &page_);
    try {
      trainer_.train(
          options_, text(), state_, made, functions_,
          [&](const StepReport& report) {
            news = {report.step, report.loss, report.norm, {}, 0};
            if (report.held_out) news.held_out = *report.held_out;
          },
          comm_);
    } catch (const std::exception&) {
      if (!layer_.wrong().empty()) write_text(trouble_file(folder_, use_.rank), layer_.wrong());
      throw;
    }
    const mpi_layer::Report seen = mpi_layer::end();
    news.seconds = now_s() - begin_s;
    if (state_.step != made)
      throw std::runtime_error(fmt::format("train was to make step {} and has left the count of steps at {}",
                                           made - 1, state_.step));
    count(seen, news.seconds);
    tell(news);
  }

  void count(const mpi_layer::Report& seen, double seconds) {
    for (const Sent& sent : seen.traffic) use_.bytes_sent += sent.bytes;
    double waited_s = 0;
    for (const Span& span : seen.spans) waited_s += span.end_s - span.begin_s;
    use_.wait_s += waited_s;
    use_.compute_s += seconds - waited_s;
  }

  void tell(const StepNews& news) {
    ++page_.completed;
    set_text(page_, fmt::format("{}{} of {}, loss {:.4f}", step_word, news.step + 1, order_.last, news.loss));
    if (use_.rank == 0) std::ofstream(steps_file(folder_), std::ios::app) << to_line(news) + "\n";
  }

  /// Whether the launcher wants an end, the same on every rank; nobody leaves before all have come.
  bool someone_stops() const {
    int stops = fs::exists(stop_file(folder_)) ? 1 : 0;
    PMPI_Allreduce(MPI_IN_PLACE, &stops, 1, MPI_INT, MPI_MAX, comm_);
    return stops != 0;
  }

  void save() { trainer_.save_checkpoint(order_.out, state_, facts_, disk_, comm_); }

  void write_sample() {
    if (use_.rank == 0) {
      set_text(page_, "writing a sample");
      const training::ModelView<const float> model(options_.shape, state_.weights);
      const std::string written =
          sample(model, functions_, "\n", {.bytes = order_.settings.sample, .seed = options_.seed}, [&] {
            ++page_.completed;
            return !fs::exists(stop_file(folder_));
          });
      std::ofstream(sample_file(folder_), std::ios::binary) << written;
    }
  }

  const fs::path folder_;
  const Order order_;
  MPI_Comm comm_;
  RankStatus& page_;
  const std::string text_;
  const training::Trainer& trainer_;
  LessonAttention attention_;
  WatchedLayer layer_;
  LayerFunctions functions_;
  const training::Files disk_;
  training::TrainOptions options_;
  training::Facts facts_;
  TrainState state_;
  RankUse use_;
};

}  // namespace

void train_as_ordered(const fs::path& folder, MPI_Comm comm, RankStatus& page) {
  Run(folder, comm, page).make();
}

}  // namespace course::train
