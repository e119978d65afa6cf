"""The fields of a file that a teacher wrote: each is of one kind, and what is wrong says where it is."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...runtime.errors import UsageError
from ...runtime.files import text_of
from ...runtime.text import did_you_mean

_KINDS: Mapping[type, str] = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


class Fields:
    """A table of a file; ``where``: the file, and which part of it. Its fields are taken out one by one, and what is
    left over at the end is a mistake."""

    def __init__(self, table: Mapping[str, Any], where: str) -> None:
        self._left = dict(table)
        self._known: list[str] = []
        self.where = where

    @classmethod
    def read(cls, path: Path) -> Fields:
        """A file.

        Raises:
            UsageError: it cannot be read, or is no TOML.
        """
        try:
            return cls(tomllib.loads(text_of(path)), str(path))
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
        except (UnicodeDecodeError, ValueError) as error:
            raise UsageError(f"{path}: is no TOML: {error}") from None

    def wrong(self, told: str) -> UsageError:
        """What is wrong here."""
        return UsageError(f"{self.where}: {told}")

    def take(self, name: str, kind: type, default: Any = None) -> Any:
        """A field, or what it is where it is not given; a field without a default has to be there.

        Raises:
            UsageError: it is missing, or of another kind.
        """
        self._known.append(name)
        if name not in self._left:
            if default is None:
                raise self.wrong(f"'{name}' is missing; it is {_KINDS[kind]}")
            return default
        value = self._left.pop(name)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.wrong(f"'{name}' is {_KINDS[kind]}, not {value!r}")
        return value

    def names(self) -> Sequence[str]:
        """The fields that are left."""
        return tuple(self._left)

    def any(self, name: str) -> Any:
        """A field of any kind that is there."""
        return self._left.pop(name)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts.

        Raises:
            UsageError: it is another one.
        """
        found = self.take(name, list, [])
        if not all(isinstance(one, str) for one in found):
            raise self.wrong(f"'{name}' is a list of texts")
        return tuple(found)

    def tables(self, name: str) -> Iterator[Fields]:
        """The tables of a list, counted from 1.

        Raises:
            UsageError: it is another one.
        """
        for number, one in enumerate(self.take(name, list, []), 1):
            if not isinstance(one, dict):
                raise self.wrong(f"'{name}' is a list of tables, as in [[{name}]]")
            yield Fields(one, f"{self.where}: {name} {number}")

    def end(self) -> None:
        """Nothing else is here.

        Raises:
            UsageError: something is.
        """
        for name in self._left:
            hint = did_you_mean(name, self._known, "'{}'") or f"; there are {', '.join(self._known)}"
            raise self.wrong(f"there is no field '{name}'{hint}")
