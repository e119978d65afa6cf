"""Products of matrices of 8-bit integers, with what stands around them, and convolutions (int8.h, int8_chain.h,
int8_conv.h)."""

from ..call cimport Call, run_call
from ..processor cimport loopdbg_here, processor_here
from ..team cimport loopdbg_share, loopdbg_team, team_members, team_share

from .. import processor

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

processor.use_tiles()
loopdbg_here = processor_here()
loopdbg_share, loopdbg_team = team_share(), team_members()

ROUTINES = {
    "product": <size_t><run_call>loopdbg_int8_product,
    "narrowed": <size_t><run_call>loopdbg_int8_narrowed,
    "pack": <size_t><run_call>loopdbg_int8_pack,
    "chain": <size_t><run_call>loopdbg_int8_chain,
    "conv": <size_t><run_call>loopdbg_int8_conv,
    "conv_narrowed": <size_t><run_call>loopdbg_int8_conv_narrowed,
}
PANEL, BEYOND, TAIL, HEAD = LOOPDBG_INT8_PANEL, LOOPDBG_INT8_BEYOND, LOOPDBG_INT8_TAIL, LOOPDBG_INT8_HEAD
