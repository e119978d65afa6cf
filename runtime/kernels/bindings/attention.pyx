"""Attention of a few queries (attention.h)."""

from ..call cimport Call, run_call
from ..processor cimport loopdbg_cpu, current_processor

cdef extern from "kernels/attention/attention.h" nogil:
    int loopdbg_attend(Call *call) noexcept
    enum:
        LOOPDBG_MAX_HEAD_WIDTH

loopdbg_cpu = current_processor()

# Maximum width of a query.
MAX_HEAD_WIDTH = LOOPDBG_MAX_HEAD_WIDTH

ROUTINES = {"attend": <size_t><run_call>loopdbg_attend}
