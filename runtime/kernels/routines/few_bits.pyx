"""Rows of float32 with weights of a few bits (few_bits.h)."""

from ..call cimport Call, run_call
from ..processor cimport loopdbg_here, processor_here

cdef extern from "kernels/gemm/few_bits.h" nogil:
    enum:
        LOOPDBG_FEW_PANEL
    int loopdbg_few_product(Call *call) noexcept

loopdbg_here = processor_here()

ROUTINES = {"product": <size_t><run_call>loopdbg_few_product}
PANEL = LOOPDBG_FEW_PANEL
