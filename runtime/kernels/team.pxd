"""What modules with work to share take from the team (team.h)."""

from numpy cimport npy_intp

cdef extern from "kernels/threads/team.h" nogil:
    ctypedef void (*piece_of_work "loopdbg_piece")(const void *job, npy_intp piece, int worker) noexcept nogil
    ctypedef void (*sharing "loopdbg_sharing")(piece_of_work piece, const void *job, npy_intp pieces, double work,
                                               int backwards) noexcept nogil
    ctypedef struct Members "loopdbg_members":
        int workers
        double least
    sharing loopdbg_share
    const Members *loopdbg_team

cdef sharing team_share() noexcept
cdef const Members *team_members() noexcept
