"""Producers and consumers of each line, and the targets of back edges, agree with the graph, also on random loops."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from loopdbg.debugger.describe.line_dataflow import line_dataflow
from loopdbg.debugger.describe.pseudo_code import LineKind, build_pseudo_code
from loopdbg.runtime.graph import Loop, loops
from random_program_checks import load_program
from strategies import program_generator
from strategies.draws import SeededChoices
from text_models import sample


def named(name: str) -> dict[str, tuple[list[str], list[str]]]:
    """For each line, the lines that compute its operands, and those that read its result."""
    result = build_pseudo_code(sample(name)[0].graph)
    flow = line_dataflow(result)
    text = [line.text for line in result.lines]
    return {
        line: ([text[k] for k in flow.producers[index]], [text[k] for k in flow.readers[index]])
        for index, line in enumerate(text)
    }


def test_data_flow_of_a_loop() -> None:
    lines = named("newton_sqrt.onnx")
    assert lines["half_q = q * 0.5"] == (["q = a / x"], ["x_new = half + half_q"])
    makers, readers = lines["x = x_new"]
    assert makers == ["x_new = half + half_q"] and {"half = x * 0.5", "q = a / x"} <= set(readers)
    assert "x = x_new" in lines["half = x * 0.5"][0] and "x = x0" in lines["half = x * 0.5"][0]
    assert lines["keep = err_new > tol"][1] == ["while keep:"]
    assert lines["root = x"][1] and any(text.startswith("return") for text in lines["root = x"][1])


@pytest.mark.parametrize("features", [("nested", "growing"), ("condition", "direct"), ("openvino", "direct")])
def test_data_flow_of_random_loops(features: Collection[str]) -> None:
    edges = 0
    for n in range(10):
        main = load_program(program_generator.draw_program(SeededChoices(f"flow {n}"), features)).graph
        result = build_pseudo_code(main)
        flow = line_dataflow(result)
        seen: dict[Loop, int] = {}
        for k, head in flow.loop_heads.items():
            line = result.lines[k]
            assert line.kind is LineKind.BACK_EDGE and result.lines[head].node is line.loop and head < k
            assert line.loop is not None
            seen[line.loop] = seen.get(line.loop, 0) + len(line.ports)
        for loop in loops(main):
            assert seen.get(loop, 0) == len(loop.back_edges)
            # The node of a condition is read by the line that tests it, or by the head of the loop.
            tests = [
                k
                for k, line in enumerate(result.lines)
                for maker in flow.producers[k]
                if line.loop is loop or line.node is loop
                if loop.condition in result.lines[maker].values
            ]
            outcome = any(loop.condition in line.values for line in result.lines if line.node is not None)
            assert tests or not outcome
        for k, line in enumerate(result.lines):
            outcome = {value for maker in flow.producers[k] for value in result.lines[maker].values}
            inputs = set(line.node.inputs) if line.kind is LineKind.NODE and line.node else set()
            known = {value for other in result.lines if other.kind is not LineKind.RETURN for value in other.values}
            assert inputs & known <= outcome
            assert all(k in flow.readers[maker] for maker in flow.producers[k])
        edges += sum(seen.values())
    assert edges > 5
