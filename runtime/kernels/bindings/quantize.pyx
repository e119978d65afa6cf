"""Quantization and dequantization (quantize.h)."""

from ..call cimport Call, run_call
from ..processor cimport loopdbg_cpu, current_processor

cdef extern from "kernels/int8/quantize.h" nogil:
    int loopdbg_quantize(Call *call) noexcept
    int loopdbg_requantize(Call *call) noexcept
    int loopdbg_dequantize(Call *call) noexcept
    int loopdbg_quantize_dynamic(Call *call) noexcept

loopdbg_cpu = current_processor()

ROUTINES = {
    "quantize": <size_t><run_call>loopdbg_quantize,
    "requantize": <size_t><run_call>loopdbg_requantize,
    "dequantize": <size_t><run_call>loopdbg_dequantize,
    "dynamic": <size_t><run_call>loopdbg_quantize_dynamic,
}
