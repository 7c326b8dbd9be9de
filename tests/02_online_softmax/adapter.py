"""How the Python player calls lesson 02: adapter.cpp in Python."""

import functools

import numpy as np


def merge(lesson, call):
    """m and l [rows, parts]: the states of every row, merged from left to right. Returns lse [rows], since the pair
    (m, l) is not unique.
    """
    m, l = call.input("m"), call.input("l")
    lse = call.output("lse", m.shape[:1])
    for row in range(len(m)):
        whole_m, whole_l = functools.reduce(lesson.merge, zip(m[row], l[row]))
        with np.errstate(divide="ignore"):
            lse[row] = whole_m + np.log(whole_l)


def online_attention(lesson, call):
    """scores [rows, n] and values [n, d], row by row."""
    scores, values = call.input("scores"), call.input("values")
    o = call.output("o", (len(scores), values.shape[1]))
    lse = call.output("lse", scores.shape[:1])
    for row in range(len(scores)):
        lse[row] = lesson.online_attention_row(scores[row], values, call.integer("block"), o[row])


def merge_normalised(lesson, call):
    """Two parts of every row: o, o_b [rows, d] and lse, lse_b [rows]."""
    o_b, lse_b = call.input("o_b"), call.input("lse_b")
    o = call.output("o", o_b.shape)
    lse = call.output("lse", lse_b.shape)
    o[:] = call.input("o")
    for row, part_lse in enumerate(call.input("lse")):
        lse[row] = lesson.merge_normalised(o[row], part_lse, o_b[row], lse_b[row])


FUNCTIONS = {"merge": merge, "online_attention": online_attention, "merge_normalised": merge_normalised}
