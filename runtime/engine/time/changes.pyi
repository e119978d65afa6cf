from typing import Any

from ..plain.accelerator import Accelerator
from ..plain.binder import Binder
from ..plain.loops import Loops
from ..plain.memory import Memory
from .history import Histories

class Changes:
    def __init__(
        self, memory: Memory, binder: Binder, loops: Loops, histories: Histories, accelerator: Accelerator
    ) -> None: ...
    def set(self, slot: int, value: Any) -> None: ...
    def set_condition(self, index: int, value: bool) -> None: ...
    def set_trip_count(self, index: int, count: int | None) -> None: ...
