"""One edit of a stopped execution, for what writes it into a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...runtime.graph import Value
from .positions import Position


@dataclass(frozen=True)
class EditRecord:
    """``what``: ``value``, ``variable``, ``condition`` or ``trip count``; ``value`` of the first, and the index of a
    ``loop`` of the last two; ``data``: all of what it became; ``position``: where it was made; ``text``: in words."""

    kind: str
    new_value: Any
    position: Position
    text: str
    value: Value | None = None
    loop: int = -1
