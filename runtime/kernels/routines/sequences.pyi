from typing import Any

ROUTINES: dict[str, int]
MOST_AXES: int

class Sequence:
    items: list[Any]
    count: int

    def plain(self) -> list[Any]: ...
