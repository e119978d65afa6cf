"""Non-maximum suppression (nms.h)."""

from ..call cimport Call, run_call
from ..processor cimport loopdbg_cpu, current_processor

cdef extern from "kernels/image/nms.h" nogil:
    int loopdbg_nms(Call *call) noexcept

loopdbg_cpu = current_processor()

ROUTINES = {"select": <size_t><run_call>loopdbg_nms}
