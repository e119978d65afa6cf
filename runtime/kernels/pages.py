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

PAGE = 1 << 21
#: A stretch that weights share. What is not used of it takes no memory.
STRETCH = 1 << 24
#: Fewer bytes stay near the processor, wherever they are.
LEAST = 1 << 17
LINE = 64


class _Stretch(mmap.mmap):
    """Memory for as long as anything in it is used."""

    at: int  # the first byte that nobody has
    left: int


_lock = threading.Lock()
_newest: weakref.ref[_Stretch] | None = None


def zeros(shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """An array that begins with a cache line."""
    size = math.prod(shape) * dtype.itemsize
    memory = _in_pages(size) if size >= LEAST else None
    if memory is None:
        memory = np.zeros(size + LINE, np.uint8)
        first = -memory.__array_interface__["data"][0] % LINE
        memory = memory[first : first + size]
    return memory.view(dtype).reshape(shape)


def _in_pages(size: int) -> Array | None:
    """So many bytes, all 0; None where the system has no large pages to ask for."""
    global _newest
    whole = -(-size // LINE) * LINE
    with _lock:
        newest = None if _newest is None else _newest()
        stretch = newest
        if stretch is None or stretch.left < whole:
            stretch = _stretch(max(STRETCH, -(-whole // PAGE) * PAGE))
            if stretch is None:
                return None
            if newest is None or stretch.left - whole > newest.left:
                _newest = weakref.ref(stretch)
        at = stretch.at
        stretch.at, stretch.left = at + whole, stretch.left - whole
    return np.frombuffer(stretch, np.uint8, size, at)


def _stretch(size: int) -> _Stretch | None:
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return None
    try:
        stretch = _Stretch(-1, size + PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        stretch.madvise(mmap.MADV_HUGEPAGE)
    except OSError:
        return None  # there is no room, or the system knows of no such pages
    stretch.at = -np.frombuffer(stretch, np.uint8).__array_interface__["data"][0] % PAGE
    stretch.left = size
    return stretch
