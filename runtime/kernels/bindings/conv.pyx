"""Convolutions (conv.h)."""

cimport numpy as np

from ..call cimport Call, run_call
from ..processor cimport loopdbg_cpu, current_processor
from ..thread_pool cimport loopdbg_parallel_for, loopdbg_thread_pool, pool_info, pool_parallel_for

cdef extern from "kernels/conv/conv.h" nogil:
    int loopdbg_conv_f32(Call *call) noexcept
    int loopdbg_conv_f64(Call *call) noexcept
    int loopdbg_conv_winograd(Call *call) noexcept
    void conv_winograd_taps(const float *w, Py_ssize_t ocg, Py_ssize_t icg, float *to) noexcept
    enum:
        CONV_PART
        CONV_GROUP
        CONV_WIDEST

ROUTINES = {
    "f32": <size_t><run_call>loopdbg_conv_f32,
    "f64": <size_t><run_call>loopdbg_conv_f64,
    "winograd": <size_t><run_call>loopdbg_conv_winograd,
}

# Number of weights summed at a time, and rows whose partial sums are kept in scratch memory.
CHANNELS_PER_PASS, CHANNELS_PER_GROUP = CONV_PART, CONV_GROUP
# Padding elements behind each packed plane.
PLANE_PADDING_ELEMENTS = CONV_WIDEST


def winograd_transform(np.ndarray taps not None, np.ndarray out not None):
    """Transform float32 taps ``[channels out, channels in, 3, 3]`` to ``[channels out / 8, 16, channels in, 8]``.

    Both are in C order. Raises ``ValueError`` for other shapes or types.
    """
    cdef Py_ssize_t ocg = taps.shape[0] if taps.ndim else 0, icg = taps.shape[1] if taps.ndim > 1 else 0
    if (<object>taps).shape != (ocg, icg, 3, 3) or ocg % 8 or (<object>out).shape != (ocg // 8, 16, icg, 8):
        raise ValueError("the shapes do not fit")
    for array in (taps, out):
        if array.dtype != "float32" or not array.flags.c_contiguous:
            raise ValueError("not float32, or not in order of C")
    with nogil:
        conv_winograd_taps(<const float *>np.PyArray_DATA(taps), ocg, icg, <float *>np.PyArray_DATA(out))


loopdbg_cpu = current_processor()
loopdbg_parallel_for, loopdbg_thread_pool = pool_parallel_for(), pool_info()
