"""How the Python player calls lesson 04: adapter.cpp in Python."""

import numpy as np


def attend_block(lesson, call):
    """Walks the blocks with the student's attend_block, head by head. With no keys it is called once, without keys."""
    q, k, v = call.input("q"), call.input("k"), call.input("v")
    block = call.integer("block")
    o = call.output("o", q.shape)
    lse = call.output("lse", q.shape[:2])
    o[:] = 0
    for head in range(len(q)):
        m = np.full(q.shape[1], -np.inf, dtype=np.float32)
        l = np.zeros(q.shape[1], dtype=np.float32)
        for first in range(0, max(1, k.shape[1]), block):
            seen = slice(first, first + block)
            lesson.attend_block(q[head], k[head, seen], v[head, seen], m, l, o[head])
        if call.integer("empty_block"):
            before = m.copy(), l.copy(), o[head].copy()
            lesson.attend_block(q[head], k[head, :0], v[head, :0], m, l, o[head])
            if not all(np.array_equal(now, then) for now, then in zip((m, l, o[head]), before)):
                raise ValueError("attend_block changes m, l or o on a block without keys")
        with np.errstate(divide="ignore"):
            lse[head] = m + np.log(l)
        np.divide(o[head], l[:, None], out=o[head], where=l[:, None] != 0)


def blockwise_attention(lesson, call):
    q = call.input("q")
    lesson.blockwise_attention(q, call.input("k"), call.input("v"), call.integer("block"), call.output("o", q.shape),
                               call.output("lse", q.shape[:2]))


FUNCTIONS = {"attend_block": attend_block, "blockwise_attention": blockwise_attention}
