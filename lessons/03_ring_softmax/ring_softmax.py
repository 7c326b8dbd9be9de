"""Lesson 03 in Python. The contract is ring_softmax.hpp's; arrays are NumPy's, float32, and a state is a pair (m, l).

`steps` is the arithmetic of lesson 02, given:
  steps.local(x)             the state of this rank's own scores
  steps.merge(a, b)          the state of a's and b's scores taken together
  steps.write(x, whole, p)   writes p_j = exp(x_j - m) / l, or zeros when the state has seen only -inf
"""

import numpy as np

def chain_softmax(x, p, steps, comm):
    """Task 1. Writes this rank's piece of the softmax into p; returns the whole row's logsumexp, on every rank.

    One row of scores is spread over the ranks of comm, an mpi4py communicator; x is this rank's piece (it may be empty).
    A state travels the chain 0 -> 1 -> ... -> P - 1, each rank adding its own scores before it passes the state on; then
    the last rank's state reaches every rank. Uses comm and no other communicator, and must not rely on Send returning
    before its message is received.
    """
    # Which rank has nobody to receive from, and which has nobody to send to?
    # Who knows the whole row when the chain ends, and how do the others learn of it?
    raise NotImplementedError("task 1, a chain")

def rotation_softmax(x, p, steps, comm):
    """Task 2. The same result by rotation: at each of P - 1 hops every rank sends the state that it received last (first
    its own) to rank + 1 and receives one from rank - 1, both modulo P, merging what arrives.

    Blocking Send and Recv; at most P - 1 states, of two float32, leave a rank. P may be odd, or 1.
    """
    # If every rank sends first, who receives? What travels on at a hop, and what stays?
    # Follow rank 0 and both its neighbours on paper, for P = 1, 2, 4 and 5, before you write a line.
    raise NotImplementedError("task 2, a rotation")
