"""Random models beside what other tools make of them, which is written otherwise and computes the same."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

import loopdbg
from in_onnxruntime import FATAL
from loopdbg.debugger.diff.findings import Comparison, Verdict
from loopdbg.debugger.diff.report import lines
from loopdbg.debugger.diff.sides import ModelSide
from loopdbg.debugger.diff.streams import Options, compare_sides
from loopdbg.debugger.diff.values import Tolerance
from loopdbg.runtime.errors import LoopdbgError
from loopdbg.runtime.graph import Loop, walk
from models import loaded
from mutants import MOST, nodes
from plain import all_plain
from strategies import models, mutations
from strategies.draws import Draw, FromSeed
from strategies.onnx_form import to_onnx
from strategies.programs import Constant, Program, Type, Value, loops

_FEATURES = ("growing", "rows", "delayed", "direct", "condition", "nested", "branches", "scan")
#: Models that are tried until a tool makes one that gives the same.
TRIES = 30


class RefusedError(Exception):
    """The tool does not take the model."""


def judged(name: str) -> str:
    """What came of a pair: ``equal``, ``unseen`` where the tool takes no such model, or else what is wrong."""
    pair = made(name)
    if pair is None:
        return "unseen"
    found = compared(*pair)
    if found.written:
        listed = [f"{one.kind} '{one.name}' {one.left_text} | {one.right_text}" for one in found.written]
        return f"LISTS: {'; '.join(listed)}"
    return "DIFFERS: though the outputs are the same" if found.verdict is Verdict.DIFFER else "equal"


def names(numbers: Iterable[int]) -> list[str]:
    """The names of cases, of all ways whose tools are there in turn."""
    every = [way for way in WAYS if way != "simplified" or find_spec("onnxsim") is not None]
    return [f"{every[k % len(every)]} {k // len(every)}" for k in numbers]


def shown(name: str) -> str:
    """A case as a person reads it: the nodes of both models, and what is said of them."""
    pair = made(name)
    if pair is None:
        return "the tool takes no such model"
    texts = ["\n".join(nodes(model)) for model in pair[:2]]
    return "\n\n".join([*texts, "\n".join(lines(compared(*pair)))])


def compared(left: loopdbg.Model, right: loopdbg.Model, feeds: Mapping[str, Any]) -> Comparison:
    sides = ModelSide(left, feeds, MOST, "left"), ModelSide(right, feeds, MOST, "right")
    return compare_sides(*sides, Options(Tolerance(0, 0)))


def made(name: str) -> tuple[loopdbg.Model, loopdbg.Model, Mapping[str, Any]] | None:
    """The first pair of a case, ``opset 17``, whose outputs are the same."""
    way, _ = name.split()
    draw = FromSeed(name)
    for _ in range(TRIES):
        # What a Scan cuts and does not read OpenVINO drops, and with it how often the loop runs.
        wanted = [feature for feature in _FEATURES if (way, feature) != ("openvino", "scan")]
        chosen = {feature for feature in wanted if draw.chance(25)} | {"attributes", "products"}
        program = models.program(draw, chosen)
        if way == "openvino":
            _with_conditions(program)
        feeds = mutations.with_weights(program, models.feeds(program, draw), draw)
        source = to_onnx(program, insulated=way in ("openvino", "optimised"))
        try:
            left, right = loaded(source), WAYS[way](with_initializers(source), draw)
            runs = [model.execute(feeds, max_iterations=MOST).outputs for model in (left, right)]
        except (RefusedError, LoopdbgError):
            continue
        # Where a tool ran a loop itself and left a constant in its place, that is listed, and should be.
        alike = len(every_loop(left)) == len(every_loop(right))
        if alike and None not in runs and all_plain(runs[0] or {}) == all_plain(runs[1] or {}):
            return left, right, feeds
    return None


def every_loop(model: loopdbg.Model) -> list[Loop]:
    """The loops of a model, those inside others too."""
    return [node for node in walk(model.graph) if isinstance(node, Loop)]


def _with_conditions(program: Program) -> None:
    """Give each loop an initial condition: OpenVINO takes one without for one that its body can end."""
    go = Constant(Value("go", Type("bool")), np.array(True))
    program.body.nodes.insert(0, go)
    for loop in loops(program.body):
        if loop.kind == "Loop":
            loop.initial = loop.initial or go.output


def with_initializers(source: onnx.ModelProto) -> onnx.ModelProto:
    """The same model with its main graph's constants as weights."""
    made = onnx.ModelProto.FromString(source.SerializeToString())
    for node in [node for node in made.graph.node if node.op_type == "Constant"]:
        weight = made.graph.initializer.add()
        weight.CopyFrom(node.attribute[0].t)
        weight.name = node.output[0]
        made.graph.node.remove(node)
    return made


# -- what tools make of a model


def _opset(source: onnx.ModelProto, draw: Draw) -> loopdbg.Model:
    from onnx import version_converter

    try:
        return loaded(version_converter.convert_version(source, draw.pick((22, 23, 24))))
    except RuntimeError as error:
        raise RefusedError from error


def _openvino(source: onnx.ModelProto, draw: Draw) -> loopdbg.Model:
    import openvino

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        try:
            onnx.save(source, path.with_suffix(".onnx"))
            converted = openvino.convert_model(path.with_suffix(".onnx"))
            openvino.save_model(converted, path, compress_to_fp16=False)
        except Exception as error:  # its errors have no common class
            raise RefusedError from error
        return loopdbg.load(path)


def _optimised(source: onnx.ModelProto, draw: Draw) -> loopdbg.Model:
    import onnxruntime

    levels = onnxruntime.GraphOptimizationLevel
    options = onnxruntime.SessionOptions()
    options.log_severity_level = FATAL
    options.intra_op_num_threads = 1
    options.graph_optimization_level = draw.pick((levels.ORT_ENABLE_BASIC, levels.ORT_ENABLE_EXTENDED))
    with tempfile.TemporaryDirectory() as folder:
        options.optimized_model_filepath = str(Path(folder) / "optimised.onnx")
        try:
            onnxruntime.InferenceSession(source.SerializeToString(), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its errors have no common class
            raise RefusedError from error
        return loopdbg.load(options.optimized_model_filepath)


def _simplified(source: onnx.ModelProto, draw: Draw) -> loopdbg.Model:
    import onnxsim

    try:
        made, proved = onnxsim.simplify(source)
    except Exception as error:  # its errors have no common class
        raise RefusedError from error
    if not proved:
        raise RefusedError
    return loaded(made)


def _halves(source: onnx.ModelProto, draw: Draw) -> loopdbg.Model:
    """Weights stored as float16, and read as float32 again: small whole numbers stay what they are."""
    for weight in tensors(source.graph):
        if weight.data_type == onnx.TensorProto.FLOAT:
            half = numpy_helper.to_array(weight).astype(np.float16)
            weight.CopyFrom(numpy_helper.from_array(half.astype(np.float32), weight.name))
    return loaded(source)


def tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """All constants of a graph and of those inside it."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                yield attribute.t
            elif attribute.type == onnx.AttributeProto.GRAPH:
                yield from tensors(attribute.g)


#: What makes another file of a model.
WAYS: Mapping[str, Callable[[onnx.ModelProto, Draw], loopdbg.Model]] = {
    "opset": _opset,
    "openvino": _openvino,
    "optimised": _optimised,
    "halves": _halves,
    "simplified": _simplified,
}
