"""Names of values as pseudo-code, frames, screens and commands write them, and texts with such names in them."""

from __future__ import annotations

from ...runtime.graph import Loop, Value, own_values
from ..expression.tokens import mask, quote, quoted_name

__all__ = ["mask", "named", "quote", "scan_names", "unquote"]


def unquote(text: str) -> str:
    """What stands between quotes of any kind; text without quotes as it is.

    Raises:
        ExpressionError: backquotes with an escape in them that there is not.
    """
    if len(text) < 2 or text[0] != text[-1] or text[0] not in "`'\"":
        return text
    if text[0] != "`":
        return text[1:-1]
    name, end = quoted_name(text, 0)
    return name if end == len(text) else text


def named(value: Value | None) -> str:
    """The name of a value; ``_`` for an input or output that is left out."""
    return "_" if value is None else quote(value.name)


def scan_names(loop: Loop) -> list[str]:
    """What a loop's scan outputs are called where its body is looked at: as outside of it, unless the body has another
    value of that name."""
    own = {value.name for value in own_values(loop.body)}
    names = []
    for port in loop.scan_outputs:
        name = port.outer.name
        while name in own:
            name += " (scan output)"
        names.append(name)
    return names
