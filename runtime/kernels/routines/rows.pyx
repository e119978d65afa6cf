"""Softmax and normalizations of rows (rows.h)."""

from ..call cimport Call, run_call

cdef extern from "kernels/dispatch/lanes.h" nogil:
    int loopdbg_use_lanes(int wanted) noexcept

cdef extern from "kernels/reduce/rows.h" nogil:
    int loopdbg_use_halves(int kind) noexcept
    int loopdbg_softmax(Call *call) noexcept
    int loopdbg_softmax_rounded(Call *call) noexcept
    int loopdbg_log_sum_exp(Call *call) noexcept
    int loopdbg_normalize(Call *call) noexcept

loopdbg_use_lanes(0)
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
    if not loopdbg_use_lanes(kind):
        return False
    loopdbg_use_halves(kind)
    return True
