"""Declarations for modules with functions for several processors (processor.pyx, dispatch/processor.h)."""

cdef extern from "kernels/dispatch/processor.h" nogil:
    ctypedef struct Processor "loopdbg_processor":
        int width
        int bytes
    const Processor *loopdbg_cpu

cdef const Processor *current_processor() noexcept
