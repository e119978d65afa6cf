"""What one case gave, before it becomes rows."""

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
    """What became of a case. ``bad``: the loop, the iteration and the node where it went wrong first; ``measured``: by
    loop and position of the measure."""

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


def loop_totals(engine: Engine, count: int, ended: str | None = None) -> LoopTotalRows:
    """How the loops went; ``ended``: what ended those that still run."""
    found: LoopTotalRows = []
    for index in range(count):
        iterations, entries, _, _ = engine.loops.totals(index)
        _, _, _, last, active = engine.loop_state(index)
        # Not ``.value``, which is slower than the rest of this.
        why = None if not entries else ended if active else last._value_ if last is not None else None
        found.append((iterations, why))
    return found


def hash_outputs(outputs: Mapping[str, Data]) -> str:
    """A hash of the bits of all outputs, with their dtypes and shapes."""
    hashed = blake2b(digest_size=8)
    for value in outputs.values():
        _hash_value(hashed, value)
    return hashed.hexdigest()


def _hash_value(hashed: Any, value: Data) -> None:
    if isinstance(value, list | tuple):
        hashed.update(b"[%d" % len(value))
        for one in value:
            _hash_value(hashed, one)
    elif value is None:
        hashed.update(b"none")
    else:
        array = np.asarray(value)
        hashed.update(_type_key(array.dtype, array.shape))
        hashed.update("\0".join(map(str, array.ravel())).encode() if array.dtype.hasobject else array.tobytes())


@lru_cache(1024)
def _type_key(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    # Kept, since NumPy takes longer to say what a dtype is called than the hash takes.
    return f"{dtype.name}{shape}".encode()
