"""ONNX graphs that are written node by node, and loops that carry the values of such graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .draws import ChoiceSource

F32, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
value_info = helper.make_tensor_value_info


class OnnxGraphWriter:
    """The nodes of a graph so far, and the constants that they read."""

    def __init__(self, draw: ChoiceSource) -> None:
        self.draw, self._name_count = draw, 0
        self.rng = np.random.default_rng(draw.integer(0, 999))
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def name(self) -> str:
        self._name_count += 1
        return f"v{self._name_count}"

    def add(self, op_type: str, *inputs: str, outputs: int = 1, domain: str = "", **attributes: Any) -> str:
        """Write a node; returns the name of its first output."""
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op_type, inputs, names, domain=domain, **attributes))
        return names[0]

    def constant(self, array: Any) -> str:
        name = self.name()
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def graph(
        self, name: str, inputs: Sequence[onnx.ValueInfoProto], write: Callable[[], list[onnx.ValueInfoProto]]
    ) -> onnx.GraphProto:
        """A subgraph: the nodes written by ``write``, which returns its outputs."""
        around, self.nodes = self.nodes, []
        outputs = write()
        inner, self.nodes = self.nodes, around
        return helper.make_graph(inner, name, inputs, outputs)


class CarriedLoopWriter(OnnxGraphWriter):
    """The body of a loop with one to three carried values of one kind, each computed from others."""

    def declare_value(self, name: str) -> onnx.ValueInfoProto:
        """Declare a value of the kind."""
        raise NotImplementedError

    def emit_update(self, x: str, i: str) -> str:
        """Emit another value of the kind, in iteration ``i``."""
        raise NotImplementedError

    def emit_summary(self, x: str, i: str) -> str:
        """Emit a number that depends on a value."""
        raise NotImplementedError

    def emit_if(self, known: list[str], i: str) -> str:
        """Emit an If, which computes in two ways, depending on the iteration."""
        even = self.add("Equal", self.add("Mod", i, self.constant(2)), self.constant(0))

        def write() -> list[onnx.ValueInfoProto]:
            return [self.declare_value(self.emit_update(self.draw.pick(known), i))]

        return self.add(
            "If", even, **{side: self.graph("branch", [], write) for side in ("then_branch", "else_branch")}
        )

    def emit_inner_loop(self, known: list[str], i: str) -> str:
        """Emit an inner loop, which changes its carried values, or perhaps those of the outer loop."""
        param, j, go = self.name(), self.name(), self.name()

        def write() -> list[onnx.ValueInfoProto]:
            result = self.emit_update(self.draw.pick([param, param, *known]), j)
            result = self.emit_update(result, i) if self.draw.chance(50) else result
            return [value_info(self.add("Identity", go), BOOL, []), self.declare_value(result)]

        body = self.graph("inner", [value_info(j, I64, []), value_info(go, BOOL, []), self.declare_value(param)], write)
        return self.add("Loop", self.constant(self.draw.integer(0, 4)), "", self.draw.pick(known), body=body)

    def _body(self, params: list[str]) -> list[onnx.ValueInfoProto]:
        draw, known = self.draw, list(params)
        for _ in range(draw.integer(1, 5)):
            last = known[-1] if draw.chance(60) else draw.pick(known)
            match draw.integer(0, 9):
                case 0:
                    known.append(self.emit_if(known, "i"))
                case 1:
                    known.append(self.emit_inner_loop(known, "i"))
                case _:
                    known.append(self.emit_update(last, "i"))
        picked = [draw.pick([*known[-2:], known[-1], *known]) for _ in params]
        results = [self.add("Identity", x) if draw.chance(10) else x for x in picked]
        seen = self.emit_summary(draw.pick(known), "i")
        keep = self.add("Identity", "more")
        # ONNX lets several outputs of a body have one name, but not every runtime does.
        ends = [x if x not in params and results.count(x) == 1 else self.add("Identity", x) for x in results]
        return [value_info(keep, BOOL, []), *map(self.declare_value, ends), value_info(seen, F32, [])]

    def model(self, opset: int) -> tuple[onnx.ModelProto, list[str]]:
        """A model with the loop, which runs ``M`` times, and the names of its initial values."""
        count = range(self.draw.integer(1, 3))
        params, first, last = ([f"{letter}{k}" for k in count] for letter in "cxy")
        inputs = [value_info("i", I64, []), value_info("more", BOOL, []), *map(self.declare_value, params)]
        body = self.graph("body", inputs, lambda: self._body(params))
        graph = helper.make_graph(
            [helper.make_node("Loop", ["M", "", *first], [*last, "ys"], body=body)],
            "carrying",
            [value_info("M", I64, []), *map(self.declare_value, first)],
            [*map(self.declare_value, last), value_info("ys", F32, ["n"])],
            self.constants,
        )
        opsets = [helper.make_opsetid("", opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10), first
