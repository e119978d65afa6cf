"""Rules about operators of ONNX models, in the main graph and in bodies, and about the values that they exchange."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

from ...runtime.frontends.onnx.type_checks import schema_type_text
from ...runtime.graph import BackEdge, If, Loop, Node, Operation, TensorType, Value, captured_values
from ...runtime.ops.onnx_schemas import schema_for
from .rule_context import SEQUENCE_PRODUCERS, RuleContext, RuleScope
from .unsupported_operators import ONNXRUNTIME_GAPS, OPENVINO_UNCONVERTED

#: Yields pairs of a label and a sentence.
NodeRule = Callable[[Node, RuleScope, RuleContext], Iterator[tuple[str, str]]]

_RECURRENT = ("LSTM", "GRU", "RNN")
_OPENVINO_ACTIVATIONS = frozenset(("sigmoid", "tanh", "relu"))
_ZERO_PARAMETER_ACTIVATIONS = frozenset(("affine", "scaledtanh", "thresholdedrelu"))
_SEQUENCE_READERS = frozenset(("ConcatFromSequence", "SequenceAt", "SequenceLength"))
_SEQUENCE_OPERATORS = SEQUENCE_PRODUCERS | _SEQUENCE_READERS
_MICROSOFT = "com.microsoft"
_STANDARD_DOMAINS = ("", "ai.onnx.ml")
#: Operators whose integers OpenVINO computes in float32, and the numbers that it represents exactly.
_FLOAT_COMPUTED = frozenset(
    ("Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "MatMul", "Mod", "Pow", "ReduceMax",
     "ReduceMin", "ReduceProd", "ReduceSum")
)  # fmt: skip
_MAX_EXACT_INTEGER = 1 << 24
_SHAPE_READERS = ("Cast", "Identity", "Shape", "Size")
#: Operators that do not look at the strings that they get.
_STRING_BLIND = ("Constant", "Identity", "Shape", "Size")


def unsupported_operators(node: Node, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """Operators that OpenVINO does not have, and those of other domains."""
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


def missing_kernels(node: Node, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """Element types that onnxruntime has no kernel for."""
    if not isinstance(node, Operation) or node.domain or node.op_type not in ONNXRUNTIME_GAPS:
        return
    gaps, parameters = _missing_kernel_types(node.op_type, node.version)
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
def _missing_kernel_types(op_type: str, version: int) -> tuple[frozenset[tuple[str, str]], Sequence[str]]:
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
    if isinstance(node, Operation) and node.op_type in _STRING_BLIND:
        return
    values = [*node.inputs, *captured_values(node.body)] if isinstance(node, Loop) else node.inputs
    value = next((v for v in values if (dtype := context.dtype(v)) is not None and dtype.hasobject), None)
    if value is None:
        return
    name = f"{node.op_type} '{node.name}'"
    if isinstance(node, Loop):
        shapes = [*values, *node.body.inputs[2:], *node.body.outputs[1:]]
        if any((dtype := context.dtype(scan.result)) is not None and dtype.hasobject for scan in node.scan_outputs):
            yield "B56", f"OpenVINO refuses {name}: it has a scan output of strings."
        elif not node.scan_outputs and all(v is None or context.is_static(v) for v in shapes):
            yield "B56", f"OpenVINO refuses {name} of known shapes with the string '{value.name}'."
        else:
            yield "B74", f"no rule tells what OpenVINO does with the string '{value.name}' in {name}."
        yield "T10", f"TensorRT cannot carry '{value.name}': it is a string."
    else:
        yield "B56", f"OpenVINO has no kernel for {name}: '{value.name}' is a string."


def sequence_uses(node: Node, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """Sequences: few patterns load in OpenVINO."""
    name = f"{node.op_type} '{node.name}'"
    if isinstance(node, Loop):
        for edge in node.back_edges:
            if context.is_sequence(edge.param) or context.is_sequence(edge.result):
                if _only_appends(edge, context):
                    yield "B70", f"OpenVINO converts some loops that append to a sequence, as {name} does."
                else:
                    yield "B57", f"OpenVINO refuses {name}: it carries the sequence '{edge.param.name}'."
    elif node.domain or node.op_type not in _SEQUENCE_OPERATORS:
        return
    elif (
        node.op_type == "SequenceAt"
        and scope.loops
        and (_is_reduced(node, context) or _is_in_sequence_map(node, scope))
    ):
        yield "B57", f"OpenVINO refuses {name}."
    elif node.op_type == "SequenceLength" and _is_loop_result(node.inputs[0], context):
        yield "B90", f"OpenVINO returns a wrong number for {name}: a loop appends to its sequence."
    elif node.op_type in ("SequenceErase", "SequenceAt") or (node.op_type == "ConcatFromSequence" and scope.loops):
        yield "B70", f"no rule tells whether OpenVINO converts {name}."


def _is_loop_result(value: Value | None, context: RuleContext) -> bool:
    """Whether a loop returns a value."""
    source = context.source(value)
    return source is not None and isinstance(context.producers.get(source), Loop)


def _is_reduced(node: Node, context: RuleContext) -> bool:
    """Whether a reduction reads a result: it needs to know the type, which OpenVINO does not inside of loops."""
    readers = (reader for value in node.outputs if value is not None for reader in context.readers(value))
    return any(reader.op_type.startswith("Reduce") for reader in readers)


def _is_in_sequence_map(node: Node, scope: RuleScope) -> bool:
    """Whether a SequenceAt is part of a SequenceMap, which is read as a Loop."""
    return node.name.startswith(f"{scope.loops[-1].name}/SequenceAt_")


def _only_appends(edge: BackEdge, context: RuleContext) -> bool:
    """Whether a body appends to a sequence and does nothing else with it."""
    writer = context.producers.get(context.producers.skip_identities(edge.result))
    return (
        writer is not None
        and writer.op_type == "SequenceInsert"
        and writer.inputs[0] is edge.param
        and writer.inputs[2:] in ([], [None])
    )


def recurrent_operator_attributes(node: Node, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
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
    name = f"If '{node.name}'"
    condition = node.inputs[0]
    if condition is not None and isinstance(condition.type, TensorType) and condition.type.shape:
        sizes = [size for size in condition.type.shape if isinstance(size, int) and size != 1]
        if sizes:
            yield "B86", f"the condition '{condition.name}' of {name} is declared with {sizes[0]} elements."
    for first, second in zip(node.then_branch.outputs, node.else_branch.outputs, strict=True):
        ranks = context.rank(first), context.rank(second)
        if ranks[0] is None or ranks[1] is None or ranks[0] == ranks[1]:
            continue
        text = f"'{first.name}' has {ranks[0]} dimensions, and '{second.name}' of the other branch {ranks[1]}."
        yield "T11", f"TensorRT refuses {name}: {text}"
        if context.depends_on_shapes_only(condition):
            if context.constant(condition) is None:
                yield "B93", f"OpenVINO refuses {name} if it cannot compute the condition in advance: {text}"
        elif max(ranks[0], ranks[1]) > 1:
            yield "B84", f"OpenVINO refuses {name}: {text}"
        else:
            yield "B85", f"OpenVINO returns one dimension of {name}: {text}"


def boolean_where_operands(node: Node, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """A Where of Booleans whose condition is also one of the values."""
    if node.op_type == "Where" and not node.domain:
        condition, *values = (None if v is None else context.producers.skip_identities(v) for v in node.inputs)
        if condition is not None and condition in values:
            yield "B77", f"OpenVINO refuses Where '{node.name}': its condition is also one of the values."


def scalar_expansions(node: Node, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """A scalar that is expanded or tiled to no dimensions, and returned: operators between them broadcast it."""
    if not isinstance(node, Operation) or node.domain or node.op_type not in ("Expand", "Tile"):
        return
    sizes, scalar = context.constant(node.inputs[1]), node.inputs[0]
    if sizes is None or sizes.size or scalar is None or context.rank(scalar) != 0:
        return
    if node.op_type == "Tile" or any(context.is_returned(value) for value in node.outputs if value is not None):
        yield "B87", f"OpenVINO returns {node.op_type} '{node.name}' of a scalar with one dimension, or refuses it."


def computes_integers_in_float(node: Node) -> bool:
    """Whether OpenVINO computes an operator in float32, also of integers."""
    return not node.domain and node.op_type in _FLOAT_COMPUTED


def large_integers(node: Node, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """Operators that OpenVINO computes in float32, with an integer constant that it rounds."""
    for value in node.inputs:
        data = context.constant(value)
        if data is not None and data.dtype.kind in "iu" and data.size and computes_integers_in_float(node):
            largest = max(abs(int(data.min())), abs(int(data.max())))
            if largest > _MAX_EXACT_INTEGER:
                yield "B88", f"OpenVINO computes {node.op_type} '{node.name}' with {largest} in float32."
                return


def empty_constants(node: Node, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """Constants without elements whose shape matters."""
    if node.domain or not (node.op_type in _SHAPE_READERS or node.op_type.startswith("Reduce")):
        return
    value = next(iter(node.inputs), None)
    data = context.constant(value)
    if value is not None and data is not None and not data.size:
        yield (
            "B92",
            f"OpenVINO reads '{value.name}' of {node.op_type} '{node.name}', which has no elements, as a scalar.",
        )


def squeezed_sizes(node: Node, scope: RuleScope, context: RuleContext) -> Iterator[tuple[str, str]]:
    """A Squeeze of a dimension that is declared with another size than one."""
    if not isinstance(node, Operation) or node.domain or node.op_type != "Squeeze":
        return
    data, *rest = node.inputs
    axes = node.attributes.get("axes") if node.version < 13 else context.constant(next(iter(rest), None))
    if axes is None or data is None:
        return
    for axis in axes:
        size = context.dimension(data, int(axis))
        if size not in (None, 1):
            text = f"onnxruntime refuses Squeeze '{node.name}': axis {axis} of '{data.name}' has {size} elements."
            yield "B89", text


#: All of them.
NODE_RULES: tuple[NodeRule, ...] = (
    unsupported_operators,
    missing_kernels,
    strings,
    sequence_uses,
    recurrent_operator_attributes,
    branches,
    boolean_where_operands,
    scalar_expansions,
    large_integers,
    empty_constants,
    squeezed_sizes,
)
