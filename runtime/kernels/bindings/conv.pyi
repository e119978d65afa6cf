from typing import Any

ROUTINES: dict[str, int]
CHANNELS_PER_PASS: int
CHANNELS_PER_GROUP: int
PLANE_PADDING_ELEMENTS: int

def winograd_transform(taps: Any, out: Any) -> None: ...
