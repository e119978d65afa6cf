"""Products of float32 rows with low-bit weights (low_bit.h)."""

from ..call cimport Call, run_call
from ..processor cimport loopdbg_cpu, current_processor

cdef extern from "kernels/gemm/low_bit.h" nogil:
    enum:
        LOOPDBG_LOW_BIT_PANEL_COLUMNS
    int loopdbg_low_bit_product(Call *call) noexcept

loopdbg_cpu = current_processor()

ROUTINES = {"product": <size_t><run_call>loopdbg_low_bit_product}
PANEL_COLUMNS = LOOPDBG_LOW_BIT_PANEL_COLUMNS
