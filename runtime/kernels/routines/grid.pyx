"""Images read between their pixels (grid.h)."""

from ..call cimport Call, run_call

cdef extern from "kernels/dispatch/lanes.h" nogil:
    int loopdbg_use_lanes(int wanted) noexcept

cdef extern from "kernels/image/grid.h" nogil:
    int loopdbg_grid(Call *call) noexcept

loopdbg_use_lanes(0)

ROUTINES = {"sample": <size_t><run_call>loopdbg_grid}


def use_lanes(int kind):
    """For tests: how wide to work: as any processor (1), with AVX2 (2), AVX-512 (3), or as is best (0).

    False where this processor cannot.
    """
    return loopdbg_use_lanes(kind) != 0
