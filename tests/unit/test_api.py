"""The public API: which names there are, that each is reported with an example, and that the examples are true."""

from __future__ import annotations

import doctest
import enum
import inspect
import io
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import loopdbg
from loopdbg.debugger.session.session_frames import SessionFrame
from text_models import SAMPLES

PAGE = (SAMPLES.parent / "docs" / "api.md").read_text(encoding="utf-8")
#: What precedes every example.
SETUP = PAGE.partition("```python\n")[2].partition("```")[0]

#: A new public name is a decision: it is written here as well, and stays.
PUBLIC = {
    "loopdbg": """
        CarriedValue Coverage CoveragePoint Diagnosis Diagnostic Diff ExecutionError Explanation FirstDifference Frame
        InputError InternalError InterruptError LimitError LoopDifference LoopNode LoopTotals LoopdbgError Model
        ModelError Optimizations OptionalType OutOfMemoryError Port Precision Profile Reason Recorder Reference
        ReferenceRecorder Replay Row Run SequenceType Session Status Stop StoppedBy TensorType Trace TraceError Track
        UnsupportedError UsageError Verdict Why __version__ debug diff inputs load operator plot record_reference sweep
        widget""",
    "Session": """
        assign back back_node branch branches breakpoints close closed compare continue_ controller coverage diagnose
        done extract finish frame frames goto history inputs interrupt into lately listing logged max_iterations model
        next_node on_log outputs plot profile progress record repro restart reverse_continue running save set
        side_by_side step stop switch totals underway undo until watch why widget""",
    "Replay": """
        assign back back_node branch branches breakpoints close closed compare continue_ controller coverage diagnose
        done extract finish frame frames goto history inputs interrupt into lately listing logged max_iterations model
        next_node on_log outputs plot profile progress record repro restart reverse_continue running save set
        side_by_side step stop switch totals trace underway undo until watch why widget""",
    "Frame": """
        around at_boundary back_edges carried condition entry index iteration loop name nodes path scan_outputs
        stopped_by trip_count values""",
    "SessionFrame": """
        around at_boundary back_edges carried condition entry evolution history index iteration iteration_of loop name
        nodes path plot scan_outputs show stopped_by trip_count values""",
    "Recorder": "close finish path recorded",
    "Trace": """
        boundaries boundary close complete ended entries error every graph inputs loops meta model model_hash nodes only
        open outputs path totals""",
    "Model": """
        check coverage diagnose execute explain graph inputs loops name optimizations outputs over_requests path plan
        precision profile reset run state""",
}


def shown(thing: Any) -> list[str]:
    """What completion offers."""
    return [name for name in dir(thing) if not name.startswith("_")]


def test_the_public_names(recording: Path, tmp_path: Path) -> None:
    model = loopdbg.load(SAMPLES / "newton_sqrt.onnx")
    session = loopdbg.debug(model, {"a": 2.0, "tol": 1e-6})
    with (
        loopdbg.Recorder(tmp_path / "run.loopdb", model, session.inputs) as recorder,
        loopdbg.Trace.open(recording) as trace,
    ):
        recorder.finish(model.execute(session.inputs, on_iteration=recorder))
        replay = loopdbg.Replay(trace)
    results = {
        "loopdbg": loopdbg.__all__,
        "Session": shown(session),
        "Replay": shown(replay),
        "Recorder": shown(recorder),
        "Trace": shown(trace),
        "Frame": shown(loopdbg.Frame),
        "SessionFrame": shown(session.frame),
        "Model": shown(model),
    }
    assert {name: sorted(names) for name, names in results.items()} == {k: sorted(v.split()) for k, v in PUBLIC.items()}


def test_each_name_is_on_the_page_once() -> None:
    assert sorted(re.findall(r"^\.\. auto\w+:: (?:[\w.]+\.)?(\w+)$", PAGE, re.M)) == sorted(
        {*loopdbg.__all__, "SessionFrame"} - {"__version__"}
    )


def members(cls: type) -> list[str]:
    """The public methods and properties of a class, and of its bases in this package."""
    bases = [base for base in cls.__mro__ if base.__module__.partition(".")[0] == "loopdbg"]
    return sorted(
        {
            name
            for base in bases
            for name, value in vars(base).items()
            if not name.startswith("_")
            and (callable(value) or isinstance(value, property | cached_property | classmethod))
        }
    )


def documented() -> Iterator[tuple[str, Any]]:
    """Every public name with its value; members of a class follow the class."""
    for name in sorted({*loopdbg.__all__} - {"__version__"}):
        value = getattr(loopdbg, name)
        yield name, value
        if inspect.isclass(value) and (name == "LoopdbgError" or not issubclass(value, Exception | enum.Enum)):
            yield from ((f"{name}.{member}", getattr(value, member)) for member in members(value))
    for member in sorted({*members(SessionFrame)} - {*members(loopdbg.Frame)}):
        yield f"SessionFrame.{member}", getattr(SessionFrame, member)
    yield "SessionFrame[expression]", SessionFrame.__getitem__


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("api") / "run.loopdb"
    model, inputs = loopdbg.load(SAMPLES / "newton_sqrt.onnx"), {"a": 2.0, "tol": 1e-6}
    with loopdbg.Recorder(path, model, inputs) as recorder:
        recorder.finish(model.execute(inputs, on_iteration=recorder))
    return path


@pytest.fixture
def trace(recording: Path) -> Iterator[loopdbg.Trace]:
    with loopdbg.Trace.open(recording) as opened:
        yield opened


class ExampleRunner(doctest.DocTestRunner):
    """Lets an example skip its test, which doctest takes for an error."""

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        if isinstance(exc_info[1], pytest.skip.Exception):
            raise exc_info[1]
        super().report_unexpected_exception(out, test, example, exc_info)


@pytest.mark.parametrize(("name", "value"), documented(), ids=lambda item: item if isinstance(item, str) else "")
def test_the_example_of_a_name(
    name: str, value: Any, recording: Path, trace: loopdbg.Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(SAMPLES)
    names: dict[str, Any] = {"recording": recording, "folder": tmp_path}
    exec(SETUP, names)
    names["trace"] = trace
    names["replay"] = loopdbg.Replay(trace)
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(value) or "", names, name, None, None)
    assert test.examples, f"{name} has no example"
    options = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    output = io.StringIO()
    assert not ExampleRunner(optionflags=options).run(test, out=output.write).failed, output.getvalue()
