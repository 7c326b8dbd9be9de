// right: Eigen in float64, tiles of 32 keys; task 6 on a duplicate of the communicator; task 7 calls accumulate once for each query head
#include "grouped_queries.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <Eigen/Core>

namespace {
Eigen::MatrixXd load(course::MatrixView<const float> x) {
  Eigen::MatrixXd m(x.rows(), x.cols());
  for (course::Index i = 0; i < x.rows(); ++i)
    for (course::Index c = 0; c < x.cols(); ++c) m(i, c) = x(i, c);
  return m;
}
}  // namespace

namespace lesson15 {

namespace {

float dot(std::span<const float> a, std::span<const float> b) {
  float sum = 0.0f;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

void add_scaled(float factor, std::span<const float> x, std::span<float> y) {
  for (std::size_t c = 0; c < y.size(); ++c) y[c] += factor * x[c];
}

void copy_into(HeadsView<const float> from, HeadsView<float> to) {
  for (Index head = 0; head < to.heads(); ++head) {
    for (Index i = 0; i < to.seq(); ++i)
      std::ranges::copy(from.head(head).row(i), to.head(head).row(i).begin());
  }
}

void clear(HeadsView<float> x) {
  for (Index head = 0; head < x.heads(); ++head) {
    for (Index i = 0; i < x.seq(); ++i) std::ranges::fill(x.head(head).row(i), 0.0f);
  }
}

}  // namespace

Index kv_head(Index head, Index heads, Index kv_heads) {
  if (kv_heads < 1 || heads % kv_heads != 0)
    throw std::invalid_argument(std::to_string(heads) + " query heads cannot share " +
                                std::to_string(kv_heads) + " key heads");
  const Index group = heads / kv_heads;
  return head / group;
}

void attend_grouped(const course::BlockRequest& request, course::AttentionState& state) {
  // Tiles of 32 keys, matrix products: the group as one tall head, in float64.
  const Index hk = request.k.heads(), g = request.q.heads() / hk, n = request.q.seq();
  for (Index s = 0; s < hk; ++s) {
    for (Index h = s * g; h < (s + 1) * g; ++h) {
      const Eigen::MatrixXd q = load(request.q.head(h));
      for (Index first = 0; first < request.k.seq(); first += 32) {
        const Index count = std::min<Index>(32, request.k.seq() - first);
        const Eigen::MatrixXd k = load(request.k.head(s).rows(first, count));
        const Eigen::MatrixXd v = load(request.v.head(s).rows(first, count));
        const Eigen::MatrixXd scores = double(request.scale) * (q * k.transpose());
        for (Index i = 0; i < n; ++i) {
          const double before = state.m()(h, i);
          const double now = std::max(before, scores.row(i).maxCoeff());
          const double factor = std::exp(before - now);
          const Eigen::RowVectorXd p = (scores.row(i).array() - now).exp();
          state.m()(h, i) = float(now);
          state.l()(h, i) = float(state.l()(h, i) * factor + p.sum());
          const Eigen::RowVectorXd add = p * v;
          for (Index c = 0; c < v.cols(); ++c) state.o()(h, i, c) = float(state.o()(h, i, c) * factor + add(c));
        }
      }
    }
  }
}

void grouped_backward(const course::BlockRequest& request, HeadsView<const float> d_o,
                      MatrixView<const float> lse, MatrixView<const float> delta, HeadsView<float> dq,
                      HeadsView<float> dk, HeadsView<float> dv) {
  const Index hk = request.k.heads(), g = request.q.heads() / hk;
  const auto add = [](const Eigen::MatrixXd& x, MatrixView<float> y) {
    for (Index i = 0; i < y.rows(); ++i)
      for (Index c = 0; c < y.cols(); ++c) y(i, c) += float(x(i, c));
  };
  for (Index s = 0; s < hk; ++s) {
    const Eigen::MatrixXd k = load(request.k.head(s)), v = load(request.v.head(s));
    Eigen::MatrixXd sum_k = Eigen::MatrixXd::Zero(k.rows(), k.cols()), sum_v = Eigen::MatrixXd::Zero(v.rows(), v.cols());
    for (Index h = s * g; h < (s + 1) * g; ++h) {
      const Eigen::MatrixXd q = load(request.q.head(h)), d = load(d_o.head(h));
      Eigen::MatrixXd p = double(request.scale) * (q * k.transpose());
      Eigen::MatrixXd ds = d * v.transpose();
      for (Index i = 0; i < q.rows(); ++i) {
        if (lse(h, i) == -std::numeric_limits<float>::infinity()) {
          p.row(i).setZero();
          ds.row(i).setZero();
          continue;
        }
        p.row(i) = (p.row(i).array() - double(lse(h, i))).exp().matrix().eval();
        ds.row(i) = (double(request.scale) * p.row(i).array() * (ds.row(i).array() - double(delta(h, i)))).matrix().eval();
      }
      add(ds * k, dq.head(h));
      sum_k += ds.transpose() * q;
      sum_v += p.transpose() * d;
    }
    add(sum_k, dk.head(s));
    add(sum_v, dv.head(s));
  }
}

void grouped_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                            HeadsView<float> o, MatrixView<float> lse, float scale,
                            std::span<const int> shard_tokens, const course::BlockForward& block,
                            MPI_Comm comm) {
  const course::Ring ring(comm);
  course::TravellingTensor keys(ring, shard_tokens, k);
  course::TravellingTensor values(ring, shard_tokens, v);
  course::AttentionState state(q.heads(), q.seq(), v.head_dim());
  for (int hop = 0; hop < ring.size; ++hop) {
    if (hop > 0) {
      keys.hop();
      values.hop();
    }
    block.accumulate({q, keys.block(), values.block(), ring.owner_after(hop), scale}, state);
  }
  block.finish(state, o, lse);
}

void grouped_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                           HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv, float scale,
                           std::span<const int> shard_tokens, const course::BlockBackward& block,
                           MPI_Comm comm) {
  const course::Ring ring(comm);
  std::vector<float> delta_numbers(q.heads() * q.seq());
  const MatrixView<float> delta(delta_numbers.data(), q.heads(), q.seq());
  for (Index head = 0; head < q.heads(); ++head) {
    for (Index i = 0; i < q.seq(); ++i) delta(head, i) = dot(o.head(head).row(i), d_o.head(head).row(i));
  }
  clear(dq);
  course::TravellingTensor keys(ring, shard_tokens, k);
  course::TravellingTensor values(ring, shard_tokens, v);
  course::TravellingTensor key_sums(ring, shard_tokens, k.heads(), k.head_dim());
  course::TravellingTensor value_sums(ring, shard_tokens, v.heads(), v.head_dim());
  for (int hop = 0; hop < ring.size; ++hop) {
    if (hop > 0) {
      keys.hop();
      values.hop();
      key_sums.hop();
      value_sums.hop();
    }
    block.accumulate({q, keys.block(), values.block(), ring.owner_after(hop), scale}, d_o, lse, delta, dq,
                     key_sums.block(), value_sums.block());
  }
  if (ring.size > 1) {
    key_sums.hop();
    value_sums.hop();
  }
  copy_into(key_sums.block(), dk);
  copy_into(value_sums.block(), dv);
}

void latent_ring_attention(HeadsView<const float> q_nope, HeadsView<const float> q_rope,
                           HeadsView<const float> latent, HeadsView<const float> key_up,
                           HeadsView<const float> value_up, HeadsView<float> o, MatrixView<float> lse,
                           std::span<const int> shard_tokens, const course::BlockForward& block,
                           MPI_Comm comm) {
  MPI_Comm mine;
  MPI_Comm_dup(comm, &mine);
  {
  const course::Ring ring(mine);
  const Index heads = q_nope.heads();
  const Index n = q_nope.seq();
  const Index nope_dim = q_nope.head_dim();
  const Index rope_dim = q_rope.head_dim();
  const Index latent_dim = key_up.head_dim();
  std::vector<float> absorbed_numbers(heads * n * (latent_dim + rope_dim), 0.0f);
  const HeadsView<float> absorbed(absorbed_numbers.data(), heads, n, latent_dim + rope_dim);
  for (Index head = 0; head < heads; ++head) {
    for (Index i = 0; i < n; ++i) {
      const auto row = absorbed.head(head).row(i);
      for (Index b = 0; b < nope_dim; ++b)
        add_scaled(q_nope(head, i, b), key_up.head(head).row(b), row.first(latent_dim));
      std::ranges::copy(q_rope.head(head).row(i), row.begin() + latent_dim);
    }
  }
  const float scale = 1.0f / std::sqrt(static_cast<float>(nope_dim + rope_dim));
  course::TravellingTensor rows(ring, shard_tokens, latent);
  course::AttentionState state(heads, n, latent_dim);
  for (int hop = 0; hop < ring.size; ++hop) {
    if (hop > 0) rows.hop();
    block.accumulate(
        {absorbed, rows.block(), rows.block().first_columns(latent_dim), ring.owner_after(hop), scale},
        state);
  }
  std::vector<float> latent_out_numbers(heads * n * latent_dim);
  const HeadsView<float> latent_out(latent_out_numbers.data(), heads, n, latent_dim);
  block.finish(state, latent_out, lse);
  for (Index head = 0; head < heads; ++head) {
    for (Index i = 0; i < n; ++i) {
      for (Index c = 0; c < o.head_dim(); ++c)
        o(head, i, c) = dot(value_up.head(head).row(c), latent_out.head(head).row(i));
    }
  }
  }
  MPI_Comm_free(&mine);
}

void latent_block_backward(const course::BlockRequest& request, HeadsView<const float> d_o,
                           MatrixView<const float> lse, MatrixView<const float> delta, HeadsView<float> dq,
                           HeadsView<float> d_latent, const course::BlockBackward& block) {
  // One query head after another: each is a call with one head of queries, into rooms of its own.
  const Index n = request.q.seq(), keys = request.k.seq(), dc = request.v.head_dim(), d = request.k.head_dim();
  for (Index h = 0; h < request.q.heads(); ++h) {
    std::vector<float> as_keys(keys * d, 0.0f), as_values(keys * dc, 0.0f), as_queries(n * d, 0.0f);
    const auto q = request.q.head(h);
    const auto d_out = d_o.head(h);
    const HeadsView<float> dq1(as_queries.data(), 1, n, d);
    const HeadsView<float> dk1(as_keys.data(), 1, keys, d), dv1(as_values.data(), 1, keys, dc);
    block.accumulate({{q.data(), 1, n, d, q.row_stride()}, request.k, request.v, request.owner, request.scale},
                     {d_out.data(), 1, n, dc, d_out.row_stride()}, lse.rows(h, 1), delta.rows(h, 1), dq1, dk1, dv1);
    for (Index i = 0; i < n; ++i) add_scaled(1.0f, dq1.head(0).row(i), dq.head(h).row(i));
    for (Index j = 0; j < keys; ++j) {
      add_scaled(1.0f, dk1.head(0).row(j), d_latent.head(0).row(j));
      add_scaled(1.0f, dv1.head(0).row(j), d_latent.head(0).row(j).first(dc));
    }
  }
}

}  // namespace lesson15
