"""Attention of a few queries (attention.h)."""

from ..call cimport Call, run_call
from ..processor cimport loopdbg_here, processor_here

cdef extern from "kernels/attention/attention.h" nogil:
    int loopdbg_attend(Call *call) noexcept
    enum:
        LOOPDBG_MOST_HEAD

loopdbg_here = processor_here()

# The widest query.
MOST_HEAD = LOOPDBG_MOST_HEAD

ROUTINES = {"attend": <size_t><run_call>loopdbg_attend}
