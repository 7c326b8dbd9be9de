#include "demo/rings.hpp"

#include <map>
#include <string_view>
#include <utility>

#include "demo/call_record.hpp"
#include "demo/loading.hpp"
#include "demo/subject.hpp"

namespace course::demo {

namespace {

/// The same computation, with `after` called after each block.
template <class Block>
Block counted(Block block, const std::function<void()>& after) {
  block.accumulate = [work = std::move(block.accumulate), &after](auto&&... arguments) {
    work(std::forward<decltype(arguments)>(arguments)...);
    after();
  };
  return block;
}

/// @param entry a lesson's function, which takes a block computation of this type
template <class Entry, class Block>
Pass forward_pass(Entry* entry, const Block& block) {
  return [entry, block](const Shard& shard, ShardOutput& output, ComputeLog& log,
                        const std::function<void()>& after_block, MPI_Comm comm) {
    entry(shard.q.heads(), shard.k.heads(), shard.v.heads(), output.o.heads(), output.lse.matrix(),
          shard.shard_tokens, counted(timed(block, log), after_block), comm);
  };
}

template <class Entry, class Block>
Pass backward_pass(Entry* entry, const Block& block) {
  return [entry, block](const Shard& shard, ShardOutput& output, ComputeLog& log,
                        const std::function<void()>& after_block, MPI_Comm comm) {
    entry(shard.q.heads(), shard.k.heads(), shard.v.heads(), output.o.heads(), output.lse.matrix(),
          shard.d_o->heads(), output.dq.heads(), output.dk.heads(), output.dv.heads(), shard.shard_tokens,
          counted(timed(block, log), after_block), comm);
  };
}

Ring blocking_ring(const Libraries& libraries, bool backward) {
  const Subject subject = load_subject(libraries, backward);
  Ring ring{"blocking", forward_pass(subject.ring, subject.block), {}};
  if (backward) ring.backward = backward_pass(subject.ring_backward, subject.block_backward);
  return ring;
}

Ring overlapped_ring(const Libraries& libraries, bool backward) {
  const auto entry = require_entry<decltype(course_demo_overlapped_ring)>(libraries.overlapped_ring,
                                                                          "course_demo_overlapped_ring");
  const auto block =
      require_entry<decltype(course_demo_tiled_block)>(libraries.block, "course_demo_tiled_block");
  Ring ring{"overlapped", forward_pass(entry, *block()), {}};
  if (!backward) return ring;
  const auto backward_entry = require_entry<decltype(course_demo_overlapped_ring_backward)>(
      libraries.overlapped_ring, "course_demo_overlapped_ring_backward");
  const auto backward_block = require_entry<decltype(course_demo_tiled_block_backward)>(
      libraries.block_backward, "course_demo_tiled_block_backward");
  ring.backward = backward_pass(backward_entry, *backward_block());
  return ring;
}

}  // namespace

std::vector<Ring> load_rings(const std::vector<RingKind>& kinds, const Libraries& libraries, bool backward) {
  using Load = Ring (*)(const Libraries&, bool);
  const std::map<std::string_view, Load> loads{{"blocking", blocking_ring}, {"overlapped", overlapped_ring}};
  std::vector<Ring> rings;
  for (const RingKind& kind : kinds) rings.push_back(loads.at(kind.name)(libraries, backward));
  return rings;
}

}  // namespace course::demo
