#pragma once

/// The toy lesson's contract: every `block` entries of x [n] in reversed order, times factor, into y [n]. The
/// last block may be shorter. x and y are on the host.
void reversed_blocks(const float* x, float* y, int n, int block, float factor);
