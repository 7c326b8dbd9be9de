"""The page by which the judge sees, while a rank plays, what it is doing: common/protocol/status_page.hpp, in ctypes."""

import ctypes
import enum
import mmap
import os

MAX_PENDING = 32
MAX_SUMMED_RANKS = 64


class Phase(enum.IntEnum):
    STARTING, COMPUTING, BLOCKED, POLLING, FINISHED, THREW, CRASHED, DONE = range(8)


class Kind(enum.IntEnum):
    SEND, RECEIVE, COLLECTIVE = range(3)


class Need(enum.IntEnum):
    NONE, ALL, ANY = range(3)


class PendingOperation(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_uint32), ("need", ctypes.c_uint32), ("peer", ctypes.c_int32), ("tag", ctypes.c_int32),
                ("bytes", ctypes.c_int64), ("communicator", ctypes.c_uint64), ("call", ctypes.c_char * 32)]


class RankStatus(ctypes.Structure):
    _fields_ = [("phase", ctypes.c_uint32), ("case_index", ctypes.c_int32), ("completed", ctypes.c_uint64),
                ("sequence", ctypes.c_uint64), ("pid", ctypes.c_int32), ("receives", ctypes.c_int32),
                ("signal", ctypes.c_int32), ("pending_count", ctypes.c_int32),
                ("pending", PendingOperation * MAX_PENDING), ("collectives", ctypes.c_uint64),
                ("sent_sum", ctypes.c_uint64 * MAX_SUMMED_RANKS), ("received_sum", ctypes.c_uint64 * MAX_SUMMED_RANKS),
                ("text", ctypes.c_char * 512), ("facts", ctypes.c_char * 2048)]


def clipped(text, room):
    """The start of the text, in UTF-8, that leaves room for the byte 0 that ends it."""
    return text.encode()[: room - 1].decode(errors="ignore").encode()


class StatusPage:
    """One rank's page; without a file, one that nobody watches."""

    def __init__(self, path, world_rank):
        size = ctypes.sizeof(RankStatus)
        if path is None:
            self._memory = bytearray(size)
            self._status = RankStatus.from_buffer(self._memory)
        else:
            with open(path, "r+b") as file:
                self._memory = mmap.mmap(file.fileno(), (world_rank + 1) * size)
            self._status = RankStatus.from_buffer(self._memory, world_rank * size)
        self._status.pid = os.getpid()
        self._status.case_index = -1

    @property
    def phase(self):
        return Phase(self._status.phase)

    @phase.setter
    def phase(self, phase):
        self._status.phase = phase

    @property
    def case_index(self):
        return self._status.case_index

    @case_index.setter
    def case_index(self, index):
        self._status.case_index = index

    @property
    def receives(self):
        return self._status.receives

    def threw(self, what):
        self._status.text = clipped(what, 512)
        self.phase = Phase.THREW

    def begin_case(self):
        with self._change() as status:
            status.receives = status.pending_count = status.collectives = 0
            status.sent_sum[:] = status.received_sum[:] = [0] * MAX_SUMMED_RANKS
            status.facts = b""

    def block(self, pending, all_known):
        """Shows that the rank waits. Where not all is known that it has begun, nothing is concluded in haste."""
        with self._change() as status:
            for place, operation in zip(status.pending, pending):
                place.kind, place.need = operation.kind, operation.need
                place.peer, place.tag, place.bytes = operation.peer, operation.tag, operation.bytes
                place.communicator, place.call = operation.communicator, operation.call.encode()
            status.pending_count = min(len(pending), MAX_PENDING) if all_known else MAX_PENDING + 1
            status.phase = Phase.BLOCKED

    def unblock(self, completed):
        """Enters what has completed and, in the same step, that the rank waits no longer."""
        with self._change() as status:
            status.pending_count = 0
            status.phase = Phase.COMPUTING
            for operation in completed:
                self._enter(status, operation)

    def add_fact(self, kind, text):
        line = f"{kind}\t{text}\n".encode()
        with self._change() as status:
            if len(status.facts) + len(line) < 2048:
                status.facts += line

    @staticmethod
    def _enter(status, operation):
        status.completed += 1
        if operation.kind == Kind.COLLECTIVE:
            status.collectives += 1
            return
        status.receives += operation.kind == Kind.RECEIVE
        if 0 <= operation.peer < MAX_SUMMED_RANKS:
            sums = status.received_sum if operation.kind == Kind.RECEIVE else status.sent_sum
            # Any mixing will do that is the same on both ends of a message.
            sums[operation.peer] += (operation.communicator * 0x9E3779B97F4A7C15 + operation.tag + 1) * 0xBF58476D1CE4E5B9

    def _change(self):
        return _Change(self._status)


class _Change:
    """A change that those who read the page see whole: the sequence is odd while it is being made."""

    def __init__(self, status):
        self._status = status

    def __enter__(self):
        self._status.sequence += 1
        return self._status

    def __exit__(self, *_):
        self._status.sequence += 1
