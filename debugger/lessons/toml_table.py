"""Typed access to the fields of a TOML file, with errors that name the location."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from ...runtime.errors import ErrorFields, UsageError, file_error
from ...runtime.safe_file_reading import read_text
from ...runtime.text import did_you_mean

_TYPE_NAMES: Mapping[type, str] = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


class TomlTable:
    """A table of a file; ``location``: the file and the path in it. Fields are removed as they are read; remaining ones
    are errors."""

    def __init__(self, table: Mapping[str, Any], location: str) -> None:
        self._remaining = dict(table)
        self._known_names: list[str] = []
        self.location = location

    @classmethod
    def read(cls, path: Path) -> TomlTable:
        """Read a file.

        Raises:
            UsageError: the file cannot be read, or is no TOML.
        """
        try:
            return cls(tomllib.loads(read_text(path)), str(path))
        except OSError as error:
            raise file_error(UsageError, path, "cannot be read", error) from None
        except (UnicodeDecodeError, ValueError) as error:
            raise UsageError(f"{path}: is no TOML: {error}", name=str(path), expected="TOML") from None

    def error(self, message: str, **fields: Unpack[ErrorFields]) -> UsageError:
        """An error with the location."""
        return UsageError(f"{self.location}: {message}", **fields)

    def pop(self, name: str, kind: type, default: Any = None) -> Any:
        """Remove a field and return it, or its default; without a default it is required.

        Raises:
            UsageError: the field is missing, or has another type.
        """
        self._known_names.append(name)
        if name not in self._remaining:
            if default is None:
                raise self.error(
                    f"'{name}' is missing; it is {_TYPE_NAMES[kind]}", name=name, expected=_TYPE_NAMES[kind]
                )
            return default
        value = self._remaining.pop(name)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            expected, got = _TYPE_NAMES[kind], repr(value)
            raise self.error(f"'{name}' is {expected}, not {got}", name=name, expected=expected, got=got)
        return value

    def remaining_names(self) -> Sequence[str]:
        """The names of the remaining fields."""
        return tuple(self._remaining)

    def pop_untyped(self, name: str) -> Any:
        """Remove an existing field of any type."""
        return self._remaining.pop(name)

    def pop_strings(self, name: str) -> tuple[str, ...]:
        """Remove a list of strings.

        Raises:
            UsageError: the field has another type.
        """
        texts = self.pop(name, list, [])
        if not all(isinstance(text, str) for text in texts):
            raise self.error(f"'{name}' is a list of texts")
        return tuple(texts)

    def pop_tables(self, name: str) -> Iterator[TomlTable]:
        """Remove a list of tables, numbered from 1.

        Raises:
            UsageError: the field has another type.
        """
        for number, table in enumerate(self.pop(name, list, []), 1):
            if not isinstance(table, dict):
                raise self.error(f"'{name}' is a list of tables, as in [[{name}]]")
            yield TomlTable(table, f"{self.location}: {name} {number}")

    def reject_remaining(self) -> None:
        """Check that no field remains.

        Raises:
            UsageError: a field remains.
        """
        for name in self._remaining:
            hint = did_you_mean(name, self._known_names, "'{}'") or f"; there are {', '.join(self._known_names)}"
            raise self.error(f"there is no field '{name}'{hint}")
