"""Losses that are injected into one node and one iteration of a loop, and have to be located there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdbg.debugger.precision.runs import PrecisionRuns
from text_models import model

_TRIPS, _COUNT = 6, 4
_X0 = np.array([0.25, 1.5, -0.75], np.float32)
#: How a node loses what it reads, and the operators that do it.
_LOSSES = {
    "absorbed": ("v = Add ({value}, big) w = Sub (v, big)", {"Add", "Sub"}),
    "underflow": ("v = Mul ({value}, tiny) w = Div (v, tiny)", {"Mul", "Div"}),
    "overflow": ("v = Mul ({value}, huge) w = Div (v, huge)", {"Mul", "Div"}),
    "cancelled": ("v = Add ({value}, odd) w = Sub (v, odd)", {"Add", "Sub"}),
    "epsilon": (
        "v = Add ({value}, small) u = Sub (v, {value}) q = Div (u, small) w = Mul ({value}, q)",
        {"Add", "Sub", "Div", "Mul"},
    ),
    "squared": (
        "v = Mul ({value}, large) u = Mul (v, v) q = Div (u, v) w = Div (q, large)",
        {"Mul", "Div"},
    ),
    "root": (
        "v = Mul ({value}, fine) u = Mul (v, v) q = Sqrt (u) m = Div (q, fine) sign = Sign ({value}) w = Mul (m, sign)",
        {"Mul", "Sqrt", "Div", "Sign"},
    ),
    "product": ("weights = Mul (eye, heavy) v = MatMul ({value}, weights) w = Div (v, heavy)", {"MatMul", "Div"}),
}
_OPERANDS = {
    "big": "big = Where (hit, b, zero)",
    "odd": "odd = Where (hit, o, zero)",
    "tiny": "tiny = Where (hit, t, one)",
    "huge": "huge = Where (hit, h, one)",
    "small": "small = Where (hit, e, one)",
    "large": "large = Where (hit, l, one)",
    "fine": "fine = Where (hit, f, one)",
    "heavy": "heavy = Where (hit, h, one)",
}
#: Loss, position in the body, iteration.
CASES = [(loss, position, (2 * k + position) % _TRIPS) for k, loss in enumerate(_LOSSES) for position in range(_COUNT)]


def lossy_text(loss: str, position: int, iteration: int, kind: str = "float") -> str:
    """A loop of steps that are exact in float16, of which one loses digits in one iteration."""
    lines, value = [], "x_in"
    for k in range(_COUNT):
        if k == position:
            lines.append(_LOSSES[loss][0].format(value=value))
            value = "w"
        lines.append(f"s{k} = Mul ({value}, {('two', 'half')[k % 2]})")
        value = f"s{k}"
    numbers = {"two": 2, "half": 0.5, "zero": 0, "one": 1, "b": 2048, "t": 2**-24, "h": 60000, "o": 1234.5, "e": 2**-14}
    numbers |= {"l": 512, "f": 2**-20}
    head = " ".join(
        f"{name} = Constant <value = float {{{float(number)!r}}}> ()"
        if kind == "float"
        else f"{name}0 = Constant <value = float {{{float(number)!r}}}> () {name} = Cast <to = 10> ({name}0)"
        for name, number in numbers.items()
    )
    head += " flat = Constant <value = float[9] {1, 0, 0, 0, 1, 0, 0, 0, 1}> ()"
    head += " square = Constant <value = int64[2] {3, 3}> ()"
    eye = "eye = Reshape (flat, square)"
    head += f" {eye}" if kind == "float" else f" {eye.replace('eye', 'wide')} eye = Cast <to = 10> (wide)"
    body = " ".join(lines)
    return f"""g (int64 M, {kind}[3] x0) => ({kind}[3] x) {{
        {head} when = Constant <value = int64 {{{iteration}}}> ()
        x = Loop <body = body (int64 i, bool c, {kind}[3] x_in) => (bool keep, {kind}[3] x_out) {{
            keep = Identity (c) hit = Equal (i, when)
            {" ".join(operand for name, operand in _OPERANDS.items() if name in _LOSSES[loss][0])}
            {body} x_out = Neg ({value})
        }}> (M, , x0)
    }}"""


def exact_values() -> Any:
    """The carried value after each iteration, in NumPy's float64."""
    x, rows = _X0.astype(np.float64), []
    for _ in range(_TRIPS):
        for k in range(_COUNT):
            x = x * (2.0, 0.5)[k % 2]
        x = -x
        rows.append(x)
    return rows


def test_there_are_at_least_twenty() -> None:
    assert len(CASES) == len(set(CASES)) == 32


@pytest.mark.parametrize(("loss", "position", "iteration"), CASES)
def test_loss_is_located_at_its_node_and_iteration(loss: str, position: int, iteration: int) -> None:
    loaded = model(lossy_text(loss, position, iteration))
    inputs = {"M": _TRIPS, "x0": _X0}
    np.testing.assert_array_equal(np.asarray(loaded.run(inputs)["x"]), exact_values()[-1])
    precision = loaded.precision(inputs, tolerance=1e-6)
    assert precision.first_loss is not None
    assert precision.first_loss.iteration == iteration
    kinds = _LOSSES[loss][1]
    assert precision.first_loss.name in ("v", "u", "q", "w")
    assert precision.first_loss.node.split(" ")[0] in kinds
    # Nodes that are narrow alone: only those of the loss cost anything.
    costly = {node.op_type for node in precision.nodes if node.error}
    assert costly and costly <= set(kinds)
    assert precision.wide_nodes is not None and precision.wide_nodes.error == 0
    assert {node.op_type for node in precision.wide_nodes.nodes} <= set(kinds)


@pytest.mark.parametrize(("loss", "position", "iteration"), CASES[::3])
def test_narrow_run_is_that_of_a_float16_file(loss: str, position: int, iteration: int) -> None:
    """A file in which every value is float16, and NumPy's float64."""
    loaded = model(lossy_text(loss, position, iteration))
    inputs = {"M": _TRIPS, "x0": _X0}
    runs = PrecisionRuns(loaded, inputs, "float16")
    narrow = runs.run(runs.nodes).outputs
    file = model(lossy_text(loss, position, iteration, "float16")).run({**inputs, "x0": _X0.astype(np.float16)})["x"]
    assert narrow is not None
    np.testing.assert_array_equal(np.asarray(narrow["x"]), np.asarray(file).astype(np.float32))
    carried = next(value for value in loaded.precision(inputs).values if value.carried)
    expected = exact_values()[-1]
    difference = np.abs(np.asarray(file).astype(np.float64) - expected)
    finite = np.isfinite(difference)
    if finite.all():
        assert carried.metrics["absolute"][-1] == difference.max()
        assert carried.errors[-1] == pytest.approx(difference.max() / np.abs(expected).max())
        assert carried.metrics["ulp"][-1] == pytest.approx(
            (difference / np.spacing(np.abs(expected).astype(np.float32)).astype(np.float64)).max()
        )
    else:
        assert carried.errors[-1] == np.inf
