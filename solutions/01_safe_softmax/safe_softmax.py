"""Lesson 01 in Python. The contract is safe_softmax.hpp's; arrays are NumPy's, float32."""

import numpy as np


def softmax(x, p):
    """Task 1. Writes the softmax of every row of x [rows, cols] into p [rows, cols].

    Scores are finite or -inf (masked). A row that is -inf throughout, or has no columns, gives zeros. Weights keep
    float32's digits however large the scores are, as x - m does; near 2e4 a rounded lse would cost 1e-3 of them.
    """
    #> task 1
    #| # For each row: its maximum, then the exponentials and their sum, then a division.
    #| # Which rows have no maximum to subtract?
    #| raise NotImplementedError("task 1, softmax")
    for scores, weights in zip(x, p):
        m = scores.max(initial=-np.inf)
        if m == -np.inf:
            weights[:] = 0
            continue
        weights[:] = np.exp(scores - m)
        weights /= weights.sum()
    #< task 1


def logsumexp(x, lse):
    """Task 2. Writes log sum_j exp(x_ij) of every row of x [rows, cols] into lse [rows].

    A row that is -inf throughout, or has no columns, gives -inf.
    """
    #> task 2
    #| # log sum exp(x) = m + log sum exp(x - m). What is it for a row that is masked throughout?
    #| raise NotImplementedError("task 2, logsumexp")
    for i, scores in enumerate(x):
        m = scores.max(initial=-np.inf)
        lse[i] = m if m == -np.inf else m + np.log(np.exp(scores - m).sum())
    #< task 2
