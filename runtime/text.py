"""Formatting of messages: escaping, plurals, sizes, durations and suggestions."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

#: Limits of the number and the length of names in a search for close matches, which is slow.
_MAX_CANDIDATES, _MAX_NAME_CHARS = 5000, 200


def escape_unprintable(text: str) -> str:
    """Escape unprintable characters of names and strings from a file, which could control the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def escape_lines(lines: Iterable[str]) -> str:
    """Join lines into a text, escaping line breaks inside them."""
    return "\n".join(map(escape_unprintable, lines))


def count_text(count: int, singular: str, plural_form: str = "") -> str:
    """``1 iteration``, ``2 iterations``, ``2 boundaries``; ``plural_form``: by default ``singular`` with an s."""
    return f"{count} {plural(count, singular, plural_form)}"


def group_digits(number: int) -> str:
    """Format a number in groups of three digits: ``1 234 567``."""
    return f"{number:,}".replace(",", " ")


def plural(count: int, singular: str, plural_form: str = "") -> str:
    """The form of a noun for a count: ``iteration``, ``iterations``."""
    return singular if count == 1 else plural_form or f"{singular}s"


def close_matches(name: str, names: Iterable[str], limit: int = 3) -> list[str]:
    """Up to ``limit`` names similar to ``name``."""
    import difflib  # lazy: only needed for errors

    candidates = [other for other in islice(names, _MAX_CANDIDATES) if len(other) <= _MAX_NAME_CHARS]
    matches = difflib.get_close_matches(name, candidates, limit) if len(name) <= _MAX_NAME_CHARS else []
    if not matches and name:
        matches = [other for other in candidates if other.lower() == name.lower()][:limit]
    return matches


def did_you_mean(name: str, names: Iterable[str], template: str = "'{}'", limit: int = 3) -> str:
    """``; did you mean 'a' or 'b'?``, or "" without close match; ``template``: format of a name."""
    matches = close_matches(name, names, limit)
    return f"; did you mean {' or '.join(map(template.format, matches))}?" if matches else ""


def fresh_name(base: str, used_names: set[str]) -> str:
    """A name such as ``name_2`` that is not in ``used_names``, and is added to it."""
    name, number = base, 1
    while name in used_names:
        number += 1
        name = f"{base}_{number}"
    used_names.add(name)
    return name


def size_text(nbytes: int) -> str:
    """Format a number of bytes: ``3.1 KB``, ``512 MB``."""
    amount = float(nbytes)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1024 or unit == "GB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if amount >= 100 or unit == "B" else f"{amount:.3g} {unit}"


def duration_text(seconds: float) -> str:
    """Format a duration with two or three digits: ``36 us``, ``0.9 ms``, ``1.24 s``, ``3 min 12 s``."""
    if seconds >= 60:
        minutes, rest = divmod(round(seconds), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
    for unit, unit_name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        # 0.9 ms rather than 900 us, and 36 us rather than 0.036 ms.
        if seconds >= 0.1 * unit:
            return f"{_format_three_digits(seconds / unit)} {unit_name}"
    return f"{_format_three_digits(seconds * 1e9)} ns"


def _format_three_digits(number: float) -> str:
    if number >= 100:
        return f"{number:.0f}"
    return f"{number:.2g}" if number < 1 else f"{number:.3g}"
