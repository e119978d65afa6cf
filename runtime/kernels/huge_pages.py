"""Memory in huge pages, for weights that are read repeatedly.

One row times a matrix takes as long as loading the weights, and with pages of 4 KiB half of that is address
translation: 38 MiB of weights load at 20 GB/s, with pages of 2 MiB at 31 to 40. A system provides huge pages on
request, where a whole one fits: not for a single weight of 1 MiB. So weights share arenas.
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
#: Size of an arena that weights share. Its unused part takes no memory.
ARENA_BYTES = 1 << 24
#: Smaller weights stay in the cache, wherever they are.
HUGE_PAGE_MIN_BYTES = 1 << 17
CACHE_LINE_BYTES = 64


class _HugePageArena(mmap.mmap):
    """Memory that lives as long as anything in it is used."""

    next_offset: int  # of the first unused byte
    free_bytes: int


_lock = threading.Lock()
_current_arena: weakref.ref[_HugePageArena] | None = None


def aligned_zeros(shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """An array of zeros that is aligned to a cache line."""
    size = math.prod(shape) * dtype.itemsize
    memory = _allocate_from_arena(size) if size >= HUGE_PAGE_MIN_BYTES else None
    if memory is None:
        memory = np.zeros(size + CACHE_LINE_BYTES, np.uint8)
        first = -memory.__array_interface__["data"][0] % CACHE_LINE_BYTES
        memory = memory[first : first + size]
    return memory.view(dtype).reshape(shape)


def _allocate_from_arena(size: int) -> Array | None:
    """``size`` zero bytes; None: the system has no huge pages."""
    global _current_arena
    padded = -(-size // CACHE_LINE_BYTES) * CACHE_LINE_BYTES
    with _lock:
        newest = None if _current_arena is None else _current_arena()
        arena = newest
        if arena is None or arena.free_bytes < padded:
            arena = _new_arena(max(ARENA_BYTES, -(-padded // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES))
            if arena is None:
                return None
            if newest is None or arena.free_bytes - padded > newest.free_bytes:
                _current_arena = weakref.ref(arena)
        offset = arena.next_offset
        arena.next_offset, arena.free_bytes = offset + padded, arena.free_bytes - padded
    return np.frombuffer(arena, np.uint8, size, offset)


def _new_arena(size: int) -> _HugePageArena | None:
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return None
    try:
        arena = _HugePageArena(-1, size + HUGE_PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        arena.madvise(mmap.MADV_HUGEPAGE)
    except OSError:
        return None  # no memory, or no huge pages
    arena.next_offset = -np.frombuffer(arena, np.uint8).__array_interface__["data"][0] % HUGE_PAGE_BYTES
    arena.free_bytes = size
    return arena
