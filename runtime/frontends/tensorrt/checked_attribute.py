"""Descriptors of attributes that scripts set on layers, tensors, loops and configs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Generic, Self, TypeVar, overload

from ...record import record

Read = TypeVar("Read")

#: (owner, value, name of the attribute in errors) -> stored value; raises for an invalid value.
Check = Callable[[Any, Any, str], Any]


@record(eq=False)
class CheckedAttribute(Generic[Read]):
    """A descriptor whose values are checked when they are set, and stored in a field of the owner.

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

    field: str
    check: Check | None = None
    read: Callable[[Any], Read] | None = None
    _: KW_ONLY
    unset: Callable[[Any], Any] = lambda owner: None
    input: int | None = None
    also: str = ""
    clears: str = ""
    of: str = ""
    label: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.label = self.label or name

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self, owner: Any, kind: type) -> Read: ...
    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self
        stored = getattr(self._storage_object(owner), self.field)
        if self._is_given_by_input(owner) or (isinstance(stored, str | None) and not stored):
            return self.unset(owner)
        return stored if self.read is None else self.read(stored)

    def __set__(self, owner: Any, value: Any) -> None:
        stored = value if self.check is None else self.check(owner, value, self._error_label(owner))
        setattr(self._storage_object(owner), self.field, stored)
        if self.also:
            setattr(owner, self.also, stored)
        if self.clears:
            setattr(owner, self.clears, None)
        if self.input is not None:
            owner.drop_input(self.input)

    def _storage_object(self, owner: Any) -> Any:
        return getattr(owner, self.of) if self.of else owner

    def _is_given_by_input(self, owner: Any) -> bool:
        return self.input is not None and owner.get_input(self.input) is not None

    def _error_label(self, owner: Any) -> str:
        """The name of the attribute in errors; a proxy object is named by its class."""
        return f"{type(owner).__name__}.{self.label}" if self.of else f"{owner}: {self.label}"


def ownerless_check(check: Callable[[Any, str], Any]) -> Check:
    """A check that does not depend on the owner."""
    return lambda owner, value, label: check(value, label)
