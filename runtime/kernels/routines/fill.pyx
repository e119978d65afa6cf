"""Tensors that are made from numbers alone: see fill.h."""

from ..call cimport Call, run_call

cdef extern from "kernels/data_movement/fill.h" nogil:
    int loopdbg_range(Call *call) noexcept

ROUTINES = {"range": <size_t><run_call>loopdbg_range}
