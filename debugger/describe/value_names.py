"""Display names of values in pseudo-code, frames, screens and commands, and texts with such names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from weakref import WeakKeyDictionary

from ...runtime.graph import Loop, Value, own_values
from ...runtime.text import escape_unprintable
from ..expression.tokens import mask_quoted, parse_quoted_name, quote

__all__ = ["display_name", "mask_quoted", "quote", "scan_names", "short_name_rows", "short_names", "unquote"]

#: Shorter common prefixes are not abbreviated.
_MIN_COMMON_PREFIX_CHARS = 6


def unquote(text: str) -> str:
    """The contents of quotes of any kind; text without quotes is unchanged.

    Raises:
        ExpressionError: an unknown escape in backquotes.
    """
    if len(text) < 2 or text[0] != text[-1] or text[0] not in "`'\"":
        return text
    if text[0] != "`":
        return text[1:-1]
    name, end = parse_quoted_name(text, 0)
    return name if end == len(text) else text


def display_name(value: Value | None) -> str:
    """The short name of a value if it has one, else its name; ``_`` for an omitted input or output."""
    return "_" if value is None else quote(value.short_name or value.name)


#: Cache for the lifetime of each loop, since each stop needs the names.
_SCAN_NAMES_CACHE: WeakKeyDictionary[Loop, tuple[str, ...]] = WeakKeyDictionary()


def scan_names(loop: Loop) -> tuple[str, ...]:
    """The names of a loop's scan outputs inside its body: the outer names, unless the body has another value of that
    name."""
    names = _SCAN_NAMES_CACHE.get(loop)
    if names is None:
        names = _SCAN_NAMES_CACHE[loop] = _find_scan_names(loop)
    return names


def _find_scan_names(loop: Loop) -> tuple[str, ...]:
    body_names = {value.name for value in own_values(loop.body)} if loop.scan_outputs else set()
    names = []
    for port in loop.scan_outputs:
        name = port.outer.name
        while name in body_names:
            name += " (scan output)"
        names.append(name)
    return tuple(names)


def short_names(values: Iterable[Value]) -> dict[str, str]:
    """Short name -> full name of the values that have a short name."""
    return {value.short_name: value.name for value in values if value.short_name}


def short_name_rows(names: Mapping[str, str]) -> list[tuple[str, str]]:
    """Rows of short and full names; the common prefix of paths is abbreviated and has the first row.

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
    """The common prefix of paths, up to a separator."""
    # The common prefix of the minimum and maximum is common to all.
    first, last = min(paths), max(paths)
    length = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[: first.rfind("/", 0, length) + 1]
