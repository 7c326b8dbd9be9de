#include "grids_and_gathers.hpp"
#include "player/grid_parts.hpp"
#include "player/position_lists.hpp"
#include "player/refusal.hpp"

namespace {

using course::Call;
using course::Index;
using course::Tensor;

int number(const Call& call, const char* name) {
  return static_cast<int>(call.integer(name));
}

/// Every rank's place and positions, and the world's rank of all places.
void places(Call& call) {
  const int U = number(call, "ulysses"), R = number(call, "rings"), T = number(call, "tensor"),
            replicas = number(call, "replicas");
  const Index tokens = call.integer("tokens");
  float *const u = call.output("u", {U * R}).data(), *const r = call.output("r", {U * R}).data();
  const auto positions = call.output("positions", {U * R, tokens + 1}).matrix();
  for (int rank = 0; rank < U * R; ++rank) {
    const lesson18::Place place = lesson18::grid_place(rank, U);
    u[rank] = static_cast<float>(place.u);
    r[rank] = static_cast<float>(place.r);
    course::write_list("grid_positions", lesson18::grid_positions(tokens, U, R, call.is_set("zigzag"), rank),
                       positions.row(rank));
  }
  float* world = call.output("world_rank", {T, U, R, replicas}).data();
  for (int t = 0; t < T; ++t)
    for (int of_u = 0; of_u < U; ++of_u)
      for (int of_r = 0; of_r < R; ++of_r)
        for (int replica = 0; replica < replicas; ++replica)
          *world++ = static_cast<float>(lesson18::world_rank(t, of_u, of_r, replica, T, U, R));
}

/// Calls attention(q, k, v, o, lse, positions, causal), which may refuse.
template <class Attention>
void forward(Call& call, Attention attention) {
  const Tensor& q = call.input("q");
  const auto o = call.output("o", q.shape()).heads();
  const auto lse = call.output("lse", {q.extent(0), q.extent(1)}).matrix();
  course::call_or_refuse(call, [&] {
    attention(q.heads(), call.input("k").heads(), call.input("v").heads(), o, lse,
              course::positions_by_rank(call), call.is_set("causal"));
  });
}

void usp_attention(Call& call) {
  const course::GridParts parts = course::grid::parts(call.blocks().block_forward_of_mask(), {});
  forward(call, [&](auto q, auto k, auto v, auto o, auto lse, const auto& positions, bool causal) {
    lesson18::usp_attention(q, k, v, o, lse, positions, number(call, "ulysses"), causal, parts,
                            call.communicator<MPI_Comm>());
  });
}

void gather_attention(Call& call) {
  forward(call, [&](auto q, auto k, auto v, auto o, auto lse, const auto& positions, bool causal) {
    lesson18::gather_attention(q, k, v, o, lse, positions, causal, call.integer("kv_heads_at_once"),
                               call.blocks().block_forward_of_mask(), call.communicator<MPI_Comm>());
  });
}

/// Calls gradients(q, k, v, o, lse, d_o, dq, dk, dv), which may refuse.
template <class Gradients>
void backward(Call& call, Gradients gradients) {
  const Tensor &q = call.input("q"), &k = call.input("k");
  const auto dq = call.output("dq", q.shape()).heads(), dk = call.output("dk", k.shape()).heads(),
             dv = call.output("dv", k.shape()).heads();
  course::call_or_refuse(call, [&] {
    gradients(q.heads(), k.heads(), call.input("v").heads(), call.input("o").heads(),
              call.input("lse").matrix(), call.input("d_o").heads(), dq, dk, dv);
  });
}

void gather_backward(Call& call) {
  backward(call, [&](auto... tensors) {
    lesson18::gather_backward(tensors..., course::positions_by_rank(call), call.is_set("causal"),
                              call.integer("kv_heads_at_once"), call.blocks().block_backward_of_mask(),
                              call.communicator<MPI_Comm>());
  });
}

/// The exercise, which no judge plays, and the demo does.
void usp_backward(Call& call) {
  const course::GridParts parts = course::grid::parts({}, call.blocks().block_backward_of_mask());
  backward(call, [&](auto... tensors) {
    lesson18::usp_backward(tensors..., course::positions_by_rank(call), number(call, "ulysses"),
                           call.is_set("causal"), parts, call.communicator<MPI_Comm>());
  });
}

/// Of every rank of a world, after all hops.
void double_ring_owner(Call& call) {
  const int node = number(call, "node"), ranks = number(call, "ranks");
  const int nodes = ranks / std::max(1, node);
  float* owner = call.output("owner", {ranks, nodes, node}).data();
  course::call_or_refuse(call, [&] {
    lesson18::double_ring_owner(0, 0, 0, node, ranks);
    for (int rank = 0; rank < ranks; ++rank)
      for (int outer = 0; outer < nodes; ++outer)
        for (int inner = 0; inner < node; ++inner)
          *owner++ = static_cast<float>(lesson18::double_ring_owner(rank, outer, inner, node, ranks));
  });
}

void double_ring_attention(Call& call) {
  forward(call, [&](auto q, auto k, auto v, auto o, auto lse, const auto& positions, bool causal) {
    lesson18::double_ring_attention(q, k, v, o, lse, positions, causal, number(call, "node"),
                                    call.blocks().hiding_block_forward_of_mask(),
                                    call.communicator<MPI_Comm>());
  });
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"places", places},
                                       {"usp_attention", usp_attention},
                                       {"usp_backward", usp_backward},
                                       {"gather_attention", gather_attention},
                                       {"gather_backward", gather_backward},
                                       {"double_ring_owner", double_ring_owner},
                                       {"double_ring_attention", double_ring_attention}};
  return adapter;
}
