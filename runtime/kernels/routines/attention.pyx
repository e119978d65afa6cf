"""Attention of a few queries (attention.h)."""

from ..kernel cimport Call, run_call

cdef extern from "lanes.h" nogil:
    int loopdbg_find_lanes(int wanted) noexcept

cdef extern from "attention.h" nogil:
    int loopdbg_attention_lanes
    int loopdbg_attend(Call *call) noexcept
    enum:
        LOOPDBG_MOST_HEAD

loopdbg_attention_lanes = loopdbg_find_lanes(0)

# The widest query.
MOST_HEAD = LOOPDBG_MOST_HEAD

ROUTINES = {"attend": <size_t><run_call>loopdbg_attend}


def use_lanes(int kind):
    """For tests: how wide to work: as any processor (1), with AVX2 (2), AVX-512 (3), or as is best (0).

    False where this processor cannot.
    """
    global loopdbg_attention_lanes
    cdef int found = loopdbg_find_lanes(kind)
    if found:
        loopdbg_attention_lanes = found
    return found != 0
