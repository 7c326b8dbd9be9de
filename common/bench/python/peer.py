"""Times PyTorch's attention for course_bench: a request a line on stdin, a number a line on stdout.

    peer.py --problems FOLDER --core 0                         torch's fused attention, on one core
    peer.py --problems FOLDER --core 1 --rank 1 --meet FILE    ring-attention-pytorch, as one rank of two

A request is "time TASK DIM", answered in seconds, or "check TASK DIM", answered with the relative error against what
course_bench expects. FOLDER/DIM holds the tensors. The gradients' time is that of the backward pass alone unless the
task is called "both".
"""

import argparse
import math
import os
import sys
import time

import numpy as np
import torch

WORLD_SIZE = 2


class Problem:
    """Tensors by name, [1, heads, tokens, head_dim]."""

    def __init__(self, folder):
        self.folder = folder

    def __getitem__(self, name):
        return torch.from_numpy(np.load(os.path.join(self.folder, name + ".npy")))[None]


def relative_error(answer, expected):
    error = (torch.linalg.norm(answer - expected) / torch.linalg.norm(expected)).item()
    return float("inf") if math.isnan(error) else error


class OneCore:
    """torch.nn.functional.scaled_dot_product_attention."""

    def __init__(self, problem):
        self.leaves = [problem[name].requires_grad_() for name in ("q", "k", "v")]
        self.d_o = problem["d_o"]
        self.expected = {"forward": [problem["o"]], "backward": [problem[name] for name in ("dq", "dk", "dv")]}
        self.kept = self.attend()

    def attend(self):
        return torch.nn.functional.scaled_dot_product_attention(*self.leaves)

    def run(self, task):
        if task == "forward":
            with torch.no_grad():
                return [self.attend()]
        return torch.autograd.grad(self.kept, self.leaves, self.d_o, retain_graph=True)


class RingRank:
    """ring_attention_pytorch.ring_flash_attn on this rank's half of the tokens."""

    # Of 256, 512 and 1024, the library's own, the fastest here.
    bucket_size = 512

    def __init__(self, problem, rank, causal):
        self.causal = causal

        def share(name):  # the library has [batch, tokens, heads, head_dim]
            whole = problem[name].transpose(1, 2)
            return whole.chunk(WORLD_SIZE, dim=1)[rank].contiguous()

        self.leaves = [share(name).requires_grad_() for name in ("q", "k", "v")]
        self.d_o = share("d_o")
        # Of the gradients dQ alone is held against ours: 0.5.20 returns dK + dV for dK.
        self.expected = {"forward": [share("o")], "both": [share("dq")]}

    def attend(self):
        from ring_attention_pytorch import ring_flash_attn

        return ring_flash_attn(
            *self.leaves, causal=self.causal, bucket_size=self.bucket_size, ring_reduce_col=True, ring_size=WORLD_SIZE
        )

    def run(self, task):
        torch.distributed.barrier()
        if task == "forward":
            with torch.no_grad():
                return [self.attend()]
        return torch.autograd.grad(self.attend(), self.leaves, self.d_o)


def seconds_of(contestant, task):
    begin = time.perf_counter()
    contestant.run(task)
    return time.perf_counter() - begin


def error_of(contestant, task):
    return max(map(relative_error, contestant.run(task), contestant.expected[task]))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", required=True)
    parser.add_argument("--core", required=True, type=int)
    parser.add_argument("--rank", type=int)
    parser.add_argument("--meet")
    parser.add_argument("--causal", action="store_true", help="of a ring's rank; its shards are contiguous")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    os.sched_setaffinity(0, {arguments.core})
    torch.set_num_threads(1)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a library prints is no answer
    if arguments.rank is not None:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        torch.distributed.init_process_group(
            "gloo", init_method="file://" + arguments.meet, rank=arguments.rank, world_size=WORLD_SIZE
        )
    contestants = {}
    for line in sys.stdin:
        verb, task, dim = line.split()
        if dim not in contestants:
            problem = Problem(os.path.join(arguments.problems, dim))
            if arguments.rank is None:
                contestants[dim] = OneCore(problem)
            else:
                contestants[dim] = RingRank(problem, arguments.rank, arguments.causal)
        perform = {"time": seconds_of, "check": error_of}[verb]
        print(repr(float(perform(contestants[dim], task))), file=answers, flush=True)


main()
