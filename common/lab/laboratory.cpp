#include "lab/laboratory.hpp"

#include <cmath>

namespace course::lab {

namespace {

constexpr double hidden_share = 0.03, lost_share = 0.30, model_share = 0.15;
constexpr std::size_t blocking = 0, progressed = 2;

double per_hop(double seconds, int ranks) {
  return ranks > 1 ? seconds / (ranks - 1) : 0;
}

std::string few_hops(int ranks) {
  return "with " + std::to_string(ranks) +
         " ranks there are too few hops beside the blocks to lose as much; --ranks shows more";
}

/// What the model says of a ring whose messages take turns with its blocks, or travel beside them.
double predicted_s(const Measured& measured, int ranks, std::size_t ring) {
  const double work_s = measured.compute_alone_s / ranks;
  if (ring == progressed) {
    return overlapped_s({ranks, work_s, per_hop(measured.overlapped_transfers_s, ranks)});
  }
  const double hops_s = ring == blocking ? measured.blocking_transfers_s : measured.overlapped_transfers_s;
  return blocking_s({ranks, work_s, per_hop(hops_s, ranks)});
}

}  // namespace

Reading read(const Measured& measured, int ranks) {
  Reading finding{measured.compute_alone_s / ranks, per_hop(measured.overlapped_transfers_s, ranks), {}};
  for (std::size_t ring = 0; ring < measured.rings.size(); ++ring) {
    finding.exposed.push_back({measured.rings[ring].name,
                               exposed_share(measured.rings[ring].seconds, measured.compute_alone_s),
                               exposed_share(predicted_s(measured, ranks, ring), measured.compute_alone_s)});
  }
  return finding;
}

std::vector<Target> targets(const std::vector<Measured>& settings, int ranks) {
  std::vector<Target> all;
  for (const Measured& measured : settings) {
    const Reading finding = read(measured, ranks);
    const double hidden = finding.exposed.at(progressed).measured;
    if (measured.work_over_transfer > 1) {
      all.push_back({"with progress: exposed, at most", hidden, hidden_share, hidden <= hidden_share});
      const Exposed& lost = finding.exposed.at(blocking);
      all.push_back({"blocking: exposed, at least", lost.measured, lost_share, lost.measured >= lost_share,
                     lost.predicted < lost_share ? few_hops(ranks) : ""});
    } else {
      const double off = std::abs((1 + hidden) / (1 + finding.exposed.at(progressed).predicted) - 1);
      all.push_back({"with progress: time off the model's, at most", off, model_share, off <= model_share});
    }
  }
  return all;
}

}  // namespace course::lab
