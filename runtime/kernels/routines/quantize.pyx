"""Numbers to few bits and back (quantize.h)."""

from ..call cimport Call, run_call
from ..processor cimport loopdbg_here, processor_here

cdef extern from "kernels/int8/quantize.h" nogil:
    int loopdbg_quantize(Call *call) noexcept
    int loopdbg_requantize(Call *call) noexcept
    int loopdbg_dequantize(Call *call) noexcept
    int loopdbg_quantize_dynamic(Call *call) noexcept

loopdbg_here = processor_here()

ROUTINES = {
    "there": <size_t><run_call>loopdbg_quantize,
    "again": <size_t><run_call>loopdbg_requantize,
    "back": <size_t><run_call>loopdbg_dequantize,
    "dynamic": <size_t><run_call>loopdbg_quantize_dynamic,
}
