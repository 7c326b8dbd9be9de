#include "player/adapter.hpp"

#include <cmath>

/// A toy lesson: every rank has its queries with their positions in the sequence, and all keys and values.
namespace {

using course::HeadsView;
using course::Index;

/// Causal attention of a rank's queries, each of which sees keys 0 .. last_key(its row).
template <class LastKey>
void attend(course::Call& call, LastKey last_key) {
  const HeadsView<const float> q = call.input("q").heads();
  const HeadsView<const float> k = call.input("k").heads();
  const HeadsView<const float> v = call.input("v").heads();
  const HeadsView<float> o = call.output("o", call.input("q").shape()).heads();
  const double scale = 1 / std::sqrt(static_cast<double>(q.head_dim()));
  for (Index head = 0; head < q.heads(); ++head) {
    for (Index i = 0; i < q.seq(); ++i) {
      double sum = 0;
      std::vector<double> row(q.head_dim());
      for (Index j = 0; j <= last_key(i); ++j) {
        double score = 0;
        for (Index c = 0; c < q.head_dim(); ++c) score += scale * q(head, i, c) * k(head, j, c);
        sum += std::exp(score);
        for (Index c = 0; c < q.head_dim(); ++c) row[c] += std::exp(score) * v(head, j, c);
      }
      for (Index c = 0; c < q.head_dim(); ++c) o(head, i, c) = static_cast<float>(row[c] / sum);
    }
  }
}

void mask_by_position(course::Call& call) {
  const std::span<const float> positions = call.input("positions").flat();
  attend(call, [&](Index row) { return static_cast<Index>(positions[row]); });
}

void mask_by_local_index(course::Call& call) {
  attend(call, [](Index row) { return row; });
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"mask_by_position", mask_by_position},
                                       {"mask_by_local_index", mask_by_local_index}};
  return adapter;
}
