"""Loops of ONNX, run node by node by NumPy and onnx.reference: slow, and independent of the engine that is measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

Values = dict[str, Any]


@dataclass
class LoopIteration:
    """What one iteration of a loop of the main graph read and made; ``made``: its nodes in order, and their results."""

    values: Values
    node_results: list[tuple[onnx.NodeProto, list[Any]]] = field(default_factory=list)
    #: What the body gave: the condition of a Loop left out.
    results: list[Any] = field(default_factory=list)


class NumpyRun:
    """One run of a model. ``loops``: the iterations of each loop of the main graph, by the name of its node;
    ``before``: the nodes of the main graph that ran before the last one, with their results."""

    def __init__(self, model: onnx.ModelProto, feeds: Mapping[str, Any]) -> None:
        self.model = model
        self._opsets = list(model.opset_import)
        self._ready: dict[str, ReferenceEvaluator] = {}
        self.loops: dict[str, list[LoopIteration]] = {}
        self.nodes_before_loop: list[tuple[onnx.NodeProto, list[Any]]] = []
        self._main: list[tuple[onnx.NodeProto, list[Any]]] = []
        with np.errstate(all="ignore"):
            self.values = self._graph(model.graph, dict(feeds), None)

    def _graph(self, graph: onnx.GraphProto, values: Values, seen: LoopIteration | None) -> Values:
        """All values of a graph; ``seen`` takes note of what its nodes make."""
        for tensor in graph.initializer:
            values[tensor.name] = onnx.numpy_helper.to_array(tensor)
        waiting, missed = list(graph.node), 0
        while waiting:
            node = waiting.pop(0)
            try:
                made = self._node(node, values, seen)
            except KeyError:
                # Its inputs come later: tools that quantise write graphs out of order.
                waiting.append(node)
                missed += 1
                if missed > len(waiting):
                    raise
                continue
            missed = 0
            values.update(zip(node.output, made, strict=False))
            (self._main if seen is None else seen.node_results).append((node, made))
        return values

    def _node(self, node: onnx.NodeProto, values: Values, seen: LoopIteration | None) -> list[Any]:
        fed = [values[name] if name else None for name in node.input]
        attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        if node.op_type == "If":
            branch = attributes["then_branch" if np.asarray(fed[0]).all() else "else_branch"]
            inner = self._graph(branch, dict(values), seen)
            return [inner[value.name] for value in branch.output]
        if node.op_type in ("Loop", "Scan"):
            # Of what runs in a loop inside the iterations of the loop around it tell.
            found: list[LoopIteration] = []
            results = list({"Loop": self._loop, "Scan": self._scan}[node.op_type](attributes, fed, values, found))
            if seen is None:
                self.loops[node.name], self.nodes_before_loop = found, list(self._main)
            return results
        if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            return [_quantize_dynamically(node.op_type, *fed)]
        halves = node.op_type != "Cast" and any(isinstance(one, np.ndarray) and one.dtype == np.float16 for one in fed)
        return self._rounded(node, fed) if halves else self._operator(node, fed)

    def _rounded(self, node: onnx.NodeProto, fed: list[Any]) -> list[Any]:
        """In float16: sums inside of a node are those of float32, and what it gives is rounded, as runtimes do it."""
        made = self._operator(node, [_change_type(one, np.float16, np.float32) for one in fed])
        return [_change_type(one, np.float32, np.float16) for one in made]

    def _operator(self, node: onnx.NodeProto, fed: list[Any]) -> list[Any]:
        key = node.SerializeToString().hex()
        if key not in self._ready:
            ports = [
                [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in dict.fromkeys(names) if name]
                for names in (node.input, node.output)
            ]
            graph = onnx.helper.make_graph([node], "one", *ports)
            model = onnx.helper.make_model(graph, opset_imports=self._opsets)
            self._ready[key] = ReferenceEvaluator(model)
        feeds = {name: data for name, data in zip(node.input, fed, strict=True) if name}
        made = iter(self._ready[key].run(None, feeds))
        return [next(made) if name else None for name in node.output]

    def _iterate(self, body: onnx.GraphProto, fed: list[Any], outer: Values, found: list[LoopIteration]) -> list[Any]:
        values = {**outer, **dict(zip((value.name for value in body.input), fed, strict=True))}
        seen = LoopIteration(values)
        found.append(seen)
        self._graph(body, values, seen)
        return [values[value.name] for value in body.output]

    def _loop(self, attributes: Any, fed: list[Any], outer: Values, found: list[LoopIteration]) -> Iterator[Any]:
        body = attributes["body"]
        most = None if fed[0] is None else int(np.asarray(fed[0]).reshape(-1)[0])
        go = True if fed[1] is None else bool(np.asarray(fed[1]).all())
        carried, scans = fed[2:], []
        while go and (most is None or len(found) < most):
            made = self._iterate(body, [np.array(len(found), np.int64), np.array(True), *carried], outer, found)
            found[-1].results = made[1:]
            go, carried = bool(np.asarray(made[0]).all()), made[1 : 1 + len(carried)]
            scans.append(made[1 + len(carried) :])
        return iter([*carried, *(np.stack(rows) for rows in zip(*scans, strict=True))])

    def _scan(self, attributes: Any, fed: list[Any], outer: Values, found: list[LoopIteration]) -> Iterator[Any]:
        body, count = attributes["body"], attributes["num_scan_inputs"]
        carried, parts = fed[: len(fed) - count], fed[len(fed) - count :]
        axes = attributes.get("scan_input_axes") or [0] * count
        reverse = attributes.get("scan_input_directions") or [0] * count
        rows = [
            np.moveaxis(part, axis, 0)[:: -1 if back else 1]
            for part, axis, back in zip(parts, axes, reverse, strict=True)
        ]
        scans = []
        for k in range(len(rows[0])):
            made = self._iterate(body, [*carried, *(row[k] for row in rows)], outer, found)
            found[-1].results = made
            carried = made[: len(carried)]
            scans.append(made[len(carried) :])
        return iter([*carried, *(np.stack(one) for one in zip(*scans, strict=True))])


def _change_type(value: Any, old: Any, new: Any) -> Any:
    return value.astype(new) if isinstance(value, np.ndarray) and value.dtype == old else value


def _quantize_dynamically(op_type: str, x: Any, scale: Any, zero: Any) -> Any:
    """With one scale for all; onnx.reference has only later versions."""
    if op_type == "DequantizeLinear":
        return ((x.astype(np.int32) - zero.astype(np.int32)) * scale).astype(np.float32)
    bounds = np.iinfo(zero.dtype)
    return np.clip(np.rint(x / scale) + zero, bounds.min, bounds.max).astype(zero.dtype)
