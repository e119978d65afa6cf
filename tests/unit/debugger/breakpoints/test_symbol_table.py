"""Locations are resolved in the loop graph alone, with the same numbering as in a plan."""

from __future__ import annotations

import pytest

import loopdbg
from error_fields import raises_error
from loopdbg.debugger.breakpoints.symbol_table import SymbolTable
from loopdbg.debugger.expression.expression import parse
from loopdbg.runtime.errors import UsageError
from loopdbg.runtime.graph import Graph
from loopdbg.runtime.plan.plan import Opcode
from text_models import BRANCHES, NESTED, SAMPLES, model

NAMES = sorted(path.name for pattern in ("*.onnx", "*.xml") for path in SAMPLES.glob(pattern))
#: A loop inside a branch, and values of the main graph before, inside and after an If.
IN_BRANCH = """
f (bool c, float x) => (float z) {
  a = Neg (x)
  y = If (c) <
    then_branch = g1 () => (float t) {
      t = Abs (a)
    },
    else_branch = g2 () => (float e) {
      M = Constant <value_int = 3> ()
      e = Loop (M, , a) <body = b (int64 i, bool k, float p) => (bool k2, float q) {
        k2 = Identity (k)
        q = Add (p, p)
      }>
    }
  >
  z = Exp (y)
}
"""


def same_as_planned(loaded: loopdbg.Model) -> None:
    places, plan = SymbolTable(loaded.graph), loaded.plan
    assert [(p.index, p.parent, p.path, p.loop) for p in places.loops] == [
        (p.index, p.parent, p.path, p.loop) for p in plan.loops
    ]
    planned = [i for i in plan.code if i.kind in (Opcode.NODE, Opcode.ENTER, Opcode.BRANCH)]
    assert list(places.nodes()) == [i.node for i in planned]
    assert [places.loop_of(node) for node in places.nodes()] == [i.inside for i in planned]
    first = min((loop.enter for loop in plan.loops), default=-1)
    for pc, instruction in enumerate(plan.code):
        if instruction in planned and instruction.node is not None:
            assert places.precedes_loops(instruction.node) == (pc < first)


@pytest.mark.parametrize("name", NAMES)
def test_samples_are_numbered_as_planned(name: str) -> None:
    same_as_planned(loopdbg.load(SAMPLES / name))


@pytest.mark.parametrize("text", [NESTED, BRANCHES, IN_BRANCH])
def test_models_are_numbered_as_planned(text: str) -> None:
    same_as_planned(model(text))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("a", ["If", "Abs", "Constant", "Loop", "Exp"]),
        ("y", ["Exp"]),
        ("x", ["Neg", "If", "Abs", "Constant", "Loop", "Exp"]),
        ("a + y", ["Exp"]),
        ("z", []),
    ],
)
def test_nodes_after_available_values(names: str, expected: list[str]) -> None:
    places = SymbolTable(model(IN_BRANCH).graph)
    after = places.nodes_after(parse(names))
    messages = [node.op_type for node in places.nodes(-1) if node in after]
    assert [word for word in messages if word != "Constant"] == [word for word in expected if word != "Constant"]


def test_graph_without_nodes() -> None:
    places = SymbolTable(Graph("empty"))
    assert not places.loops and not list(places.nodes())
    with raises_error(UsageError, name="line 1"):
        places.node_of_line(1)
