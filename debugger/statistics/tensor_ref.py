"""A tensor that is read in place: only what is read costs something."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ...runtime.errors import UsageError
from ...runtime.graph import Array
from .streaming_stats import CHUNK_ELEMENTS, TensorChange, TensorStatistics, accumulate

_T = TypeVar("_T")
#: Runs a function on the whole tensor, which nothing writes meanwhile; what comes out must be no view of it.
WithArray = Callable[[Callable[[Array], Any]], Any]
#: Tensors of fewer bytes are copied, which takes no longer than tracking them.
REFERENCE_MIN_BYTES = 1 << 16
#: So many elements are read before others may have their turn: some milliseconds.
PASS_PART_ELEMENTS = 1 << 22


class StaleReferenceError(UsageError):
    """The tensor is no more: what held it has gone on."""


#: What was found longest ago is forgotten once there is more than this.
_MAX_CACHE_ENTRIES = 4096


class StatsCache:
    """What was found of tensors, by keys that tell contents apart: what is met again, at another stop or under another
    name, is not read again."""

    def __init__(self) -> None:
        self.statistics: dict[Hashable, TensorStatistics] = {}
        self.changes: dict[tuple[Hashable, Hashable], TensorChange] = {}
        #: What a value comes after, within one epoch: a pass over it finds the change as well.
        self.predecessors: dict[Hashable, TensorRef] = {}
        self._epoch = -1

    def set_epoch(self, epoch: int) -> None:
        """The session stands in an epoch: references of others are over."""
        if epoch != self._epoch:
            self.predecessors, self._epoch = {}, epoch

    def store_statistics(self, key: Hashable, found: TensorStatistics) -> None:
        """Statistics are known."""
        self.statistics[key] = found
        _evict_oldest(self.statistics)

    def store_change(self, before: Hashable, after: Hashable, found: TensorChange) -> None:
        """A change is known."""
        self.changes[before, after] = found
        _evict_oldest(self.changes)


def _evict_oldest(known: dict[Any, Any]) -> None:
    # Other threads may do the same at the same time.
    if len(known) > _MAX_CACHE_ENTRIES:
        for oldest in list(known)[: _MAX_CACHE_ENTRIES // 4]:
            known.pop(oldest, None)


class TensorRef:
    """A tensor of which parts are copied when they are asked for.

    It has the attributes by which arrays are told apart, and NumPy takes it for one, at the price of a copy of the
    whole. What reads it may raise an :class:`OverError`.
    """

    def __init__(
        self,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        use: WithArray,
        findings: StatsCache | None = None,
        key: Hashable | None = None,
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self._with_array = use
        #: Where what is found of it is kept, and by which key; None: it is not known elsewhere.
        self._stats_cache, self.cache_key = findings, key
        self._statistics: TensorStatistics | None = None
        #: What it was compared with, by identity, and what was found: a picture is drawn more often than it changes.
        self._changes: dict[int, tuple[TensorRef, TensorChange]] = {}

    @classmethod
    def from_array(cls, array: Array) -> TensorRef:
        """Of an array that nobody writes."""
        return cls(array.dtype, array.shape, lambda do: do(array))

    def __repr__(self) -> str:
        return f"<TensorRef {self.dtype.name} {list(self.shape)}>"

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def with_array(self, do: Callable[[Array], _T]) -> _T:
        """What a function gives for the whole tensor, which nothing writes while it runs; it returns no view of it."""
        found: _T = self._with_array(do)
        return found

    def __getitem__(self, index: Any) -> Any:
        """A copy of a part."""
        part = self.with_array(lambda whole: np.array(whole[index]))
        return part[()] if part.ndim == 0 else part

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        whole: npt.NDArray[Any] = self.with_array(lambda array: np.array(array, dtype=dtype))
        return whole

    def chunks(self, start: int = 0, size: int = CHUNK_ELEMENTS) -> Iterator[tuple[int, Array]]:
        """Copies of the elements in order, each with the flat position at which it begins."""
        for at in range(start, self.size, size):
            yield at, self.copy_range(at, at + size)

    def with_range(self, start: int, stop: int, do: Callable[[Array], _T]) -> _T:
        """What a function gives for the elements from one flat position to another, where they lie."""
        return self.with_array(lambda whole: do(_flat_range(whole, start, stop)))

    def copy_range(self, start: int, stop: int) -> Array:
        """A copy of the elements from one flat position to another, axes in order."""
        return self.with_array(lambda whole: np.array(_flat_range(whole, start, stop)))

    # -- what was found of it

    @property
    def cached_statistics(self) -> TensorStatistics | None:
        """What is in it, as far as somebody asked before."""
        if self._statistics is None and self._stats_cache is not None and self.cache_key is not None:
            self._statistics = self._stats_cache.statistics.get(self.cache_key)
        return self._statistics

    @property
    def statistics(self) -> TensorStatistics:
        """What is in it; the first to ask pays the pass, which finds the change from the value before as well."""
        known = self.cached_statistics
        if known is not None:
            return known
        found = TensorStatistics()
        before = (
            self._stats_cache.predecessors.get(self.cache_key)
            if self._stats_cache is not None and self.cache_key is not None
            else None
        )
        if before is None or before.shape != self.shape or before.dtype != self.dtype:
            before = None
        change = None if before is None else TensorChange()
        for _ in accumulate_by_parts(self, found, before, change):
            pass
        self.cache_statistics(found)
        if before is not None and change is not None:
            self.cache_change(before, change)
        return found

    def cache_statistics(self, found: TensorStatistics) -> None:
        """What is in it is known."""
        self._statistics = found
        if self._stats_cache is not None and self.cache_key is not None:
            self._stats_cache.store_statistics(self.cache_key, found)

    def set_predecessor(self, before: TensorRef) -> None:
        """It is what became of another one."""
        if self._stats_cache is not None and self.cache_key is not None and before.cache_key is not None:
            self._stats_cache.predecessors[self.cache_key] = before

    def cached_change_from(self, before: TensorRef) -> TensorChange | None:
        """What changed since another one, as far as somebody asked before."""
        if self._stats_cache is not None and self.cache_key is not None and before.cache_key is not None:
            return self._stats_cache.changes.get((before.cache_key, self.cache_key))
        known = self._changes.get(id(before))
        return None if known is None or known[0] is not before else known[1]

    def cache_change(self, before: TensorRef, found: TensorChange) -> None:
        """What changed since another one is known."""
        if self._stats_cache is not None and self.cache_key is not None and before.cache_key is not None:
            self._stats_cache.store_change(before.cache_key, self.cache_key, found)
        else:
            self._changes[id(before)] = before, found


def accumulate_by_parts(
    tensor: TensorRef,
    found: TensorStatistics | None,
    before: TensorRef | None = None,
    change: TensorChange | None = None,
) -> Iterator[None]:
    """Go once over a tensor, and over another one that came before it, where they lie; comes by between parts."""
    if tensor.dtype.kind in "OUSTM" and change is None:
        return
    for at in range(0, tensor.size, PASS_PART_ELEMENTS):
        _accumulate_range(tensor, found, before, change, at, at + PASS_PART_ELEMENTS)
        yield


def _accumulate_range(
    tensor: TensorRef,
    found: TensorStatistics | None,
    before: TensorRef | None,
    change: TensorChange | None,
    start: int,
    stop: int,
) -> None:
    def alone(part: Array) -> None:
        accumulate(part, found)

    def both(part: Array) -> None:
        assert before is not None
        before.with_range(start, stop, lambda was: accumulate(part, found, was, change))

    tensor.with_range(start, stop, alone if before is None else both)


def _flat_range(whole: Array, start: int, stop: int) -> Array:
    # Of what does not lie in order reshape would copy all of it; .flat copies what is asked for.
    return whole.reshape(-1)[start:stop] if whole.flags.c_contiguous else whole.flat[start:stop]


def as_tensor_ref(value: Any) -> TensorRef:
    """Any tensor as one to be read in parts."""
    return value if isinstance(value, TensorRef) else TensorRef.from_array(np.asarray(value))
