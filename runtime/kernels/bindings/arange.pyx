"""Ranges of numbers (arange.h)."""

from ..call cimport Call, run_call

cdef extern from "kernels/data_movement/arange.h" nogil:
    int loopdbg_arange(Call *call) noexcept

ROUTINES = {"range": <size_t><run_call>loopdbg_arange}
