#pragma once

#include "judge/task.hpp"

/// Attention whose heads share one latent row a token (DeepSeek-V2, section 2.1): the inputs q_nope [heads,
/// n, nope_dim], q_rope [heads, n, rope_dim], latent [1, n, latent_dim + rope_dim], key_up [heads, nope_dim,
/// latent_dim] and value_up [heads, value_dim, latent_dim].
namespace course::latent {

/// A ring in which the latent makes P - 1 hops, once.
/// @param sent_twice the mistake of a ring that sends twice as much
Task ring_task(std::string id, std::string function, const char* sent_twice);

/// A function of absorbed queries q, the latent as the one head of keys, its first columns as values, o, lse
/// and d_o, that adds to before_dq and before_d_latent.
Task block_backward_task(std::string id, std::string function);

}  // namespace course::latent
