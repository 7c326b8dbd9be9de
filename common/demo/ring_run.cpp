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

/// Facts about collectives say what their bytes already say.
std::vector<std::string> noticed(const mpi_layer::Report& report) {
  std::vector<std::string> facts;
  for (const mpi_layer::Fact& fact : report.facts) {
    if (fact.kind != mpi_layer::fact_collective) facts.push_back(fact.text);
  }
  return facts;
}

}  // namespace

ShardOutput run_ring(const Subject& subject, const Shard& shard, MPI_Comm comm, RankStatus& page,
                     const std::function<void(int)>& after_block) {
  const float unwritten = std::numeric_limits<float>::quiet_NaN();
  ShardOutput output{
      Tensor(shard.q.shape(), unwritten), Tensor({shard.q.extent(0), shard.q.extent(1)}, unwritten), {}};
  std::vector<Span> spans;
  const BlockAttention block = timed(subject.block, spans, page, after_block);
  const double offset_s = clock_offset_s(comm);
  connect_neighbours(comm);

  page.case_index = 0;
  set_phase(page, Phase::Computing);
  mpi_layer::begin(comm, {.synchronous_sends = false, .record_spans = true}, &page);
  const double begin_s = now_s();
  subject.ring(shard.q.heads(), shard.k.heads(), shard.v.heads(), output.o.heads(), output.lse.matrix(),
               shard.shard_tokens, block, comm);
  mpi_layer::Report report = mpi_layer::end();
  set_phase(page, Phase::Finished);

  for (Span& span : report.spans) {
    spans.push_back({span.kind, begin_s + span.begin_s, begin_s + span.end_s, std::move(span.label)});
  }
  make_disjoint(spans);
  for (Span& span : spans) {
    span.begin_s += offset_s;
    span.end_s += offset_s;
  }
  RankResult& result = output.result;
  result.tokens = shard.q.extent(1);
  for (const auto& [peer, bytes] : report.bytes_sent_to) result.bytes_sent += bytes;
  result.collective_bytes = report.collective_bytes;
  result.trace.spans = std::move(spans);
  result.facts = noticed(report);
  result.host_id = host_id();
  result.host_name = host_name();
  result.cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return output;
}

}  // namespace course::demo
