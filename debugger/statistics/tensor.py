"""A tensor that is read in place: only what is read costs something."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ...runtime.errors import UsageError
from ...runtime.graph import Array
from .onepass import CHUNK, Change, Statistics, look_at

_T = TypeVar("_T")
#: Runs a function on the whole tensor, which nothing writes meanwhile; what comes out must be no view of it.
Use = Callable[[Callable[[Array], Any]], Any]
#: Tensors of fewer bytes are copied, which takes no longer than tracking them.
LARGE = 1 << 16
#: So many elements are read before others may have their turn: some milliseconds.
PART = 1 << 22


class OverError(UsageError):
    """The tensor is no more: what held it has gone on."""


#: What was found longest ago is forgotten once there is more than this.
_MOST = 4096


class Findings:
    """What was found of tensors, by keys that tell contents apart: what is met again, at another stop or under another
    name, is not read again."""

    def __init__(self) -> None:
        self.statistics: dict[Hashable, Statistics] = {}
        self.changes: dict[tuple[Hashable, Hashable], Change] = {}
        #: What a value comes after, within one epoch: a pass over it finds the change as well.
        self.before: dict[Hashable, TensorRef] = {}
        self._epoch = -1

    def at(self, epoch: int) -> None:
        """The session stands in an epoch: references of others are over."""
        if epoch != self._epoch:
            self.before, self._epoch = {}, epoch

    def keep(self, key: Hashable, found: Statistics) -> None:
        """Statistics are known."""
        self.statistics[key] = found
        _trim(self.statistics)

    def keep_change(self, before: Hashable, after: Hashable, found: Change) -> None:
        """A change is known."""
        self.changes[before, after] = found
        _trim(self.changes)


def _trim(known: dict[Any, Any]) -> None:
    # Other threads may do the same at the same time.
    if len(known) > _MOST:
        for oldest in list(known)[: _MOST // 4]:
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
        use: Use,
        findings: Findings | None = None,
        key: Hashable | None = None,
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self._use = use
        #: Where what is found of it is kept, and by which key; None: it is not known elsewhere.
        self._findings, self.key = findings, key
        self._statistics: Statistics | None = None
        #: What it was compared with, by identity, and what was found: a picture is drawn more often than it changes.
        self._changes: dict[int, tuple[TensorRef, Change]] = {}

    @classmethod
    def of(cls, array: Array) -> TensorRef:
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

    def use(self, do: Callable[[Array], _T]) -> _T:
        """What a function gives for the whole tensor, which nothing writes while it runs; it returns no view of it."""
        found: _T = self._use(do)
        return found

    def __getitem__(self, index: Any) -> Any:
        """A copy of a part."""
        part = self.use(lambda whole: np.array(whole[index]))
        return part[()] if part.ndim == 0 else part

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        whole: npt.NDArray[Any] = self.use(lambda array: np.array(array, dtype=dtype))
        return whole

    def chunks(self, start: int = 0, size: int = CHUNK) -> Iterator[tuple[int, Array]]:
        """Copies of the elements in order, each with the flat position at which it begins."""
        for at in range(start, self.size, size):
            yield at, self.flat(at, at + size)

    def look_at(self, start: int, stop: int, do: Callable[[Array], _T]) -> _T:
        """What a function gives for the elements from one flat position to another, where they lie."""
        return self.use(lambda whole: do(_flat(whole, start, stop)))

    def flat(self, start: int, stop: int) -> Array:
        """A copy of the elements from one flat position to another, axes in order."""
        return self.use(lambda whole: np.array(_flat(whole, start, stop)))

    # -- what was found of it

    @property
    def known(self) -> Statistics | None:
        """What is in it, as far as somebody asked before."""
        if self._statistics is None and self._findings is not None and self.key is not None:
            self._statistics = self._findings.statistics.get(self.key)
        return self._statistics

    @property
    def statistics(self) -> Statistics:
        """What is in it; the first to ask pays the pass, which finds the change from the value before as well."""
        known = self.known
        if known is not None:
            return known
        found = Statistics()
        before = self._findings.before.get(self.key) if self._findings is not None and self.key is not None else None
        if before is None or before.shape != self.shape or before.dtype != self.dtype:
            before = None
        change = None if before is None else Change()
        for _ in passing(self, found, before, change):
            pass
        self.keep(found)
        if before is not None and change is not None:
            self.keep_change(before, change)
        return found

    def keep(self, found: Statistics) -> None:
        """What is in it is known."""
        self._statistics = found
        if self._findings is not None and self.key is not None:
            self._findings.keep(self.key, found)

    def comes_after(self, before: TensorRef) -> None:
        """It is what became of another one."""
        if self._findings is not None and self.key is not None and before.key is not None:
            self._findings.before[self.key] = before

    def change_from(self, before: TensorRef) -> Change | None:
        """What changed since another one, as far as somebody asked before."""
        if self._findings is not None and self.key is not None and before.key is not None:
            return self._findings.changes.get((before.key, self.key))
        known = self._changes.get(id(before))
        return None if known is None or known[0] is not before else known[1]

    def keep_change(self, before: TensorRef, found: Change) -> None:
        """What changed since another one is known."""
        if self._findings is not None and self.key is not None and before.key is not None:
            self._findings.keep_change(before.key, self.key, found)
        else:
            self._changes[id(before)] = before, found


def passing(
    tensor: TensorRef, found: Statistics | None, before: TensorRef | None = None, change: Change | None = None
) -> Iterator[None]:
    """Go once over a tensor, and over another one that came before it, where they lie; comes by between parts."""
    if tensor.dtype.kind in "OUSTM" and change is None:
        return
    for at in range(0, tensor.size, PART):
        _look(tensor, found, before, change, at, at + PART)
        yield


def _look(
    tensor: TensorRef, found: Statistics | None, before: TensorRef | None, change: Change | None, start: int, stop: int
) -> None:
    def alone(part: Array) -> None:
        look_at(part, found)

    def both(part: Array) -> None:
        assert before is not None
        before.look_at(start, stop, lambda was: look_at(part, found, was, change))

    tensor.look_at(start, stop, alone if before is None else both)


def _flat(whole: Array, start: int, stop: int) -> Array:
    # Of what does not lie in order reshape would copy all of it; .flat copies what is asked for.
    return whole.reshape(-1)[start:stop] if whole.flags.c_contiguous else whole.flat[start:stop]


def tensor_of(value: Any) -> TensorRef:
    """Any tensor as one to be read in parts."""
    return value if isinstance(value, TensorRef) else TensorRef.of(np.asarray(value))
