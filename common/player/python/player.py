#!/usr/bin/env python3
"""Plays cases on a lesson's functions written in Python. docs/case-format.md says what a player does.

  player.py --subject FOLDER [--status FILE] [--keep-inputs] CASE...

FOLDER is a lesson's, such as lessons/05_ring_attention, whose ring_attention.py is loaded; a file in a folder of that
name will do too. Started by mpirun it plays on all ranks.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import sys
import traceback
import tracemalloc
from pathlib import Path

sys.dont_write_bytecode = True  # lessons/ is the student's


def give_up(error, what, package):
    print(f"player: {error}, in {sys.executable}: {what} (on Debian: {package})", file=sys.stderr)
    sys.exit(3)


try:
    import numpy as np
except ImportError as missing:
    give_up(missing, "the player needs NumPy", "python3-numpy")

ROOT = Path(__file__).resolve().parents[3]
EARLIER_CALLS = 2  # of a case that asks for them
STARTED_BY_MPIRUN = any(name in os.environ for name in ("OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"))


class Call:
    """One call of a lesson's function on one rank, as the lesson's adapter sees it."""

    def __init__(self, inputs, arguments, comm):
        self._inputs = inputs
        self._arguments = arguments
        self.outputs = {}
        self.comm = comm  # to play on; None in a lesson without MPI

    def input(self, name):
        return self._inputs[name]

    def integers(self, name):
        return [int(number) for number in self._arguments[name]]

    def integer(self, name):
        return self.integers(name)[0]

    def output(self, name, shape):
        """A float32 array for the function to write. It starts as NaN, so that what is never written is seen. A later
        call has it in the same memory."""
        if name not in self.outputs or self.outputs[name].shape != tuple(shape):
            self.outputs[name] = np.empty(shape, dtype=np.float32)
        self.outputs[name].view(np.uint32)[...] = 0x7FA0F111
        return self.outputs[name]

    def refill(self, inputs):
        for name, array in inputs.items():
            self._inputs[name][...] = array


class Case:
    """A case's folder, and what this rank is given in it."""

    def __init__(self, folder, world_rank, keep_inputs):
        self.folder = folder
        self.manifest = json.loads((folder / "case.json").read_text())
        players = self.manifest["world_ranks"]
        self.rank = players.index(world_rank) if world_rank in players else None  # None: has no part in it
        self.inputs = {}
        for name in self.manifest["inputs"] if self.rank is not None else []:
            file = folder / f"rank{self.rank}" / f"{name}.npy"
            self.inputs[name] = np.load(file)
            if not keep_inputs:
                file.unlink()

    def write(self, report, outputs):
        """The report comes last and whole: where it lies, the rank is done with the case."""
        out = self.folder / "out" / f"rank{self.rank}"
        out.mkdir(parents=True, exist_ok=True)
        for name, array in outputs.items():
            np.save(out / f"{name}.npy", array)
        part = out / "report.json.part"
        part.write_text(json.dumps(report))
        part.replace(out / "report.json")


class Solo:
    """A process by itself."""

    world_rank = 0

    def barrier(self):
        pass

    def enter(self, case):
        return None

    def leave(self):
        pass

    def end(self, code):
        sys.exit(code)


class Subject:
    """The student's file and the lesson's adapter, tests/NN_name/adapter.py, which knows how to call it."""

    def __init__(self, path):
        if not path.exists():
            raise FileNotFoundError(f"there is no {path} to load; --subject is a lesson's folder, or a file in one")
        folder = path if path.is_dir() else path.parent
        self.file = path if path.is_file() else folder / (folder.name.partition("_")[2] + ".py")
        if not self.file.is_file():
            raise FileNotFoundError(f"there is no {self.file} to load")
        self._adapter = ROOT / "tests" / folder.name / "adapter.py"
        if not self._adapter.is_file():
            raise FileNotFoundError(f"this course has no Python player for {folder.name}: no {self._adapter}")

    def load(self):
        """An exception of the student's own file is kept until a function is called."""
        self._functions = self._import(self._adapter).FUNCTIONS
        self._error = None
        try:
            self._lesson = self._import(self.file)
        except (Exception, SystemExit) as error:
            self._error = error

    def play(self, function, call):
        if self._error is not None:
            raise self._error
        self._functions[function](self._lesson, call)

    @staticmethod
    def _import(file):
        spec = importlib.util.spec_from_file_location(file.stem, file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def ending(self, error):
        """("todo" or "threw", the message and where in the student's file it comes from)."""
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)]
        files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        if isinstance(error, NotImplementedError) and files[-1] == str(self.file):
            return "todo", f"{error} is not written yet"
        own = [line for line, file in zip(lines, files) if file == str(self.file)]
        where = f" ({self.file.name}, line {own[-1]})" if own else ""
        return "threw", f"{type(error).__name__}: {error}{where}"


@contextlib.contextmanager
def measured(report):
    """Memory that Python and NumPy allocate beyond what they hold already, at its peak."""
    tracemalloc.start()
    try:
        yield
    finally:
        report["peak_bytes"] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()


def call_function(subject, case, call, report):
    try:
        with measured(report):
            subject.play(case.manifest["function"], call)
    except (Exception, SystemExit) as error:
        report["ending"], report["what"] = subject.ending(error)


def changed_between_ends(array):
    """Half of each number but the first and the last; whole ones stay where there are others, and else rows change
    places."""
    changed = array.copy()
    if array.size < 3:
        return changed
    if np.all(array == np.trunc(array)):
        changed[1:-1] = array[-2:0:-1]
        return changed
    flat = changed.reshape(-1)
    halved = flat != np.trunc(flat)
    halved[[0, -1]] = False
    flat[halved] /= 2
    return changed


def inputs_of_calls(case):
    """The case's own inputs, and before them, where it asks for earlier calls, what these are made with."""
    own = {name: array.copy() for name, array in case.inputs.items()}
    if not case.manifest.get("called_before", False):
        return [own]
    half = sorted(own)[: (len(own) + 1) // 2]
    return [
        {name: changed_between_ends(array) for name, array in own.items()},
        {name: changed_between_ends(array) if name in half else array for name, array in own.items()},
        own,
    ]


def play_calls(subject, case, call, report, stage):
    """The last one counts. A rank that does not finish one makes no more; all meet between two."""
    calls = inputs_of_calls(case)
    for i, inputs in enumerate(calls):
        if i > 0:
            stage.barrier()
        call.refill(inputs)
        if report["ending"] == "finished":
            call_function(subject, case, call, report)


def play_case(subject, case, stage):
    comm = stage.enter(case)
    if case.rank is not None:
        call = Call(case.inputs, case.manifest["arguments"], comm)
        # -1: nobody counts what is sent.
        report = {"ending": "finished", "what": "", "outputs": [], "peak_bytes": -1, "bytes_sent_to": [],
                  "collective_bytes": -1, "facts": []}
        play_calls(subject, case, call, report, stage)
        outputs = call.outputs if report["ending"] == "finished" else {}
        report["outputs"] = list(outputs)
        case.write(report, outputs)
    elif case.manifest.get("called_before", False):
        for _ in range(EARLIER_CALLS):
            stage.barrier()
    stage.leave()


def play(options, stage):
    subject = Subject(options.subject.absolute())
    cases = [Case(folder, stage.world_rank, options.keep_inputs) for folder in options.cases]
    stage.barrier()
    if options.status:
        # Tells the judge that the student's code may run from now on; the first rank removes it.
        options.status.with_name(options.status.name + ".sealed").unlink(missing_ok=True)
    subject.load()
    for case in cases:
        play_case(subject, case, stage)
    stage.barrier()


def make_stage():
    if not STARTED_BY_MPIRUN:
        return Solo()
    try:
        from mpi_stage import MpiStage
    except ImportError as missing:
        give_up(missing, "lessons on several ranks need mpi4py", "python3-mpi4py")
    return MpiStage()


def main():
    parser = argparse.ArgumentParser(description="plays cases on a lesson's functions written in Python")
    parser.add_argument("--subject", type=Path, required=True, help="a lesson's folder, or a file in one")
    parser.add_argument("--status", type=Path, help="keeps no page in it, and removes the seal beside it")
    parser.add_argument("--keep-inputs", action="store_true", help="leave the inputs where they are")
    parser.add_argument("cases", type=Path, nargs="+", metavar="CASE", help="a case's folder")
    options = parser.parse_args()
    stage = make_stage()
    try:
        play(options, stage)
    except Exception as error:
        print(f"player: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        stage.end(2)


if __name__ == "__main__":
    main()
