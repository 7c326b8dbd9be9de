"""How the Python player calls lesson 05: adapter.cpp, and the plain block and its log of common, in Python."""

import types

import numpy as np


def require_fitting(q, k, v):
    fitting = q.ndim == k.ndim == 3 and k.shape == v.shape and q.shape[::2] == k.shape[::2]
    if not fitting:
        raise ValueError(f"block.accumulate was given q {q.shape}, k {k.shape} and v {v.shape}; heads and head_dim must "
                         "agree, and k and v must hold equally many tokens")


class Block:
    """The block computation that the ring is given: an online softmax, a key at a time. Plain, so that it gives lesson
    04's answer away to nobody. It keeps a log of the blocks that it is given.
    """

    def __init__(self):
        self.log = []

    @staticmethod
    def start(q):
        return types.SimpleNamespace(m=np.full(q.shape[:2], -np.inf, dtype=np.float32),
                                     l=np.zeros(q.shape[:2], dtype=np.float32), o=np.zeros_like(q))

    def accumulate(self, q, k, v, owner, state):
        require_fitting(q, k, v)
        scale = np.float32(1 / np.sqrt(q.shape[2]))
        for j in range(k.shape[1]):
            self._see(scale * np.einsum("hid,hd->hi", q, k[:, j]), v[:, j], state)
        self.log.append([owner, k.shape[1], fingerprint(k), fingerprint(v)])

    @staticmethod
    def _see(scores, values, state):
        grown = np.maximum(state.m, scores)
        keep, weight = np.exp(state.m - grown), np.exp(scores - grown)
        state.o *= keep[..., None]
        state.o += weight[..., None] * values[:, None]
        state.l = keep * state.l + weight
        state.m = grown

    @staticmethod
    def finish(state, o, lse):
        with np.errstate(divide="ignore"):
            lse[:] = state.m + np.log(state.l)
        o[:] = np.divide(state.o, state.l[..., None], out=np.zeros_like(state.o), where=state.l[..., None] > 0)


def fingerprint(x):
    """block_log.hpp's: a 24-bit hash of the values' bits and places."""
    bits = np.ascontiguousarray(x, dtype=np.float32).reshape(-1).view(np.uint32)
    places = np.arange(1, len(bits) + 1, dtype=np.uint32)
    mixed = bits + places * np.uint32(0x9E3779B9)
    mixed = (mixed ^ (mixed >> 16)) * np.uint32(0x7FEB352D)
    mixed = (mixed ^ (mixed >> 15)) * np.uint32(0x846CA68B)
    mixed ^= mixed >> 16
    return int(mixed.sum(dtype=np.uint32)) >> 8


def block_owner(lesson, call):
    world_size = call.integer("world_size")
    owner = call.output("owner", (world_size, world_size))
    for rank in range(world_size):
        for hop in range(world_size):
            owner[rank, hop] = lesson.block_owner(rank, hop, world_size)


def ring_attention(lesson, call):
    block = Block()
    q = call.input("q")
    o = call.output("o", q.shape)
    lse = call.output("lse", q.shape[:2])
    lesson.ring_attention(q, call.input("k"), call.input("v"), o, lse, call.integers("shard_tokens"), block, call.comm)
    call.output("log", (len(block.log), 4))[:] = np.array(block.log, dtype=np.float32).reshape(-1, 4)


FUNCTIONS = {"block_owner": block_owner, "ring_attention": ring_attention}
