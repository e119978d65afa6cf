"""The result of one case, before it becomes rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np

from ...runtime.engine.engine import Engine
from ...runtime.input_validation import Data
from .row import Status

#: Iterations of a loop over all entries, and why the last one ended.
LoopTotalRows = list[tuple[int | None, str | None]]


class CaseOutcome:
    """The result of a case. ``failure_location``: loop, iteration and node of the first failure; ``measured``: by loop
    and position of the measure."""

    __slots__ = ("failure_location", "measured", "message", "outputs", "status", "totals")

    def __init__(
        self,
        status: Status,
        totals: LoopTotalRows,
        outputs: str = "",
        message: str | None = None,
        bad: tuple[int, int | None, str | None] | None = None,
    ) -> None:
        self.status = status
        self.totals = totals
        self.outputs = outputs
        self.message = message
        self.failure_location = bad
        self.measured: dict[tuple[int, int], float | None] = {}


def loop_totals(engine: Engine, count: int, end_reason: str | None = None) -> LoopTotalRows:
    """Return the totals of the loops; ``ended``: the end reason of loops that still run."""
    totals: LoopTotalRows = []
    for index in range(count):
        iterations, entries, _, _ = engine.loops.totals(index)
        _, _, _, reason, active = engine.loop_state(index)
        # Not ``.value``, which takes longer than the rest.
        text = None if not entries else end_reason if active else reason._value_ if reason is not None else None
        totals.append((iterations, text))
    return totals


def hash_outputs(outputs: Mapping[str, Data]) -> str:
    """Return a hash of the bits of all outputs, with their dtypes and shapes."""
    hasher = blake2b(digest_size=8)
    for value in outputs.values():
        _hash_value(hasher, value)
    return hasher.hexdigest()


def _hash_value(hasher: Any, value: Data) -> None:
    if isinstance(value, list | tuple):
        hasher.update(b"[%d" % len(value))
        for item in value:
            _hash_value(hasher, item)
    elif value is None:
        hasher.update(b"none")
    else:
        array = np.asarray(value)
        hasher.update(_type_key(array.dtype, array.shape))
        hasher.update("\0".join(map(str, array.ravel())).encode() if array.dtype.hasobject else array.tobytes())


@lru_cache(1024)
def _type_key(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    # Cached, since NumPy takes longer to format a dtype than the hash takes.
    return f"{dtype.name}{shape}".encode()
