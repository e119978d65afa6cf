"""What a test needs of the processor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from loopdbg.runtime.kernels import processor
from loopdbg.runtime.ops import arithmetic

#: How processor.use calls them.
ANY, AVX2, AVX512, AVXVNNI, VNNI, AMX = range(1, 7)
NAMES = dict(zip(range(1, 7), ("any", "AVX2", "AVX-512", "AVX-VNNI", "AVX-512 VNNI", "AMX"), strict=True))
#: What floats are computed with, and what bytes are.
FLOATS = (ANY, AVX2, AVX512)
BYTES = (ANY, AVX2, AVXVNNI, VNNI, AMX)


@contextmanager
def only(kind: int) -> Iterator[None]:
    """Compute with no more than such a processor has; skip the test where this one has less."""
    if not processor.use(kind):
        pytest.skip(f"runs on processors with {NAMES[kind]}")
    _forget()
    try:
        yield
    finally:
        processor.use(0)
        _forget()


def there(*kinds: int) -> list[int]:
    """Those of these that this processor has, or can do as."""
    found = [kind for kind in kinds if processor.use(kind)]
    processor.use(0)
    return found


def _forget() -> None:
    """Kernels are picked when they are made, and kept."""
    for kept in vars(arithmetic).values():
        if hasattr(kept, "cache_clear"):
            kept.cache_clear()
