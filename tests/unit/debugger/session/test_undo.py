"""Taking back what was set, one change after the other: the values, and all that comes after, as before."""

from __future__ import annotations

import numpy as np
import pytest

import loopdbg
from console_recorder import ConsoleRecorder
from text_models import SAMPLES

MODEL = SAMPLES / "newton_sqrt.onnx"
INPUTS = {"a": 2.0, "tol": 1e-6}


def session() -> loopdbg.Session:
    return loopdbg.debug(MODEL, INPUTS)


def remaining_values(one: loopdbg.Session) -> list[bytes]:
    """All that comes from here on, to the bit."""
    found = []
    while not one.done:
        found += [value.tobytes() for value in one.frame.carried.values()]
        one.step()
    assert one.outputs is not None
    return [*found, *(np.asarray(value).tobytes() for value in one.outputs.values())]


def test_changes_at_several_places_are_taken_back_one_by_one() -> None:
    plain = session()
    plain.step(2)
    here = remaining_values(plain)
    one = session()
    one.step(2)
    one.set("x", 3.0)
    one.step()
    one.set("err", 0.5)
    one.set("x", 7.0)
    one.continue_()

    one.undo()
    assert (one.frame.iteration, one.branch.edits) == (3, ["err = 0.5"])
    assert one.frame.carried["x"] != 7.0 and one.frame.carried["err"] == 0.5
    one.undo()
    assert (one.frame.iteration, one.branch.edits) == (3, ["x = 3.0"])
    assert one.frame.carried["err"] != 0.5
    one.undo()
    assert (one.frame.iteration, one.branch.number) == (2, 1)
    assert remaining_values(one) == here
    with pytest.raises(loopdbg.UsageError, match="nothing was set on this branch"):
        one.undo()


def test_of_several_changes_at_one_place_the_last_alone_is_taken_back() -> None:
    with_one = session()
    with_one.set("x", 3.0)
    expected = remaining_values(with_one)
    one = session()
    one.set("x", 3.0)
    one.set("err", 4.0)
    one.set("x", 5.0)
    assert one.branch.edits == ["x = 3.0", "err = 4.0", "x = 5.0"]
    one.undo()
    assert one.branch.edits == ["x = 3.0", "err = 4.0"] and one.frame.carried["x"] == 3.0
    one.undo()
    assert one.branch.edits == ["x = 3.0"] and one.frame.carried["err"] == 2.0
    assert len(one.branch.edit_records) == 1
    assert remaining_values(one) == expected


def test_what_was_taken_back_is_still_a_branch_and_more_can_be_set() -> None:
    one = session()
    one.set("x", 3.0)
    one.set("err", 4.0)
    one.undo()
    one.set("err", 8.0)
    assert one.branch.edits == ["x = 3.0", "err = 8.0"]
    one.undo()
    assert one.branch.edits == ["x = 3.0"] and one.frame.carried["err"] == 2.0
    one.switch(2)
    assert one.branch.edits == ["x = 3.0", "err = 4.0"] and one.frame.carried["err"] == 4.0


def test_going_back_and_on_keeps_what_was_not_taken_back() -> None:
    one = session()
    one.step()
    one.set("x", 3.0)
    one.set("err", 4.0)
    one.undo()
    one.step(2)
    there = one.frame.carried
    one.back(2)
    assert one.frame.carried["x"] == 3.0
    one.step(2)
    assert all(np.array_equal(value, there[name]) for name, value in one.frame.carried.items())


def test_the_console_says_what_it_took_back() -> None:
    talk = ConsoleRecorder(session())
    talk("s", "set x = x + 1", "set err = 4", "s")
    assert talk("undo") == ["undone: err = 4", "before iteration 1 of loop 'sqrt'"]
    assert talk("undo") == ["undone: x = 2.5", "before iteration 1 of loop 'sqrt'"]
    assert talk("undo") == ["error: nothing was set on this branch"]
