#include "demo/call_record.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "demo/exchange.hpp"

namespace course::demo {

namespace {

/// Facts about collectives say what their bytes already say.
std::vector<std::string> noticed(const mpi_layer::Report& report) {
  std::vector<std::string> facts;
  for (const mpi_layer::Fact& fact : report.facts) {
    if (fact.kind != mpi_layer::fact_collective) facts.push_back(fact.text);
  }
  return facts;
}

/// What is done between tiles, as an interruption of the work; nothing stays nothing.
BetweenTiles timed_pause(const BetweenTiles& between_tiles, ComputeLog& log) {
  if (!between_tiles) return {};
  return [&between_tiles, &log] { log.interrupt(between_tiles); };
}

auto timed_finish(decltype(BlockAttention::finish) finish, ComputeLog& log) {
  return
      [finish = std::move(finish), &log](AttentionState& state, HeadsView<float> o, MatrixView<float> lse) {
        log.time("divide by l", [&] { finish(state, o, lse); });
      };
}

std::string backward_label(int owner) {
  return "backward, " + block_label(owner);
}

}  // namespace

std::string block_label(int owner) {
  return "block of rank " + std::to_string(owner);
}

BlockAttention timed(BlockAttention block, ComputeLog& log) {
  const auto accumulate = [work = std::move(block.accumulate), &log](
                              HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                              int owner, AttentionState& state) {
    log.time(block_label(owner), [&] { work(q, k, v, owner, state); });
  };
  return {accumulate, timed_finish(std::move(block.finish), log)};
}

BlockAttentionBackward timed(BlockAttentionBackward block, ComputeLog& log) {
  return {[work = std::move(block.accumulate), &log](
              HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
              HeadsView<const float> d_o, MatrixView<const float> lse, MatrixView<const float> delta,
              int owner, HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv) {
    log.time(backward_label(owner), [&] { work(q, k, v, d_o, lse, delta, owner, dq, dk, dv); });
  }};
}

TiledBlockAttention timed(TiledBlockAttention block, ComputeLog& log) {
  const auto accumulate = [work = std::move(block.accumulate), &log](
                              HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                              int owner, AttentionState& state, const BetweenTiles& between_tiles) {
    const BetweenTiles pause = timed_pause(between_tiles, log);
    log.time(block_label(owner), [&] { work(q, k, v, owner, state, pause); });
  };
  return {accumulate, timed_finish(std::move(block.finish), log)};
}

TiledBlockAttentionBackward timed(TiledBlockAttentionBackward block, ComputeLog& log) {
  return {[work = std::move(block.accumulate), &log](
              HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
              HeadsView<const float> d_o, MatrixView<const float> lse, MatrixView<const float> delta,
              int owner, HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
              const BetweenTiles& between_tiles) {
    const BetweenTiles pause = timed_pause(between_tiles, log);
    log.time(backward_label(owner), [&] { work(q, k, v, d_o, lse, delta, owner, dq, dk, dv, pause); });
  }};
}

RankResult result_of(const mpi_layer::Report& report, double begin_s, std::vector<Span> compute) {
  RankResult result;
  for (const auto& [peer, bytes] : report.bytes_sent_to) result.bytes_sent += bytes;
  result.collective_bytes = report.collective_bytes;
  result.facts = noticed(report);
  result.host_id = host_id();
  result.host_name = host_name();
  result.cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  result.trace.spans = std::move(compute);
  for (const Span& span : report.spans) {
    result.trace.spans.push_back({span.kind, begin_s + span.begin_s, begin_s + span.end_s, span.label});
  }
  make_disjoint(result.trace.spans);
  return result;
}

}  // namespace course::demo
