"""The rows that one loop makes and another one reads while both run: see wavefront.py."""

from libc.stdint cimport int64_t
cimport numpy as np

from ...kernels.stream cimport CStream, Stream, loopdbg_wait
from ..plain.loops cimport Loops
from ..plain.scans cimport Scans
from ..plain.state cimport *
from ..fast.binding cimport FastBinder
from ..fast.fast_state cimport fast_loop

import numpy as np

from ...graph.slices import join

np.import_array()


cdef int await_rows(State *s, LoopState *loop) noexcept nogil:
    """As the interpreter calls it."""
    cdef const CStream *stream = fast_loop(s, loop).stream
    return loopdbg_wait(stream, min(loop.i + 1, stream.rows))


def read_rows(Loops loops not None, int slot, Stream stream not None):
    """Let the first loop of a plan, which reads a slot row by row, wait for the rows that a stream tells of."""
    (<FastBinder>loops.binder).streams = {slot: stream}
    fast_loop(loops.s, loops.s.loops).stream = &stream.c
    loops.s.loops[0].await_rows = await_rows


def make_rows(Scans scans not None, int index, int k, Stream stream not None):
    """Let a stream tell, while a loop runs on, how many elements a scan output has.

    Returns the output as it will be, in memory that stays where it is; None where there is no memory for all elements
    yet, or they do not stand in it in order.
    """
    cdef LoopState *loop = scans.s.loops + index
    cdef Scan *c = loop.scans + k
    cdef int64_t expected = loop.trip if loop.trip >= 0 else loop.parts if loop.counted else -1
    if c.count == 0 or not is_plain(c) or not isinstance(scans.arrays.get((index, k)), np.ndarray):
        return None
    if expected > c.capacity:
        scans.grow(index, k)
    if not 2 <= expected <= c.capacity or (c.length >= 0 and c.length != expected):
        return None
    rows = scans.arrays[index, k]
    stream.c.count, stream.c.gone, stream.c.rows, stream.source = &c.count, 0, expected, scans
    dtype, shape = scans.memory.specs[c.spec]
    whole = join(rows[: expected * c.nbytes].view(dtype).reshape((expected, *shape)), scans.plan.loops[index].scans[k].output)
    return whole if np.PyArray_BYTES(whole) == c.buffer else None
