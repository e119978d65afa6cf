"""The fields of a file that a teacher wrote: each is of one kind, and what is wrong says where it is."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...runtime.errors import UsageError
from ...runtime.stable_file import read_text
from ...runtime.text import did_you_mean

_TYPE_NAMES: Mapping[type, str] = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


class TomlTable:
    """A table of a file; ``where``: the file, and which part of it. Its fields are taken out one by one, and what is
    left over at the end is a mistake."""

    def __init__(self, table: Mapping[str, Any], where: str) -> None:
        self._remaining = dict(table)
        self._known_names: list[str] = []
        self.location = where

    @classmethod
    def read(cls, path: Path) -> TomlTable:
        """A file.

        Raises:
            UsageError: it cannot be read, or is no TOML.
        """
        try:
            return cls(tomllib.loads(read_text(path)), str(path))
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
        except (UnicodeDecodeError, ValueError) as error:
            raise UsageError(f"{path}: is no TOML: {error}") from None

    def error(self, told: str) -> UsageError:
        """What is wrong here."""
        return UsageError(f"{self.location}: {told}")

    def pop(self, name: str, kind: type, default: Any = None) -> Any:
        """A field, or what it is where it is not given; a field without a default has to be there.

        Raises:
            UsageError: it is missing, or of another kind.
        """
        self._known_names.append(name)
        if name not in self._remaining:
            if default is None:
                raise self.error(f"'{name}' is missing; it is {_TYPE_NAMES[kind]}")
            return default
        value = self._remaining.pop(name)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.error(f"'{name}' is {_TYPE_NAMES[kind]}, not {value!r}")
        return value

    def remaining_names(self) -> Sequence[str]:
        """The fields that are left."""
        return tuple(self._remaining)

    def pop_untyped(self, name: str) -> Any:
        """A field of any kind that is there."""
        return self._remaining.pop(name)

    def pop_strings(self, name: str) -> tuple[str, ...]:
        """A list of texts.

        Raises:
            UsageError: it is another one.
        """
        found = self.pop(name, list, [])
        if not all(isinstance(one, str) for one in found):
            raise self.error(f"'{name}' is a list of texts")
        return tuple(found)

    def pop_tables(self, name: str) -> Iterator[TomlTable]:
        """The tables of a list, counted from 1.

        Raises:
            UsageError: it is another one.
        """
        for number, one in enumerate(self.pop(name, list, []), 1):
            if not isinstance(one, dict):
                raise self.error(f"'{name}' is a list of tables, as in [[{name}]]")
            yield TomlTable(one, f"{self.location}: {name} {number}")

    def reject_remaining(self) -> None:
        """Nothing else is here.

        Raises:
            UsageError: something is.
        """
        for name in self._remaining:
            hint = did_you_mean(name, self._known_names, "'{}'") or f"; there are {', '.join(self._known_names)}"
            raise self.error(f"there is no field '{name}'{hint}")
