"""Rules about operators of ONNX models, in the main graph and in bodies, and about the values that they exchange."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

from ...runtime.frontends.onnx.type_checks import schema_type_text
from ...runtime.graph import BackEdge, If, Loop, Node, Operation, TensorType, captured_values
from ...runtime.ops.onnx_schemas import schema_for
from .peer_operators import ONNXRUNTIME_GAPS, OPENVINO_UNCONVERTED
from .rule_context import SEQUENCE_PRODUCERS, RuleContext, RuleScope
from .tensorrt_operators import SUPPORTED, UNSUPPORTED

#: Yields pairs of a label and a sentence.
NodeRule = Callable[[Node, RuleScope, RuleContext], Iterator[tuple[str, str]]]

_RECURRENT = ("LSTM", "GRU", "RNN")
_OPENVINO_ACTIVATIONS = frozenset(("sigmoid", "tanh", "relu"))
_ZERO_PARAMETER_ACTIVATIONS = frozenset(("affine", "scaledtanh", "thresholdedrelu"))
_SEQUENCE_READERS = frozenset(("ConcatFromSequence", "SequenceAt", "SequenceLength"))
_SEQUENCE_OPERATORS = SEQUENCE_PRODUCERS | _SEQUENCE_READERS
_MICROSOFT = "com.microsoft"
_STANDARD_DOMAINS = ("", "ai.onnx.ml")


def supported_operators(node: Node, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """Operators that a target does not have."""
    if isinstance(node, Loop | If):
        return
    name = f"{node.op_type} '{node.name}'"
    if node.domain not in _STANDARD_DOMAINS:
        if node.domain != _MICROSOFT:
            yield "B68", f"{name} is an operator of the domain '{node.domain}'."
        return
    qualified = f"{node.domain}:{node.op_type}" if node.domain else node.op_type
    if qualified in OPENVINO_UNCONVERTED and node.op_type not in _SEQUENCE_OPERATORS:
        yield "B58", f"OpenVINO has no conversion rule for {name}."
    if qualified in UNSUPPORTED or node.domain:
        yield "T8", f"TensorRT's parser does not support {name}."
    elif node.op_type not in SUPPORTED:
        yield "T12", f"the support table of TensorRT's parser does not list {name}."


def kernels(node: Node, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """Element types that onnxruntime has no kernel for."""
    if not isinstance(node, Operation) or node.domain or node.op_type not in ONNXRUNTIME_GAPS:
        return
    gaps, parameters = _gaps(node.op_type, node.version)
    for value, parameter in zip(node.inputs, parameters, strict=False):
        dtype = context.dtype(value)
        text = None if dtype is None else schema_type_text(TensorType(dtype))
        if value is not None and (parameter, text) in gaps:
            yield (
                "B59",
                f"onnxruntime has no kernel for {node.op_type} '{node.name}' (opset {node.version}) with"
                f" '{value.name}', a {text}.",
            )
            return


@cache
def _gaps(op_type: str, version: int) -> tuple[frozenset[tuple[str, str]], Sequence[str]]:
    """The missing pairs of type parameter and type, and the type parameter of each input."""
    schema = schema_for(op_type, version, "")
    if schema is None:
        return frozenset(), ()
    versions = ONNXRUNTIME_GAPS[op_type]
    since = max((number for number in versions if number <= schema.since_version), default=None)
    missing = [] if since is None else [row.split(": ") for row in versions[since]]
    pairs = frozenset((parameter, f"tensor({word})") for parameter, words in missing for word in words.split())
    return pairs, [formal.type_str for formal in schema.inputs]


def strings(node: Node, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """Strings that OpenVINO or TensorRT would have to compute with."""
    if isinstance(node, Operation) and node.op_type in ("Identity", "Constant"):
        return
    values = [*node.inputs, *captured_values(node.body)] if isinstance(node, Loop) else node.inputs
    value = next((v for v in values if (dtype := context.dtype(v)) is not None and dtype.hasobject), None)
    if value is None:
        return
    if isinstance(node, Loop):
        yield (
            "B74",
            f"no rule tells whether OpenVINO loads {node.op_type} '{node.name}' with the string '{value.name}'.",
        )
        yield "T10", f"TensorRT cannot carry '{value.name}': it is a string."
    else:
        yield "B56", f"OpenVINO has no kernel for {node.op_type} '{node.name}': '{value.name}' is a string."


def sequences(node: Node, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """Sequences: few patterns load in OpenVINO."""
    name = f"{node.op_type} '{node.name}'"
    if isinstance(node, Loop):
        for edge in node.back_edges:
            if context.is_sequence(edge.param) or context.is_sequence(edge.result):
                if _appends(edge, context):
                    yield "B70", f"OpenVINO converts some loops that append to a sequence, as {name} does."
                else:
                    yield "B57", f"OpenVINO refuses {name}: it carries the sequence '{edge.param.name}'."
    elif node.domain or node.op_type not in _SEQUENCE_OPERATORS:
        return
    elif node.op_type == "SequenceMap" or (node.op_type == "SequenceAt" and scope.loops):
        yield "B57", f"OpenVINO refuses {name}."
    elif node.op_type in ("SequenceErase", "SequenceAt"):
        yield "B70", f"no rule tells whether OpenVINO converts {name}."


def _appends(edge: BackEdge, context: RuleContext) -> bool:
    """Whether a body appends to a sequence and does nothing else with it."""
    writer = context.producers.get(context.producers.skip_identities(edge.result))
    return (
        writer is not None
        and writer.op_type == "SequenceInsert"
        and writer.inputs[0] is edge.param
        and writer.inputs[2:] in ([], [None])
    )


def recurrent_operators(node: Node, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """Attributes of LSTM, GRU and RNN."""
    if not isinstance(node, Operation) or node.op_type not in _RECURRENT or node.domain:
        return
    name = f"{node.op_type} '{node.name}'"
    attributes = node.attributes
    if attributes.get("layout", 0):
        yield "B61", f"{name} has layout=1: onnxruntime and TensorRT refuse it, and OpenVINO ignores it."
    if attributes.get("input_forget", 0):
        yield "B62", f"{name} has input_forget=1: OpenVINO ignores it, and TensorRT refuses it."
    activations = [str(word) for word in attributes.get("activations", ())]
    foreign = next((word for word in activations if word.lower() not in _OPENVINO_ACTIVATIONS), None)
    if foreign is not None:
        yield "B63", f"OpenVINO refuses {name}: it does not have the activation {foreign}."
    without_defaults = next((word for word in activations if word.lower() in _ZERO_PARAMETER_ACTIVATIONS), None)
    if without_defaults is not None and not attributes.get("activation_alpha"):
        yield "B64", f"onnxruntime computes the activation {without_defaults} of {name} with alpha and beta of zero."
    half = len(activations) // 2
    if attributes.get("direction") == "bidirectional" and activations[:half] != activations[half:]:
        yield "B75", f"the two directions of {name} have different activations: OpenVINO takes the first for both."


def branches(node: Node, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """The branches of an If."""
    if not isinstance(node, If):
        return
    for first, second in zip(node.then_branch.outputs, node.else_branch.outputs, strict=True):
        ranks = context.rank(first), context.rank(second)
        if None not in ranks and ranks[0] != ranks[1]:
            yield (
                "T11",
                f"TensorRT refuses If '{node.name}': '{first.name}' has {ranks[0]} dimensions, and '{second.name}' of"
                f" the other branch {ranks[1]}.",
            )


def boolean_choices(node: Node, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """A Where of Booleans whose condition is also one of the values."""
    if node.op_type == "Where" and not node.domain:
        condition, *values = (None if v is None else context.producers.skip_identities(v) for v in node.inputs)
        if condition is not None and condition in values:
            yield "B77", f"OpenVINO refuses Where '{node.name}': its condition is also one of the values."


#: All of them.
NODE_RULES: tuple[NodeRule, ...] = (
    supported_operators,
    kernels,
    strings,
    sequences,
    recurrent_operators,
    branches,
    boolean_choices,
)
