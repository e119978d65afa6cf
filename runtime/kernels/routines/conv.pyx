"""Convolutions (conv.h)."""

from ..call cimport Call, run_call
from ..team cimport loopdbg_share, loopdbg_team, team_members, team_share

cdef extern from "conv.h" nogil:
    int loopdbg_conv_f32(Call *call) noexcept
    int loopdbg_conv_f64(Call *call) noexcept
    int loopdbg_conv_winograd(Call *call) noexcept
    int loopdbg_conv_choose(int kind) noexcept
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


def choose(int kind):
    """For tests: how it is computed: as on any processor (1), with AVX2 (2), AVX-512 (3), or as is best here (0).

    False where this processor cannot.
    """
    return loopdbg_conv_choose(kind) != 0


choose(0)
loopdbg_share, loopdbg_team = team_share(), team_members()
