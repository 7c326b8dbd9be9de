#include "demo/ring_run.hpp"

#include <limits>
#include <numeric>
#include <thread>

#include "demo/exchange.hpp"
#include "mpi_layer/mpi_layer.hpp"

namespace course::demo {

namespace {

/// The same computation with each call timed.
BlockAttention timed(const BlockAttention& block, std::vector<Span>& spans, RankStatus& page,
                     const std::function<void(int)>& after_block) {
  const auto time = [&spans, &page](const std::string& label, const auto& call) {
    const double begin_s = now_s();
    call();
    spans.push_back({Span::Kind::Compute, begin_s, now_s(), label});
    ++page.completed;
  };
  BlockAttention result;
  result.accumulate = [=, &block, blocks = 0](HeadsView<const float> q, HeadsView<const float> k,
                                              HeadsView<const float> v, int owner,
                                              AttentionState& state) mutable {
    time("block of rank " + std::to_string(owner), [&] { block.accumulate(q, k, v, owner, state); });
    after_block(++blocks);
  };
  result.finish = [=, &block](AttentionState& state, HeadsView<float> o, MatrixView<float> lse) {
    time("divide by l", [&] { block.finish(state, o, lse); });
  };
  return result;
}

void set_phase(RankStatus& page, Phase phase) {
  page.phase = static_cast<std::uint32_t>(phase);
}

/// One call of the ring with all that was seen of it.
class TimedCall {
 public:
  TimedCall(const Subject& subject, MPI_Comm comm, RankStatus& page,
            const std::function<void(int)>& after_block)
      : subject_(subject),
        comm_(comm),
        page_(page),
        block_(timed(subject.block, spans_, page, after_block)) {}
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;

  void run(const Shard& shard, Tensor& o, Tensor& lse) {
    connect_neighbours(comm_);
    page_.case_index = 0;
    set_phase(page_, Phase::Computing);
    mpi_layer::begin(comm_, {.synchronous_sends = false, .record_spans = true}, &page_);
    begin_s_ = now_s();
    subject_.ring(shard.q.heads(), shard.k.heads(), shard.v.heads(), o.heads(), lse.matrix(),
                  shard.shard_tokens, block_, comm_);
    report_ = mpi_layer::end();
    set_phase(page_, Phase::Finished);
    meet(comm_);
  }

  const mpi_layer::Report& report() const { return report_; }

  /// Compute and MPI together, in order.
  std::vector<Span> spans() const {
    std::vector<Span> all = spans_;
    for (const Span& span : report_.spans) {
      all.push_back({span.kind, begin_s_ + span.begin_s, begin_s_ + span.end_s, span.label});
    }
    make_disjoint(all);
    return all;
  }

 private:
  const Subject& subject_;
  MPI_Comm comm_;
  RankStatus& page_;
  std::vector<Span> spans_;
  BlockAttention block_;
  double begin_s_ = 0;
  mpi_layer::Report report_;
};

/// Facts about collectives say what their bytes already say.
std::vector<std::string> noticed(const mpi_layer::Report& report) {
  std::vector<std::string> facts;
  for (const mpi_layer::Fact& fact : report.facts) {
    if (fact.kind != mpi_layer::fact_collective) facts.push_back(fact.text);
  }
  return facts;
}

/// Of several calls the one that took all ranks the least time, from the first span of any to the last.
std::size_t fastest(const std::vector<std::vector<Span>>& calls, double offset_s, MPI_Comm comm) {
  std::vector<double> begins;
  std::vector<double> ends;
  for (const std::vector<Span>& spans : calls) {
    begins.push_back(spans.empty() ? std::numeric_limits<double>::max() : offset_s + spans.front().begin_s);
    ends.push_back(spans.empty() ? std::numeric_limits<double>::lowest() : offset_s + spans.back().end_s);
  }
  begins = smallest(std::move(begins), comm);
  ends = largest(std::move(ends), comm);
  std::size_t best = 0;
  for (std::size_t i = 1; i < calls.size(); ++i) {
    if (ends[i] - begins[i] < ends[best] - begins[best]) best = i;
  }
  return best;
}

RankResult result_of(const mpi_layer::Report& report, Index tokens) {
  RankResult result;
  result.tokens = tokens;
  for (const auto& [peer, bytes] : report.bytes_sent_to) result.bytes_sent += bytes;
  result.collective_bytes = report.collective_bytes;
  result.facts = noticed(report);
  result.host_id = host_id();
  result.host_name = host_name();
  result.cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return result;
}

void forget(Tensor& tensor) {
  std::fill(tensor.values().begin(), tensor.values().end(), std::numeric_limits<float>::quiet_NaN());
}

}  // namespace

int worthwhile_runs(Index heads, Index seq, Index head_dim) {
  constexpr double brief_operations = 1e9;
  const double rows = static_cast<double>(seq);
  return 4 * static_cast<double>(heads * head_dim) * rows * rows < brief_operations ? 8 : 1;
}

ShardOutput run_ring(const Subject& subject, const Shard& shard, int runs, MPI_Comm comm, RankStatus& page,
                     const std::function<void(int)>& after_block) {
  ShardOutput output{Tensor(shard.q.shape()), Tensor({shard.q.extent(0), shard.q.extent(1)}), {}};
  const double offset_s = clock_offset_s(comm);
  std::vector<std::vector<Span>> spans;
  for (int run = 0; run < runs; ++run) {
    forget(output.o);
    forget(output.lse);
    TimedCall call(subject, comm, page, after_block);
    call.run(shard, output.o, output.lse);
    spans.push_back(call.spans());
    output.result = result_of(call.report(), shard.q.extent(1));
  }
  output.result.trace.spans = std::move(spans[fastest(spans, offset_s, comm)]);
  for (Span& span : output.result.trace.spans) {
    span.begin_s += offset_s;
    span.end_s += offset_s;
  }
  return output;
}

}  // namespace course::demo
