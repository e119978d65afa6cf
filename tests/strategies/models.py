"""Random programs with loops. Each kind of feature has a name and can be switched on alone.

Floats are whole numbers, and what goes into a sum or a product is brought below 16 before, so that every order of
adding gives the same bits; only ``smooth`` programs leave that out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

from .draws import Draw, FromHypothesis
from .loops import Loops
from .nodes import Scope
from .programs import STRING, Body, Program, Type, Value, pruned

#: What a program may have beside arithmetic on carried values, by name.
FEATURES: Mapping[str, str] = {
    "rows": "tensors of any number of rows, which differs from run to run",
    "growing": "carried values that get more or fewer rows",
    "counted": "values that are as long as the numbers say",
    "delayed": "back edges that take what another one had, or take the same as another one, in any order",
    "direct": "parameters, iteration numbers and captures as results and scan outputs of a body",
    "products": "MatMul and Gemm, of one element as well",
    "hot": "loops of single numbers, of hundreds of iterations",
    "condition": "condition inputs that are carried on, scanned or computed with, and loops without a condition",
    "nested": "inner loops, which are entered again with other shapes and capture what grows outside",
    "branches": "Ifs",
    "strings": "strings",
    "scan": "Scan instead of Loop",
    "openvino": "OpenVINO's Loop and TensorIterator instead of ONNX's loops",
    "failing": "nodes that fail in some iterations, and loops that cannot be entered",
    "smooth": "Tanh, whose last bit is not everywhere the same",
}

#: What a run finds in integers that decide something, (lowest, highest).
_RANGES = {"M": (0, 6), "K": (0, 3), "bound": (-3, 9)}
_HOT = (205, 420)


def feeds(program: Program, draw: Draw) -> dict[str, Any]:
    """Inputs for a program; each named extent is one number in all of them."""
    extents: dict[str, int] = {}
    made = {}
    for value in program.inputs:
        shape = [
            d if isinstance(d, int) else extents.setdefault(d, draw.integer(0 if draw.chance(15) else 1, 5))
            for d in value.type.shape
        ]
        made[value.name] = _feed(program, value, shape, draw)
    return made


def _feed(program: Program, value: Value, shape: list[int], draw: Draw) -> Any:
    count = int(np.prod(shape, dtype=int))
    dtype = value.type.dtype
    if dtype == STRING:
        flat: list[Any] = [draw.pick(("", "a", "bc", "é")) for _ in range(count)]
    elif dtype == "bool":
        flat = [value.name == "yes" or draw.chance(60) for _ in range(count)]
    else:
        low, high = _RANGES.get(value.name, (-4, 4))
        if value.name == "M" and "hot" in program.features:
            low, high = _HOT if draw.chance(70) else (0, 12)
        if value.name in ("M", "K") and draw.chance(8):
            low = high = -1
        flat = [draw.integer(low, high) for _ in range(count)]
    return np.array(flat, value.type.numpy).reshape(shape)


def program(draw: Draw, features: Collection[str]) -> Program:
    """A program with some of the features: at least one loop, and outputs that show all that its loops give."""
    return _Maker(draw, frozenset(features)).program()


@st.composite
def cases(draw: st.DrawFn, features: Collection[str]) -> tuple[Program, dict[str, Any], dict[str, Any]]:
    """For hypothesis: a program and two runs of it."""
    made = program(FromHypothesis(draw), features)
    return made, feeds(made, FromHypothesis(draw)), feeds(made, FromHypothesis(draw))


class _Maker(Loops):
    """Makes a whole program."""

    def program(self) -> Program:
        body = Body()
        inputs = self.inputs()
        scope = Scope(body, list(inputs), set())
        for _ in range(self.draw.integer(0, 2)):
            self.node(scope, 0)
        outputs: list[Value] = []
        for _ in range(1 if self.draw.chance(70) else 2):
            outputs += self.loop(scope, 0).outputs
        if self.draw.chance(30):
            before = len(scope.values)
            self.node(scope, 0)
            outputs += scope.values[before:][-1:]
        made = Program("openvino" if self.openvino else "onnx", inputs, body, outputs, self.features)
        return pruned(made)

    def inputs(self) -> list[Value]:
        made = [
            Value("M", Type("int64")),
            Value("K", Type("int64")),
            Value("bound", Type("int64")),
            Value("yes", Type("bool")),
            Value("flag", Type("bool")),
            Value("f", Type("float32")),
            Value("g", Type("float64")),
            Value("k", Type("int64")),
            Value("one", Type("float32", (1,))),
            Value("cell", Type("float32", (1, 1))),
        ]
        if self.has("products"):
            made += [Value("W1", Type("float32", (1, 1))), Value("I1", Type("int64", (1, 1)))]
        if "hot" not in self.features:
            made += [Value("v", Type("float32", (3,))), Value("row", Type("float32", (1, 2)))]
            if self.has("products"):
                made.append(Value("W2", Type("float32", (2, 2))))
            if self.features & {"rows", "growing", "counted", "delayed", "nested", "scan", "openvino"}:
                made += [Value("x", Type("float32", ("n", 2))), Value("z", Type("float32", ("m", 2)))]
                made += [Value("w", Type("float32", ("n", 2)))]
        if self.has("strings") and not self.openvino:
            made += [Value("s", Type(STRING)), Value("names", Type(STRING, (2,)))]
        return made
