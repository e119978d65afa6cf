"""A layer that a helper function of a TensorRT script adds had the line of the helper alone, which all layers of the
helper share; no breakpoint stopped at the line that calls it, and no listing showed it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loopdbg
from console_recorder import ConsoleRecorder
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.graph import Node, walk
from loopdbg.runtime.graph.graph_json import graph_from_json, graph_to_json
from loopdbg.runtime.model import Model, load

SCRIPT = """\
import numpy as np, tensorrt as trt
def ew(n, a, b):
    return n.add_elementwise(a, b, trt.ElementWiseOperation.SUM).get_output(0)
def twice(n, a):
    return ew(n, a, a)
def build(n):
    x = n.add_input("x", trt.float32, (2,))
    loop = n.add_loop()
    loop.add_trip_limit(n.add_constant((), np.array(3, np.int32)).get_output(0), trt.TripLimit.COUNT)
    h = loop.add_recurrence(x)
    doubled = twice(n, h.get_output(0))
    shifted = ew(n, doubled, x)
    h.set_input(1, shifted)
    last = loop.add_loop_output(h.get_output(0), trt.LoopOutput.LAST_VALUE).get_output(0)
    last.name = "last"
    n.mark_output(last)
"""
X = {"x": np.ones(2, np.float32)}


@pytest.fixture
def network(tmp_path: Path) -> Model:
    path = tmp_path / "net.py"
    path.write_text(SCRIPT)
    return load(path)


def sums(model: Model) -> list[Node]:
    """The layers that the helper adds."""
    return [node for node in walk(model.graph) if node.op_type == "Add"]


def test_a_layer_has_the_helpers_line_and_the_callers_lines(network: Model, tmp_path: Path) -> None:
    first, second = sums(network)
    path = str(tmp_path / "net.py")
    assert (first.origin.line, first.origin.callers) == (3, ((path, 11), (path, 5)))
    assert (second.origin.line, second.origin.callers) == (3, ((path, 12),))
    assert first.describe().endswith("(net.py:3, called from net.py:5, net.py:11)")
    assert second.describe().endswith("(net.py:3, called from net.py:12)")
    assert [node.origin.callers for node in walk(graph_from_json(graph_to_json(network.graph)))] == [
        node.origin.callers for node in walk(network.graph)
    ]


@pytest.mark.parametrize(
    ("line", "stops"),
    [(3, "ElementWise_3 ElementWise_4"), (5, "ElementWise_3"), (11, "ElementWise_3"), (12, "ElementWise_4")],
)
def test_a_breakpoint_at_either_line_stops(network: Model, line: int, stops: str) -> None:
    talk = ConsoleRecorder(loopdbg.debug(network, X))
    assert talk.last_line(f"break net.py:{line}").startswith(f"breakpoint 1: net.py:{line}, line")
    for iteration in range(2):
        for stop in stops.split():
            output = talk("continue")[0]
            assert (
                output == f"breakpoint 1 (net.py:{line}): before Add '{stop}' in iteration {iteration} of loop 'loop_0'"
            )


def test_the_listing_shows_the_line_that_calls_the_helper(network: Model) -> None:
    lines = ConsoleRecorder(loopdbg.debug(network, X))("list all code")
    called = [line.partition("<- called from ")[2] for line in lines if "net.py:3" in line]
    assert called == ["net.py:5  return ew(n, a, a)  <- net.py:11", "net.py:12  shifted = ew(n, doubled, x)"]


def test_an_error_of_a_layer_names_the_line_that_calls_the_helper(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    path.write_text(
        SCRIPT.replace("trt.float32, (2,))", 'trt.float32, (2,)); y = n.add_input("y", trt.float32, (3,))').replace(
            "shifted = ew(n, doubled, x)", "shifted = ew(n, doubled, y)"
        )
    )
    with pytest.raises(ModelError) as refused:
        load(path)
    assert str(refused.value).startswith(f"{path}:3 (called from net.py:12): ")


def test_a_network_in_memory_has_the_lines_of_its_caller() -> None:
    from loopdbg.runtime.frontends.tensorrt.mock_module import mock_tensorrt
    from loopdbg.runtime.frontends.tensorrt.network import INetworkDefinition

    network = INetworkDefinition()
    with mock_tensorrt():
        module: dict[str, object] = {}
        exec(compile(SCRIPT, "/models/net.py", "exec"), module)
        module["build"](network)  # type: ignore[operator]
    first, _ = sums(load(network))
    assert first.origin.callers[-2:] == (("/models/net.py", 11), ("/models/net.py", 5))
    assert all("site-packages" not in file for file, _ in first.origin.callers)
