"""One-pass comparison of two tensors of one shape."""

from __future__ import annotations

from collections.abc import Iterator

from .streaming_stats import TensorChange, TensorStatistics
from .tensor_ref import TensorRef, accumulate_by_parts


def compute_change_by_parts(before: TensorRef, after: TensorRef) -> Iterator[TensorChange]:
    """Compute the change of all elements; yields the intermediate result after each part.

    Raises:
        ValueError: the shapes differ.
    """
    if before.shape != after.shape:
        raise ValueError(f"shapes {before.shape} and {after.shape} differ")
    change = TensorChange()
    for _ in accumulate_by_parts(after, None, before, change):
        yield change


def compute_change(before: TensorRef, after: TensorRef) -> TensorChange:
    """Compute the complete change, or return the cached one.

    The same pass computes the statistics of the new tensor, which callers usually need as well.
    """
    cached = after.cached_change_from(before)
    if cached is not None:
        return cached
    if before.shape != after.shape:
        raise ValueError(f"shapes {before.shape} and {after.shape} differ")
    change = TensorChange()
    statistics = TensorStatistics() if after.cached_statistics is None else None
    for _ in accumulate_by_parts(after, statistics, before, change):
        pass
    if statistics is not None:
        after.cache_statistics(statistics)
    after.cache_change(before, change)
    return change
