from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...graph import Array
from ..baseline.memory import Memory
from ..baseline.optimizer_base import BoundaryObserver

class HistoryView(NamedTuple):
    entry: int
    origin: int | npt.NDArray[np.int64]
    rows: int
    width: int
    stats: npt.NDArray[np.float64]
    has_numbers: tuple[bool, ...]
    is_summarized: tuple[bool, ...]
    is_complete: bool

class ValueHistories(BoundaryObserver):
    def __init__(self, memory: Memory) -> None: ...
    def record_values(self, index: int, sides: Sequence[int] = ()) -> None: ...
    def entries(self, index: int) -> list[int]: ...
    def view(self, index: int, entry: int | None = None) -> HistoryView | None: ...

def tensor_statistics(value: Array) -> tuple[float, float, float, float] | None: ...

EMPTY_VALUE: float

def is_empty_value(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]: ...
