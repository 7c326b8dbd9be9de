#include "context_parallel_layer.hpp"
#include "player/grid_parts.hpp"
#include "player/position_lists.hpp"
#include "player/refusal.hpp"
#include "player/shard_attention.hpp"
#include "training/lesson_code.hpp"

namespace {

using course::Call;
using course::HeadsView;
using course::Index;
using course::MatrixView;
using course::Shape;
using course::Tensor;

Index chunk_of(const Call& call) {
  return call.integer("chunk");
}

/// A part of the heads or of the rows: the `index`-th of so many.
struct Part {
  int index = 0, of = 1;

  template <class View>
  View of_rows(View x) const {
    const Index rows = x.rows() / of;
    return x.rows(index * rows, rows);
  }
  template <class T>
  HeadsView<T> of_heads(HeadsView<T> x) const {
    const Index heads = x.heads() / of;
    return {x.data() + index * heads * x.seq() * x.head_dim(), heads, x.seq(), x.head_dim()};
  }
};

lesson19::LayerWeights<const float> weights_of(const Call& call, Part part = {}) {
  const auto heads = [&](const char* name) { return part.of_heads(call.input(name).heads()); };
  const auto rows = [&](const char* name) { return part.of_rows(call.input(name).matrix()); };
  return {call.input("norm1").flat(),
          call.input("norm2").flat(),
          heads("wq"),
          heads("wk"),
          heads("wv"),
          heads("wo"),
          rows("w_up"),
          rows("w_down")};
}

/// An output that holds numbers which are to be added to.
float* filled(Call& call, const char* name, Shape shape) {
  Tensor& tensor = call.output(name, std::move(shape));
  std::ranges::fill(tensor.values(), static_cast<float>(call.number("filled")));
  return tensor.data();
}

/// Gradients of these weights, of each rank one.
lesson19::LayerWeights<float> gradients_of(Call& call, const lesson19::LayerWeights<const float>& weights) {
  const auto gains = [&](const char* name) {
    return std::span<float>(filled(call, name, {1, std::ssize(weights.norm1)}), weights.norm1.size());
  };
  const auto heads = [&](const char* name) {
    const Shape shape{1, weights.wq.heads(), weights.wq.seq(), weights.wq.head_dim()};
    return HeadsView<float>(filled(call, name, shape), shape[1], shape[2], shape[3]);
  };
  const auto rows = [&](const char* name) {
    const Shape shape{1, weights.w_up.rows(), weights.w_up.cols()};
    return MatrixView<float>(filled(call, name, shape), shape[1], shape[2]);
  };
  return {gains("d_norm1"), gains("d_norm2"), heads("d_wq"),  heads("d_wk"),
          heads("d_wv"),    heads("d_wo"),    rows("d_w_up"), rows("d_w_down")};
}

/// The positions of a rank's rows, which the argument offset moves.
std::vector<Index> own_positions(const Call& call, int rank) {
  std::vector<Index> own = course::positions_by_rank(call).at(rank);
  for (Index& position : own) position += call.integer("offset");
  return own;
}

course::ShardAttention attention_of(const Call& call, MPI_Comm comm) {
  return course::shard_attention(
      course::grid::parts(call.blocks().block_forward_of_mask(), call.blocks().block_backward_of_mask()),
      course::positions_by_rank(call), comm);
}

void norm_and_rotation(Call& call) {
  const Tensor &x = call.input("x"), &gain = call.input("gain"), &heads = call.input("heads");
  const auto y = call.output("y", x.shape()).matrix(), dx = call.output("dx", x.shape()).matrix();
  const std::span<float> d_gain(filled(call, "d_gain", gain.shape()), gain.values().size());
  const auto rotated = call.output("rotated", heads.shape()).heads();
  std::ranges::copy(heads.values(), rotated.data());
  std::vector<Index> positions;
  for (Index row = 0; row < heads.extent(1); ++row)
    positions.push_back(call.integer("offset") + row * call.integer("stride"));
  course::call_or_refuse(call, [&] {
    lesson19::rms_norm(x.matrix(), gain.flat(), y);
    lesson19::rms_norm_backward(x.matrix(), gain.flat(), call.input("dy").matrix(), dx, d_gain);
    lesson19::rotate(rotated, positions, static_cast<int>(call.integer("turns")));
  });
}

void feed_forward(Call& call) {
  const Tensor &b = call.input("b"), &w_up = call.input("w_up"), &w_down = call.input("w_down");
  const MatrixView<float> z(filled(call, "z", b.shape()), b.extent(0), b.extent(1)),
      d_w_up(filled(call, "d_w_up", w_up.shape()), w_up.extent(0), w_up.extent(1)),
      d_w_down(filled(call, "d_w_down", w_down.shape()), w_up.extent(0), w_up.extent(1));
  const auto db = call.output("db", b.shape()).matrix();
  course::call_or_refuse(call, [&] {
    lesson19::feed_forward(b.matrix(), w_up.matrix(), w_down.matrix(), chunk_of(call), z);
    lesson19::feed_forward_backward(b.matrix(), w_up.matrix(), w_down.matrix(), call.input("dz").matrix(),
                                    chunk_of(call), db, d_w_up, d_w_down);
  });
}

void layer_forward(Call& call) {
  const Tensor &x = call.input("x"), &wq = call.input("wq");
  const MPI_Comm comm = call.communicator<MPI_Comm>();
  const auto z = call.output("z", x.shape()).matrix();
  const auto o = call.output("o", {wq.extent(0), x.extent(0), wq.extent(1)}).heads();
  const auto lse = call.output("lse", {wq.extent(0), x.extent(0)}).matrix();
  const std::vector<Index> positions = own_positions(call, course::grid::rank_in(comm));
  course::call_or_refuse(call, [&] {
    lesson19::layer_forward(x.matrix(), positions, weights_of(call), chunk_of(call), attention_of(call, comm),
                            z, {o, lse});
  });
}

void layer_backward(Call& call) {
  const Tensor& x = call.input("x");
  const MPI_Comm comm = call.communicator<MPI_Comm>();
  const auto dx = call.output("dx", x.shape()).matrix();
  const auto weights = weights_of(call);
  const auto d_weights = gradients_of(call, weights);
  const std::vector<Index> positions = own_positions(call, course::grid::rank_in(comm));
  course::call_or_refuse(call, [&] {
    lesson19::layer_backward(x.matrix(), positions, weights, chunk_of(call), attention_of(call, comm),
                             {call.input("kept_o").heads(), call.input("kept_lse").matrix()},
                             call.input("dz").matrix(), dx, d_weights);
  });
}

/// The loss, and the gradient of w_vocabulary that every rank then steps with.
void loss_and_sums(Call& call) {
  const Tensor &z = call.input("z"), &w = call.input("w_vocabulary"), &numbers = call.input("labels");
  const MPI_Comm comm = call.communicator<MPI_Comm>();
  const std::vector<Index> labels(numbers.values().begin(), numbers.values().end());
  const MatrixView<float> d_w(filled(call, "d_w_vocabulary", {1, w.extent(0), w.extent(1)}), w.extent(0),
                              w.extent(1));
  const auto dz = call.output("dz", z.shape()).matrix();
  float *const loss = call.output("loss", {1}).data(), *const norm = call.output("norm", {1}).data();
  const std::span<float> summed(call.output("summed", {1, w.extent(0), w.extent(1)}).values());
  course::call_or_refuse(call, [&] {
    *loss = lesson19::next_token_loss(z.matrix(), labels, w.matrix(), chunk_of(call), dz, d_w, comm);
    std::copy_n(d_w.data(), d_w.size(), summed.data());
    lesson19::sum_over_ranks(summed, comm);
    *norm = lesson19::gradient_norm(summed);
  });
}

/// x, dz, kept_o and kept_lse are whole on every rank: this one takes its tokens' rows and its heads.
void tensor_layer(Call& call) {
  const course::EvenGrid grid(call.communicator<MPI_Comm>(), static_cast<int>(call.integer("tensor")));
  const Part part{course::grid::rank_in(grid.tensor()), static_cast<int>(call.integer("tensor"))};
  const int context = course::grid::rank_in(grid.context());
  const std::vector<Index> rows = course::positions_by_rank(call).at(context),
                           positions = own_positions(call, context);
  const Tensor x = course::take<float>(call.input("x"), 0, rows),
               dz = course::take<float>(call.input("dz"), 0, rows);
  const Tensor kept_o = course::take<float>(call.input("kept_o"), 1, rows),
               kept_lse = course::take<float>(call.input("kept_lse"), 1, rows);
  const auto weights = weights_of(call, part);
  const auto d_weights = gradients_of(call, weights);
  const auto z = call.output("z", x.shape()).matrix(), dx = call.output("dx", x.shape()).matrix();
  Tensor o({weights.wq.heads(), x.extent(0), weights.wq.seq()}), lse({weights.wq.heads(), x.extent(0)});
  course::call_or_refuse(call, [&] {
    const course::ShardAttention attention = attention_of(call, grid.context());
    lesson19::tensor_layer_forward(x.matrix(), positions, weights, chunk_of(call), attention, z,
                                   {o.heads(), lse.matrix()}, grid.tensor());
    lesson19::tensor_layer_backward(x.matrix(), positions, weights, chunk_of(call), attention,
                                    {part.of_heads(kept_o.heads()), part.of_rows(kept_lse.matrix())},
                                    dz.matrix(), dx, d_weights, grid.tensor());
  });
}

/// Weights, or their gradients, as the lesson names them.
template <class T>
lesson19::LayerWeights<T> named(const course::training::LayerWeights<T>& weights) {
  return {weights.norm1, weights.norm2, weights.wq,   weights.wk,
          weights.wv,    weights.wo,    weights.w_up, weights.w_down};
}

/// Tokens whose activations and logits a model that trains holds at a time.
constexpr Index trained_chunk = 256;

void trained_forward(MatrixView<const float> x, std::span<const Index> positions,
                     const course::training::LayerWeights<const float>& weights,
                     const course::ShardAttention& attention, MatrixView<float> z,
                     const course::training::Kept<float>& kept) {
  lesson19::layer_forward(x, positions, named(weights), trained_chunk, attention, z, {kept.o, kept.lse});
}

void trained_backward(MatrixView<const float> x, std::span<const Index> positions,
                      const course::training::LayerWeights<const float>& weights,
                      const course::ShardAttention& attention,
                      const course::training::Kept<const float>& kept, MatrixView<const float> dz,
                      MatrixView<float> dx, const course::training::LayerWeights<float>& d_weights) {
  lesson19::layer_backward(x, positions, named(weights), trained_chunk, attention, {kept.o, kept.lse}, dz, dx,
                           named(d_weights));
}

float trained_loss(MatrixView<const float> z, std::span<const Index> labels, MatrixView<const float> head,
                   MatrixView<float> dz, MatrixView<float> d_head, MPI_Comm comm) {
  return lesson19::next_token_loss(z, labels, head, trained_chunk, dz, d_head, comm);
}

}  // namespace

const course::training::LayerFunctions& course_layer() {
  static const course::training::LayerFunctions functions{.positions = {},
                                                          .attention = {},
                                                          .norm = lesson19::rms_norm,
                                                          .norm_backward = lesson19::rms_norm_backward,
                                                          .forward = trained_forward,
                                                          .backward = trained_backward,
                                                          .loss = trained_loss};
  return functions;
}

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{
      {"norm_and_rotation", norm_and_rotation}, {"feed_forward", feed_forward},
      {"layer_forward", layer_forward},         {"layer_backward", layer_backward},
      {"loss_and_sums", loss_and_sums},         {"tensor_layer", tensor_layer}};
  return adapter;
}
