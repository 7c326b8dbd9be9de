"""Lesson 02 in Python. The contract is online_softmax.hpp's; arrays are NumPy's, float32, and a state is a pair (m, l)."""

import numpy as np


def merge(a, b):
    """Task 1. The state (m, l) of a and b's scores taken together; a and b are such pairs.

    Either may have seen nothing, (-inf, 0), or only -inf. Any (m, l) with the right m + log l is right.
    """
    #> task 1
    #| # From which maximum should the merged sum count? How do you turn a sum that counts from
    #| # a's m into one that counts from there? And if neither state has seen a finite score?
    #| raise NotImplementedError("task 1, merge two states")
    m = max(a[0], b[0])
    if m == -np.inf:
        return -np.inf, 0.0
    return m, a[1] * np.exp(a[0] - m) + b[1] * np.exp(b[0] - m)
    #< task 1


def online_attention_row(scores, values, block, o):
    """Task 2. One row of attention in one pass: writes sum_j softmax(scores)_j values_j into o [d].

    scores [n], finite or -inf; values [n, d]. Looks at `block` (>= 1) scores at a time, the last block holding what is
    left, and keeps nothing between blocks but m, l and an unnormalised o. Returns the row's logsumexp. A row with no
    finite score gives o = 0 and -inf.
    """
    #> task 2
    #| # What does a new maximum change in what you have summed so far, in l and in o? When is
    #| # the one division due? What has the row seen after a first block that is masked throughout?
    #| raise NotImplementedError("task 2, one row in one pass")
    m, l = np.float32(-np.inf), np.float32(0)
    o[:] = 0
    for first in range(0, len(scores), block):
        seen = scores[first : first + block]
        grown = max(m, seen.max())
        if grown == -np.inf:
            continue  # only masked scores so far
        correction = np.exp(m - grown)
        weights = np.exp(seen - grown)
        l = l * correction + weights.sum()
        o *= correction
        o += weights @ values[first : first + block]
        m = grown
    if m == -np.inf:
        return m
    o /= l
    return m + np.log(l)
    #< task 2


def merge_normalised(o, lse, o_b, lse_b):
    """Task 3. Merges what two parts of a row have finished separately: writes the result of both parts together into o
    [d] and returns its lse.

    o, o_b [d] are normalised; a part that saw no finite score has o = 0 and lse = -inf.
    """
    #> task 3
    #| # Which of the two, o or lse, must be read before the other is overwritten? Which
    #| # exponentials can overflow? And if one part, or both, have seen nothing?
    #| raise NotImplementedError("task 3, merge two finished outputs")
    if lse_b == -np.inf:
        return lse
    m = max(lse, lse_b)
    weight, weight_b = np.exp(lse - m), np.exp(lse_b - m)  # one of them is 1
    o -= weight_b / (weight + weight_b) * (o - o_b)
    return m + np.log1p(np.exp(min(lse, lse_b) - m))
    #< task 3
