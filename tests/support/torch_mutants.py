"""One change in an ONNX model of a PyTorch module, which a comparison with the module has to name.

A case depends only on its name: ``nested operator 17`` is a module, a kind of change, and a number. Modules are those
of ``torch_modules.py``, and those of the benchmarks that PyTorch's exporter accepts.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch

import loopdbg
from loopdbg.debugger.compare.reference_match.reference_comparison import compare_reference
from loopdbg.debugger.compare.report.findings import Comparison, EditEffect, Verdict
from loopdbg.debugger.compare.report.text_report import report_lines
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions, compare_sides
from loopdbg.debugger.compare.running.sides import ModelSide
from loopdbg.debugger.reference.reference import Reference
from loopdbg.debugger.reference.torch_api import run_torch_reference
from loopdbg.debugger.reference.torch_export import export_module as program_of
from loopdbg.runtime.errors import LoopdbgError
from loopdbg.runtime.graph import walk
from loopdbg.runtime.graph.producers import ProducerMap
from loopdbg.runtime.ops.constant_folding import ConstantFolder
from strategies.draws import SeededChoices
from text_models import load_proto
from torch_modules import CASES, TorchCase, export_onnx

CACHE_DIRECTORY = Path(__file__).parents[2] / "build" / "torch"
#: Iteration limits of large and of small modules; the latter end by themselves before.
MAX_CHANGES, MAX_BLAMED_NODES = 8, 20
#: Number of changes that are tried until one is visible.
MAX_ATTEMPTS = 40
#: Operators that can replace each other.
INTERCHANGEABLE_OPERATORS = (
    ("Add", "Sub", "Mul", "Div"),
    ("Tanh", "Sigmoid", "Relu", "Sin", "Softplus", "Erf", "Neg"),
    ("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal"),
    ("And", "Or", "Xor"),
    ("Max", "Min"),
    ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"),
    ("ArgMax", "ArgMin"),
    ("Floor", "Ceil", "Round"),
)
#: Modules that TorchScript can trace, of which it writes the same operators.
TRACED_MODULES = ("bilstm_tagger", "lstm_language", "gru_speech", "crnn")
MUTATION_KINDS = ("operator", "inputs", "constant", "attribute", "rewired")


@dataclass
class BuiltTorchModel:
    """A module's model, its inputs, and the values that the module computes. ``most``: the iterations of the model."""

    path: Path
    inputs: dict[str, Any]
    reference: Reference
    max_iterations: int


@dataclass
class TorchMutant:
    """A changed model, the changed node, and the change."""

    built: BuiltTorchModel
    proto: onnx.ModelProto
    node: str
    text: str


def module_cases() -> list[str]:
    """The modules whose models have metadata: the small ones, and the exportable ones of the benchmarks."""
    return [*(name for name in CASES if name != "cells"), *_benchmark_cases()]


@cache
def _benchmark_cases() -> dict[str, Any]:
    sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
    from real import families, model_files

    families.load()
    wanted = (name for name, real in model_files.REAL_MODELS.items() if '"dynamo"' in model_files._source_text(real))
    return {name: model_files.REAL_MODELS[name] for name in wanted}


@cache
def build_model(name: str) -> BuiltTorchModel:
    """The model of a module, exported again if the module has changed, and the reference."""
    torch.set_num_threads(1)
    case, most = torch_case(name), MAX_BLAMED_NODES if name in CASES else MAX_CHANGES
    module, inputs = case.module(), case.arrays()
    program = program_of(module, tuple(case.inputs().values()))
    path = CACHE_DIRECTORY / f"{name}.onnx"
    if not _is_current(path, module):
        CACHE_DIRECTORY.mkdir(parents=True, exist_ok=True)
        export_onnx(program, case, path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)
    return BuiltTorchModel(path, inputs, run_torch_reference(program, inputs, max_iterations=most), most)


def torch_case(name: str) -> TorchCase:
    """The module of a name, with its inputs."""
    if name in CASES:
        return CASES[name]
    torch.manual_seed(0)
    result = _benchmark_cases()[name].make_model()
    return TorchCase(lambda: result.module, lambda: result.inputs, result.outputs)


def _is_current(path: Path, module: torch.nn.Module) -> bool:
    """Whether the export is of the module's current code: an older model has other source lines."""
    written = Path(inspect.getfile(type(module))).stat().st_mtime
    return path.exists() and path.stat().st_mtime > written


def compare_with_module(model: loopdbg.Model, case: BuiltTorchModel) -> Comparison:
    return compare_reference(ModelSide(model, case.inputs, case.max_iterations), case.reference, ComparisonOptions())


# ------------------------------------------------------------------ changes


@dataclass(frozen=True)
class NodeLocation:
    """A node of a model with its enclosing graphs, the innermost first."""

    node: onnx.NodeProto
    graphs: tuple[onnx.GraphProto, ...]


def node_locations(graph: onnx.GraphProto, around: tuple[onnx.GraphProto, ...] = ()) -> Iterator[NodeLocation]:
    for node in graph.node:
        yield NodeLocation(node, (graph, *around))
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                if inner.node or inner.output:
                    yield from node_locations(inner, (graph, *around))


def mutate_node(
    kind: str, proto: onnx.ModelProto, draw: SeededChoices, limited: bool
) -> tuple[NodeLocation, str] | None:
    """Change one node; None if it cannot be changed in this way. Nodes in loops are preferred, and only they are chosen
    if the run is ``limited``: then values outside loops are not compared."""
    every = [place for place in node_locations(proto.graph) if place.node.op_type not in ("Loop", "Scan", "If")]
    inner = [place for place in every if len(place.graphs) > 1]
    place = draw.pick(inner if inner and (limited or draw.chance(80)) else every)
    text = _CHANGES[kind](place, proto, draw)
    return None if text is None else (place, text)


def _operator(place: NodeLocation, proto: onnx.ModelProto, draw: SeededChoices) -> str | None:
    node = place.node
    group = next((group for group in INTERCHANGEABLE_OPERATORS if node.op_type in group), ())
    if not group:
        return None
    before, node.op_type = node.op_type, draw.pick([item for item in group if item != node.op_type])
    return f"{before} -> {node.op_type}"


def _inputs(place: NodeLocation, proto: onnx.ModelProto, draw: SeededChoices) -> str | None:
    node = place.node
    pairs = [(i, j) for j in range(len(node.input)) for i in range(j) if node.input[i] != node.input[j]]
    if not pairs:
        return None
    i, j = draw.pick(pairs)
    node.input[i], node.input[j] = node.input[j], node.input[i]
    return f"inputs {i} and {j} exchanged"


def _constant(place: NodeLocation, proto: onnx.ModelProto, draw: SeededChoices) -> str | None:
    """A separate constant for this node."""
    known = {item.name: item for graph in place.graphs for item in graph.initializer}
    held = [k for k, name in enumerate(place.node.input) if name in known]
    if not held:
        return None
    k = draw.pick(held)
    array = np.array(onnx.numpy_helper.to_array(known[place.node.input[k]]))
    if not array.size or array.dtype.kind not in "fiub":
        return None
    index = draw.integer(0, array.size - 1)
    before = array.reshape(-1)[index]
    array.reshape(-1)[index] = _different_number(before, array.dtype)
    name = f"{place.node.input[k]}_changed"
    place.graphs[-1].initializer.append(onnx.numpy_helper.from_array(array, name))
    place.node.input[k] = name
    return f"element {index} of input {k}: {before} -> {array.reshape(-1)[index]}"


def _different_number(before: Any, dtype: np.dtype[Any]) -> Any:
    """A different number of a dtype."""
    if dtype.kind == "b":
        return not before
    after = before * 1.5 + 1
    return after if dtype.kind == "f" else min(int(after), int(np.iinfo(dtype).max) - 1)


def _attribute(place: NodeLocation, proto: onnx.ModelProto, draw: SeededChoices) -> str | None:
    numbers = [
        item for item in place.node.attribute if item.type in (onnx.AttributeProto.INT, onnx.AttributeProto.FLOAT)
    ]
    lists = [entry for entry in place.node.attribute if entry.type == onnx.AttributeProto.INTS and len(entry.ints) > 1]
    if not numbers and not lists:
        return None
    first = draw.pick([*numbers, *lists])
    if first in lists:
        first.ints[0], first.ints[1] = first.ints[1], first.ints[0]
        return f"{first.name}: first two exchanged"
    if first.type == onnx.AttributeProto.FLOAT:
        first.f = first.f * 1.5 + 0.25
        return f"{first.name} = {first.f}"
    first.i = 1 - first.i if first.i in (0, 1) else first.i - 1
    return f"{first.name} = {first.i}"


def _rewired(place: NodeLocation, proto: onnx.ModelProto, draw: SeededChoices) -> str | None:
    """Another value of the same graph, computed before the node, as an input."""
    graph, node = place.graphs[0], place.node
    before = []
    for item in graph.node:
        if item.output[0] == node.output[0]:
            break
        before += item.output
    known = [entry.name for entry in graph.input] + before
    here = [k for k, name in enumerate(node.input) if name in known]
    if not here or len(known) < 2:
        return None
    k = draw.pick(here)
    name = draw.pick([element for element in known if element != node.input[k]])
    text = f"input {k}: {node.input[k]} -> {name}"
    node.input[k] = name
    return text


_CHANGES: dict[str, Callable[[NodeLocation, onnx.ModelProto, SeededChoices], str | None]] = {
    "operator": _operator,
    "inputs": _inputs,
    "constant": _constant,
    "attribute": _attribute,
    "rewired": _rewired,
}


# ------------------------------------------------------------------ judging


def make_case(name: str) -> TorchMutant | None:
    """The first mutant of a case that runs with other values of unchanged shapes."""
    module, kind, _ = name.split()
    case, draw = build_model(module), SeededChoices(name)
    original = _load_model(str(case.path))
    for _ in range(MAX_ATTEMPTS):
        proto = copy.deepcopy(original)
        result = mutate_node(kind, proto, draw, case.max_iterations == MAX_CHANGES)
        if result is None:
            continue
        place, text = result
        mutant = TorchMutant(case, proto, place.node.name, f"{place.node.op_type} '{place.node.name}': {text}")
        if _changes_values(mutant):
            return mutant
    return None


@cache
def _load_model(path: str) -> onnx.ModelProto:
    return onnx.load(path)


def _changes_values(mutant: TorchMutant) -> bool:
    """Whether it runs, with carried values or outputs that differ from the original model's."""
    try:
        return _differ(_original_results(mutant.built.path), _results(load_proto(mutant.proto), mutant.built))
    except (LoopdbgError, MemoryError):
        return False


@cache
def _original_results(path: Path) -> list[Any]:
    return _results(loopdbg.load(path), build_model(path.stem))


def _results(model: loopdbg.Model, case: BuiltTorchModel) -> list[Any]:
    side = ModelSide(model, case.inputs, case.max_iterations)
    results: list[Any] = []
    for boundary in side.boundaries():
        results += [np.array(value) for value in boundary.carried.values()]
    return results + list((side.outputs or {}).values())


def _differ(items: Sequence[Any], other: Sequence[Any]) -> bool:
    if len(items) != len(other):
        return True
    with np.errstate(all="ignore"):
        return not all(
            a.shape == b.shape and np.allclose(a, b, 1e-3, 1e-3 * _largest(a), equal_nan=True)
            for a, b in zip(items, other, strict=True)
        )


def _largest(array: Any) -> float:
    size = np.abs(np.asarray(array, np.float64))
    return float(size[np.isfinite(size)].max(initial=0.0))


def judge_case(name: str) -> str:
    """The outcome of a case: ``exact``, ``among`` several, ``unseen`` if no change was visible, or else what is
    wrong."""
    mutant = make_case(name)
    if mutant is None:
        return "unseen"
    model = load_proto(mutant.proto)
    result = compare_with_module(model, mutant.built)
    return judge(result, mutant, model)


def judge(comparison: Comparison, mutant: TorchMutant, model: loopdbg.Model) -> str:
    if comparison.verdict is not Verdict.DIFFER:
        return f"SAME: {comparison.verdict.value} [{mutant.text}]"
    named = blamed_nodes(comparison)
    if mutant.node not in named:
        return f"BLAMES: {named or 'nothing'}, not [{mutant.text}]"
    wrong = wrong_source_line(comparison, mutant, model)
    if wrong:
        return f"LINE: {wrong} [{mutant.text}]"
    return "exact" if len(named) == 1 else f"among: {len(named)} [{mutant.text}]"


def judge_export(name: str) -> str:
    """The outcome of a case against TorchScript's export of the module: ``exact`` if the changed node, or the constant
    that is computed from it alone, is all that is listed."""
    mutant = make_case(name)
    if mutant is None:
        return "unseen"
    left, right = load_proto(mutant.proto), loopdbg.load(export_with_torchscript(name.split()[0]))
    sides = [ModelSide(model, mutant.built.inputs, None, label) for model, label in ((left, "left"), (right, "right"))]
    comparison = compare_sides(sides[0], sides[1], ComparisonOptions())
    if comparison.verdict is not Verdict.DIFFER:
        return f"SAME: {comparison.verdict.value} [{mutant.text}]"
    changed = next(item.node for item in node_locations(mutant.proto.graph) if item.node.name == mutant.node)
    names = {*changed.output, *(operand for operand in changed.input if operand.endswith("_changed"))}
    for node in mutant.proto.graph.node:
        names.update(node.output if names & {*node.input} and _is_constant(left, node) else ())
    listed = [f"{item.kind} '{item.name}'" for item in comparison.static_differences if item.name not in names]
    if listed:
        return f"MISLEADS: lists {', '.join(listed)}, not [{mutant.text}]"
    is_shown = any(item.effect is EditEffect.CAUSE for item in comparison.static_differences)
    return "exact" if is_shown else f"UNPROVED: [{mutant.text}]"


def _is_constant(model: loopdbg.Model, node: onnx.NodeProto) -> bool:
    """Whether a node computes with constants alone."""
    folder = ConstantFolder(ProducerMap.for_graph(model.graph), model.graph.system)
    lowered = next((item for item in walk(model.graph) if item.name == node.name), None)
    return lowered is not None and all(folder.value_of(value) is not None for value in lowered.outputs if value)


@cache
def export_with_torchscript(name: str) -> Path:
    """TorchScript's export of a module that it can trace."""
    case = torch_case(name)
    path = CACHE_DIRECTORY / f"{name}.script.onnx"
    inputs = case.inputs()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        torch.onnx.export(
            *(case.module(), tuple(inputs.values()), path),
            dynamo=False,
            input_names=list(inputs),
            output_names=list(case.outputs),
        )
    return path


def blamed_nodes(comparison: Comparison) -> tuple[str, ...]:
    """The nodes that are reported as candidates for the first difference."""
    first = comparison.first
    cause = comparison.cause if first is None else first.cause
    if cause is None:
        return ()
    return (cause.node.node,) if cause.node is not None else cause.candidate_nodes


def wrong_source_line(comparison: Comparison, mutant: TorchMutant, model: loopdbg.Model) -> str:
    """What is wrong with the displayed source lines; empty if nothing is, or if the model has none."""
    node = next((node for node in walk(model.graph) if node.name == mutant.node), None)
    if node is None or not node.origin.file:
        return ""
    first = comparison.outputs[0] if comparison.first is None else comparison.first.first
    cause = comparison.cause if comparison.first is None else comparison.first.cause
    if cause is not None and cause.node is not None:
        first = cause.node.difference
    shown = "" if first is None else first.source
    listed = cause is not None and node.name in cause.candidate_nodes and str(node.origin) in cause.remark
    wanted = f"{node.origin.file}:{node.origin.line}"
    return "" if listed or shown == wanted else f"{shown}, not {wanted}"


def describe_case(name: str) -> str:
    """A case as readable text."""
    mutant = make_case(name)
    if mutant is None:
        return "no change is seen in what the model gives"
    return "\n".join([mutant.text, *report_lines(compare_with_module(load_proto(mutant.proto), mutant.built))])
