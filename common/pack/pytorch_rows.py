"""Times PyTorch's softmax and attention in float32 on the first device, beside what device_bench has measured.

    pytorch_rows.py --kernels kernels.rows.json --rows pytorch.rows.json

The sizes are those that kernels.rows.json names, or device_bench's own where there is no such file. Of each of ours that it
has there is a row with the ratio to PyTorch's. Exit code: 0 timed, 3 there is no PyTorch, or it sees no device.
"""

import argparse
import json
import os
import statistics
import sys

WARM_UPS = 2
DEFAULTS = {"heads": 32, "tokens": 8192, "rows_of_softmax": 65536, "cols_of_softmax": 4096, "repetitions": 9}
HEAD_DIMS = (32, 64, 128)
KERNELS = {"math": "MATH", "memory-efficient": "EFFICIENT_ATTENTION"}
LIMITS = {
    "math": "device memory: all scores are written and read",
    "memory-efficient": "not known: which units a kernel takes for float32 is the library's choice",
}


class Table:
    """Rows as device_bench has them, written whenever there is one more."""

    def __init__(self, path, about, ours):
        self.path, self.about, self.ours, self.rows = path, about, ours, []

    def add(self, name, value, unit, limited_by, our_name):
        self.rows.append(row(name, value, unit, limited_by))
        if our_name in self.ours:
            ratio = self.ours[our_name] / value
            self.rows.append(row(our_name, self.ours[our_name], unit, "as above", name, ratio))
        partial = self.path + ".new"
        with open(partial, "w") as file:
            json.dump({**self.about, "rows": self.rows}, file, indent=2)
        os.replace(partial, self.path)
        for one in self.rows[-2:]:
            print(one["name"], f"{one['value']:.1f}", one["unit"], one["ratio"] or "", flush=True)


def row(name, value, unit, limited_by, against=None, ratio=None):
    return {
        "name": name,
        "value": value,
        "unit": unit,
        "against": against,
        "ratio": ratio,
        "bound": None,
        "limited_by": limited_by,
    }


def seconds_of(torch, work, repetitions):
    """The median, by events."""
    times = []
    for repetition in range(WARM_UPS + repetitions):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        end.synchronize()
        if repetition >= WARM_UPS:
            times.append(1e-3 * begin.elapsed_time(end))
    return statistics.median(times)


def time_softmax(torch, table, sizes):
    x = torch.rand(sizes["rows_of_softmax"], sizes["cols_of_softmax"], device="cuda")
    seconds = seconds_of(torch, lambda: torch.softmax(x, dim=1), sizes["repetitions"])
    moved = 2e-9 * x.numel() * x.element_size()
    table.add("PyTorch's softmax", moved / seconds, "GB/s", "device memory", "softmax, a block a row")


def time_attention(torch, table, sizes, head_dim, kernel):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    shape = (1, sizes["heads"], sizes["tokens"], head_dim)
    leaves = [torch.randn(shape, device="cuda", requires_grad=True) for _ in range(3)]
    d_o = torch.randn(shape, device="cuda")
    operations = 4e-9 * sizes["heads"] * sizes["tokens"] ** 2 * head_dim
    with sdpa_kernel(getattr(SDPBackend, KERNELS[kernel])):

        def attend():
            return torch.nn.functional.scaled_dot_product_attention(*leaves)

        with torch.no_grad():
            seconds = seconds_of(torch, attend, sizes["repetitions"])
        name = f"forward, d = {head_dim}"
        table.add(f"PyTorch's {kernel} kernel, {name}", operations / seconds, "GFLOP/s", LIMITS[kernel], name)
        kept = attend()
        seconds = seconds_of(
            torch, lambda: torch.autograd.grad(kept, leaves, d_o, retain_graph=True), sizes["repetitions"]
        )
        name = f"backward, d = {head_dim}"
        table.add(f"PyTorch's {kernel} kernel, {name}", 2.5 * operations / seconds, "GFLOP/s", LIMITS[kernel], name)


def read_kernels(path):
    """What device_bench says of sizes, and its rates by name; both may be missing."""
    try:
        with open(path) as file:
            report = json.load(file)
    except (OSError, ValueError):
        return dict(DEFAULTS), {}
    sizes = {name: int(report.get(name, default)) for name, default in DEFAULTS.items()}
    return sizes, {one["name"]: one["value"] for one in report["rows"]}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", required=True)
    parser.add_argument("--rows", required=True)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    try:
        import torch
    except ImportError as error:
        sys.stderr.write(f"pytorch: left out: {error}\n")
        return 3
    if not torch.cuda.is_available():
        sys.stderr.write("pytorch: left out: PyTorch sees no CUDA device\n")
        return 3
    # Products of float32 in float32: where a matrix unit rounds its inputs, answers differ in the third digit.
    torch.backends.cuda.matmul.allow_tf32 = False
    sizes, ours = read_kernels(arguments.kernels)
    about = {"device": torch.cuda.get_device_name(), "simulated": "no", "pytorch": torch.__version__}
    table = Table(arguments.rows, about, ours)
    result = 0
    parts = [lambda: time_softmax(torch, table, sizes)]
    for kernel in ("memory-efficient", "math"):
        for head_dim in HEAD_DIMS:
            parts.append(lambda d=head_dim, k=kernel: time_attention(torch, table, sizes, d, k))
    for part in parts:
        try:
            part()
        except RuntimeError as error:  # such as too little memory: the others come all the same
            sys.stderr.write(f"pytorch: left out: {error}\n")
            result = 1
        torch.cuda.empty_cache()
    return result


sys.exit(main())
