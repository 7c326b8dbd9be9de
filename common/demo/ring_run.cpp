#include "demo/ring_run.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "demo/call_record.hpp"
#include "demo/exchange.hpp"
#include "mpi_layer/mpi_layer.hpp"

namespace course::demo {

namespace {

void set_phase(RankStatus& page, Phase phase) {
  page.phase = static_cast<std::uint32_t>(phase);
}

void forget(ShardOutput& output) {
  for (Tensor* tensor : {&output.o, &output.lse, &output.dq, &output.dk, &output.dv}) {
    std::fill(tensor->values().begin(), tensor->values().end(), std::numeric_limits<float>::quiet_NaN());
  }
}

/// One call of the ring with all that was seen of it.
void run_once(const Ring& ring, const Shard& shard, ShardOutput& output, MPI_Comm comm, RankStatus& page,
              const AfterBlock& after_block) {
  forget(output);
  ComputeLog log;
  const auto counting = [&](const std::string& pass) {
    return [&page, &after_block, what = ring.name + " ring, " + pass, blocks = 0]() mutable {
      ++page.completed;
      after_block(what, ++blocks);
    };
  };
  connect_neighbours(comm);
  page.case_index = 0;
  set_phase(page, Phase::Computing);
  mpi_layer::begin(comm, {.synchronous_sends = false, .record_spans = true}, &page);
  const double begin_s = now_s();
  ring.forward(shard, output, log, counting("forward"), comm);
  if (shard.d_o) ring.backward(shard, output, log, counting("backward"), comm);
  const mpi_layer::Report report = mpi_layer::end();
  set_phase(page, Phase::Finished);
  barrier(comm);
  output.result = result_of(report, begin_s, log.spans());
  output.result.tokens = shard.q.extent(1);
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

ShardOutput empty_output(const Shard& shard) {
  ShardOutput output{Tensor(shard.q.shape()), Tensor({shard.q.extent(0), shard.q.extent(1)}), {}};
  if (shard.d_o) output.dq = output.dk = output.dv = Tensor(shard.q.shape());
  return output;
}

}  // namespace

int worthwhile_runs(Index heads, Index seq, Index head_dim) {
  constexpr double brief_operations = 1e9;
  const double rows = static_cast<double>(seq);
  return 4 * static_cast<double>(heads * head_dim) * rows * rows < brief_operations ? 8 : 1;
}

std::vector<ShardOutput> run_rings(const std::vector<Ring>& rings, const Shard& shard, int runs,
                                   MPI_Comm comm, RankStatus& page, const AfterBlock& after_block) {
  const double offset_s = clock_offset_s(comm);
  std::vector<ShardOutput> outputs(rings.size(), empty_output(shard));
  std::vector<std::vector<std::vector<Span>>> spans(rings.size());  // by ring and run
  for (int run = 0; run < runs; ++run) {
    for (std::size_t ring = 0; ring < rings.size(); ++ring) {
      run_once(rings[ring], shard, outputs[ring], comm, page, after_block);
      spans[ring].push_back(std::move(outputs[ring].result.trace.spans));
    }
  }
  for (std::size_t ring = 0; ring < rings.size(); ++ring) {
    std::vector<Span>& best = spans[ring][fastest(spans[ring], offset_s, comm)];
    for (Span& span : best) {
      span.begin_s += offset_s;
      span.end_s += offset_s;
    }
    outputs[ring].result.trace.spans = std::move(best);
  }
  return outputs;
}

}  // namespace course::demo
