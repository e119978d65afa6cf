"""Claims of ``loopdbg diff`` about real models in float32 against float16 and 8 bits, verified with NumPy.

PYTHONPATH=benchmarks python -m real.precision_claims [MODEL ...]

Inputs and weights are scaled so that some models leave the range of float16. There are two 8-bit files: ``int8`` is
ONNX Runtime's dynamic quantisation, whose scales fit the inputs; ``static`` quantises inputs of products in loops with
scales from smaller inputs, so that some values saturate. All claims of diff are verified by a run node by node in
NumPy. Exit status: 1 if the two disagree.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from loopdbg.debugger.compare.report.findings import Comparison, LoopFindings, NodeDifference
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions, compare_sides
from loopdbg.debugger.compare.running.sides import ModelSide
from loopdbg.runtime.model import load
from real import families
from real.model_files import REAL_MODELS, build_model
from real.numpy_oracle import LoopIteration, NumpyRun

Feeds = dict[str, Any]


@dataclass(frozen=True)
class PrecisionCase:
    """A model, with factors of its inputs and of named weights."""

    name: str
    input_scale: float = 1
    weight_scales: Mapping[str, float] = field(default_factory=dict)
    #: Divisor of the inputs that calibrate the scales of ``static``.
    calibration_factor: float = 2


CASES = [
    PrecisionCase("norm_lstm_scan", 10_000, {"ih.weight": 3}),
    PrecisionCase("gru_cell_scan", 10_000, {"cell.weight_ih": 5}),
    PrecisionCase("sru", 12_000),
    PrecisionCase("mamba_scan", 100),
    PrecisionCase("rk4_script", 15_000),
    PrecisionCase("fista", 18_000),
    PrecisionCase("retention", 100),
    PrecisionCase("graph_network", 10_000, {"message.weight": 8}),
    PrecisionCase("refine", 14_000),
    PrecisionCase("rk4_ode", 16_000),
]


@dataclass
class PrecisionClaims:
    """Claims about one pair of files; ``first_beyond_tolerance``: the loop and iteration that first leaves the
    tolerance."""

    first_beyond_tolerance: tuple[str, int] | None
    #: float16: the first node that produces Inf or NaN; 8 bits: the first that saturates. With its iteration and the
    #: number of elements.
    first_blamed_node: tuple[int | None, str, int] | None
    #: The minimum ratio of the largest number of a type to the largest value, and its node.
    headroom: tuple[float, str] | None

    def agrees(self, other: PrecisionClaims) -> bool:
        """Compare claims; products may be summed in another order, so headroom may differ by a thousandth."""
        headrooms = [claims.headroom or (0.0, "") for claims in (self, other)]
        is_close = abs(headrooms[0][0] - headrooms[1][0]) <= 1e-3 * headrooms[0][0]
        return (
            self.first_beyond_tolerance == other.first_beyond_tolerance
            and self.first_blamed_node == other.first_blamed_node
            and is_close
        )

    def __str__(self) -> str:
        beyond = "same" if self.first_beyond_tolerance is None else f"iteration {self.first_beyond_tolerance[1]}"
        first = (
            "none"
            if self.first_blamed_node is None
            else f"{self.first_blamed_node[1]} {_iteration_text(self.first_blamed_node[0])} "
            f"({self.first_blamed_node[2]})"
        )
        headroom_text = "" if self.headroom is None else f"{self.headroom[0]:.4g}x at {self.headroom[1]}"
        return f"{beyond} | {first} | {headroom_text}"


def _iteration_text(iteration: int | None) -> str:
    return "before the loop" if iteration is None else f"in {iteration}"


# -- the files


def all_graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """A graph and those inside it."""
    yield graph
    for attribute in (attribute for node in graph.node for attribute in node.attribute):
        for inner in (attribute.g, *attribute.graphs) if attribute.HasField("g") or attribute.graphs else ():
            yield from all_graphs(inner)


def scale_weights(path: Path, weights: Mapping[str, float]) -> onnx.ModelProto:
    """Return a model with some weights scaled."""
    model = onnx.load(path)
    for tensor in (
        tensor for graph in all_graphs(model.graph) for tensor in graph.initializer if tensor.name in weights
    ):
        data = numpy_helper.to_array(tensor)
        changed = (data.astype(np.float32) * np.float32(weights[tensor.name])).astype(data.dtype)
        tensor.CopyFrom(numpy_helper.from_array(changed, tensor.name))
    return model


def quantize_statically(model: onnx.ModelProto, run: NumpyRun) -> onnx.ModelProto:
    """Return the model with quantised inputs of products in loops; the scales are from the values in ``run``."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for node in result.graph.node:
        for body in (attribute.g for attribute in node.attribute if attribute.HasField("g")):
            nodes = []
            for inner in body.node:
                if inner.op_type in ("MatMul", "Gemm"):
                    nodes += _fake_quantize_input(body, inner, run.loops[node.name])
                nodes.append(inner)
            del body.node[:]
            body.node.extend(nodes)
    return result


def _fake_quantize_input(
    body: onnx.GraphProto, node: onnx.NodeProto, iterations: list[LoopIteration]
) -> list[onnx.NodeProto]:
    """Quantise and dequantise the first factor of a product; the node then reads the result."""
    source, name = node.input[0], f"{node.name}/q"
    largest = max(float(np.abs(record.values[source].astype(np.float64)).max()) for record in iterations)
    body.initializer.append(numpy_helper.from_array(np.array(largest / 127 or 1, np.float32), f"{name}_scale"))
    body.initializer.append(numpy_helper.from_array(np.array(0, np.int8), f"{name}_zero"))
    ports = [f"{name}_scale", f"{name}_zero"]
    node.input[0] = f"{name}_back"
    return [
        onnx.helper.make_node("QuantizeLinear", [source, *ports], [f"{name}_bytes"], name),
        onnx.helper.make_node("DequantizeLinear", [f"{name}_bytes", *ports], [f"{name}_back"], f"{name}_back"),
    ]


# -- claims of diff


def compare_models(left: Path, right: Path, feeds: Feeds, narrow: Feeds) -> Comparison:
    """Compare the two files, each with its inputs."""
    sides = [ModelSide(load(path), inputs, None, path.stem) for path, inputs in ((left, feeds), (right, narrow))]
    return compare_sides(sides[0], sides[1], ComparisonOptions())


def claims_of_diff(diff: Comparison) -> PrecisionClaims:
    """Return the claims of diff: of the first loop with findings."""
    first = diff.first
    beyond = None if first is None or first.first is None else (_loop_name(first), first.first.iteration or 0)
    out = [_first_out_of_range(loop) for loop in diff.loops]
    headrooms = [(item.headroom, item.node) for loop in diff.loops for item in loop.saturations]
    headrooms += [
        (loop.body_headroom.headroom, loop.body_headroom.node) for loop in diff.loops if loop.body_headroom is not None
    ]
    return PrecisionClaims(beyond, next((item for item in out if item is not None), None), min(headrooms, default=None))


def _loop_name(loop: LoopFindings) -> str:
    return loop.left.rpartition(" ▸ ")[2]


def _first_out_of_range(loop: LoopFindings) -> tuple[int | None, str, int] | None:
    first_saturated = [item.first_saturated for item in loop.saturations if item.first_saturated is not None]
    if loop.body_headroom is not None and loop.body_headroom.first_nonfinite is not None:
        first_saturated.append(loop.body_headroom.first_nonfinite)
    return min(
        ((item.iteration, item.node, item.count) for item in first_saturated),
        key=lambda item: -1 if item[0] is None else item[0],
        default=None,
    )


# -- claims of NumPy


def claims_of_numpy(full: NumpyRun, narrow: NumpyRun, kind: str) -> PrecisionClaims:
    """Return the same from two runs in NumPy."""
    is_close = _tolerance_check(*_tolerance(kind))
    beyond: list[tuple[str, int]] = []
    for (name, records), others in zip(full.loops.items(), narrow.loops.values(), strict=True):
        for k, (x, other) in enumerate(zip(records, others, strict=True)):
            if not beyond and not all(map(is_close, x.results, other.results)):
                beyond.append((name, k))
    check_range = _float16_headrooms if kind == "fp16" else _int8_headrooms
    ranges = [x for loop in narrow.loops.values() for k, step in enumerate(loop) for x in check_range(k, step)]
    if kind == "fp16":
        ranges = [*check_range(None, LoopIteration(narrow.values, narrow.nodes_before_loop)), *ranges]
    first = next(((k, name, count) for k, name, count, _ in ranges if count), None)
    return PrecisionClaims(
        next(iter(beyond), None), first, min(((headroom, name) for _, name, _, headroom in ranges), default=None)
    )


def _tolerance(kind: str) -> tuple[float, float, float]:
    return (1e-2, 1e-3, 0.0) if kind == "fp16" else (1e-4, 1e-5, 0.05)


def _tolerance_check(rtol: float, atol: float, peak: float) -> Any:
    def is_close(left: Any, right: Any) -> bool:
        if isinstance(left, list) or np.asarray(left).dtype.kind not in "f":
            return True
        a, b = left.astype(np.float64), right.astype(np.float64)
        with np.errstate(all="ignore"):
            limit = np.maximum(atol + rtol * np.abs(b), peak * np.abs(b[np.isfinite(b)]).max(initial=0.0))
            return bool(((np.abs(a - b) <= limit) | (a == b) | (np.isnan(a) & np.isnan(b))).all())

    return is_close


def _float16_headrooms(k: int | None, record: LoopIteration) -> Iterator[tuple[int | None, str, int, float]]:
    """For each node in float16: the number of non-finite results of finite inputs, and its headroom."""
    for node, results in record.node_results:
        args = [record.values.get(name) for name in node.input if name]
        clean = all(np.isfinite(x).all() for x in args if isinstance(x, np.ndarray) and x.dtype.kind == "f")
        for data in results:
            if isinstance(data, np.ndarray) and data.dtype == np.float16 and data.size:
                finite = np.isfinite(data)
                largest = float(np.abs(data[finite]).max(initial=0))
                count = int((~finite).sum()) if clean else 0
                yield k, node.name, count, 65504 / largest if largest else np.inf


def _int8_headrooms(k: int | None, record: LoopIteration) -> Iterator[tuple[int | None, str, int, float]]:
    """For each QuantizeLinear: the number of saturated elements, and its headroom."""
    for node, _ in record.node_results:
        if node.op_type == "QuantizeLinear":
            x, scale = (record.values[name].astype(np.float64) for name in node.input[:2])
            levels = np.rint(x / scale)
            headroom = np.where(x < 0, 128, 127) * scale / np.maximum(np.abs(x), 1e-300)
            yield k, node.name, int(((levels > 127) | (levels < -128)).sum()), float(headroom.min())


def confirm_blamed_node(node: NodeDifference, claim: LoopFindings, full: NumpyRun, narrow: NumpyRun, kind: str) -> bool:
    """Whether NumPy confirms the values of the node that diff blames, and its inputs are within the tolerance."""
    d, runs = node.difference, (full, narrow)
    loop = list(full.loops).index(_loop_name(claim))
    values = [run.values if d.iteration is None else list(run.loops.values())[loop][d.iteration].values for run in runs]
    is_close = _tolerance_check(*_tolerance(kind))
    pairs = [(values[0].get(d.name), d.left), (values[1].get(d.other), d.right)]
    if not all(claimed is None or is_close(actual, claimed) for claimed, actual in pairs):
        return False
    left, right = (_find_node(run.model, name) for run, name in zip(runs, (node.node, node.other), strict=True))
    if left is None and right is not None:
        left = right  # the wide file has no such node
    if left is None or right is None or left.op_type != right.op_type:
        return True
    args = [(values[0].get(a), values[1].get(b)) for a, b in zip(left.input, right.input, strict=False) if a and b]
    return all(is_close(*pair) for pair in args if pair[0] is not None and pair[1] is not None)


def _find_node(model: onnx.ModelProto, name: str) -> onnx.NodeProto | None:
    return next((node for graph in all_graphs(model.graph) for node in graph.node if node.name == name), None)


# -- the table


def compare_claims(case: PrecisionCase) -> Iterator[tuple[str, PrecisionClaims, PrecisionClaims, str]]:
    """For each narrow file of a model: the claims of diff and of NumPy, and the node that diff blames."""
    built = build_model(REAL_MODELS[case.name])
    feeds = {
        name: value * np.float32(case.input_scale) if value.dtype == np.float32 else value
        for name, value in built.inputs("fp32").items()
    }
    half = {name: value.astype(np.float16) if value.dtype == np.float32 else value for name, value in feeds.items()}
    smaller = {
        name: value / np.float32(case.calibration_factor) if value.dtype == np.float32 else value
        for name, value in feeds.items()
    }
    scaled = scale_weights(built.folder / "fp32.onnx", case.weight_scales)
    files = {
        "fp16": scale_weights(built.folder / "fp16.onnx", case.weight_scales),
        "static": quantize_statically(scaled, NumpyRun(scaled, smaller)),
    }
    original = onnx.load(built.folder / "fp32.onnx")
    folder = built.folder / "precision"
    folder.mkdir(exist_ok=True)
    for kind, left, right, narrow in (
        ("fp16", scaled, files["fp16"], half),
        ("int8", original, onnx.load(built.folder / "int8.onnx"), feeds),
        ("static", scaled, files["static"], feeds),
    ):
        onnx.save(left, folder / "fp32.onnx")
        onnx.save(right, folder / f"{kind}.onnx")
        diff = compare_models(folder / "fp32.onnx", folder / f"{kind}.onnx", feeds, narrow)
        runs = NumpyRun(left, feeds), NumpyRun(right, narrow)
        node = None if diff.first is None else diff.first.node
        blamed = "" if node is None else f"{node.op_type} {node.node}"
        if node is not None and diff.first is not None and not confirm_blamed_node(node, diff.first, *runs, kind):
            blamed += " (not so in NumPy)"
        yield kind, claims_of_diff(diff), claims_of_numpy(*runs, kind), blamed


def main(names: list[str]) -> int:
    """Print the table."""
    families.load()
    status = 0
    print("| model | file | leaves the tolerance | first out of range | headroom | node that differs first | NumPy |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for case in CASES:
        if names and case.name not in names:
            continue
        for kind, ours, numpy, node in compare_claims(case):
            right = ours.agrees(numpy) and "not so" not in node
            status |= not right
            print(f"| {case.name} | {kind} | {ours} | {node} | {'the same' if right else numpy} |", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
