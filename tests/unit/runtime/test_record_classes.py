"""Records are dataclasses to all that ask."""

from __future__ import annotations

import copy
import pickle
from dataclasses import KW_ONLY, FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar

import pytest

from loopdbg.runtime.record import record


@record
class PlainRecord:
    """One that may be changed."""

    name: str
    numbers: list[int] = field(default_factory=list)
    #: Not what makes two differ.
    note: str = field(default="", compare=False, repr=False)
    last: int = field(default=0, kw_only=True)
    count: int = 1


@record(frozen=True)
class Frozen:
    a: int
    b: str = "b"


@record(frozen=True)
class Derived(Frozen):
    c: float = 0.5


@record(eq=False, repr=False)
class NamedRecord:
    name: str

    def __repr__(self) -> str:
        return f"<{self.name}>"


@record
class Prepared:
    value: int
    doubled: int = 0

    def __post_init__(self) -> None:
        self.doubled = 2 * self.value


def test_arguments_come_by_place_by_name_and_by_default() -> None:
    first = PlainRecord("x", [1], "noted", 5, last=7)
    assert (first.name, first.numbers, first.note, first.count, first.last) == ("x", [1], "noted", 5, 7)
    assert vars(PlainRecord(name="x", count=2)) == {"name": "x", "numbers": [], "note": "", "count": 2, "last": 0}
    assert PlainRecord("x").numbers is not PlainRecord("x").numbers
    assert vars(Derived(1, c=2.0)) == {"a": 1, "b": "b", "c": 2.0}
    assert Prepared(4).doubled == 8


def test_arguments_by_name_only() -> None:
    @record
    class Rest:
        first: int
        _: KW_ONLY
        second: int = 2
        third: int = field(default=3, kw_only=False)

    assert vars(Rest(1, 4, second=5)) == {"first": 1, "second": 5, "third": 4}
    assert [entry.name for entry in fields(Rest)] == ["first", "second", "third"]
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        Rest(1, 4, 5)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("args", "keywords", "message"),
    [
        ((), {}, r"PlainRecord.__init__\(\) lacks its argument 'name'"),
        (("x", [], "", 1, 2), {}, "takes 4 positional arguments but 5 were given"),
        (("x",), {"name": "y"}, "multiple values for argument 'name'"),
        (("x",), {"nme": "y"}, "unexpected keyword argument 'nme'"),
    ],
)
def test_wrong_arguments(args: tuple[Any, ...], keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        PlainRecord(*args, **keywords)


def test_equality_and_hashes() -> None:
    assert PlainRecord("x", note="1") == PlainRecord("x", note="2") != PlainRecord("y")
    assert Frozen(1) == Frozen(1, "b") != Frozen(1, "c")
    assert Frozen(1) != Derived(1)
    assert NamedRecord("n") != NamedRecord("n")
    assert len({Frozen(1), Frozen(1), Frozen(2), NamedRecord("n"), NamedRecord("n")}) == 4
    assert PlainRecord.__hash__ is None


def test_frozen_ones_stay_as_they_are() -> None:
    first = Derived(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'a'"):
        first.a = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'b'"):
        del first.b
    assert first == Derived(1)


def test_how_they_are_shown() -> None:
    @dataclass
    class Other:
        inner: object

    first = PlainRecord("x", [1])
    assert repr(first) == "PlainRecord(name='x', numbers=[1], last=0, count=1)"
    assert repr(Other(first)).endswith(f"Other(inner={first!r})")
    assert repr(NamedRecord("n")) == "<n>"
    first.numbers.append(first)  # type: ignore[arg-type]
    assert repr(first) == "PlainRecord(name='x', numbers=[1, ...], last=0, count=1)"


def test_what_takes_dataclasses_takes_them() -> None:
    first = PlainRecord("x", [1], last=3)
    assert is_dataclass(first)
    assert not hasattr(PlainRecord, "numbers") and PlainRecord.note == ""
    assert [entry.name for entry in fields(Derived)] == ["a", "b", "c"]
    assert replace(first, name="y") == PlainRecord("y", [1], last=3)
    assert replace(Derived(1), c=1.0) == Derived(1, c=1.0)
    assert copy.deepcopy(first) == first
    assert pickle.loads(pickle.dumps(Derived(1))) == Derived(1)
    match Frozen(3):
        case Frozen(a, b):
            assert (a, b) == (3, "b")


def test_classes_derived_from_records() -> None:
    class Unmarked(Frozen):
        """No record itself."""

    @dataclass
    class Generated(Prepared):
        c: list[int] = field(default_factory=list)

    @record(frozen=True)
    class Again(Frozen):
        shared: ClassVar[int] = 7
        d: tuple[int, ...] = field(default=(), compare=False)

    assert [entry.name for entry in fields(Unmarked)] == ["a", "b"]
    assert Generated(1) == Generated(1, 5, []) != Generated(1, 5, [2])
    assert Again(1, "x", (2,)) == Again(1, "x") and Again.shared == 7
    assert [entry.name for entry in fields(Again)] == ["a", "b", "d"]
    assert replace(Again(1, d=(3,)), a=2).d == (3,)
