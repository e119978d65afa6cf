"""Products of 8-bit integer matrices, fused with the nodes around them, and convolutions (int8_product.h,
int8_fused_product.h, int8_conv.h)."""

from ..call cimport Call, run_call
from ..processor cimport loopdbg_cpu, current_processor
from ..thread_pool cimport loopdbg_parallel_for, loopdbg_thread_pool, pool_info, pool_parallel_for

from .. import processor

cdef extern from "kernels/int8/int8_product.h" nogil:
    enum:
        LOOPDBG_INT8_PANEL_COLUMNS
        LOOPDBG_INT8_OVERREAD_BYTES
        LOOPDBG_INT8_TAIL_BYTES
        LOOPDBG_INT8_HEADER_BYTES
    int loopdbg_int8_product(Call *call) noexcept
    int loopdbg_int8_from_int32_product(Call *call) noexcept
    int loopdbg_int8_pack(Call *call) noexcept
    int loopdbg_int8_conv(Call *call) noexcept
    int loopdbg_int8_from_int32_conv(Call *call) noexcept
    int loopdbg_int8_fused_product(Call *call) noexcept

processor.enable_amx()
loopdbg_cpu = current_processor()
loopdbg_parallel_for, loopdbg_thread_pool = pool_parallel_for(), pool_info()

ROUTINES = {
    "product": <size_t><run_call>loopdbg_int8_product,
    "from_int32_product": <size_t><run_call>loopdbg_int8_from_int32_product,
    "pack": <size_t><run_call>loopdbg_int8_pack,
    "fused_product": <size_t><run_call>loopdbg_int8_fused_product,
    "conv": <size_t><run_call>loopdbg_int8_conv,
    "from_int32_conv": <size_t><run_call>loopdbg_int8_from_int32_conv,
}
PANEL_COLUMNS, OVERREAD_BYTES, TAIL_BYTES, HEADER_BYTES = LOOPDBG_INT8_PANEL_COLUMNS, LOOPDBG_INT8_OVERREAD_BYTES, LOOPDBG_INT8_TAIL_BYTES, LOOPDBG_INT8_HEADER_BYTES
