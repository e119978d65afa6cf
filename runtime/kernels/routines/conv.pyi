from typing import Any

ROUTINES: dict[str, int]
PART: int
GROUP: int
WIDEST: int

def choose(kind: int) -> bool: ...
def transform(taps: Any, out: Any) -> None: ...
