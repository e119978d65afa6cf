"""Both branches of an If, or a scan output and a body value, may use one name; what was shown for it was another's."""

from __future__ import annotations

import numpy as np

import loopdbg
from console_recorder import ConsoleRecorder
from loopdbg.debugger.session.session import Session
from loopdbg.runtime.graph import Graph, walk
from text_models import model

BRANCHES = """
b (int64 M, float v0) => (float v, float[N] s) {
  v, s = Loop <body = body (int64 i, bool c, float x) => (bool c, float y, float e) {
    two = Constant <value = int64 {2}> ()
    zero = Constant <value = int64 {0}> ()
    rest = Mod (i, two)
    even = Equal (rest, zero)
    y = If <then_branch = even_case () => (float made) { one = Constant <value = float {1}> () made = Add (x, one) },
            else_branch = odd_case () => (float other) { ten = Constant <value = float {10}> () other = Add (x, ten) }>
        (even)
    e = Identity (y)
  }> (M, , v0)
}
"""


def session(**names: str) -> tuple[Session, ConsoleRecorder]:
    """A session before iteration 1, in a model whose values were renamed, as other systems' files may have them."""
    result = model(BRANCHES)
    graph: Graph = result.graph
    for node in walk(graph):
        for value in node.outputs:
            if value is not None:
                value.name = names.get(value.name, value.name)
    running = Session(loopdbg.Model(graph), {"M": 5, "v0": 0.5})
    running.step()
    return running, ConsoleRecorder(running)


def test_both_branches_use_one_name() -> None:
    running, talk = session(other="made")
    assert running.frame["made"] == 1.5
    # At a boundary the last values: of the branch that was taken, not of the other value of that name.
    results = [line.rpartition(" │ ")[2] for line in talk("list all") if " made = " in line and " │ " in line]
    assert sorted(results) == ["1.5", "–"]
    running.step()
    assert running.frame["made"] == 11.5
    running.breakpoints.add("if made > 12.4 and made < 12.6")
    running.continue_()
    assert (running.frame.iteration, running.frame["made"]) == (3, 12.5)


def test_a_branch_that_was_not_taken_has_no_value() -> None:
    running, talk = session()
    running.step()
    assert "made" not in running.frame.values
    assert not any(line.startswith("made") for line in talk("info values"))
    assert "'made' has no value in iteration 1, which took the other branch" in talk.last_line("print made")


def test_a_scan_output_whose_name_the_body_uses() -> None:
    running, talk = session(s="e")
    output = talk("print e", "frame", "print `e (scan output)`", "list all")
    assert output[0].startswith("1.5")
    assert any(line.startswith("  `e (scan output)`: float32 [1], 1 so far, last 1.5") for line in output)
    assert "float32 [1]  [1.5]" in output
    assert any("`e (scan output)`.append(e)" in line for line in output)
    assert np.array_equal(running.frame["`e (scan output)`"], [1.5])
