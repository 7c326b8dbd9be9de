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
    #> task 1
    #| # A block that was `hop` ranks back has come forward once a hop. What is -1 % 4 in Python, and in C++?
    #| raise NotImplementedError("task 1, block_owner")
    return (rank - hop) % world_size
    #< task 1


#> task 2
def pass_on(held, arriving, comm):
    """Passes `held` to the next rank and fills `arriving` from the previous one. Even ranks send first and odd ones
    receive first, so that at every moment some send finds its receive, whether or not MPI buffers messages.
    """
    following, previous = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    if comm.rank % 2 == 0:
        comm.Send(held, following)
        comm.Recv(arriving, previous)
    else:
        comm.Recv(arriving, previous)
        comm.Send(held, following)


#< task 2
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
    #> task 2
    #| # Who are the neighbours? Where does what arrives go while what is held is still being sent?
    #| # Whose block is held after each hop, and how many tokens has it? When is nothing left to pass on?
    #| raise NotImplementedError("task 2, ring_attention")
    heads, _, head_dim = q.shape
    state = block.start(q)
    block.accumulate(q, k, v, comm.rank, state)
    for hop in range(1, comm.size):
        owner = block_owner(comm.rank, hop, comm.size)
        arriving_k, arriving_v = np.empty((2, heads, shard_tokens[owner], head_dim), dtype=np.float32)
        pass_on(k, arriving_k, comm)
        pass_on(v, arriving_v, comm)
        k, v = arriving_k, arriving_v  # what was held until now is freed
        block.accumulate(q, k, v, owner, state)
    block.finish(state, o, lse)
    #< task 2
