"""Memory in large pages, for weights that are read again and again.

One row times a matrix takes as long as the weights take to arrive, and in pages of 4 KiB half of that is to find out
where they are: 38 MiB of weights arrived at 20 GB/s, in pages of 2 MiB at 31 to 40. A system gives those where it is
asked to, and where a whole one fits: not to a weight of 1 MiB by itself. So weights share stretches of memory.
"""

from __future__ import annotations

import math
import mmap
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph import Array

HUGE_PAGE_BYTES = 1 << 21
#: A stretch that weights share. What is not used of it takes no memory.
ARENA_BYTES = 1 << 24
#: Fewer bytes stay near the processor, wherever they are.
HUGE_PAGE_MIN_BYTES = 1 << 17
CACHE_LINE_BYTES = 64


class _HugePageArena(mmap.mmap):
    """Memory for as long as anything in it is used."""

    next_offset: int  # the first byte that nobody has
    free_bytes: int


_lock = threading.Lock()
_current_arena: weakref.ref[_HugePageArena] | None = None


def aligned_zeros(shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """An array that begins with a cache line."""
    size = math.prod(shape) * dtype.itemsize
    memory = _allocate_from_arena(size) if size >= HUGE_PAGE_MIN_BYTES else None
    if memory is None:
        memory = np.zeros(size + CACHE_LINE_BYTES, np.uint8)
        first = -memory.__array_interface__["data"][0] % CACHE_LINE_BYTES
        memory = memory[first : first + size]
    return memory.view(dtype).reshape(shape)


def _allocate_from_arena(size: int) -> Array | None:
    """So many bytes, all 0; None where the system has no large pages to ask for."""
    global _current_arena
    whole = -(-size // CACHE_LINE_BYTES) * CACHE_LINE_BYTES
    with _lock:
        newest = None if _current_arena is None else _current_arena()
        stretch = newest
        if stretch is None or stretch.free_bytes < whole:
            stretch = _new_arena(max(ARENA_BYTES, -(-whole // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES))
            if stretch is None:
                return None
            if newest is None or stretch.free_bytes - whole > newest.free_bytes:
                _current_arena = weakref.ref(stretch)
        at = stretch.next_offset
        stretch.next_offset, stretch.free_bytes = at + whole, stretch.free_bytes - whole
    return np.frombuffer(stretch, np.uint8, size, at)


def _new_arena(size: int) -> _HugePageArena | None:
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return None
    try:
        stretch = _HugePageArena(-1, size + HUGE_PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        stretch.madvise(mmap.MADV_HUGEPAGE)
    except OSError:
        return None  # there is no room, or the system knows of no such pages
    stretch.next_offset = -np.frombuffer(stretch, np.uint8).__array_interface__["data"][0] % HUGE_PAGE_BYTES
    stretch.free_bytes = size
    return stretch
