"""A breakpoint gets another condition: it takes the place of the one there was, and is tested as if set anew."""

from __future__ import annotations

import pytest

import loopdbg
from text_models import NESTED, SAMPLES, model

MODEL, INPUTS = SAMPLES / "newton_sqrt.onnx", {"a": 2.0, "tol": 1e-6}


def session() -> loopdbg.Session:
    return loopdbg.debug(MODEL, INPUTS)


def stops(one: loopdbg.Session) -> list[int]:
    found = []
    while not one.continue_().text.startswith("the model ran"):
        found.append(one.frame.iteration)
    return found


@pytest.mark.parametrize("condition", ["x < 1.45", "err < 0.1", "iter % 2 == 1", "max(abs(x)) > 1.45"])
@pytest.mark.parametrize("place", ["if err < 1e-9", "line 11 if err < 1", "x_new if err < 1", "end", "iter 2"])
def test_it_stops_where_one_that_is_set_with_it_stops(place: str, condition: str) -> None:
    one, other = session(), session()
    one.step()
    changed = one.breakpoints.add(place)
    one.breakpoints.set_condition(changed, condition)
    where = place.split(" if ")[0]
    other.breakpoints.add(f"if {condition}" if place.startswith("if ") else f"{where} if {condition}")
    other.step()
    assert changed.title == other.breakpoints[0].title
    assert changed.condition_text == condition
    assert stops(one) == stops(other)


def test_one_that_is_nothing_but_its_condition_keeps_it() -> None:
    one = session()
    made = one.breakpoints.add("if err < 1e-3")
    with pytest.raises(loopdbg.UsageError, match="breakpoint 1 is nothing but its condition; delete 1 forgets it"):
        one.breakpoints.set_condition(made, "")
    assert made.title == "if err < 1e-3"


def test_a_loop_s_line_with_and_without() -> None:
    one = loopdbg.debug(model(NESTED), {"M": 3, "K": 2})
    number = next(line.number for line in one._internals.symbols.pseudo_code.lines if line.text.startswith("for j"))
    made = one.breakpoints.add(f"line {number}")
    one.breakpoints.set_condition(made, "iter == 1")
    assert made.title == f"line {number} if iter == 1" and not made.condition
    one.breakpoints.set_condition(made, "")
    assert made.title == f"line {number}" and made.condition_text == ""


def test_the_loop_that_was_named_is_kept() -> None:
    one = session()
    made = one.breakpoints.add("if err < 1e-9 in sqrt")
    one.breakpoints.set_condition(made, "x < 1.45")
    assert made.title == "if x < 1.45 in `sqrt`" and stops(one)[:1] == [2]


def test_all_or_nothing() -> None:
    one = session()
    made = one.breakpoints.add("x_new", log="x is {x}")
    made.hits = 4
    with pytest.raises(loopdbg.UsageError, match="nix"):
        one.breakpoints.edit(1, condition="nix > 1", ignore=3, commands=["print x"])
    with pytest.raises(loopdbg.UsageError, match="0 or more"):
        one.breakpoints.edit(1, condition="x > 1", ignore=-3, commands=[])
    assert (made.title, made.ignore, made.commands) == ("x_new", 0, [])
    one.breakpoints.edit(1, condition="x > 1", ignore=3, commands=[" print x ", ""])
    assert (made.title, made.ignore, made.commands, made.hits) == ("x_new if x > 1", 3, ["print x"], 4)
    assert made.log is not None
