"""Random models paired with the results of other tools on them, which are written differently and compute the same."""

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
from comparable_values import canonical_values
from loopdbg.debugger.compare.report.findings import Comparison, Verdict
from loopdbg.debugger.compare.report.text_report import report_lines
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions, compare_sides
from loopdbg.debugger.compare.running.sides import ModelSide
from loopdbg.debugger.compare.running.value_comparison import Tolerance
from loopdbg.runtime.errors import LoopdbgError
from loopdbg.runtime.graph import Loop, walk
from onnxruntime_peer import FATAL_LOG_SEVERITY
from program_mutants import MAX_ITERATIONS, all_nodes
from strategies import program_generator, program_mutations
from strategies.draws import ChoiceSource, SeededChoices
from strategies.onnx_export import to_onnx
from strategies.program import Program, ProgramConstant, ProgramValue, ValueType, all_loops
from text_models import load_proto

_FEATURES = ("growing", "rows", "delayed", "direct", "condition", "nested", "branches", "scan")
#: Number of models that are tried until a tool produces an equal one.
MAX_ATTEMPTS = 30


class ModelNotSupportedError(Exception):
    """The tool does not support the model."""


def judge_case(name: str) -> str:
    """The outcome of a pair: ``equal``, ``unseen`` if the tool supports no such model, or else what is wrong."""
    pair = make_case(name)
    if pair is None:
        return "unseen"
    result = compare_pair(*pair)
    if result.static_differences:
        listed = [
            f"{difference.kind} '{difference.name}' {difference.left_text} | {difference.right_text}"
            for difference in result.static_differences
        ]
        return f"LISTS: {'; '.join(listed)}"
    return "DIFFERS: though the outputs are the same" if result.verdict is Verdict.DIFFER else "equal"


def case_names(numbers: Iterable[int]) -> list[str]:
    """The names of cases, with all installed tools in turn."""
    every = [way for way in TRANSFORMATIONS if is_installed(way)]
    return [f"{every[k % len(every)]} {k // len(every)}" for k in numbers]


def describe_case(name: str) -> str:
    """A case as readable text: the nodes of both models, and what diff reports."""
    pair = make_case(name)
    if pair is None:
        return "the tool takes no such model"
    texts = ["\n".join(all_nodes(model)) for model in pair[:2]]
    return "\n\n".join([*texts, "\n".join(report_lines(compare_pair(*pair)))])


def compare_pair(left: loopdbg.Model, right: loopdbg.Model, feeds: Mapping[str, Any]) -> Comparison:
    sides = ModelSide(left, feeds, MAX_ITERATIONS, "left"), ModelSide(right, feeds, MAX_ITERATIONS, "right")
    return compare_sides(*sides, ComparisonOptions(Tolerance(0, 0)))


def make_case(name: str) -> tuple[loopdbg.Model, loopdbg.Model, Mapping[str, Any]] | None:
    """The first pair of a case, such as ``opset 17``, whose outputs are the same."""
    way, _ = name.split()
    draw = SeededChoices(name)
    for _ in range(MAX_ATTEMPTS):
        # OpenVINO drops sliced inputs of a Scan that are not read, and with them the trip count.
        wanted = [feature for feature in _FEATURES if (way, feature) != ("openvino", "scan")]
        chosen = {feature for feature in wanted if draw.chance(25)} | {"attributes", "products"}
        program = program_generator.draw_program(draw, chosen)
        if way == "openvino":
            add_initial_conditions(program)
        feeds = program_mutations.turn_inputs_into_weights(program, program_generator.draw_feeds(program, draw), draw)
        source = to_onnx(program, insulated=way in ("openvino", "optimised"))
        try:
            left, right = load_proto(source), TRANSFORMATIONS[way](with_initializers(source), draw)
            results = [model.execute(feeds, max_iterations=MAX_ITERATIONS) for model in (left, right)]
        except (ModelNotSupportedError, LoopdbgError):
            continue
        # If a tool evaluated a loop itself and left a constant in its place, diff lists that, as it should.
        # A negative trip count is no limit to OpenVINO, which the IR says then.
        runs = [result.outputs for result in results]
        iterations = [sorted(loop.iterations for loop in result.loops) for result in results]
        alike = len(model_loops(left)) == len(model_loops(right)) and iterations[0] == iterations[1]
        if alike and None not in runs and canonical_values(runs[0] or {}) == canonical_values(runs[1] or {}):
            return left, right, feeds
    return None


def model_loops(model: loopdbg.Model) -> list[Loop]:
    """The loops of a model, including inner ones."""
    return [node for node in walk(model.graph) if isinstance(node, Loop)]


def add_initial_conditions(program: Program) -> None:
    """Give each loop an initial condition: OpenVINO takes one without for one that its body can end."""
    go = ProgramConstant(ProgramValue("go", ValueType("bool")), np.array(True))
    program.body.nodes.insert(0, go)
    for loop in all_loops(program.body):
        if loop.kind == "Loop":
            loop.initial = loop.initial or go.output


def with_initializers(source: onnx.ModelProto) -> onnx.ModelProto:
    """The same model with its main graph's constants as initializers."""
    result = onnx.ModelProto.FromString(source.SerializeToString())
    for node in [node for node in result.graph.node if node.op_type == "Constant"]:
        weight = result.graph.initializer.add()
        weight.CopyFrom(node.attribute[0].t)
        weight.name = node.output[0]
        result.graph.node.remove(node)
    return result


# -- the tools


def _convert_opset(source: onnx.ModelProto, draw: ChoiceSource) -> loopdbg.Model:
    from onnx import version_converter

    try:
        return load_proto(version_converter.convert_version(source, draw.pick((22, 23, 24))))
    except RuntimeError as error:
        raise ModelNotSupportedError from error


def _convert_to_openvino(source: onnx.ModelProto, draw: ChoiceSource) -> loopdbg.Model:
    import openvino

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        try:
            onnx.save(source, path.with_suffix(".onnx"))
            converted = openvino.convert_model(path.with_suffix(".onnx"))
            openvino.save_model(converted, path, compress_to_fp16=False)
        except Exception as error:  # its errors have no common class
            raise ModelNotSupportedError from error
        return loopdbg.load(path)


def _optimize_with_onnxruntime(source: onnx.ModelProto, draw: ChoiceSource) -> loopdbg.Model:
    import onnxruntime

    levels = onnxruntime.GraphOptimizationLevel
    options = onnxruntime.SessionOptions()
    options.log_severity_level = FATAL_LOG_SEVERITY
    options.intra_op_num_threads = 1
    options.graph_optimization_level = draw.pick((levels.ORT_ENABLE_BASIC, levels.ORT_ENABLE_EXTENDED))
    with tempfile.TemporaryDirectory() as folder:
        options.optimized_model_filepath = str(Path(folder) / "optimised.onnx")
        try:
            onnxruntime.InferenceSession(source.SerializeToString(), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its errors have no common class
            raise ModelNotSupportedError from error
        return loopdbg.load(options.optimized_model_filepath)


def _simplify_with_onnxsim(source: onnx.ModelProto, draw: ChoiceSource) -> loopdbg.Model:
    import onnxsim

    try:
        result, proved = onnxsim.simplify(source)
    except Exception as error:  # its errors have no common class
        raise ModelNotSupportedError from error
    if not proved:
        raise ModelNotSupportedError
    return load_proto(result)


def _slim_with_onnxslim(source: onnx.ModelProto, draw: ChoiceSource) -> loopdbg.Model:
    import onnxslim

    try:
        return load_proto(onnxslim.slim(source))
    except Exception as error:  # its errors have no common class
        raise ModelNotSupportedError from error


def _store_weights_as_float16(source: onnx.ModelProto, draw: ChoiceSource) -> loopdbg.Model:
    """Store weights as float16, and read them as float32 again: small integers are unchanged."""
    for weight in all_constants(source.graph):
        if weight.data_type == onnx.TensorProto.FLOAT:
            half = numpy_helper.to_array(weight).astype(np.float16)
            weight.CopyFrom(numpy_helper.from_array(half.astype(np.float32), weight.name))
    return load_proto(source)


def all_constants(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """All constants of a graph and of those inside it."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                yield attribute.t
            elif attribute.type == onnx.AttributeProto.GRAPH:
                yield from all_constants(attribute.g)


#: The tools that rewrite a model.
TRANSFORMATIONS: Mapping[str, Callable[[onnx.ModelProto, ChoiceSource], loopdbg.Model]] = {
    "opset": _convert_opset,
    "openvino": _convert_to_openvino,
    "optimised": _optimize_with_onnxruntime,
    "halves": _store_weights_as_float16,
    "simplified": _simplify_with_onnxsim,
    "slimmed": _slim_with_onnxslim,
}
#: The packages that they need, where these may be missing.
PACKAGES: Mapping[str, str] = {"simplified": "onnxsim", "slimmed": "onnxslim"}


def is_installed(way: str) -> bool:
    """Whether the package that a transformation needs is installed."""
    return way not in PACKAGES or find_spec(PACKAGES[way]) is not None
