#include "lab/model.hpp"

#include <algorithm>

namespace course::lab {

double block_operations(const Workload& work) {
  const double tokens = static_cast<double>(work.tokens);
  return 4 * tokens * tokens * static_cast<double>(work.heads * work.head_dim);
}

double hop_bytes(const Workload& work) {
  return 2.0 * sizeof(float) * static_cast<double>(work.tokens * work.heads * work.head_dim);
}

double tokens_for(double work_over_transfer, double flops, double bytes_per_s) {
  return 2 * work_over_transfer * flops / bytes_per_s;
}

double compute_alone_s(const RingParts& ring) {
  return ring.ranks * ring.work_s;
}

double blocking_s(const RingParts& ring) {
  return compute_alone_s(ring) + (ring.ranks - 1) * ring.transfer_s;
}

double overlapped_s(const RingParts& ring) {
  return (ring.ranks - 1) * std::max(ring.work_s, ring.transfer_s) + ring.work_s;
}

double round_s(const RingParts& ring) {
  const double alone_s = compute_alone_s(ring) + 2 * (ring.ranks - 1) * ring.transfer_s;
  return alone_s + 2 * blocking_s(ring) + overlapped_s(ring);
}

double setting_s(const RingParts& ring) {
  return speed_calls * blocking_s(ring) + least_rounds * round_s(ring);
}

double exposed_share(double ring_s, double compute_alone) {
  return (ring_s - compute_alone) / compute_alone;
}

}  // namespace course::lab
