"""The processor for which kernels are selected: detected once, for all modules (dispatch/detect_cpu.h)."""

cdef extern from "kernels/dispatch/detect_cpu.h" nogil:
    enum:
        LOOPDBG_AMX
    const Processor *loopdbg_processors
    int loopdbg_cpu_supports(int kind) noexcept
    int loopdbg_best_processor(int tiles) noexcept

cdef Processor _current
cdef int _requested = 0
cdef bint _use_amx = False


def select_target(int kind):
    """For tests: compute as any processor (1), with AVX2 (2), AVX-512 (3), AVX-VNNI (4), AVX-512 VNNI (5), AMX (6), or
    with the best (0).

    False if this processor cannot. Kernels that are bound already do not change.
    """
    global _current, _requested
    cdef int target = 0
    if kind == 0:
        target = loopdbg_best_processor(_use_amx)
    elif 0 < kind <= LOOPDBG_AMX and loopdbg_cpu_supports(kind):
        target = kind
    if target:
        _current, _requested = loopdbg_processors[target], kind
    return target != 0


def enable_amx():
    """Request AMX from the system, if present: byte products need it before they begin."""
    global _use_amx
    _use_amx = True
    if _requested == 0:
        select_target(0)


cdef const Processor *current_processor() noexcept:
    return &_current


select_target(0)
