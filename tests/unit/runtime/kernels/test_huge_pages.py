"""Memory in large pages: arrays of zeros like any others, that share stretches."""

from __future__ import annotations

import gc
import mmap
import weakref
from typing import Any

import numpy as np
import pytest

from loopdbg.runtime.kernels import huge_pages
from loopdbg.runtime.ops.weight_packing import pack_weights

F32, BYTE = np.dtype(np.float32), np.dtype(np.uint8)
large = pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="the system has no large pages to ask for")


@pytest.fixture(autouse=True)
def empty_newest_stretch(monkeypatch: pytest.MonkeyPatch) -> None:
    """No array of another test is in the newest stretch."""
    monkeypatch.setattr(huge_pages, "_current_arena", None)


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def stretch_of(array: Any) -> Any:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return memoryview(array.base).obj


@pytest.mark.parametrize(
    "size",
    [
        1,
        huge_pages.HUGE_PAGE_MIN_BYTES - 1,
        huge_pages.HUGE_PAGE_MIN_BYTES,
        huge_pages.HUGE_PAGE_MIN_BYTES + 1,
        huge_pages.ARENA_BYTES,
        huge_pages.ARENA_BYTES + 1,
    ],
)
def test_zeros_begin_with_a_line(size: int) -> None:
    array = huge_pages.aligned_zeros((size,), BYTE)
    assert array.shape == (size,)
    assert array.dtype == BYTE
    assert address(array) % huge_pages.CACHE_LINE_BYTES == 0
    assert not array.any()
    array[...] = 255


def test_shapes_and_dtypes() -> None:
    for shape in ((0, 5), (3, 5), (7, 64, 300)):
        array = huge_pages.aligned_zeros(shape, F32)
        assert array.shape == shape
        assert array.flags.c_contiguous
        assert array.flags.writeable
        assert not array.any()


def test_arrays_do_not_overlap() -> None:
    sizes = np.random.default_rng(0).integers(1, 3 * huge_pages.HUGE_PAGE_MIN_BYTES, 300)
    arrays = [huge_pages.aligned_zeros((int(size),), BYTE) for size in sizes]
    for k, array in enumerate(arrays):
        array[...] = k % 251
    for k, array in enumerate(arrays):
        assert (array == k % 251).all()


@large
def test_arrays_share_stretches_of_whole_pages() -> None:
    a, b = huge_pages.aligned_zeros((huge_pages.HUGE_PAGE_MIN_BYTES,), BYTE), huge_pages.aligned_zeros((1 << 20,), BYTE)
    assert stretch_of(a) is stretch_of(b)
    assert address(a) % huge_pages.HUGE_PAGE_BYTES == 0
    whole = huge_pages.aligned_zeros((2 * huge_pages.ARENA_BYTES + 1,), BYTE)
    assert address(whole) % huge_pages.HUGE_PAGE_BYTES == 0
    # What is left there is less than what the first one has left.
    assert stretch_of(huge_pages.aligned_zeros((1 << 20,), BYTE)) is stretch_of(a)


@large
def test_stretches_go_with_the_last_array_in_them() -> None:
    a, b = (
        huge_pages.aligned_zeros((huge_pages.HUGE_PAGE_MIN_BYTES,), BYTE),
        huge_pages.aligned_zeros((huge_pages.HUGE_PAGE_MIN_BYTES,), BYTE),
    )
    gone = weakref.ref(stretch_of(a))
    del a
    gc.collect()
    assert gone() is stretch_of(b)
    del b
    gc.collect()
    assert gone() is None
    assert not huge_pages.aligned_zeros((huge_pages.HUGE_PAGE_MIN_BYTES,), BYTE).any()


@pytest.mark.parametrize("missing", ["advice", "pages", "memory"])
def test_without_large_pages(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    def refuse(*inputs: Any, **named: Any) -> None:
        raise OSError(22 if missing == "pages" else 12, missing)

    if missing == "advice":
        monkeypatch.delattr(mmap, "MADV_HUGEPAGE", raising=False)
    elif missing == "pages":
        monkeypatch.setattr(huge_pages._HugePageArena, "madvise", refuse, raising=False)
    else:
        monkeypatch.setattr(huge_pages, "_HugePageArena", refuse)
    array = huge_pages.aligned_zeros((huge_pages.HUGE_PAGE_MIN_BYTES, 2), F32)
    assert address(array) % huge_pages.CACHE_LINE_BYTES == 0
    assert not array.any()


@large
def test_weights_are_in_large_pages() -> None:
    weights = np.random.default_rng(0).standard_normal((256, 1024)).astype(np.float32)
    packed = pack_weights(weights)
    assert isinstance(stretch_of(packed), mmap.mmap)
    np.testing.assert_array_equal(np.concatenate([*packed[1]], axis=1), weights[:, 64:128])
