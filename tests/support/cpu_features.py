"""Requirements of tests on the processor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from loopdbg.runtime.kernels import processor
from loopdbg.runtime.ops import ufunc_kernels

#: The names that processor.use takes.
BASELINE, AVX2, AVX512, AVXVNNI, VNNI, AMX = range(1, 7)
LEVEL_NAMES = dict(zip(range(1, 7), ("any", "AVX2", "AVX-512", "AVX-VNNI", "AVX-512 VNNI", "AMX"), strict=True))
#: The instruction sets for floats and for bytes.
FLOAT_LEVELS = (BASELINE, AVX2, AVX512)
INT8_LEVELS = (BASELINE, AVX2, AVXVNNI, VNNI, AMX)


@contextmanager
def limit_to(kind: int) -> Iterator[None]:
    """Restrict the kernels to an instruction set; skip the test if this processor lacks it."""
    if not processor.select_target(kind):
        pytest.skip(f"runs on processors with {LEVEL_NAMES[kind]}")
    _clear_kernel_caches()
    try:
        yield
    finally:
        processor.select_target(0)
        _clear_kernel_caches()


def available_levels(*kinds: int) -> list[int]:
    """The instruction sets that this processor has or can emulate."""
    results = [kind for kind in kinds if processor.select_target(kind)]
    processor.select_target(0)
    return results


def require_exact_peer_sums() -> None:
    """Skip a test where onnxruntime sums products of bytes in 16 bits, which saturate: x86 processors without VNNI."""
    if available_levels(AVX2) and not available_levels(AVXVNNI, VNNI):
        pytest.skip("onnxruntime's sums of bytes are exact on processors with VNNI")


def _clear_kernel_caches() -> None:
    """Drop cached kernels, which were selected when they were created."""
    for kept in vars(ufunc_kernels).values():
        if hasattr(kept, "cache_clear"):
            kept.cache_clear()
