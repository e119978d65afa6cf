"""Boxes that overlap (boxes.h)."""

from ..call cimport Call, run_call

cdef extern from "kernels/image/boxes.h" nogil:
    int loopdbg_boxes(Call *call) noexcept

ROUTINES = {"kept": <size_t><run_call>loopdbg_boxes}
