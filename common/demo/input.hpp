#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "demo/row.hpp"
#include "registry/registry.hpp"
#include "tensor/tensor.hpp"
#include "timed/extents.hpp"

namespace course::demo {

/// Somebody's own tensors.
struct OwnFiles {
  std::filesystem::path q, k, v;
  std::filesystem::path d_o;  ///< the gradient that arrives at the output; empty: there is none
};

/// What to draw at random.
struct Sizes {
  timed::Extents extents{.heads = 12, .tokens = 512, .head_dim = 32};
  std::uint64_t seed = 1;
};

/// Widths of multi-head latent attention.
struct LatentSizes {
  Index latent_dim, rope_dim;
};

/// What the command line says. Without `files` and `sizes` the input is the course's own.
struct Options {
  int ranks = 4;
  std::optional<bool> causal = {};  ///< where it is not said, only a row of documents is
  RowOptions row = {};
  Index kv_heads = 0;           ///< of keys and values; 0: as many as the input has
  std::string backend = "mpi";  ///< what the ranks compute on: "mpi", on cores, or GPUs: "sim" or "cuda"
  std::string layout = "contiguous";  ///< a layout's name
  std::optional<OwnFiles> files = {};
  std::optional<Sizes> sizes = {};
  std::optional<LatentSizes> latent = {};  ///< with sizes
  std::filesystem::path out;               ///< empty: only the pictures are written, into .course/demo
  std::string exchange = ring_exchange;    ///< one of exchanges()
  std::string grid;                        ///< UxR, the sizes of a grid; empty: not said
  int node = 0;                            ///< ranks of a node of a double ring; 0: not said
  Index kv_heads_at_once = 0;              ///< that a gather takes; 0: not said
  std::string ring;  ///< empty: all that fit the other options, or the first where the other cannot be shown
  bool forward = false;       ///< leave the backward pass out
  bool in_registers = false;  ///< the blocks are those in vector registers
  bool mine = false;
  bool verbose = false;
  std::filesystem::path prepare;  ///< not empty: only write the cases there
  std::filesystem::path report;   ///< not empty: of cases that have been played there; nothing else is run

  bool on_gpu() const { return backend != "mpi"; }
  bool by_exchange() const { return exchange != ring_exchange; }
  /// Which rings can show it. Throws NpyError for files of k and q whose shapes cannot be read.
  RingFor what() const;
  bool is_causal() const { return causal.value_or(what() == RingFor::PackedRows); }
  /// The gradient to start from is the course's own, or --do.
  bool backward() const { return !forward && (files ? !files->d_o.empty() : !sizes); }
};

/// What a ring is given that sends one latent in place of keys and values.
struct Latent {
  Tensor q_nope;    ///< [heads, seq, head_dim]
  Tensor q_rope;    ///< [heads, seq, rope_dim]
  Tensor latent;    ///< [1, seq, latent_dim + rope_dim]
  Tensor key_up;    ///< [heads, head_dim, latent_dim]
  Tensor value_up;  ///< [heads, head_dim, latent_dim]
};

/// What attention is computed of.
struct Input {
  Tensor q;  ///< [heads, seq, head_dim], a batch folded into heads
  /// [kv_heads, seq, head_dim]; of a latent as every head has them, v without the rotary part.
  Tensor k, v;
  Shape shape;                        ///< of q, as it was given
  std::string description;            ///< where it comes from, for people
  std::string doubt = {};             ///< why the shape may be meant otherwise; empty: it may not
  std::optional<Latent> latent = {};  ///< of which q, k and v are made
  std::optional<Tensor> d_o = {};     ///< the gradient that arrives at the output, as q; none: forward only

  Index heads() const { return q.extent(0); }
  Index kv_heads() const { return k.extent(0); }
  Index seq() const { return q.extent(1); }
  Index head_dim() const { return q.extent(2); }
  Index batches() const { return shape.size() < 4 ? 1 : shape[0]; }
  timed::Extents extents() const { return {heads(), seq(), head_dim()}; }
};

/// The numbers that divide one from 1 up, ascending.
std::vector<Index> divisors_of(Index number);

/// Reads or draws the input; for simulated GPUs, which are slow, the course's own is cut short. Throws
/// NpyError or UsageError for a file that cannot be used: unreadable, of another shape than [seq, dim],
/// [heads, seq, dim] or [batch, heads, seq, dim], with keys that do not fit its queries, empty, with a NaN or
/// an infinity, or with numbers whose attention, or its gradients, float32 cannot hold; and for a number of
/// key heads that does not divide the heads.
Input load_input(const Options& options, bool backward);

}  // namespace course::demo
