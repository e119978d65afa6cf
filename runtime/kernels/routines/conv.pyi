from typing import Any

ROUTINES: dict[str, int]
PART: int
GROUP: int
WIDEST: int

def transform(taps: Any, out: Any) -> None: ...
