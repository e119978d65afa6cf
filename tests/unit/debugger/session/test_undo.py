"""Undoing edits one by one restores the values and everything computed after them."""

from __future__ import annotations

import numpy as np

import loopdbg
from console_recorder import ConsoleRecorder
from error_fields import raises_error
from text_models import SAMPLES

MODEL = SAMPLES / "newton_sqrt.onnx"
INPUTS = {"a": 2.0, "tol": 1e-6}


def session() -> loopdbg.Session:
    return loopdbg.debug(MODEL, INPUTS)


def remaining_values(item: loopdbg.Session) -> list[bytes]:
    """All values from here on, bit for bit."""
    results = []
    while not item.done:
        results += [value.tobytes() for value in item.frame.carried.values()]
        item.step()
    assert item.outputs is not None
    return [*results, *(np.asarray(value).tobytes() for value in item.outputs.values())]


def test_edits_at_several_positions_are_undone_one_by_one() -> None:
    plain = session()
    plain.step(2)
    here = remaining_values(plain)
    first = session()
    first.step(2)
    first.set("x", 3.0)
    first.step()
    first.set("err", 0.5)
    first.set("x", 7.0)
    first.continue_()

    first.undo()
    assert (first.frame.iteration, first.branch.edits) == (3, ["err = 0.5"])
    assert first.frame.carried["x"] != 7.0 and first.frame.carried["err"] == 0.5
    first.undo()
    assert (first.frame.iteration, first.branch.edits) == (3, ["x = 3.0"])
    assert first.frame.carried["err"] != 0.5
    first.undo()
    assert (first.frame.iteration, first.branch.number) == (2, 1)
    assert remaining_values(first) == here
    with raises_error(loopdbg.UsageError, expected="an edit"):
        first.undo()


def test_only_the_last_of_several_edits_at_one_position_is_undone() -> None:
    with_one = session()
    with_one.set("x", 3.0)
    expected = remaining_values(with_one)
    first = session()
    first.set("x", 3.0)
    first.set("err", 4.0)
    first.set("x", 5.0)
    assert first.branch.edits == ["x = 3.0", "err = 4.0", "x = 5.0"]
    first.undo()
    assert first.branch.edits == ["x = 3.0", "err = 4.0"] and first.frame.carried["x"] == 3.0
    first.undo()
    assert first.branch.edits == ["x = 3.0"] and first.frame.carried["err"] == 2.0
    assert len(first.branch.edit_records) == 1
    assert remaining_values(first) == expected


def test_undone_edit_remains_a_branch_and_new_edits_are_possible() -> None:
    first = session()
    first.set("x", 3.0)
    first.set("err", 4.0)
    first.undo()
    first.set("err", 8.0)
    assert first.branch.edits == ["x = 3.0", "err = 8.0"]
    first.undo()
    assert first.branch.edits == ["x = 3.0"] and first.frame.carried["err"] == 2.0
    first.switch(2)
    assert first.branch.edits == ["x = 3.0", "err = 4.0"] and first.frame.carried["err"] == 4.0


def test_going_back_and_forward_keeps_remaining_edits() -> None:
    first = session()
    first.step()
    first.set("x", 3.0)
    first.set("err", 4.0)
    first.undo()
    first.step(2)
    is_present = first.frame.carried
    first.back(2)
    assert first.frame.carried["x"] == 3.0
    first.step(2)
    assert all(np.array_equal(value, is_present[name]) for name, value in first.frame.carried.items())


def test_console_reports_the_undone_edit() -> None:
    talk = ConsoleRecorder(session())
    talk("s", "set x = x + 1", "set err = 4", "s")
    assert talk("undo") == ["undone: err = 4", talk.session.stop.text]
    assert talk("undo") == ["undone: x = 2.5", talk.session.stop.text]
    assert talk("undo") == ["error: nothing was set on this branch"]
