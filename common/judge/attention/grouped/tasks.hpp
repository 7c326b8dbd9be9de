#pragma once

#include "judge/attention/grouped/examples.hpp"

/// Tasks of a lesson whose query heads share heads of keys and values.
namespace course::grouped {

/// A function of the arguments heads and kv_heads, pairs of numbers, that gives kv_head, the key heads of all
/// query heads, and refuses numbers that do not fit, naming both.
Task head_map_task(std::string id, std::string function);

/// A function of q, k, v and the argument block that lets a state see blocks of so many keys and gives o and
/// lse, in 4 MiB beside its inputs where 4096 keys repeated for all query heads would take 32.
Task block_task(std::string id, std::string function);

/// A function that adds the gradients of such blocks to before_dq, before_dk and before_dv.
Task block_backward_task(std::string id, std::string function);

/// A ring in which blocks of kv_heads heads make P - 1 hops, and a block computation is given each once.
/// @param repeated the mistake of a ring that sends a block of as many heads as q has
Task ring_task(std::string id, std::string function, const char* repeated);

/// The same backward: gradients make one hop more.
Task ring_backward_task(std::string id, std::string function);

}  // namespace course::grouped
