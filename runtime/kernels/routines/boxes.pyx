"""Boxes that overlap (boxes.h)."""

from ..call cimport Call, run_call
from ..processor cimport loopdbg_here, processor_here

cdef extern from "kernels/image/boxes.h" nogil:
    int loopdbg_boxes(Call *call) noexcept

loopdbg_here = processor_here()

ROUTINES = {"kept": <size_t><run_call>loopdbg_boxes}
