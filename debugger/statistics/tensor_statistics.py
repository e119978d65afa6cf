"""One-pass statistics of a tensor, and of the difference of two, part by part: without a copy of the tensor or of its
elements as float64."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ...runtime.dtypes import is_ml_dtype
from ...runtime.errors import UsageError
from ...runtime.graph import Array
from ...runtime.kernels.tensor_summary import TensorDifference, TensorSummary, accumulate_pass

#: Elements per chunk where copies are made; a chunk fits the processor's cache.
CHUNK_ELEMENTS = 1 << 16
#: Kinds of dtypes whose values cannot be subtracted.
_NON_NUMERIC_KINDS = "OUSTb"


def widen_elements(part: Array) -> Array:
    """Convert elements to a type in which NumPy computes: complex numbers to magnitudes, low-bit types to int64."""
    kind = part.dtype.kind
    if kind == "c":
        with np.errstate(all="ignore"):
            return np.abs(part)
    if is_ml_dtype(part.dtype):
        return part.astype(np.int64 if "int" in part.dtype.name else np.float64)
    return part.astype(np.float64) if part.dtype == np.float16 else part


class TensorStatistics(TensorSummary):
    """See :class:`~...runtime.kernels.tensor_summary.TensorSummary`. Strings have no statistics."""

    def __init__(self, array: Array | None = None) -> None:
        if array is not None:
            self.add(array)

    def add(self, part: Array) -> None:
        """Accumulate the next elements."""
        accumulate(part, self)


class TensorChange(TensorDifference):
    """See :class:`~...runtime.kernels.summary.Difference`."""

    def add(self, before: Array, after: Array) -> None:
        """Accumulate the next elements, in one dimension."""
        accumulate(after, None, before, self)


def accumulate(
    part: Array, statistics: TensorStatistics | None, before: Array | None = None, change: TensorChange | None = None
) -> None:
    """Accumulate the next elements, and their previous values; every pass over a tensor calls this."""
    if before is None or change is None:
        accumulate_pass(part, statistics)
    elif not accumulate_pass(part, statistics, before, change):
        # Strings, or operands of different dtypes.
        accumulate_pass(part, statistics)
        _accumulate_generic(change, before, part)


def _accumulate_generic(change: TensorChange, before: Array, after: Array) -> None:
    for start in range(0, after.size, CHUNK_ELEMENTS):
        difference, equal = absolute_differences(
            before[start : start + CHUNK_ELEMENTS], after[start : start + CHUNK_ELEMENTS]
        )
        undefined = np.zeros(equal.shape, bool) if difference.dtype.kind in "uO" else np.isnan(difference) & ~equal
        difference[undefined] = 0
        changed = np.flatnonzero(~(undefined | equal))
        k = int(changed[np.argmax(difference[changed])]) if changed.size else -1
        largest = float(difference[k]) if changed.size else 0.0
        change.merge(equal.size, int(np.count_nonzero(equal)), int(np.count_nonzero(undefined)), largest, k)


def absolute_differences(before: Array, after: Array) -> tuple[Array, Array]:
    """Absolute differences, and a mask of equal elements; strings and booleans that differ have difference 1.

    Differences of integers are exact: uint64, or Python integers if only one side is signed. All others are float64.
    """
    with np.errstate(all="ignore"):
        equal = before == after
        if before.dtype.kind in _NON_NUMERIC_KINDS or after.dtype.kind in _NON_NUMERIC_KINDS:
            return np.where(equal, 0.0, 1.0), equal
        if _is_integer(before) and _is_integer(after):
            return _integer_distance(widen_elements(before), widen_elements(after)), equal
        x, y = _as_float64(before), _as_float64(after)
        equal = equal | (np.isnan(x) & np.isnan(y))
        return np.where(equal, 0.0, np.abs(y - x)), equal


def _is_integer(part: Array) -> bool:
    return "int" in part.dtype.name


def _integer_distance(x: Array, y: Array) -> Array:
    """The distance of integers, which may exceed their own type."""
    if x.dtype.kind != y.dtype.kind:
        distance: Array = np.abs(y.astype(object) - x.astype(object))
        return distance
    return np.maximum(x, y).astype(np.uint64) - np.minimum(x, y).astype(np.uint64)


def _as_float64(part: Array) -> Array:
    return part.astype(np.complex128 if part.dtype.kind == "c" else np.float64)


_T = TypeVar("_T")
#: Calls a function with the whole tensor, which is not modified meanwhile; the result must not be a view of it.
WithArray = Callable[[Callable[[Array], Any]], Any]
#: Smaller tensors are copied, which is as fast as tracking them.
REFERENCE_MIN_BYTES = 1 << 16
#: Elements per step of a pass, after which other work may run: some milliseconds.
PASS_PART_ELEMENTS = 1 << 22


class StaleReferenceError(UsageError):
    """The tensor no longer exists because its owner was modified."""


#: The oldest entries are evicted above this number.
_MAX_CACHE_ENTRIES = 4096


class StatsCache:
    """Cache of statistics and changes of tensors, by keys that identify their contents: a tensor that occurs again, at
    another stop or under another name, is not read again."""

    def __init__(self) -> None:
        self.statistics: dict[Hashable, TensorStatistics] = {}
        self.changes: dict[tuple[Hashable, Hashable], TensorChange] = {}
        #: The previous value of each value, within one epoch: one pass computes the statistics and the change.
        self.predecessors: dict[Hashable, TensorRef] = {}
        self._epoch = -1

    def set_epoch(self, epoch: int) -> None:
        """Discard the references of earlier epochs."""
        if epoch != self._epoch:
            self.predecessors, self._epoch = {}, epoch

    def store_statistics(self, key: Hashable, statistics: TensorStatistics) -> None:
        """Store statistics."""
        self.statistics[key] = statistics
        _evict_oldest(self.statistics)

    def store_change(self, before: Hashable, after: Hashable, change: TensorChange) -> None:
        """Store a change."""
        self.changes[before, after] = change
        _evict_oldest(self.changes)


def _evict_oldest(cache: dict[Any, Any]) -> None:
    # Other threads may evict at the same time.
    if len(cache) > _MAX_CACHE_ENTRIES:
        for oldest in list(cache)[: _MAX_CACHE_ENTRIES // 4]:
            cache.pop(oldest, None)


class TensorRef:
    """A tensor whose parts are copied on access.

    It has the attributes that describe an array; NumPy converts it with a copy of the whole tensor. Any access may
    raise a :class:`StaleReferenceError`.
    """

    def __init__(
        self,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        with_array: WithArray | None,
        stats_cache: StatsCache | None = None,
        cache_key: Hashable | None = None,
        array: Array | None = None,
    ) -> None:
        """``with_array``: None for an ``array`` that is never modified."""
        self.dtype = dtype
        self.shape = shape
        self._with_array = with_array
        self._array = array
        #: Cache of results and the key in it; None: results are not shared.
        self._stats_cache, self.cache_key = stats_cache, cache_key
        self._statistics: TensorStatistics | None = None
        #: Changes by identity of the compared tensor: views are drawn more often than values change.
        self._changes: dict[int, tuple[TensorRef, TensorChange]] = {}

    @classmethod
    def from_array(cls, array: Array) -> TensorRef:
        """A reference to an array that is never modified."""
        return cls(array.dtype, array.shape, None, array=array)

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

    def with_array(self, function: Callable[[Array], _T]) -> _T:
        """Call a function with the whole tensor, which is not modified meanwhile; its result must not be a view."""
        if self._with_array is None:
            assert self._array is not None
            return function(self._array)
        result: _T = self._with_array(function)
        return result

    def __getitem__(self, index: Any) -> Any:
        """Copy a part."""
        part = self.with_array(lambda array: np.array(array[index]))
        return part[()] if part.ndim == 0 else part

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if self._with_array is None:
            return np.array(self._array, dtype=dtype)
        copied: npt.NDArray[Any] = self.with_array(lambda source: np.array(source, dtype=dtype))
        return copied

    def chunks(self, start: int = 0, size: int = CHUNK_ELEMENTS) -> Iterator[tuple[int, Array]]:
        """Copies of consecutive elements, each with its flat start position."""
        for offset in range(start, self.size, size):
            yield offset, self.copy_range(offset, offset + size)

    def copy_range(self, start: int, stop: int) -> Array:
        """Copy the elements of a flat range, in row-major order."""
        return self.with_array(lambda array: np.array(_flat_range(array, start, stop)))

    # -- cached results

    @property
    def cached_statistics(self) -> TensorStatistics | None:
        """The statistics if they were computed before."""
        if self._statistics is None and self._stats_cache is not None and self.cache_key is not None:
            self._statistics = self._stats_cache.statistics.get(self.cache_key)
        return self._statistics

    @property
    def statistics(self) -> TensorStatistics:
        """The statistics; the first access runs the pass, which also computes the change from the previous value."""
        cached = self.cached_statistics
        if cached is not None:
            return cached
        statistics = TensorStatistics()
        before = (
            self._stats_cache.predecessors.get(self.cache_key)
            if self._stats_cache is not None and self.cache_key is not None
            else None
        )
        if before is None or before.shape != self.shape or before.dtype != self.dtype:
            before = None
        change = None if before is None else TensorChange()
        for _ in accumulate_by_parts(self, statistics, before, change):
            pass
        self.cache_statistics(statistics)
        if before is not None and change is not None:
            self.cache_change(before, change)
        return statistics

    def cache_statistics(self, statistics: TensorStatistics) -> None:
        """Store the statistics."""
        self._statistics = statistics
        if self._stats_cache is not None and self.cache_key is not None:
            self._stats_cache.store_statistics(self.cache_key, statistics)

    def set_predecessor(self, before: TensorRef) -> None:
        """Record the previous value of this one."""
        if self._stats_cache is not None and self.cache_key is not None and before.cache_key is not None:
            self._stats_cache.predecessors[self.cache_key] = before

    def cached_change_from(self, before: TensorRef) -> TensorChange | None:
        """The change from another tensor if it was computed before."""
        if self._stats_cache is not None and self.cache_key is not None and before.cache_key is not None:
            return self._stats_cache.changes.get((before.cache_key, self.cache_key))
        entry = self._changes.get(id(before))
        return None if entry is None or entry[0] is not before else entry[1]

    def cache_change(self, before: TensorRef, change: TensorChange) -> None:
        """Store the change from another tensor."""
        if self._stats_cache is not None and self.cache_key is not None and before.cache_key is not None:
            self._stats_cache.store_change(before.cache_key, self.cache_key, change)
        else:
            self._changes[id(before)] = before, change


def accumulate_by_parts(
    tensor: TensorRef,
    statistics: TensorStatistics | None,
    before: TensorRef | None = None,
    change: TensorChange | None = None,
) -> Iterator[None]:
    """Accumulate statistics of a tensor, and its change from another one, in place; yields between parts."""
    if tensor.dtype.kind in "OUSTM" and change is None:
        return
    for start in range(0, tensor.size, PASS_PART_ELEMENTS):
        _accumulate_range(tensor, statistics, before, change, start, start + PASS_PART_ELEMENTS)
        yield


def _accumulate_range(
    tensor: TensorRef,
    statistics: TensorStatistics | None,
    before: TensorRef | None,
    change: TensorChange | None,
    start: int,
    stop: int,
) -> None:
    def accumulate_statistics(array: Array) -> None:
        accumulate(_flat_range(array, start, stop), statistics)

    def accumulate_change(array: Array) -> None:
        assert before is not None
        part = _flat_range(array, start, stop)
        before.with_array(lambda old: accumulate(part, statistics, _flat_range(old, start, stop), change))

    tensor.with_array(accumulate_statistics if before is None else accumulate_change)


def _flat_range(array: Array, start: int, stop: int) -> Array:
    # reshape would copy all of a tensor that is not contiguous; .flat copies only the range.
    return array.reshape(-1)[start:stop] if array.flags.c_contiguous else array.flat[start:stop]


def as_tensor_ref(value: Any) -> TensorRef:
    """Wrap any tensor in a reference."""
    return value if isinstance(value, TensorRef) else TensorRef.from_array(np.asarray(value))


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
