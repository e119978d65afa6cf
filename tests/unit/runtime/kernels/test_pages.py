"""Memory in large pages: arrays of zeros like any others, that share stretches."""

from __future__ import annotations

import gc
import mmap
import weakref
from typing import Any

import numpy as np
import pytest

from loopdbg.runtime.kernels import pages
from loopdbg.runtime.ops.weights import panels

F32, BYTE = np.dtype(np.float32), np.dtype(np.uint8)
large = pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="the system has no large pages to ask for")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No array of another test is in the newest stretch."""
    monkeypatch.setattr(pages, "_newest", None)


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def stretch_of(array: Any) -> Any:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return memoryview(array.base).obj


@pytest.mark.parametrize("size", [1, pages.LEAST - 1, pages.LEAST, pages.LEAST + 1, pages.STRETCH, pages.STRETCH + 1])
def test_zeros_begin_with_a_line(size: int) -> None:
    array = pages.zeros((size,), BYTE)
    assert array.shape == (size,)
    assert array.dtype == BYTE
    assert address(array) % pages.LINE == 0
    assert not array.any()
    array[...] = 255


def test_shapes_and_dtypes() -> None:
    for shape in ((0, 5), (3, 5), (7, 64, 300)):
        array = pages.zeros(shape, F32)
        assert array.shape == shape
        assert array.flags.c_contiguous
        assert array.flags.writeable
        assert not array.any()


def test_arrays_do_not_overlap() -> None:
    sizes = np.random.default_rng(0).integers(1, 3 * pages.LEAST, 300)
    arrays = [pages.zeros((int(size),), BYTE) for size in sizes]
    for k, array in enumerate(arrays):
        array[...] = k % 251
    for k, array in enumerate(arrays):
        assert (array == k % 251).all()


@large
def test_arrays_share_stretches_of_whole_pages() -> None:
    a, b = pages.zeros((pages.LEAST,), BYTE), pages.zeros((1 << 20,), BYTE)
    assert stretch_of(a) is stretch_of(b)
    assert address(a) % pages.PAGE == 0
    whole = pages.zeros((2 * pages.STRETCH + 1,), BYTE)
    assert address(whole) % pages.PAGE == 0
    # What is left there is less than what the first one has left.
    assert stretch_of(pages.zeros((1 << 20,), BYTE)) is stretch_of(a)


@large
def test_stretches_go_with_the_last_array_in_them() -> None:
    a, b = pages.zeros((pages.LEAST,), BYTE), pages.zeros((pages.LEAST,), BYTE)
    gone = weakref.ref(stretch_of(a))
    del a
    gc.collect()
    assert gone() is stretch_of(b)
    del b
    gc.collect()
    assert gone() is None
    assert not pages.zeros((pages.LEAST,), BYTE).any()


@pytest.mark.parametrize("missing", ["advice", "pages", "room"])
def test_without_large_pages(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    def refuse(*given: Any, **named: Any) -> None:
        raise OSError(22 if missing == "pages" else 12, missing)

    if missing == "advice":
        monkeypatch.delattr(mmap, "MADV_HUGEPAGE", raising=False)
    elif missing == "pages":
        monkeypatch.setattr(pages._Stretch, "madvise", refuse, raising=False)
    else:
        monkeypatch.setattr(pages, "_Stretch", refuse)
    array = pages.zeros((pages.LEAST, 2), F32)
    assert address(array) % pages.LINE == 0
    assert not array.any()


@large
def test_weights_are_in_large_pages() -> None:
    weights = np.random.default_rng(0).standard_normal((256, 1024)).astype(np.float32)
    packed = panels(weights)
    assert isinstance(stretch_of(packed), mmap.mmap)
    np.testing.assert_array_equal(np.concatenate([*packed[1]], axis=1), weights[:, 64:128])
