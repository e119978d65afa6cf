"""Breakpoints at lines of the code that a model was exported from."""

from __future__ import annotations

from pathlib import Path

import pytest

import loopdbg
from console_recorder import ConsoleRecorder
from error_fields import raises_error
from loopdbg.debugger.breakpoints.symbol_table import SymbolTable
from loopdbg.debugger.trace.replay import Replay
from loopdbg.runtime.graph import Origin, walk
from recordings import record_run
from text_models import BRANCHES, NESTED, model, sample


@pytest.fixture
def power() -> ConsoleRecorder:
    return ConsoleRecorder(loopdbg.debug(*sample("power_iteration.onnx")))


def written(loaded: loopdbg.Model, **lines: str) -> loopdbg.Model:
    """A model whose values have source lines: ``file.py:3``."""
    for node in walk(loaded.graph):
        for value in node.outputs:
            if value is not None and value.name in lines:
                file, _, number = lines[value.name].rpartition(":")
                node.source = Origin(file, int(number))
    return loaded


def test_breakpoint_stops_before_the_first_node_of_a_line(power: ConsoleRecorder) -> None:
    assert power.last_line("break power_iteration.py:10") == "breakpoint 1: power_iteration.py:10, line 6"
    stop = (
        "breakpoint 1 (power_iteration.py:10): before ReduceL2 'ReduceL2_1' in iteration {} of loop 'power_iteration'"
    )
    assert power("continue")[0] == stop.format(0)
    assert power("continue")[0] == stop.format(1)


def test_breakpoint_on_a_loop_line_stops_at_each_boundary(power: ConsoleRecorder) -> None:
    message = power.last_line("break power_iteration.py:18 if estimate > 4.5")
    assert message.startswith("breakpoint 1: power_iteration.py:18 if estimate > 4.5")
    assert "before iteration 2" in power("continue")[0]


def test_log_accepts_a_source_line(power: ConsoleRecorder) -> None:
    power("log power_iteration.py:11: {length}", "tbreak iter 2")
    assert [line for line in power("continue") if line[:1].isdigit()] == ["4.1833", "4.57009"]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("power_iteration.py:13", "from power_iteration.py:13; the nearest lines with nodes are 9, 10, 11, 12"),
        ("power_itration.py:10", "no node comes from a file power_itration.py; did you mean power_iteration.py?"),
        ("other.py:10", "no node comes from a file other.py; there are power_iteration.py"),
        ("power_iteration.py:999999999", "the nearest lines with nodes are 11, 12, 18, 21"),
        ("power_iteration.py:0", "the nearest lines with nodes are 9, 10, 11, 12"),
    ],
)  # fmt: skip
def test_line_without_nodes_is_refused(power: ConsoleRecorder, place: str, message: str) -> None:
    assert message in power.last_line(f"break {place}")


def test_model_without_source_lines_is_reported() -> None:
    talk = ConsoleRecorder(loopdbg.debug(model(NESTED), {"M": 2, "K": 2}))
    assert "the model does not tell what code it comes from" in talk.last_line("break model.py:3")


def test_equal_file_names_are_distinguished_by_directory() -> None:
    loaded = written(model(BRANCHES), up="/me/a/model.py:3", x2="/me/b/model.py:3", e="/me/b/model.py:4")
    talk = ConsoleRecorder(loopdbg.debug(loaded, {"M": 5, "v0": 1.5}))
    assert "several files are called model.py; say a/model.py:3 or b/model.py:3" in talk.last_line("break model.py:3")
    assert talk.last_line("break a/model.py:3").startswith("breakpoint 1: a/model.py:3, line ")
    # Only one of them has nodes of that line.
    assert talk.last_line("break model.py:4").startswith("breakpoint 2: model.py:4, line ")


def test_source_lines_are_completed(power: ConsoleRecorder) -> None:
    assert power.console.complete("break power_iteration.py:1") == [
        f"power_iteration.py:{line}" for line in (10, 11, 12, 18)
    ]
    assert not any(".py" in word for word in power.console.complete("break "))


def test_line_denotes_its_first_node_in_each_body() -> None:
    loaded = model(NESTED)
    for node in walk(loaded.graph):
        node.source = Origin("model.py", 7)
    places = SymbolTable(loaded.graph)
    result = places.line_table.nodes_of_line("model.py", 7, list(places.nodes()))
    bodies = [loaded.graph, *(place.loop.body for place in places.loops)]
    assert result == {graph.nodes[0] for graph in bodies}
    inner = list(places.nodes(1))
    assert places.line_table.nodes_of_line("model.py", 7, inner) == {inner[0]}


def test_recording_stops_at_the_boundaries_of_the_loop(tmp_path: Path) -> None:
    trace, _, _ = record_run(tmp_path / "t.loopdb", *sample("power_iteration.onnx"))
    with trace:
        talk = ConsoleRecorder(Replay(trace))
        assert "every boundary" in talk.last_line("break power_iteration.py:10")
        assert "before iteration 1" in talk("continue")[0]
        assert any("power_iteration.py:10  longer = product" in line for line in talk("list all"))


def test_calling_line_includes_the_nodes_of_its_callee() -> None:
    loaded = model(BRANCHES)
    for node in walk(loaded.graph):
        if any(value is not None and value.name in ("up", "e") for value in node.outputs):
            node.source = Origin("cell.py", 3, callers=(("model.py", 7), ("model.py", 9)))
        if any(value is not None and value.name == "rest" for value in node.outputs):
            node.source = Origin("model.py", 7)
    talk = ConsoleRecorder(loopdbg.debug(loaded, {"M": 5, "v0": 1.5}))
    assert talk.last_line("break model.py:9").startswith("breakpoint 1: model.py:9, lines ")
    # A line with nodes of its own has only those.
    assert talk.last_line("break model.py:7").startswith("breakpoint 2: model.py:7, line ")
    with raises_error(loopdbg.UsageError, name="model.py:8", expected="7, 9"):
        talk.console.execute("break model.py:8")
    assert talk.console.complete("break model.py:") == ["model.py:7", "model.py:9"]
