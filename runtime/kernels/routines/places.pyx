"""Reading and writing at indices that are data (places.h), and the extremes of rows (picks.h)."""

from ..call cimport Call, run_call
from ..processor cimport loopdbg_here, processor_here

cdef extern from "kernels/data_movement/places.h" nogil:
    int loopdbg_gather_elements(Call *call) noexcept
    int loopdbg_scatter_elements(Call *call) noexcept
    int loopdbg_gather_tuples(Call *call) noexcept
    int loopdbg_scatter_tuples(Call *call) noexcept
    int loopdbg_scatter_rows(Call *call) noexcept
    int loopdbg_scatter_runs(Call *call) noexcept
    enum:
        LOOPDBG_MOST_AXES

cdef extern from "kernels/reduce/picks.h" nogil:
    int loopdbg_top(Call *call) noexcept
    int loopdbg_first(Call *call) noexcept

# Axes that the elements' routines take.
MOST_AXES = LOOPDBG_MOST_AXES

loopdbg_here = processor_here()

ROUTINES = {
    "gather_elements": <size_t><run_call>loopdbg_gather_elements,
    "scatter_elements": <size_t><run_call>loopdbg_scatter_elements,
    "gather_tuples": <size_t><run_call>loopdbg_gather_tuples,
    "scatter_tuples": <size_t><run_call>loopdbg_scatter_tuples,
    "scatter_rows": <size_t><run_call>loopdbg_scatter_rows,
    "scatter_runs": <size_t><run_call>loopdbg_scatter_runs,
    "first": <size_t><run_call>loopdbg_first,
    "top": <size_t><run_call>loopdbg_top,
}
