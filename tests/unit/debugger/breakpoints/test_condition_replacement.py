"""A new condition of a breakpoint replaces the old one, and is tested as if set again."""

from __future__ import annotations

import pytest

import loopdbg
from error_fields import raises_error
from text_models import NESTED, SAMPLES, model

MODEL, INPUTS = SAMPLES / "newton_sqrt.onnx", {"a": 2.0, "tol": 1e-6}


def session() -> loopdbg.Session:
    return loopdbg.debug(MODEL, INPUTS)


def stops(item: loopdbg.Session) -> list[int]:
    results = []
    while not item.continue_().text.startswith("the model ran"):
        results.append(item.frame.iteration)
    return results


@pytest.mark.parametrize("condition", ["x < 1.45", "err < 0.1", "iter % 2 == 1", "max(abs(x)) > 1.45"])
@pytest.mark.parametrize("place", ["if err < 1e-9", "line 11 if err < 1", "x_new if err < 1", "end", "iter 2"])
def test_replaced_condition_stops_like_a_new_breakpoint(place: str, condition: str) -> None:
    item, other = session(), session()
    item.step()
    changed = item.breakpoints.add(place)
    item.breakpoints.set_condition(changed, condition)
    where = place.split(" if ")[0]
    other.breakpoints.add(f"if {condition}" if place.startswith("if ") else f"{where} if {condition}")
    other.step()
    assert changed.title == other.breakpoints[0].title
    assert changed.condition_text == condition
    assert stops(item) == stops(other)


def test_condition_of_a_bare_condition_breakpoint_cannot_be_removed() -> None:
    first = session()
    result = first.breakpoints.add("if err < 1e-3")
    with pytest.raises(loopdbg.UsageError, match="breakpoint 1 is nothing but its condition; delete 1 forgets it"):
        first.breakpoints.set_condition(result, "")
    assert result.title == "if err < 1e-3"


def test_loop_line_with_and_without_a_condition() -> None:
    first = loopdbg.debug(model(NESTED), {"M": 3, "K": 2})
    number = next(line.number for line in first.controller.symbols.pseudo_code.lines if line.text.startswith("for j"))
    result = first.breakpoints.add(f"line {number}")
    first.breakpoints.set_condition(result, "iter == 1")
    assert result.title == f"line {number} if iter == 1" and not result.condition
    first.breakpoints.set_condition(result, "")
    assert result.title == f"line {number}" and result.condition_text == ""


def test_named_loop_is_kept() -> None:
    first = session()
    result = first.breakpoints.add("if err < 1e-9 in sqrt")
    first.breakpoints.set_condition(result, "x < 1.45")
    assert result.title == "if x < 1.45 in `sqrt`" and stops(first)[:1] == [2]


def test_replacement_is_all_or_nothing() -> None:
    first = session()
    result = first.breakpoints.add("x_new", log="x is {x}")
    result.hits = 4
    with raises_error(loopdbg.UsageError, name="nix"):
        first.breakpoints.edit(1, condition="nix > 1", ignore=3, commands=["print x"])
    with raises_error(loopdbg.UsageError, name="count", expected="0 or more"):
        first.breakpoints.edit(1, condition="x > 1", ignore=-3, commands=[])
    assert (result.title, result.ignore, result.commands) == ("x_new", 0, [])
    first.breakpoints.edit(1, condition="x > 1", ignore=3, commands=[" print x ", ""])
    assert (result.title, result.ignore, result.commands, result.hits) == ("x_new if x > 1", 3, ["print x"], 4)
    assert result.log is not None
