"""Descriptors of attributes that scripts set on layers, tensors, loops and configs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

Read = TypeVar("Read")

#: (owner, value, name of the attribute in errors) -> stored value; raises for an invalid value.
Check = Callable[[Any, Any, str], Any]


class CheckedAttribute(Generic[Read]):
    """A descriptor whose values are checked when they are set, and stored in a field of the owner."""

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
        label: str = "",
    ) -> None:
        """A descriptor.

        Args:
            field: the field; None or an empty string in it means unset.
            check: returns the value to store; by default the value is stored unchanged.
            read: converts the stored value for a script.
            unset: returns the value for a script where the field is unset, from the owner.
            input: the input of a layer that may set the value as a tensor; the last assignment wins.
            also: a second field for the value.
            clears: a field that is set to None.
            of: the owner's field with the object that has ``field``, if it is another object.
            label: the name of the attribute in errors, if it differs.
        """
        self._field, self._check, self._read, self._unset = field, check, read, unset
        self._input, self._second_field, self._cleared_field, self._storage_field, self._label = (
            input,
            also,
            clears,
            of,
            label,
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
        stored = getattr(self._storage(owner), self._field)
        if self._is_given_by_input(owner) or (isinstance(stored, str | None) and not stored):
            return self._unset(owner)
        return stored if self._read is None else self._read(stored)

    def __set__(self, owner: Any, value: Any) -> None:
        stored = value if self._check is None else self._check(owner, value, self._error_label(owner))
        setattr(self._storage(owner), self._field, stored)
        if self._second_field:
            setattr(owner, self._second_field, stored)
        if self._cleared_field:
            setattr(owner, self._cleared_field, None)
        if self._input is not None:
            owner.drop_input(self._input)

    def _storage(self, owner: Any) -> Any:
        return getattr(owner, self._storage_field) if self._storage_field else owner

    def _is_given_by_input(self, owner: Any) -> bool:
        return self._input is not None and owner.get_input(self._input) is not None

    def _error_label(self, owner: Any) -> str:
        """The name of the attribute in errors; a proxy object is named by its class."""
        return f"{type(owner).__name__}.{self._label}" if self._storage_field else f"{owner}: {self._label}"


def ownerless_check(check: Callable[[Any, str], Any]) -> Check:
    """A check that does not depend on the owner."""
    return lambda owner, value, label: check(value, label)
