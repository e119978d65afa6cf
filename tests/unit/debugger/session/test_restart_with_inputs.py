"""A restart with other inputs: a new run of the open model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from console_recorder import ConsoleRecorder
from error_fields import raises_error
from loopdbg.debugger.expression.errors import ExpressionError
from recordings import record_run
from text_models import COUNT, SAMPLES, model


def start(**inputs: Any) -> loopdbg.Session:
    return loopdbg.debug(model(COUNT), {"M": 9, "cond": True, "v0": 5, "bound": 99} | inputs)


def test_restarted_session_equals_a_new_one() -> None:
    session = start()
    session.step(3)
    session.set("v_in", 40)
    session.step()
    stop = session.restart({"M": 4, "v0": 7})
    assert (stop.reason, session.frame.iteration, session.frame.carried["v_in"]) == ("entry", 0, 7)
    assert len(session.branches) == 1, "what was set belongs to the run before"
    fresh = start(M=4, v0=7)
    for item in (session, fresh):
        item.finish()
        item.continue_()
    assert session.outputs is not None and fresh.outputs is not None
    for name, value in fresh.outputs.items():
        assert np.array_equal(session.outputs[name], value)
    session.goto(2)
    assert session.frame.carried["v_in"] == 9, "back along the new run"
    session.restart()
    assert session.frame.carried["v_in"] == 7, "a plain restart keeps the inputs"


def test_breakpoints_are_kept_and_watchpoints_compare_within_the_new_run() -> None:
    session = start()
    session.breakpoints.add("if v_in == 12")
    session.watch("bound")
    session.restart({"v0": 10, "bound": 50})
    stop = session.continue_()
    assert (stop.breakpoints, session.frame.iteration) == ((1,), 2)


def test_unsuitable_inputs_change_nothing() -> None:
    session = start()
    session.step(2)
    for wrong in ({"nothing": 1}, {"M": 1.5}, {"v0": [1, 2]}):
        with pytest.raises(loopdbg.InputError):
            session.restart(wrong)
    assert session.frame.iteration == 2
    session.restart()
    assert session.frame.carried["v_in"] == 5


def test_arrays_of_the_caller_are_copied() -> None:
    v0 = np.array(3)
    session = start()
    session.restart({"v0": v0})
    v0[...] = 100
    session.step()
    session.restart()
    assert session.frame.carried["v_in"] == 3


def counter(**inputs: Any) -> ConsoleRecorder:
    feeds = dict(np.load(SAMPLES / "counter.inputs.npz"))
    return ConsoleRecorder(loopdbg.debug(SAMPLES / "counter.onnx", feeds | inputs))


def test_command_accepts_expressions() -> None:
    talk = counter()
    assert talk("restart limit=13, start = start + 1", "print limit", "print count")[1:] == ["13", "1"]
    assert talk("restart start=start + sum(x=[1, 2]) max_trips=6", "print count")[1:] == ["4"]
    assert talk("finish", "print last")[1:] == ["13"]
    assert talk("restart start=abs(0 - 2) limit=[13, 20][1]", "print limit")[1:] == ["20"]


@pytest.mark.parametrize(
    ("typed", "kind", "fields"),
    [
        ("restart 5", loopdbg.UsageError, {"expected": "NAME=VALUE", "got": "5"}),
        ("restart limit==5", loopdbg.UsageError, {"expected": "NAME=VALUE", "got": "limit==5"}),
        ("restart here limit=5", loopdbg.UsageError, {"expected": "NAME=VALUE", "got": "here limit=5"}),
        ("restart limit=1 limit=2", loopdbg.UsageError, {"name": "limit", "expected": "given once"}),
        ("restart limt=1", loopdbg.UsageError, {"name": "limt", "expected": None}),
        ("restart limit=1.5", loopdbg.UsageError, {"name": "limit", "expected": "int64[]", "got": "1.5"}),
        ("restart limit=[1, 2]", loopdbg.UsageError, {"name": "limit", "expected": "int64[]", "got": "shape [2]"}),
        ("restart limit=", ExpressionError, {"text": "", "position": 0}),
        ("restart limit=unknown_name", ExpressionError, {"text": "unknown_name", "position": 0}),
    ],
)
def test_invalid_restart_is_refused(
    typed: str, kind: type[loopdbg.LoopdbgError], fields: dict[str, str | int | None]
) -> None:
    talk = counter()
    talk("step 2")
    with raises_error(kind, **fields) as caught:
        talk.console.execute(typed)
    assert "inputs=" not in str(caught.value)
    assert talk.session.frame.iteration == 2


def test_input_names_are_completed() -> None:
    talk = counter()
    assert talk.console.complete("restart s") == ["start=", "step="]
    assert talk.console.complete("restart start=1 l") == ["limit="]
    assert "start" in talk.console.complete("restart limit=sta")


def test_recording_keeps_its_inputs(tmp_path: Path) -> None:
    trace, _, _ = record_run(tmp_path / "t.trace", model(COUNT), {"M": 3, "cond": True, "v0": 5, "bound": 99})
    with trace:
        talk = ConsoleRecorder(loopdbg.Replay(trace))
        assert "giving other inputs is not possible" in talk.last_line("step", "restart v0=1")
        assert talk.session.frame.iteration == 1
        assert talk.last_line("restart").startswith("before iteration 0")
