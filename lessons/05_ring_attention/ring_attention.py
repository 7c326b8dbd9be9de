"""Lesson 05 in Python. The contract is ring_attention.hpp's; arrays are NumPy's, float32.

`block` is the computation on a block, given (your lesson 04 is one):
  block.start(q)                             the state of queries that have seen nothing
  block.accumulate(q, k, v, owner, state)    lets q see one block of keys and values, which belongs to rank `owner`
  block.finish(state, o, lse)                writes o and lse
"""

import numpy as np

def block_owner(rank, hop, world_size):
    """Task 1. The rank whose keys and values rank `rank` holds after `hop` hops (0 <= hop < world_size), when every hop
    moves every block from its rank to rank + 1 modulo world_size.
    """
    # A block that was `hop` ranks back has come forward once a hop. What is -1 % 4 in Python, and in C++?
    raise NotImplementedError("task 1, block_owner")

def ring_attention(q, k, v, o, lse, shard_tokens, block, comm):
    """Task 2. Attention of this rank's queries over the keys and values of all ranks of comm, an mpi4py communicator.
    Queries stay; keys and values travel round the ring, each rank sending to rank + 1 and receiving from rank - 1,
    modulo P.

    q, k, v, o [heads, n, head_dim] and lse [heads, n] are this rank's shard, n = shard_tokens[rank]; shard_tokens[r] is
    the number of tokens of rank r, known to everybody, unequal, perhaps 0.

    Each block, this rank's own too, is given to block.accumulate once, with its owner's rank; block.finish then writes
    o and lse. P blocks of work, P - 1 hops. A message may be as long as its block or padded to the largest shard's.
    Uses comm and no other communicator; blocking calls; must not rely on Send buffering. Memory for at most two more
    blocks of keys and values, of the largest shard's size.
    """
    # Who are the neighbours? Where does what arrives go while what is held is still being sent?
    # Whose block is held after each hop, and how many tokens has it? When is nothing left to pass on?
    raise NotImplementedError("task 2, ring_attention")
