#include "lab/recording.hpp"

#include <utility>

#include "demo/call_record.hpp"
#include "demo/exchange.hpp"
#include "mpi_layer/mpi_layer.hpp"

namespace course::lab {

Recording record(const std::function<void(ComputeLog&)>& call, MPI_Comm comm) {
  ComputeLog log;
  Recording recording;
  demo::connect_neighbours(comm);
  mpi_layer::begin(comm, {.synchronous_sends = false, .record_spans = true}, nullptr);
  recording.begin_s = demo::now_s();
  call(log);
  recording.end_s = demo::now_s();
  const mpi_layer::Report report = mpi_layer::end();
  demo::barrier(comm);
  recording.result = demo::result_of(report, recording.begin_s, log.spans());
  return recording;
}

void take_gaps_for_compute(Recording& recording) {
  std::vector<Span> all;
  double until_s = recording.begin_s;
  const auto fill = [&](double to_s) {
    if (to_s > until_s) all.push_back({Span::Kind::Compute, until_s, to_s, "between MPI calls"});
  };
  for (const Span& span : recording.result.trace.spans) {
    fill(span.begin_s);
    all.push_back(span);
    until_s = span.end_s;
  }
  fill(recording.end_s);
  recording.result.trace.spans = std::move(all);
}

}  // namespace course::lab
