"""Results whose length depends on the data (data_dependent.h)."""

from ..call cimport Call, run_call
from ..processor cimport loopdbg_cpu, current_processor

cdef extern from "kernels/data_movement/data_dependent.h" nogil:
    int loopdbg_non_zero(Call *call) noexcept
    int loopdbg_compress(Call *call) noexcept
    int loopdbg_unique(Call *call) noexcept

loopdbg_cpu = current_processor()

ROUTINES = {
    "compress": <size_t><run_call>loopdbg_compress,
    "non_zero": <size_t><run_call>loopdbg_non_zero,
    "unique": <size_t><run_call>loopdbg_unique,
}
