"""Attention of a few queries (attention.h)."""

from ..call cimport Call, run_call

cdef extern from "kernels/dispatch/lanes.h" nogil:
    int loopdbg_use_lanes(int wanted) noexcept

cdef extern from "kernels/attention/attention.h" nogil:
    int loopdbg_attend(Call *call) noexcept
    enum:
        LOOPDBG_MOST_HEAD

loopdbg_use_lanes(0)

# The widest query.
MOST_HEAD = LOOPDBG_MOST_HEAD

ROUTINES = {"attend": <size_t><run_call>loopdbg_attend}


def use_lanes(int kind):
    """For tests: how wide to work: as any processor (1), with AVX2 (2), AVX-512 (3), or as is best (0).

    False where this processor cannot.
    """
    return loopdbg_use_lanes(kind) != 0
