"""Names of values as pseudo-code and expressions write them."""

from __future__ import annotations

import re

from ..runtime.graph import Value
from .text import printable

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quote(name: str) -> str:
    """A name as it is where it reads as one, others in backquotes: ``h_new``, ```/rnn/h:0```."""
    return name if _BARE.fullmatch(name) else f"`{printable(name)}`"


def named(value: Value | None) -> str:
    """The name of a value; ``_`` for an input or output that is left out."""
    return "_" if value is None else quote(value.name)
