"""Images read between their pixels (grid.h)."""

from ..call cimport Call, run_call
from ..processor cimport loopdbg_here, processor_here

cdef extern from "kernels/image/grid.h" nogil:
    int loopdbg_grid(Call *call) noexcept

loopdbg_here = processor_here()

ROUTINES = {"sample": <size_t><run_call>loopdbg_grid}
