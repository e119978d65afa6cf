"""Softmax and normalization of rows (softmax_normalize.h)."""

from ..call cimport Call, run_call
from ..processor cimport loopdbg_cpu, current_processor

cdef extern from "kernels/reduce/softmax_normalize.h" nogil:
    int loopdbg_softmax(Call *call) noexcept
    int loopdbg_softmax_rounded(Call *call) noexcept
    int loopdbg_log_sum_exp(Call *call) noexcept
    int loopdbg_normalize(Call *call) noexcept

loopdbg_cpu = current_processor()

ROUTINES = {
    "softmax": <size_t><run_call>loopdbg_softmax,
    "softmax_rounded": <size_t><run_call>loopdbg_softmax_rounded,
    "log_sum_exp": <size_t><run_call>loopdbg_log_sum_exp,
    "normalize": <size_t><run_call>loopdbg_normalize,
}
