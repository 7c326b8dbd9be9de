"""Ranks under mpirun, and the instruments that are on while a case is played."""

import time

from mpi4py import MPI

import watched


def nap_until(done):
    """Waits without a busy loop: the ranks that still compute may share this core."""
    while not done():
        time.sleep(1e-4)


class MpiStage:
    def __init__(self):
        self._world = MPI.COMM_WORLD
        self.world_rank = self._world.Get_rank()
        self._comm = MPI.COMM_NULL
        # What a submission finds in mpi4py. Its own name for the world is watched like the case's communicator.
        MPI.COMM_WORLD = watched.Comm(self._world)
        MPI.Request = watched.Request

    def meet(self):
        nap_until(self._world.Ibarrier().Test)

    def enter(self, case):
        takes_part = case.rank is not None
        self._comm = self._world.Split(0 if takes_part else MPI.UNDEFINED, case.rank if takes_part else 0)
        return watched.Comm(self._comm) if takes_part else None

    def begin_watching(self, page):
        watched.begin(self._comm, page)

    def end_watching(self, report):
        report.update(watched.end())

    def leave(self):
        self.meet()
        if self._comm != MPI.COMM_NULL:
            self._comm.Free()

    def end(self, code):
        self._world.Abort(code)
