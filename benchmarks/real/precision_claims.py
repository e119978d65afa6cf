"""What ``loopdbg diff`` says of real models in float32 against float16 and 8 bits, and what NumPy says.

PYTHONPATH=benchmarks python -m real.precision_claims [MODEL ...]

Inputs and weights are multiplied so that some models leave the range of float16. There are two files in 8 bits: of them
``int8`` is ONNX Runtime's dynamic quantisation, whose scales fit what comes in; ``static`` quantises what products in
loops are fed with scales that smaller inputs gave, so that something is cut off. Everything that diff says is held
against a run node by node in NumPy. Exit status: 1 where the two do not agree.
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
    """A model; by what its inputs, and those of its weights that are named, are multiplied."""

    name: str
    input_scale: float = 1
    weight_scales: Mapping[str, float] = field(default_factory=dict)
    #: By what the inputs are divided that the scales of ``static`` are calibrated with.
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
    """What somebody says of one pair of files; ``beyond``: the loop and iteration that first leaves the tolerance."""

    first_beyond_tolerance: tuple[str, int] | None
    #: float16: the first node with Inf or NaN of its own; 8 bits: the first that cuts something off. With its iteration
    #: and how many elements.
    first_blamed_node: tuple[int | None, str, int] | None
    #: The least of the largest numbers that types hold over those that there were, and the node.
    headroom: tuple[float, str] | None

    def agrees(self, other: PrecisionClaims) -> bool:
        """Products may be summed in other orders: the headroom is the same within a thousandth."""
        rooms = [one.headroom or (0.0, "") for one in (self, other)]
        near = abs(rooms[0][0] - rooms[1][0]) <= 1e-3 * rooms[0][0]
        return (
            self.first_beyond_tolerance == other.first_beyond_tolerance
            and self.first_blamed_node == other.first_blamed_node
            and near
        )

    def __str__(self) -> str:
        beyond = "same" if self.first_beyond_tolerance is None else f"iteration {self.first_beyond_tolerance[1]}"
        first = (
            "none"
            if self.first_blamed_node is None
            else f"{self.first_blamed_node[1]} {_iteration_text(self.first_blamed_node[0])} "
            f"({self.first_blamed_node[2]})"
        )
        room = "" if self.headroom is None else f"{self.headroom[0]:.4g}x at {self.headroom[1]}"
        return f"{beyond} | {first} | {room}"


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
    """A model with some weights multiplied."""
    model = onnx.load(path)
    for tensor in (
        tensor for graph in all_graphs(model.graph) for tensor in graph.initializer if tensor.name in weights
    ):
        data = numpy_helper.to_array(tensor)
        changed = (data.astype(np.float32) * np.float32(weights[tensor.name])).astype(data.dtype)
        tensor.CopyFrom(numpy_helper.from_array(changed, tensor.name))
    return model


def quantize_statically(model: onnx.ModelProto, run: NumpyRun) -> onnx.ModelProto:
    """The model with what its products in loops are fed quantised, with scales of what they were fed in ``run``."""
    found = onnx.ModelProto()
    found.CopyFrom(model)
    for node in found.graph.node:
        for body in (one.g for one in node.attribute if one.HasField("g")):
            nodes = []
            for inner in body.node:
                if inner.op_type in ("MatMul", "Gemm"):
                    nodes += _fake_quantize_input(body, inner, run.loops[node.name])
                nodes.append(inner)
            del body.node[:]
            body.node.extend(nodes)
    return found


def _fake_quantize_input(
    body: onnx.GraphProto, node: onnx.NodeProto, iterations: list[LoopIteration]
) -> list[onnx.NodeProto]:
    """What quantises the first factor of a product and gives it back; the node then reads that."""
    fed, own = node.input[0], f"{node.name}/q"
    largest = max(float(np.abs(one.values[fed].astype(np.float64)).max()) for one in iterations)
    body.initializer.append(numpy_helper.from_array(np.array(largest / 127 or 1, np.float32), f"{own}_scale"))
    body.initializer.append(numpy_helper.from_array(np.array(0, np.int8), f"{own}_zero"))
    ports = [f"{own}_scale", f"{own}_zero"]
    node.input[0] = f"{own}_back"
    return [
        onnx.helper.make_node("QuantizeLinear", [fed, *ports], [f"{own}_bytes"], own),
        onnx.helper.make_node("DequantizeLinear", [f"{own}_bytes", *ports], [f"{own}_back"], f"{own}_back"),
    ]


# -- what diff says


def compare_models(left: Path, right: Path, feeds: Feeds, narrow: Feeds) -> Comparison:
    """The two files, each with its inputs."""
    sides = [ModelSide(load(path), inputs, None, path.stem) for path, inputs in ((left, feeds), (right, narrow))]
    return compare_sides(sides[0], sides[1], ComparisonOptions())


def claims_of_diff(found: Comparison) -> PrecisionClaims:
    """What diff claims: of the loops the first that has something to tell."""
    first = found.first
    beyond = None if first is None or first.first is None else (_name(first), first.first.iteration or 0)
    out = [_out_of_range(loop) for loop in found.loops]
    rooms = [(one.headroom, one.node) for loop in found.loops for one in loop.saturations]
    rooms += [
        (loop.body_headroom.headroom, loop.body_headroom.node) for loop in found.loops if loop.body_headroom is not None
    ]
    return PrecisionClaims(beyond, next((one for one in out if one is not None), None), min(rooms, default=None))


def _name(loop: LoopFindings) -> str:
    return loop.left.rpartition(" ▸ ")[2]


def _out_of_range(loop: LoopFindings) -> tuple[int | None, str, int] | None:
    cut = [one.first_saturated for one in loop.saturations if one.first_saturated is not None]
    if loop.body_headroom is not None and loop.body_headroom.first_nonfinite is not None:
        cut.append(loop.body_headroom.first_nonfinite)
    return min(
        ((one.iteration, one.node, one.count) for one in cut),
        key=lambda one: -1 if one[0] is None else one[0],
        default=None,
    )


# -- what NumPy says


def claims_of_numpy(wide: NumpyRun, narrow: NumpyRun, kind: str) -> PrecisionClaims:
    """The same from two runs in NumPy."""
    near = _within_tolerance(*_tolerance(kind))
    beyond: list[tuple[str, int]] = []
    for (name, ones), others in zip(wide.loops.items(), narrow.loops.values(), strict=True):
        for k, (one, other) in enumerate(zip(ones, others, strict=True)):
            if not beyond and not all(map(near, one.results, other.results)):
                beyond.append((name, k))
    look = _float16_range if kind == "fp16" else _int8_range
    seen = [one for loop in narrow.loops.values() for k, at in enumerate(loop) for one in look(k, at)]
    if kind == "fp16":
        seen = [*look(None, LoopIteration(narrow.values, narrow.nodes_before_loop)), *seen]
    first = next(((k, name, count) for k, name, count, _ in seen if count), None)
    return PrecisionClaims(
        next(iter(beyond), None), first, min(((room, name) for _, name, _, room in seen), default=None)
    )


def _tolerance(kind: str) -> tuple[float, float, float]:
    return (1e-2, 1e-3, 0.0) if kind == "fp16" else (1e-4, 1e-5, 0.05)


def _within_tolerance(rtol: float, atol: float, peak: float) -> Any:
    def near(left: Any, right: Any) -> bool:
        if isinstance(left, list) or np.asarray(left).dtype.kind not in "f":
            return True
        a, b = left.astype(np.float64), right.astype(np.float64)
        with np.errstate(all="ignore"):
            room = np.maximum(atol + rtol * np.abs(b), peak * np.abs(b[np.isfinite(b)]).max(initial=0.0))
            return bool(((np.abs(a - b) <= room) | (a == b) | (np.isnan(a) & np.isnan(b))).all())

    return near


def _float16_range(k: int | None, at: LoopIteration) -> Iterator[tuple[int | None, str, int, float]]:
    """Of each node in float16: how many elements are not finite though it was fed finite numbers, and its headroom."""
    for node, made in at.node_results:
        fed = [at.values.get(name) for name in node.input if name]
        whole = all(np.isfinite(one).all() for one in fed if isinstance(one, np.ndarray) and one.dtype.kind == "f")
        for data in made:
            if isinstance(data, np.ndarray) and data.dtype == np.float16 and data.size:
                finite = np.isfinite(data)
                largest = float(np.abs(data[finite]).max(initial=0))
                count = int((~finite).sum()) if whole else 0
                yield k, node.name, count, 65504 / largest if largest else np.inf


def _int8_range(k: int | None, at: LoopIteration) -> Iterator[tuple[int | None, str, int, float]]:
    """Of each QuantizeLinear: how many elements are cut off, and its headroom."""
    for node, _ in at.node_results:
        if node.op_type == "QuantizeLinear":
            x, scale = (at.values[name].astype(np.float64) for name in node.input[:2])
            places = np.rint(x / scale)
            room = np.where(x < 0, 128, 127) * scale / np.maximum(np.abs(x), 1e-300)
            yield k, node.name, int(((places > 127) | (places < -128)).sum()), float(room.min())


def confirm_blamed_node(node: NodeDifference, found: LoopFindings, wide: NumpyRun, narrow: NumpyRun, kind: str) -> bool:
    """Whether the node that diff blames gives in NumPy what diff shows, and what it is fed is within the tolerance."""
    at, runs = node.difference, (wide, narrow)
    loop = list(wide.loops).index(_name(found))
    values = [
        run.values if at.iteration is None else list(run.loops.values())[loop][at.iteration].values for run in runs
    ]
    near = _within_tolerance(*_tolerance(kind))
    shown = [(values[0].get(at.name), at.left), (values[1].get(at.other), at.right)]
    if not all(one is None or near(other, one) for one, other in shown):
        return False
    left, right = (_node(run.model, name) for run, name in zip(runs, (node.node, node.other), strict=True))
    if left is None and right is not None:
        left = right  # the wide file has nothing like it
    if left is None or right is None or left.op_type != right.op_type:
        return True
    fed = [(values[0].get(a), values[1].get(b)) for a, b in zip(left.input, right.input, strict=False) if a and b]
    return all(near(*pair) for pair in fed if pair[0] is not None and pair[1] is not None)


def _node(model: onnx.ModelProto, name: str) -> onnx.NodeProto | None:
    return next((node for graph in all_graphs(model.graph) for node in graph.node if node.name == name), None)


# -- the table


def rows(case: PrecisionCase) -> Iterator[tuple[str, PrecisionClaims, PrecisionClaims, str]]:
    """Of each narrow file of a model: what diff says, what NumPy says, and the node that diff blames."""
    made = build_model(REAL_MODELS[case.name])
    feeds = {
        name: value * np.float32(case.input_scale) if value.dtype == np.float32 else value
        for name, value in made.inputs("fp32").items()
    }
    half = {name: value.astype(np.float16) if value.dtype == np.float32 else value for name, value in feeds.items()}
    smaller = {
        name: value / np.float32(case.calibration_factor) if value.dtype == np.float32 else value
        for name, value in feeds.items()
    }
    wide = scale_weights(made.folder / "fp32.onnx", case.weight_scales)
    files = {
        "fp16": scale_weights(made.folder / "fp16.onnx", case.weight_scales),
        "static": quantize_statically(wide, NumpyRun(wide, smaller)),
    }
    plain = onnx.load(made.folder / "fp32.onnx")
    folder = made.folder / "precision"
    folder.mkdir(exist_ok=True)
    for kind, left, right, narrow in (
        ("fp16", wide, files["fp16"], half),
        ("int8", plain, onnx.load(made.folder / "int8.onnx"), feeds),
        ("static", wide, files["static"], feeds),
    ):
        onnx.save(left, folder / "fp32.onnx")
        onnx.save(right, folder / f"{kind}.onnx")
        found = compare_models(folder / "fp32.onnx", folder / f"{kind}.onnx", feeds, narrow)
        runs = NumpyRun(left, feeds), NumpyRun(right, narrow)
        node = None if found.first is None else found.first.node
        told = "" if node is None else f"{node.op_type} {node.node}"
        if node is not None and found.first is not None and not confirm_blamed_node(node, found.first, *runs, kind):
            told += " (not so in NumPy)"
        yield kind, claims_of_diff(found), claims_of_numpy(*runs, kind), told


def main(names: list[str]) -> int:
    """Print the table."""
    families.load()
    status = 0
    print("| model | file | leaves the tolerance | first out of range | headroom | node that differs first | NumPy |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for case in CASES:
        if names and case.name not in names:
            continue
        for kind, ours, numpy, node in rows(case):
            right = ours.agrees(numpy) and "not so" not in node
            status |= not right
            print(f"| {case.name} | {kind} | {ours} | {node} | {'the same' if right else numpy} |", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
