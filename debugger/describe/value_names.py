"""Names of values as pseudo-code, frames, screens and commands write them, and texts with such names in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from weakref import WeakKeyDictionary

from ...runtime.graph import Loop, Value, own_values
from ...runtime.text import escape_unprintable
from ..expression.tokens import mask_quoted, parse_quoted_name, quote

__all__ = ["display_name", "mask_quoted", "quote", "scan_names", "short_name_rows", "short_names", "unquote"]

#: A common beginning shorter than this is not worth a line.
_MIN_COMMON_PREFIX_CHARS = 6


def unquote(text: str) -> str:
    """What stands between quotes of any kind; text without quotes as it is.

    Raises:
        ExpressionError: backquotes with an escape in them that there is not.
    """
    if len(text) < 2 or text[0] != text[-1] or text[0] not in "`'\"":
        return text
    if text[0] != "`":
        return text[1:-1]
    name, end = parse_quoted_name(text, 0)
    return name if end == len(text) else text


def display_name(value: Value | None) -> str:
    """The name of a value, the short one where its own is long; ``_`` for an input or output that is left out."""
    return "_" if value is None else quote(value.short_name or value.name)


#: What was found, as long as the loop is there: each stop asks for it.
_SCAN_NAMES_CACHE: WeakKeyDictionary[Loop, tuple[str, ...]] = WeakKeyDictionary()


def scan_names(loop: Loop) -> tuple[str, ...]:
    """What a loop's scan outputs are called inside its body: as outside of it, unless the body has another
    value of that name."""
    found = _SCAN_NAMES_CACHE.get(loop)
    if found is None:
        found = _SCAN_NAMES_CACHE[loop] = _find_scan_names(loop)
    return found


def _find_scan_names(loop: Loop) -> tuple[str, ...]:
    own = {value.name for value in own_values(loop.body)} if loop.scan_outputs else set()
    names = []
    for port in loop.scan_outputs:
        name = port.outer.name
        while name in own:
            name += " (scan output)"
        names.append(name)
    return tuple(names)


def short_names(values: Iterable[Value]) -> dict[str, str]:
    """The short names among some values, each with the value's own."""
    return {value.short_name: value.name for value in values if value.short_name}


def short_name_rows(names: Mapping[str, str]) -> list[tuple[str, str]]:
    """Short names and what they are short for; what the paths among those begin with is said once, first.

    ``("…", "/model/layers.0/")``, ``("attn_MatMul", "…attn/MatMul_output_0")``.
    """
    paths = [name for name in names.values() if name.startswith("/")]
    prefix = common_path(paths) if len(paths) > 1 else ""
    if len(prefix) < _MIN_COMMON_PREFIX_CHARS:
        return [(short, escape_unprintable(name)) for short, name in names.items()]
    rows = [("…", escape_unprintable(prefix))]
    for short, name in names.items():
        rows.append((short, escape_unprintable(f"…{name.removeprefix(prefix)}" if name.startswith(prefix) else name)))
    return rows


def common_path(paths: list[str]) -> str:
    """What all of some paths begin with, up to the end of one of its parts."""
    # What the first and the last in order share, those between share as well.
    first, last = min(paths), max(paths)
    length = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[: first.rfind("/", 0, length) + 1]
