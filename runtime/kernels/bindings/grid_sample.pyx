"""Grid sampling of images (grid_sample.h)."""

from ..call cimport Call, run_call
from ..processor cimport loopdbg_cpu, current_processor

cdef extern from "kernels/image/grid_sample.h" nogil:
    int loopdbg_grid_sample(Call *call) noexcept

loopdbg_cpu = current_processor()

ROUTINES = {"sample": <size_t><run_call>loopdbg_grid_sample}
