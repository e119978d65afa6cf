from typing import Any

ROUTINES: dict[str, int]
MAX_AXES: int

class SequenceValue:
    items: list[Any]
    count: int

    def to_list(self) -> list[Any]: ...
