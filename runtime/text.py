"""How messages write names, count things, write sizes and times, and guess what was meant: the one place for each."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

#: Close matches are looked for among this many names, and of names up to this length: more would take longer than the
#: answer is worth.
_MAX_CANDIDATES, _MAX_NAME_CHARS = 5000, 200


def escape_unprintable(text: str) -> str:
    """Names and strings out of a file may hold anything: what would move a terminal's cursor is shown as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def escape_lines(lines: Iterable[str]) -> str:
    """Lines as one text, with no other line breaks than those between them."""
    return "\n".join(map(escape_unprintable, lines))


def count_text(count: int, one: str, many: str = "") -> str:
    """``1 iteration``, ``2 iterations``, ``2 boundaries``; ``many``: the plural, where it is not ``one`` and an s."""
    return f"{count} {plural(count, one, many)}"


def group_digits(number: int) -> str:
    """A large number in groups of three digits: ``1 234 567``."""
    return f"{number:,}".replace(",", " ")


def plural(count: int, one: str, many: str = "") -> str:
    """The word for so many: ``iteration``, ``iterations``."""
    return one if count == 1 else many or f"{one}s"


def close_matches(name: str, names: Iterable[str], most: int = 3) -> list[str]:
    """Up to ``most`` names that ``name`` may be a slip of."""
    import difflib  # a run without mistakes needs it not

    pool = [other for other in islice(names, _MAX_CANDIDATES) if len(other) <= _MAX_NAME_CHARS]
    found = difflib.get_close_matches(name, pool, most) if len(name) <= _MAX_NAME_CHARS else []
    if not found and name:
        found = [other for other in pool if other.lower() == name.lower()][:most]
    return found


def did_you_mean(name: str, names: Iterable[str], written: str = "'{}'", most: int = 3) -> str:
    """``; did you mean 'a' or 'b'?``, "" where nothing is near; ``written``: how a name is put."""
    found = close_matches(name, names, most)
    return f"; did you mean {' or '.join(map(written.format, found))}?" if found else ""


def size_text(nbytes: int) -> str:
    """Bytes for a person: ``3.1 KB``, ``512 MB``."""
    amount = float(nbytes)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1024 or unit == "GB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if amount >= 100 or unit == "B" else f"{amount:.3g} {unit}"


def duration_text(seconds: float) -> str:
    """A time with two or three digits: ``36 us``, ``0.9 ms``, ``1.24 s``, ``3 min 12 s``."""
    if seconds >= 60:
        minutes, rest = divmod(round(seconds), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
    for unit, word in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        # 0.9 ms rather than 900 us, and 36 us rather than 0.036 ms.
        if seconds >= 0.1 * unit:
            return f"{_three_digits(seconds / unit)} {word}"
    return f"{_three_digits(seconds * 1e9)} ns"


def _three_digits(number: float) -> str:
    if number >= 100:
        return f"{number:.0f}"
    return f"{number:.2g}" if number < 1 else f"{number:.3g}"
