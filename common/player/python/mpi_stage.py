"""Ranks under mpirun."""

import time

from mpi4py import MPI


class Comm(MPI.Intracomm):
    """Sends complete only when they are received, so that buffering hides no deadlock."""

    Send, send = MPI.Comm.Ssend, MPI.Comm.ssend
    Isend, isend = MPI.Comm.Issend, MPI.Comm.issend


def nap_until(done):
    """Waits without a busy loop: the ranks that still compute may share this core."""
    while not done():
        time.sleep(1e-4)


class MpiStage:
    def __init__(self):
        self._world = MPI.COMM_WORLD
        self.world_rank = self._world.Get_rank()
        self._comm = MPI.COMM_NULL
        MPI.COMM_WORLD = Comm(self._world)  # what a submission finds in mpi4py

    def barrier(self):
        nap_until(self._world.Ibarrier().Test)

    def enter(self, case):
        takes_part = case.rank is not None
        self._comm = self._world.Split(0 if takes_part else MPI.UNDEFINED, case.rank if takes_part else 0)
        return Comm(self._comm) if takes_part else None

    def leave(self):
        self.barrier()
        if self._comm != MPI.COMM_NULL:
            self._comm.Free()

    def end(self, code):
        self._world.Abort(code)
