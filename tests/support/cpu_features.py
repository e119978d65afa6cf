"""What a test needs of the processor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from loopdbg.runtime.kernels import processor
from loopdbg.runtime.ops import kernel_lookup

#: How processor.use calls them.
BASELINE, AVX2, AVX512, AVXVNNI, VNNI, AMX = range(1, 7)
LEVEL_NAMES = dict(zip(range(1, 7), ("any", "AVX2", "AVX-512", "AVX-VNNI", "AVX-512 VNNI", "AMX"), strict=True))
#: What floats are computed with, and what bytes are.
FLOAT_LEVELS = (BASELINE, AVX2, AVX512)
INT8_LEVELS = (BASELINE, AVX2, AVXVNNI, VNNI, AMX)


@contextmanager
def limit_to(kind: int) -> Iterator[None]:
    """Compute with no more than such a processor has; skip the test where this one has less."""
    if not processor.select_target(kind):
        pytest.skip(f"runs on processors with {LEVEL_NAMES[kind]}")
    _clear_kernel_caches()
    try:
        yield
    finally:
        processor.select_target(0)
        _clear_kernel_caches()


def available_levels(*kinds: int) -> list[int]:
    """Those of these that this processor has, or can do as."""
    results = [kind for kind in kinds if processor.select_target(kind)]
    processor.select_target(0)
    return results


def _clear_kernel_caches() -> None:
    """Kernels are picked when they are made, and kept."""
    for kept in vars(kernel_lookup).values():
        if hasattr(kept, "cache_clear"):
            kept.cache_clear()
