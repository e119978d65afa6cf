"""Attributes that scripts set on layers, tensors, loops and settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

Read = TypeVar("Read")

#: Object, what a script gave, how errors name the attribute -> what is kept. Raises where it does not fit.
Check = Callable[[Any, Any, str], Any]


class CheckedAttribute(Generic[Read]):
    """A value that a script gives and reads back. It is checked when it is set, and kept in a field of the object."""

    def __init__(
        self,
        field: str,
        check: Check | None = None,
        read: Callable[[Any], Read] | None = None,
        *,
        unset: Callable[[Any], Any] = lambda owner: None,
        input: int | None = None,
        also: str = "",
        clears: str = "",
        of: str = "",
        what: str = "",
    ) -> None:
        """A descriptor.

        Args:
            field: the field; None or an empty text in it: nothing is kept.
            check: gives what is kept; without it, what the script gave.
            read: what a script gets, of what is kept.
            unset: what a script gets where nothing is kept, of the object.
            input: the input of a layer that may give the value as a tensor. What was set last holds.
            also: a second field that keeps the same.
            clears: a field that becomes None.
            of: the field with the object that has ``field``, if it is another object.
            what: how errors name the attribute, if not by its name.
        """
        self._field, self._check, self._read, self._unset = field, check, read, unset
        self._input, self._second_field, self._cleared_field, self._storage_field, self._label = (
            input,
            also,
            clears,
            of,
            what,
        )

    def __set_name__(self, owner: type, name: str) -> None:
        self._label = self._label or name

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self, owner: Any, kind: type) -> Read: ...
    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self
        held = getattr(self._storage(owner), self._field)
        if self._is_given_by_input(owner) or (isinstance(held, str | None) and not held):
            return self._unset(owner)
        return held if self._read is None else self._read(held)

    def __set__(self, owner: Any, given: Any) -> None:
        held = given if self._check is None else self._check(owner, given, self._error_label(owner))
        setattr(self._storage(owner), self._field, held)
        if self._second_field:
            setattr(owner, self._second_field, held)
        if self._cleared_field:
            setattr(owner, self._cleared_field, None)
        if self._input is not None:
            owner.drop_input(self._input)

    def _storage(self, owner: Any) -> Any:
        return getattr(owner, self._storage_field) if self._storage_field else owner

    def _is_given_by_input(self, owner: Any) -> bool:
        return self._input is not None and owner.get_input(self._input) is not None

    def _error_label(self, owner: Any) -> str:
        """An object that only stands for another one has no name of its own in errors."""
        return f"{type(owner).__name__}.{self._label}" if self._storage_field else f"{owner}: {self._label}"


def ownerless_check(check: Callable[[Any, str], Any]) -> Check:
    """A check that does not need the object."""
    return lambda owner, given, what: check(given, what)
