"""Products of matrices of 8-bit integers, with what stands around them, and convolutions (int8.h, int8_chain.h,
int8_conv.h)."""

from ..call cimport Call, run_call
from ..team cimport loopdbg_share, loopdbg_team, team_members, team_share

cdef extern from "kernels/int8/int8.h" nogil:
    enum:
        LOOPDBG_INT8_PANEL
        LOOPDBG_INT8_BEYOND
        LOOPDBG_INT8_TAIL
        LOOPDBG_INT8_HEAD
    int loopdbg_int8_product(Call *call) noexcept
    int loopdbg_int8_narrowed(Call *call) noexcept
    int loopdbg_int8_pack(Call *call) noexcept
    int loopdbg_int8_conv(Call *call) noexcept
    int loopdbg_int8_conv_narrowed(Call *call) noexcept
    int loopdbg_int8_chain(Call *call) noexcept
    int loopdbg_int8_use(int kind) noexcept

ROUTINES = {
    "product": <size_t><run_call>loopdbg_int8_product,
    "narrowed": <size_t><run_call>loopdbg_int8_narrowed,
    "pack": <size_t><run_call>loopdbg_int8_pack,
    "chain": <size_t><run_call>loopdbg_int8_chain,
    "conv": <size_t><run_call>loopdbg_int8_conv,
    "conv_narrowed": <size_t><run_call>loopdbg_int8_conv_narrowed,
}
PANEL, BEYOND, TAIL, HEAD = LOOPDBG_INT8_PANEL, LOOPDBG_INT8_BEYOND, LOOPDBG_INT8_TAIL, LOOPDBG_INT8_HEAD


def use(int kind):
    """For tests: how products are done: for any processor (1), with AVX2 (2), AVX-VNNI (3), AVX-512 (4), AMX (5), or as is
    best (0).

    False where this processor cannot.
    """
    return loopdbg_int8_use(kind) != 0


use(0)
loopdbg_share, loopdbg_team = team_share(), team_members()
