"""Random programs with loops. Each kind of feature has a name and can be enabled alone.

Floats are integers, and the operands of sums and products are first reduced below 16, so that every order of addition
gives the same bits; only ``smooth`` programs omit that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

from .draws import ChoiceSource, HypothesisChoices
from .loop_generator import LoopGenerator
from .node_generator import GeneratorScope
from .program import STRING, Program, ProgramBody, ProgramValue, ValueType, prune

#: The features of a program beyond arithmetic on carried values, by name.
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

#: The ranges (lowest, highest) of integer inputs that control something.
_INPUT_RANGES = {"M": (0, 6), "K": (0, 3), "bound": (-3, 9)}
_HOT_TRIP_COUNTS = (205, 420)


def draw_feeds(program: Program, draw: ChoiceSource) -> dict[str, Any]:
    """Inputs for a program; each symbolic extent has one value in all of them."""
    extents: dict[str, int] = {}
    results = {}
    for value in program.inputs:
        shape = [
            d if isinstance(d, int) else extents.setdefault(d, draw.integer(0 if draw.chance(15) else 1, 5))
            for d in value.type.shape
        ]
        results[value.name] = _draw_feed(program, value, shape, draw)
    return results


def _draw_feed(program: Program, value: ProgramValue, shape: list[int], draw: ChoiceSource) -> Any:
    count = int(np.prod(shape, dtype=int))
    dtype = value.type.dtype
    if dtype == STRING:
        flat: list[Any] = [draw.pick(("", "a", "bc", "é")) for _ in range(count)]
    elif dtype == "bool":
        flat = [value.name == "yes" or draw.chance(60) for _ in range(count)]
    else:
        low, high = _INPUT_RANGES.get(value.name, (-4, 4))
        if value.name == "M" and "hot" in program.features:
            low, high = _HOT_TRIP_COUNTS if draw.chance(70) else (0, 12)
        if value.name in ("M", "K") and draw.chance(8):
            low = high = -1
        flat = [draw.integer(low, high) for _ in range(count)]
    return np.array(flat, value.type.numpy).reshape(shape)


def draw_program(draw: ChoiceSource, features: Collection[str]) -> Program:
    """A program with some of the features: at least one loop, and outputs that show all results of its loops."""
    return _ProgramGenerator(draw, frozenset(features)).program()


@st.composite
def program_cases(draw: st.DrawFn, features: Collection[str]) -> tuple[Program, dict[str, Any], dict[str, Any]]:
    """A hypothesis strategy for a program and two runs of it."""
    result = draw_program(HypothesisChoices(draw), features)
    return result, draw_feeds(result, HypothesisChoices(draw)), draw_feeds(result, HypothesisChoices(draw))


class _ProgramGenerator(LoopGenerator):
    """Generates a complete program."""

    def program(self) -> Program:
        body = ProgramBody()
        inputs = self.inputs()
        scope = GeneratorScope(body, list(inputs), set())
        for _ in range(self.draw.integer(0, 2)):
            self.node(scope, 0)
        outputs: list[ProgramValue] = []
        for _ in range(1 if self.draw.chance(70) else 2):
            outputs += self.loop(scope, 0).outputs
        if self.draw.chance(30):
            before = len(scope.values)
            self.node(scope, 0)
            outputs += scope.values[before:][-1:]
        result = Program("openvino" if self.openvino else "onnx", inputs, body, outputs, self.features)
        return prune(result)

    def inputs(self) -> list[ProgramValue]:
        results = [
            ProgramValue("M", ValueType("int64")),
            ProgramValue("K", ValueType("int64")),
            ProgramValue("bound", ValueType("int64")),
            ProgramValue("yes", ValueType("bool")),
            ProgramValue("flag", ValueType("bool")),
            ProgramValue("f", ValueType("float32")),
            ProgramValue("g", ValueType("float64")),
            ProgramValue("k", ValueType("int64")),
            ProgramValue("one", ValueType("float32", (1,))),
            ProgramValue("cell", ValueType("float32", (1, 1))),
        ]
        if self.draws_feature("products"):
            results += [
                ProgramValue("W1", ValueType("float32", (1, 1))),
                ProgramValue("I1", ValueType("int64", (1, 1))),
            ]
        if "hot" not in self.features:
            results += [
                ProgramValue("v", ValueType("float32", (3,))),
                ProgramValue("row", ValueType("float32", (1, 2))),
            ]
            if self.draws_feature("products"):
                results.append(ProgramValue("W2", ValueType("float32", (2, 2))))
            if self.features & {"rows", "growing", "counted", "delayed", "nested", "scan", "openvino"}:
                results += [
                    ProgramValue("x", ValueType("float32", ("n", 2))),
                    ProgramValue("z", ValueType("float32", ("m", 2))),
                ]
                results += [ProgramValue("w", ValueType("float32", ("n", 2)))]
        if self.draws_feature("strings") and not self.openvino:
            results += [ProgramValue("s", ValueType(STRING)), ProgramValue("names", ValueType(STRING, (2,)))]
        return results
