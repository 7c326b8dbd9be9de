"""Lesson 04 in Python. The contract is blockwise_attention.hpp's; arrays are NumPy's, float32."""

import numpy as np

def attend_block(q, k, v, m, l, o):
    """Task 1. Lets every query of one head see one block of keys and values, and updates m, l and o in place.

    With s_ij = q_i . k_j / sqrt(d),
      m_i' = max(m_i, max_j s_ij),  l_i' = l_i exp(m_i - m_i') + sum_j exp(s_ij - m_i'),
      o_i' = o_i exp(m_i - m_i') + sum_j exp(s_ij - m_i') v_j.
    q [queries, d]; k, v [keys, d], keys >= 0; m, l [queries]; o [queries, d], unnormalised. A query that has seen
    nothing has m = -inf, l = 0, o = 0; a block without keys changes nothing. Scores are finite.
    """
    # Scores first. What must happen to l and o before terms with a larger maximum are added to them?
    # What does a query bring along that has seen nothing? What is left to do when there is no key?
    raise NotImplementedError("task 1, one block")

def blockwise_attention(q, k, v, block, o, lse):
    """Task 2. Writes o = softmax(q k^T / sqrt(d)) v and its lse, head by head, `block` (>= 1) keys at a time, the last
    block holding what is left.

    q [heads, queries, d]; k, v [heads, keys, d]; o [heads, queries, d]; lse [heads, queries], of the scaled scores.
    queries and keys may differ, and either may be 0; with no keys at all, o = 0 and lse = -inf. o and lse hold NaN
    beforehand. Never holds more than a block's scores: extra memory is O(queries (d + block)), not O(queries keys).
    """
    # Every head starts with queries that have seen nothing. How long is the last block?
    # What turns o, m and l into the answer, and when?
    raise NotImplementedError("task 2, all blocks")
