"""Rows of float32 with weights of a few bits (few_bits.h)."""

from ..call cimport Call, run_call

cdef extern from "kernels/gemm/few_bits.h" nogil:
    enum:
        LOOPDBG_FEW_PANEL
    int loopdbg_few_product(Call *call) noexcept
    int loopdbg_few_use(int kind) noexcept

ROUTINES = {"product": <size_t><run_call>loopdbg_few_product}
PANEL = LOOPDBG_FEW_PANEL


def use(int kind):
    """For tests: how products are done: for any processor (1), with AVX2 (2), AVX-512 (3), or as is best (0).

    False where this processor cannot.
    """
    return loopdbg_few_use(kind) != 0


use(0)
