"""Names of values as pseudo-code and expressions write them."""

from __future__ import annotations

import re

from ..runtime.graph import Value
from .text import printable

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTED = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"")


def quote(name: str) -> str:
    """A name as it is where it reads as one, others in backquotes: ``h_new``, ```/rnn/h:0```."""
    return name if _BARE.fullmatch(name) else "`" + printable(name).replace("`", "``") + "`"


def unquote(text: str) -> str:
    """What stands between quotes of any kind; text without quotes as it is."""
    if len(text) < 2 or text[0] != text[-1] or text[0] not in "`'\"":
        return text
    return text[1:-1].replace("``", "`") if text[0] == "`" else text[1:-1]


def mask(text: str) -> str:
    """The text with everything in quotes overwritten, of the same length: for finding words and signs outside."""
    return _QUOTED.sub(lambda match: "_" * len(match[0]), text)


def named(value: Value | None) -> str:
    """The name of a value; ``_`` for an input or output that is left out."""
    return "_" if value is None else quote(value.name)
