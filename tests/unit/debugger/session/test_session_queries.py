"""The Python API of a session offers what the console prints, as objects and files."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import loopdbg
from console_recorder import ConsoleRecorder
from error_fields import raises_error
from loopdbg.debugger.frontends.console.command_registry import COMMANDS
from text_models import SAMPLES

NEWTON = SAMPLES / "newton_sqrt.onnx"
MODEL_INPUTS = {"a": 2.0, "tol": 1e-6}

#: The Python equivalent of a console command: a method of a session or of its breakpoints, an attribute, or nothing
#: where Python itself has one.
IN_PYTHON = {
    "step": "step",
    "next": "next_node",
    "into": "into",
    "finish": "finish",
    "until": "until",
    "advance": "until",
    "continue": "continue_",
    "restart": "restart",
    "back": "back",
    "back-node": "back_node",
    "reverse-continue": "reverse_continue",
    "goto": "goto",
    "break": "breakpoints.add",
    "tbreak": "breakpoints.add",
    "watch": "watch",
    "log": "breakpoints.add",
    "ignore": "breakpoints",
    "condition": "breakpoints.set_condition",
    "commands": "breakpoints",
    "enable": "breakpoints",
    "disable": "breakpoints",
    "delete": "breakpoints.delete",
    "print": "frame",
    "display": "frame.show",
    "undisplay": "",
    "frame": "frames",
    "up": "frame.around",
    "down": "frames",
    "backtrace": "frames",
    "list": "listing",
    "why": "why",
    "info": "totals",
    "set": "assign",
    "undo": "undo",
    "branch": "switch",
    "compare": "compare",
    "echo": "",
    "source": "",
    "help": "",
    "quit": "close",
    "save": "save",
    "extract": "extract",
    "plot": "plot",
    "profile": "profile",
    "diagnose": "diagnose",
    "coverage": "coverage",
    "repro": "repro",
}


def session() -> loopdbg.Session:
    return loopdbg.debug(NEWTON, MODEL_INPUTS)


def test_every_console_command_has_a_python_equivalent() -> None:
    assert COMMANDS.keys() - {"settings"} <= IN_PYTHON.keys()
    stepped = session()
    for path in filter(None, IN_PYTHON.values()):
        result: object = stepped
        for name in path.split("."):
            result = getattr(result, name)


def test_page_has_a_row_for_every_command() -> None:
    page = (SAMPLES.parent / "docs" / "notebook.md").read_text(encoding="utf-8")
    table = page.partition("| console | Python |")[2].partition("\n\n")[0]
    commands = [row.split("|")[1] for row in table.splitlines() if row.startswith("|")]
    messages = {word for cell in commands for word in re.findall(r"`([\w-]+)`", cell)}
    assert messages == IN_PYTHON.keys()


@pytest.mark.parametrize("line", ["why", "list", "list all", "list 11", "list all code"])
def test_query_texts_equal_the_console(line: str) -> None:
    talk = ConsoleRecorder(session())
    talk("step 3")
    word, _, rest = line.partition(" ")
    result = talk.session.why() if word == "why" else talk.session.listing(rest)
    assert str(result).splitlines() == talk(line)


def test_why_has_its_data_as_fields() -> None:
    stepped = session()
    stepped.step(3)
    result = stepped.why()
    assert result.condition is True and result.ended is None and result.iteration == 3
    assert [side.text for side in result.sides] == ["err_new > tol"] and result.sides[0].holds is True
    stepped.finish()
    assert stepped.why().ended is loopdbg.StoppedBy.CONDITION


def test_frame_can_be_selected() -> None:
    with np.load(SAMPLES / "loop_nested.inputs.npz") as file:
        stepped = loopdbg.debug(SAMPLES / "loop_nested.xml", dict(file))
    while len(stepped.frames) < 3:
        stepped.into()
    inner, outer = stepped.frames[2], stepped.frames[1]
    assert stepped.why().path == inner.path and stepped.why(outer).path == outer.path
    assert len(stepped.listing("all", outer).rows) > len(stepped.listing("all").rows)


def test_branches_are_compared() -> None:
    stepped = session()
    with pytest.raises(loopdbg.UsageError, match="another branch"):
        stepped.compare()
    stepped.step(2)
    stepped.set("x", 3.0)
    stepped.continue_()
    result = stepped.compare()
    assert not result.same and (result.first, result.second, result.iteration, result.name) == (1, 2, 2, "x")
    assert result.right == np.float32(3) and str(result).splitlines() == ConsoleRecorder(stepped)("compare 1")


def test_run_is_recorded_without_moving_the_session(tmp_path: Path) -> None:
    stepped = session()
    stepped.step(2)
    run = stepped.record(tmp_path / "run.loopdb", nodes=True)
    assert run.loops[0].iterations == 5 and stepped.frame.iteration == 2
    with loopdbg.Trace.open(tmp_path / "run.loopdb") as trace:
        assert trace.nodes and trace.outputs is not None and trace.outputs["root"] == run.outputs["root"]
        replay = loopdbg.Replay(trace)
        replay.step(2)
        assert str(replay.why()) == str(stepped.why())
        assert str(replay.listing("all")) == str(stepped.listing("all"))
        for refused in (replay.extract, replay.repro, replay.record):
            with pytest.raises(loopdbg.UsageError):
                refused(tmp_path / "other")
        with raises_error(loopdbg.UsageError, name="a branch"):
            replay.compare()
    with raises_error(loopdbg.UsageError, name=tmp_path / "run.loopdb", expected="a new file"):
        stepped.record(tmp_path / "run.loopdb")
    stepped.set("x", 3.0)
    with pytest.raises(loopdbg.UsageError, match="no run from the beginning"):
        stepped.record(tmp_path / "other.loopdb")


def test_session_limit_applies_to_its_recording(tmp_path: Path) -> None:
    run = loopdbg.debug(NEWTON, MODEL_INPUTS, max_iterations=2).record(tmp_path / "run.loopdb")
    assert run.stopped_by is loopdbg.StoppedBy.LIMIT


def test_iteration_and_whole_loop_are_extracted_as_models(tmp_path: Path) -> None:
    stepped = session()
    stepped.step(2)
    first = stepped.extract(tmp_path / "one")
    assert (first.iteration, first.loop) == (2, "sqrt") and loopdbg.load(first.model).inputs
    assert stepped.extract(tmp_path / "all", whole=True).iteration is None
    with raises_error(loopdbg.UsageError, name=tmp_path / "one", expected="an empty folder"):
        stepped.extract(tmp_path / "one")
    assert stepped.extract(tmp_path / "one", force=True).iteration == 2


def test_session_is_a_context_manager() -> None:
    with session() as stepped:
        stepped.step()
        frame = stepped.frame
        assert frame.iteration == 1
    assert stepped.closed and repr(stepped) == "<Session, closed>" and "closed" in stepped._repr_html_()
    for use in (stepped.step, stepped.why, lambda: stepped.stop, lambda: stepped.frame, lambda: list(stepped)):
        with raises_error(loopdbg.UsageError, expected="an open session"):
            use()
    stepped.close()
    with pytest.raises(ZeroDivisionError), session() as other:
        raise ZeroDivisionError
    assert other.closed


def test_loops_are_explained() -> None:
    model = loopdbg.load(NEWTON)
    (item,) = model.explain()
    assert item.name == "sqrt" and str(model.explain()) == str(item) and len(model.explain("sqrt")) == 1
    assert "TensorRT" in str(model.explain(system="tensorrt"))
    with pytest.raises(loopdbg.UsageError, match="has no loop 'sqr'; did you mean"):
        model.explain("sqr")
    with raises_error(loopdbg.UsageError, name="system", expected="onnx, openvino, tensorrt", got="keras"):
        model.explain(system="keras")
