"""Bodies as lines that read like a program."""

from __future__ import annotations

import pytest

import loopdbg
from loopdbg.runtime.graph import Graph, Loop
from loopdbg.tui.screen import wording
from loopdbg.tui.screen.listing import Item, Kind, listing
from models import BRANCHES, COUNT, NESTED, SUM, model, sample


def first_loop(model: loopdbg.Model) -> Loop:
    return model.loops[0].loop


def lines(graph: Graph, loop: Loop | None, trip_count: int | None = None) -> list[str]:
    return ["  " * i.depth + (f"{i.left} = {i.right}" if i.right else i.left) for i in listing(graph, loop, trip_count)]


def body(model: loopdbg.Model, trip_count: int | None = None) -> list[str]:
    loop = first_loop(model)
    return lines(loop.body, loop, trip_count)


def test_a_while_loop() -> None:
    assert body(sample("newton_sqrt.onnx")[0]) == [
        "while keep:",
        "  half = Mul(x, 0.5)",
        "  q = Div(a, x)",
        "  half_q = Mul(q, 0.5)",
        "  x_new = Add(half, half_q)",
        "  change = Sub(x_new, x)",
        "  err_new = Abs(change)",
        "  keep = Greater(err_new, tol)",
        "  x, err = x_new, err_new",
        "  xs.append(x_new)",
        "",
        "ends: when keep is false (no trip count)",
    ]


def test_a_branch_stands_below_its_if() -> None:
    found = body(model(BRANCHES), 4)
    at = found.index("  y = If 'If_4'(even)")
    assert found[at + 1 : at + 6] == [
        "  then:",
        "    one = Constant(1.0)",
        "    up = Add(x, one)",
        "  else:",
        "    x2 = Mul(x, x)",
    ]


def test_an_inner_loop_is_one_line() -> None:
    outer = first_loop(model(NESTED))
    nodes = [i for i in listing(outer.body, outer, 3) if i.kind is Kind.NODE]
    assert [i.node for i in nodes] == list(range(len(nodes)))
    assert nodes[1].left == "inner_total, inner_seen"
    assert nodes[1].right.startswith("Loop '") and nodes[1].right.endswith("(K, _, t)")


@pytest.mark.parametrize(
    ("name", "trip_count", "head", "ends"),
    [
        ("fibonacci.onnx", 12, "for i in range(12):", "after 12 iterations"),
        ("counter.onnx", 10, "for i in range(10) while below:", "when below is false, or after 10"),
        ("loop_do_while.xml", None, "do:", "when "),
        ("loop_while.xml", None, "while ", "when "),
        ("loop_infinite.xml", None, "while true:", "never: "),
        ("lstm.xml", 25, "for i in range(25):", "after 25 iterations"),
    ],
)
def test_heads_and_ends(name: str, trip_count: int | None, head: str, ends: str) -> None:
    loop = first_loop(sample(name)[0])
    assert wording.head(loop, trip_count).startswith(head)
    assert wording.ends(loop, trip_count).startswith(ends)


def test_slices_and_concatenation() -> None:
    found = body(sample("lstm.xml")[0], 25)
    assert "  x = X[:, i:i+1, :]" in found
    assert any(line.strip().endswith("axis=1)") and ".concat(" in line for line in found)
    backward = listing(*_of(sample("reverse_sum.xml")[0]), 6)
    sliced = next(i for i in backward if i.kind is Kind.SLICE)
    assert sliced.right.startswith("part i of x (stride -1, axis 0")


def _of(model: loopdbg.Model) -> tuple[Graph, Loop]:
    loop = first_loop(model)
    return loop.body, loop


def test_the_condition_in_words() -> None:
    newton = first_loop(sample("newton_sqrt.onnx")[0])
    assert wording.condition_text(newton) == "keep = err_new > tol"
    compared = wording.comparison(newton)
    assert compared is not None and (compared.text, compared.opposite) == ("err_new > tol", "err_new ≤ tol")
    collatz = first_loop(sample("collatz.onnx")[0])
    assert wording.condition_text(collatz) == "go_on = not (n_next = 1)"
    compared = wording.comparison(collatz)
    assert compared is not None and (compared.text, compared.opposite) == ("n_next ≠ 1", "n_next = 1")
    assert wording.comparison(first_loop(model(SUM))) is None
    assert wording.kind(first_loop(model(COUNT)), 3) == "for loop with a condition"


def test_the_main_graph() -> None:
    main = sample("newton_sqrt.onnx")[0].graph
    items: tuple[Item, ...] = listing(main, None)
    assert items[0].left == "x0" and items[0].right.startswith("Max(a, 1.0)")
    assert items[-1].right == "Loop 'sqrt'(_, keep0, x0, err0)"
    assert all(i.kind is Kind.NODE for i in items)
