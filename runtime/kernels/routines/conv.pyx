"""Convolutions (conv.h)."""

from ..call cimport Call, run_call
from ..processor cimport loopdbg_here, processor_here
from ..team cimport loopdbg_share, loopdbg_team, team_members, team_share

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

# Weights that are added up at a time, and rows whose sums wait meanwhile in scratch.
PART, GROUP = CONV_PART, CONV_GROUP
# Elements behind each packed plane.
WIDEST = CONV_WIDEST


def transform(const float[:, :, :, ::1] taps, float[:, :, :, ::1] out):
    """Taps ``[channels out, channels in, 3, 3]`` into the ``[channels out / 8, 16, channels in, 8]`` of winograd.h."""
    if out.shape[0] * 8 != taps.shape[0] or out.shape[2] != taps.shape[1] or taps.shape[2] * taps.shape[3] != 9 or \
            out.shape[1] * out.shape[3] != 128:
        raise ValueError("the shapes do not fit")
    if out.size:
        with nogil:
            conv_winograd_taps(&taps[0, 0, 0, 0], taps.shape[0], taps.shape[1], &out[0, 0, 0, 0])


loopdbg_here = processor_here()
loopdbg_share, loopdbg_team = team_share(), team_members()
