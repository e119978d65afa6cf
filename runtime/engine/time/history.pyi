from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...graph import Array
from ..plain.memory import Memory
from ..plain.noter import Noter

class Seen(NamedTuple):
    entry: int
    origin: int | npt.NDArray[np.int64]
    rows: int
    width: int
    stats: npt.NDArray[np.float64]
    told: tuple[bool, ...]
    wide: tuple[bool, ...]
    whole: bool

class Histories(Noter):
    def __init__(self, memory: Memory) -> None: ...
    def follow(self, index: int, sides: Sequence[int] = ()) -> None: ...
    def follows(self, index: int) -> bool: ...
    def entries(self, index: int) -> list[int]: ...
    def view(self, index: int, entry: int | None = None) -> Seen | None: ...

def numbers_of(value: Array) -> tuple[float, float, float, float] | None: ...

GAP: float

def is_gap(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]: ...
