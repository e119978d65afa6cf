"""Softmax and normalizations of rows (rows.h)."""

from ..kernel cimport Call, run_call

cdef extern from "lanes.h" nogil:
    int loopdbg_find_lanes(int wanted) noexcept

cdef extern from "rows.h" nogil:
    int loopdbg_rows_lanes
    int loopdbg_use_halves(int kind) noexcept
    int loopdbg_softmax(Call *call) noexcept
    int loopdbg_softmax_rounded(Call *call) noexcept
    int loopdbg_log_sum_exp(Call *call) noexcept
    int loopdbg_normalize(Call *call) noexcept

loopdbg_rows_lanes = loopdbg_find_lanes(0)
loopdbg_use_halves(0)

ROUTINES = {
    "softmax": <size_t><run_call>loopdbg_softmax,
    "softmax_rounded": <size_t><run_call>loopdbg_softmax_rounded,
    "log_sum_exp": <size_t><run_call>loopdbg_log_sum_exp,
    "normalize": <size_t><run_call>loopdbg_normalize,
}


def use_lanes(int kind):
    """For tests: how wide to work: as any processor (1), with AVX2 (2), AVX-512 (3), or as is best (0).

    False where this processor cannot.
    """
    global loopdbg_rows_lanes
    cdef int found = loopdbg_find_lanes(kind)
    if found:
        loopdbg_rows_lanes = found
        loopdbg_use_halves(kind)
    return found != 0
