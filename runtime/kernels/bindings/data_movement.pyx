"""Gather and scatter by index tensors (gather_scatter.h), ranges of numbers (arange.h), extremes of rows (topk.h),
relations that hold for any element (any.h), and results whose length depends on the data (data_dependent.h)."""

from ..call cimport Call, run_call
from ..processor cimport loopdbg_cpu, current_processor

cdef extern from "kernels/data_movement/arange.h" nogil:
    int loopdbg_arange(Call *call) noexcept

cdef extern from "kernels/data_movement/data_dependent.h" nogil:
    int loopdbg_non_zero(Call *call) noexcept
    int loopdbg_compress(Call *call) noexcept
    int loopdbg_unique(Call *call) noexcept

cdef extern from "kernels/data_movement/gather_scatter.h" nogil:
    int loopdbg_gather_elements(Call *call) noexcept
    int loopdbg_scatter_elements(Call *call) noexcept
    int loopdbg_gather_tuples(Call *call) noexcept
    int loopdbg_scatter_tuples(Call *call) noexcept
    int loopdbg_scatter_rows(Call *call) noexcept
    int loopdbg_scatter_runs(Call *call) noexcept
    enum:
        LOOPDBG_MAX_AXES

cdef extern from "kernels/reduce/any.h" nogil:
    void *loopdbg_any_for(Py_ssize_t type, Py_ssize_t relation, Py_ssize_t is_scalar) noexcept
    int loopdbg_any(Call *call) noexcept

cdef extern from "kernels/reduce/topk.h" nogil:
    int loopdbg_topk(Call *call) noexcept
    int loopdbg_top1(Call *call) noexcept

# Maximum number of axes for element-wise routines.
MAX_AXES = LOOPDBG_MAX_AXES

loopdbg_cpu = current_processor()

ROUTINES = {
    "any": <size_t><run_call>loopdbg_any,
    "arange": <size_t><run_call>loopdbg_arange,
    "compress": <size_t><run_call>loopdbg_compress,
    "non_zero": <size_t><run_call>loopdbg_non_zero,
    "unique": <size_t><run_call>loopdbg_unique,
    "gather_elements": <size_t><run_call>loopdbg_gather_elements,
    "scatter_elements": <size_t><run_call>loopdbg_scatter_elements,
    "gather_tuples": <size_t><run_call>loopdbg_gather_tuples,
    "scatter_tuples": <size_t><run_call>loopdbg_scatter_tuples,
    "scatter_rows": <size_t><run_call>loopdbg_scatter_rows,
    "scatter_runs": <size_t><run_call>loopdbg_scatter_runs,
    "top1": <size_t><run_call>loopdbg_top1,
    "topk": <size_t><run_call>loopdbg_topk,
}


def any_function_address(type, relation, is_scalar):
    """The address of the function behind a call of "any" with these parameters."""
    return <size_t>loopdbg_any_for(type, relation, is_scalar)
