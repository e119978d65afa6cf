"""What differs between two tensors of one shape, in one pass over both."""

from __future__ import annotations

from collections.abc import Iterator

from .onepass import Change, Statistics
from .tensor import TensorRef, passing


def changing(before: TensorRef, after: TensorRef) -> Iterator[Change]:
    """The change of all elements, as far as it is known part by part.

    Raises:
        ValueError: the shapes differ.
    """
    if before.shape != after.shape:
        raise ValueError(f"shapes {before.shape} and {after.shape} differ")
    found = Change()
    for _ in passing(after, None, before, found):
        yield found


def change(before: TensorRef, after: TensorRef) -> Change:
    """As :func:`changing`, to its end; asked again for the same two, what was found then.

    The statistics of what is new come of the same pass: who asks for one asks for the other.
    """
    known = after.change_from(before)
    if known is not None:
        return known
    if before.shape != after.shape:
        raise ValueError(f"shapes {before.shape} and {after.shape} differ")
    found = Change()
    statistics = Statistics() if after.known is None else None
    for _ in passing(after, statistics, before, found):
        pass
    if statistics is not None:
        after.keep(statistics)
    after.keep_change(before, found)
    return found
