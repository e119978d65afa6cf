"""Region pooling of images (roi_align.h)."""

from ..call cimport Call, run_call

cdef extern from "kernels/image/roi_align.h" nogil:
    int loopdbg_roi_align(Call *call) noexcept
    enum:
        LOOPDBG_ROI_MEAN
        LOOPDBG_ROI_MAX_WEIGHTED
        LOOPDBG_ROI_MAX_POINTS

# Reductions of the points in a bin.
REDUCE_MEAN, REDUCE_MAX_WEIGHTED, REDUCE_MAX_POINTS = LOOPDBG_ROI_MEAN, LOOPDBG_ROI_MAX_WEIGHTED, LOOPDBG_ROI_MAX_POINTS

ROUTINES = {"align": <size_t><run_call>loopdbg_roi_align}
