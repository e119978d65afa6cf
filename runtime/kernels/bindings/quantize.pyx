"""Quantization and dequantization (quantize.h), and products of float32 rows with low-bit weights (low_bit.h)."""

from ..call cimport Call, run_call
from ..processor cimport loopdbg_cpu, current_processor

cdef extern from "kernels/int8/quantize.h" nogil:
    int loopdbg_quantize(Call *call) noexcept
    int loopdbg_requantize(Call *call) noexcept
    int loopdbg_dequantize(Call *call) noexcept
    int loopdbg_quantize_dynamic(Call *call) noexcept

cdef extern from "kernels/gemm/low_bit.h" nogil:
    enum:
        LOOPDBG_LOW_BIT_PANEL_COLUMNS
    int loopdbg_low_bit_product(Call *call) noexcept

loopdbg_cpu = current_processor()

LOW_BIT_PANEL_COLUMNS = LOOPDBG_LOW_BIT_PANEL_COLUMNS

ROUTINES = {
    "quantize": <size_t><run_call>loopdbg_quantize,
    "requantize": <size_t><run_call>loopdbg_requantize,
    "dequantize": <size_t><run_call>loopdbg_dequantize,
    "dynamic": <size_t><run_call>loopdbg_quantize_dynamic,
    "low_bit_product": <size_t><run_call>loopdbg_low_bit_product,
}
