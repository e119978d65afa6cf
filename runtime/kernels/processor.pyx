"""The processor that kernels are picked for: found once, for all modules (dispatch/find.h)."""

cdef extern from "kernels/dispatch/detect_cpu.h" nogil:
    enum:
        LOOPDBG_AMX
    const Processor *loopdbg_processors
    int loopdbg_cpu_supports(int kind) noexcept
    int loopdbg_best_processor(int tiles) noexcept

cdef Processor _here
cdef int _wanted = 0
cdef bint _tiles = False


def select_target(int kind):
    """For tests: compute as any processor (1), with AVX2 (2), AVX-512 (3), AVX-VNNI (4), AVX-512 VNNI (5), AMX (6), or as is
    best (0).

    False where this processor cannot. Kernels that are bound already stay as they are.
    """
    global _here, _wanted
    cdef int found = loopdbg_best_processor(_tiles) if kind == 0 else kind if 0 < kind <= LOOPDBG_AMX and loopdbg_cpu_supports(kind) else 0
    if found:
        _here, _wanted = loopdbg_processors[found], kind
    return found != 0


def enable_amx():
    """Ask the system for AMX, where there is any: what multiplies bytes does so before it begins."""
    global _tiles
    _tiles = True
    if _wanted == 0:
        select_target(0)


cdef const Processor *current_processor() noexcept:
    return &_here


select_target(0)
