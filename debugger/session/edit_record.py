"""Record of one edit of a stopped execution, for saving it into a model file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...runtime.graph import Value
from .positions import Position


@dataclass(frozen=True)
class EditRecord:
    """``kind``: ``value``, ``variable``, ``condition`` or ``trip count``; ``value``: for the first; ``loop``: loop
    index for the last two; ``new_value``: the complete new value; ``position``: of the edit; ``text``: its
    description."""

    kind: str
    new_value: Any
    position: Position
    text: str
    value: Value | None = None
    loop: int = -1
