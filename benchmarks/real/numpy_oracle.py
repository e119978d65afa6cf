"""Loops of ONNX, run node by node by NumPy and onnx.reference: slow, and independent of the measured engine."""

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
    """One iteration of a loop of the main graph; ``values``: all its values; ``node_results``: its nodes in order, with
    results."""

    values: Values
    node_results: list[tuple[onnx.NodeProto, list[Any]]] = field(default_factory=list)
    #: The results of the body, without the condition of a Loop.
    results: list[Any] = field(default_factory=list)


class NumpyRun:
    """One run of a model. ``loops``: the iterations of each loop of the main graph, by the name of its node;
    ``nodes_before_loop``: the nodes of the main graph that ran before the last loop, with their results."""

    def __init__(self, model: onnx.ModelProto, feeds: Mapping[str, Any]) -> None:
        self.model = model
        self._opsets = list(model.opset_import)
        self._ready: dict[str, ReferenceEvaluator] = {}
        self.loops: dict[str, list[LoopIteration]] = {}
        self.nodes_before_loop: list[tuple[onnx.NodeProto, list[Any]]] = []
        self._main: list[tuple[onnx.NodeProto, list[Any]]] = []
        with np.errstate(all="ignore"):
            self.values = self._run_graph(model.graph, dict(feeds), None)

    def _run_graph(self, graph: onnx.GraphProto, values: Values, record: LoopIteration | None) -> Values:
        """All values of a graph; the results of its nodes are added to ``record``."""
        for tensor in graph.initializer:
            values[tensor.name] = onnx.numpy_helper.to_array(tensor)
        pending, deferred = list(graph.node), 0
        while pending:
            node = pending.pop(0)
            try:
                outs = self._run_node(node, values, record)
            except KeyError:
                # Its inputs come later: quantisation tools write graphs out of order.
                pending.append(node)
                deferred += 1
                if deferred > len(pending):
                    raise
                continue
            deferred = 0
            values.update(zip(node.output, outs, strict=False))
            (self._main if record is None else record.node_results).append((node, outs))
        return values

    def _run_node(self, node: onnx.NodeProto, values: Values, record: LoopIteration | None) -> list[Any]:
        args = [values[name] if name else None for name in node.input]
        attributes = {x.name: onnx.helper.get_attribute_value(x) for x in node.attribute}
        if node.op_type == "If":
            branch = attributes["then_branch" if np.asarray(args[0]).all() else "else_branch"]
            inner = self._run_graph(branch, dict(values), record)
            return [inner[value.name] for value in branch.output]
        if node.op_type in ("Loop", "Scan"):
            # A loop inside another one is covered by the iterations of the outer one.
            steps: list[LoopIteration] = []
            results = list(
                {"Loop": self._run_loop, "Scan": self._run_scan}[node.op_type](attributes, args, values, steps)
            )
            if record is None:
                self.loops[node.name], self.nodes_before_loop = steps, list(self._main)
            return results
        if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            return [_quantize_dynamically(node.op_type, *args)]
        halves = node.op_type != "Cast" and any(isinstance(x, np.ndarray) and x.dtype == np.float16 for x in args)
        return self._rounded(node, args) if halves else self._run_operator(node, args)

    def _rounded(self, node: onnx.NodeProto, args: list[Any]) -> list[Any]:
        """In float16: sums inside a node are float32, and its results are rounded, as in runtimes."""
        outs = self._run_operator(node, [_change_type(x, np.float16, np.float32) for x in args])
        return [_change_type(x, np.float32, np.float16) for x in outs]

    def _run_operator(self, node: onnx.NodeProto, args: list[Any]) -> list[Any]:
        key = node.SerializeToString().hex()
        if key not in self._ready:
            ports = [
                [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in dict.fromkeys(names) if name]
                for names in (node.input, node.output)
            ]
            graph = onnx.helper.make_graph([node], "one", *ports)
            model = onnx.helper.make_model(graph, opset_imports=self._opsets)
            self._ready[key] = ReferenceEvaluator(model)
        feeds = {name: data for name, data in zip(node.input, args, strict=True) if name}
        outs = iter(self._ready[key].run(None, feeds))
        return [next(outs) if name else None for name in node.output]

    def _iterate(self, body: onnx.GraphProto, args: list[Any], outer: Values, steps: list[LoopIteration]) -> list[Any]:
        values = {**outer, **dict(zip((value.name for value in body.input), args, strict=True))}
        record = LoopIteration(values)
        steps.append(record)
        self._run_graph(body, values, record)
        return [values[value.name] for value in body.output]

    def _run_loop(self, attributes: Any, args: list[Any], outer: Values, steps: list[LoopIteration]) -> Iterator[Any]:
        body = attributes["body"]
        max_count = None if args[0] is None else int(np.asarray(args[0]).reshape(-1)[0])
        condition = True if args[1] is None else bool(np.asarray(args[1]).all())
        carried, scans = args[2:], []
        while condition and (max_count is None or len(steps) < max_count):
            outs = self._iterate(body, [np.array(len(steps), np.int64), np.array(True), *carried], outer, steps)
            steps[-1].results = outs[1:]
            condition, carried = bool(np.asarray(outs[0]).all()), outs[1 : 1 + len(carried)]
            scans.append(outs[1 + len(carried) :])
        return iter([*carried, *(np.stack(rows) for rows in zip(*scans, strict=True))])

    def _run_scan(self, attributes: Any, args: list[Any], outer: Values, steps: list[LoopIteration]) -> Iterator[Any]:
        body, count = attributes["body"], attributes["num_scan_inputs"]
        carried, parts = args[: len(args) - count], args[len(args) - count :]
        axes = attributes.get("scan_input_axes") or [0] * count
        reverse = attributes.get("scan_input_directions") or [0] * count
        rows = [
            np.moveaxis(part, axis, 0)[:: -1 if backwards else 1]
            for part, axis, backwards in zip(parts, axes, reverse, strict=True)
        ]
        scans = []
        for k in range(len(rows[0])):
            outs = self._iterate(body, [*carried, *(row[k] for row in rows)], outer, steps)
            steps[-1].results = outs
            carried = outs[: len(carried)]
            scans.append(outs[len(carried) :])
        return iter([*carried, *(np.stack(items) for items in zip(*scans, strict=True))])


def _change_type(value: Any, old: Any, new: Any) -> Any:
    return value.astype(new) if isinstance(value, np.ndarray) and value.dtype == old else value


def _quantize_dynamically(op_type: str, x: Any, scale: Any, zero: Any) -> Any:
    """With one scale for all; onnx.reference has only later versions."""
    if op_type == "DequantizeLinear":
        return ((x.astype(np.int32) - zero.astype(np.int32)) * scale).astype(np.float32)
    bounds = np.iinfo(zero.dtype)
    return np.clip(np.rint(x / scale) + zero, bounds.min, bounds.max).astype(zero.dtype)
