"""Regions of images (regions.h)."""

from ..call cimport Call, run_call

cdef extern from "kernels/image/regions.h" nogil:
    int loopdbg_regions(Call *call) noexcept
    enum:
        LOOPDBG_REGION_MEAN
        LOOPDBG_REGION_PARTS
        LOOPDBG_REGION_POINTS

# What is made of the points in a bin.
MEAN, PARTS, POINTS = LOOPDBG_REGION_MEAN, LOOPDBG_REGION_PARTS, LOOPDBG_REGION_POINTS

ROUTINES = {"align": <size_t><run_call>loopdbg_regions}
