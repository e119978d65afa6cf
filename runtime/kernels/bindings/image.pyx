"""Grid sampling (grid_sample.h), non-maximum suppression (nms.h) and region pooling (roi_align.h)."""

from ..call cimport Call, run_call
from ..processor cimport loopdbg_cpu, current_processor

cdef extern from "kernels/image/grid_sample.h" nogil:
    int loopdbg_grid_sample(Call *call) noexcept

cdef extern from "kernels/image/nms.h" nogil:
    int loopdbg_nms(Call *call) noexcept

cdef extern from "kernels/image/roi_align.h" nogil:
    int loopdbg_roi_align(Call *call) noexcept
    enum:
        LOOPDBG_ROI_MEAN
        LOOPDBG_ROI_MAX_WEIGHTED
        LOOPDBG_ROI_MAX_POINTS

loopdbg_cpu = current_processor()

# Reductions of the points in a bin.
ROI_MEAN, ROI_MAX_WEIGHTED, ROI_MAX_POINTS = LOOPDBG_ROI_MEAN, LOOPDBG_ROI_MAX_WEIGHTED, LOOPDBG_ROI_MAX_POINTS

ROUTINES = {
    "grid_sample": <size_t><run_call>loopdbg_grid_sample,
    "nms": <size_t><run_call>loopdbg_nms,
    "roi_align": <size_t><run_call>loopdbg_roi_align,
}
