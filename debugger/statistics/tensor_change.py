"""What differs between two tensors of one shape, in one pass over both."""

from __future__ import annotations

from collections.abc import Iterator

from .streaming_stats import TensorChange, TensorStatistics
from .tensor_ref import TensorRef, accumulate_by_parts


def compute_change_by_parts(before: TensorRef, after: TensorRef) -> Iterator[TensorChange]:
    """The change of all elements, as far as it is known part by part.

    Raises:
        ValueError: the shapes differ.
    """
    if before.shape != after.shape:
        raise ValueError(f"shapes {before.shape} and {after.shape} differ")
    found = TensorChange()
    for _ in accumulate_by_parts(after, None, before, found):
        yield found


def compute_change(before: TensorRef, after: TensorRef) -> TensorChange:
    """As :func:`changing`, to its end; asked again for the same two, what was found then.

    The statistics of what is new come of the same pass: who asks for one asks for the other.
    """
    known = after.cached_change_from(before)
    if known is not None:
        return known
    if before.shape != after.shape:
        raise ValueError(f"shapes {before.shape} and {after.shape} differ")
    found = TensorChange()
    statistics = TensorStatistics() if after.cached_statistics is None else None
    for _ in accumulate_by_parts(after, statistics, before, found):
        pass
    if statistics is not None:
        after.cache_statistics(statistics)
    after.cache_change(before, found)
    return found
