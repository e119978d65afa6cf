"""The table of operators.

An operator is a function ``op(p, *inputs, **attributes)`` that composes primitives ``p`` (see
:class:`~.eager.EagerPrimitives`). With :class:`~.eager.EagerPrimitives` it computes eagerly; with the binder of
``plan.operator_binder`` it emits calls for the engine. Both use the kernels selected by ``ops.ufunc_kernels``.

``@onnx("Add", since=7)`` registers it for ONNX from that opset on, ``@openvino("Add")`` for OpenVINO. Attributes are
keyword arguments; OpenVINO's XML attributes are parsed by their annotation. An absent optional input is None. The
keyword ``n_outputs`` receives the number of outputs of the node; ``draws`` receives the random numbers of each
execution (``random_source.RandomSource``).
"""

from __future__ import annotations

import functools
import importlib
import inspect
import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache
from itertools import repeat
from types import CodeType, FunctionType, UnionType
from typing import Any, get_args, get_type_hints

import numpy as np

from ..dtypes import dtype_from_openvino
from ..errors import ModelError, Remedy, UnsupportedError
from ..graph import Array, Node, Operation, System, Value
from ..record import record
from ..text import count_text
from .operator_index import INDEX
from .primitive_types import NoNativeKernel
from .user_operators import load_entry_points, resolve_user_operator

Function = Callable[..., Any]
#: Annotations of list attributes.
Ints = tuple[int, ...]
Floats = tuple[float, ...]


@record(frozen=True)
class OperatorDefinition:
    """An operator from an opset on."""

    op_type: str
    since: int
    function: Function
    #: False: the function works on NumPy arrays (or lists) directly and cannot be bound to kernels.
    native: bool
    #: False: results may vary between runs (random operators), so it is never folded.
    pure: bool
    #: True: supports sequences when bound to kernels.
    sequences: bool = False

    @property
    def random(self) -> bool:
        """True if it may draw random numbers."""
        return "draws" in _signature(self.function).attributes


@record(frozen=True)
class ResolvedOperator:
    """The operator of a node with bound attributes."""

    function: Function
    keywords: Mapping[str, Any]
    native: bool = True
    pure: bool = True
    #: It draws random numbers: ``apply`` needs ``draws=...``.
    random: bool = False
    #: It has sequence inputs or outputs.
    sequences: bool = False

    def apply(self, p: Any, inputs: Sequence[Any], **more: Any) -> tuple[Any, ...]:
        """Run on primitives ``p``; returns a tuple with one entry per output."""
        result = self.function(p, *inputs, **self.keywords, **more)
        return result if isinstance(result, tuple) else (result,)


@record(eq=False, repr=False)
class ResolvedOperation(Operation):
    """A synthetic node, made of others, with its operator."""

    op: ResolvedOperator = field(kw_only=True)


_OPERATORS: dict[tuple[System, str, str], list[OperatorDefinition]] = {}
_FAMILY_MODULES = (
    "elementwise",
    "convolution",
    "cast",
    "activations",
    "reduce",
    "matmul",
    "einsum",
    "integer_matmul",
    "openvino_recurrent_cells",
    "shape",
    "slice_concat_pad",
    "gather_scatter",
    "normalize",
    "attention",
    "pool",
    "quantize",
    "rearrange",
    "resize",
    "grid_sample",
    "roi_pooling",
    "deformable_convolution",
    "table_lookup",
    "fourier",
    "ctc",
    "non_max_suppression",
    "prior_boxes",
    "proposals",
    "detection_output",
    "color_conversion",
    "openvino_misc",
    "random_operators",
    "sequence_operators",
    "microsoft_elementwise",
    "microsoft_fused_matmul",
    "microsoft_normalize",
    "microsoft_attention",
    "microsoft_quantized",
    "microsoft_legacy",
    "microsoft_decoder_blocks",
    "microsoft_moe",
    "nchwc",
    "tensorrt",
)


def register_all(
    system: System,
    rows: Iterable[tuple[str, int, Function]],
    domain: str = "",
    native: bool = True,
    pure: bool = True,
    sequences: bool = False,
) -> None:
    """Register operators, each as its type, first opset and function; see :func:`onnx` and :func:`openvino`."""
    for op_type, since, function in rows:
        # OpenVINO's reader ignores the case of types.
        key = (system, domain, op_type.lower() if system is System.OPENVINO else op_type)
        entries = _OPERATORS.setdefault(key, [])
        entries.append(OperatorDefinition(op_type, since, function, native, pure, sequences))
        entries.sort(key=operator.attrgetter("since"), reverse=True)


def _register(
    system: System,
    domain: str,
    op_types: Sequence[str],
    since: int,
    native: bool,
    pure: bool,
    sequences: bool,
    function: Function,
) -> Function:
    register_all(system, zip(op_types, repeat(since), repeat(function)), domain, native, pure, sequences)
    return function


def onnx(
    *op_types: str, since: int = 1, domain: str = "", native: bool = True, pure: bool = True, sequences: bool = False
) -> Callable[[Function], Function]:
    """Register a function for ONNX operators from opset ``since`` on, until a later registration."""
    return functools.partial(_register, System.ONNX, domain, op_types, since, native, pure, sequences)


def openvino(*op_types: str, since: int = 1, native: bool = True, pure: bool = True) -> Callable[[Function], Function]:
    """Register a function for OpenVINO operators from ``opset<since>`` on."""
    return functools.partial(_register, System.OPENVINO, "", op_types, since, native, pure, False)


def _attribute_parameters(owner: Function | type) -> list[inspect.Parameter]:
    """The keyword-only parameters of a function, or the fields of a record as parameters."""
    if not isinstance(owner, type):
        return [p for p in _python_signature(owner).parameters.values() if p.kind is p.KEYWORD_ONLY]
    empty, kind = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY
    names: tuple[str, ...] = vars(owner)["__match_args__"]
    return [inspect.Parameter(name, kind, default=getattr(owner, name, empty)) for name in names]


def inherit_attributes(other: Function | type, *without: str) -> Callable[[Function], Function]:
    """Replace a function's ``**attributes`` by those of another function or record, except for ``without``.

    Versions of an operator can thus be thin wrappers of one function, and still reject attributes that their
    specification lacks.
    """

    def apply(function: Function) -> Function:
        def inherit() -> None:
            own = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
            excluded = {p.name for p in own}.union(without)
            inherited = [p for p in _attribute_parameters(other) if p.name not in excluded]
            hints = _annotated_types(other)
            function.__annotations__ |= {p.name: hints[p.name] for p in inherited}
            function.__dict__["__signature__"] = inspect.Signature([*own, *inherited])

        function.__dict__[_ON_DEMAND] = inherit
        return function

    return apply


#: Operators have here what completes their signature: it takes 0.1 ms, and a model has few of a family's operators.
_ON_DEMAND = "_complete_signature"


def _python_signature(function: Function) -> inspect.Signature:
    complete = getattr(function, _ON_DEMAND, None)
    if complete is not None:
        complete()
        function.__dict__.pop(_ON_DEMAND, None)
    return inspect.signature(function)


def older_version(newer: Function, *without: str, inputs: int | None = None) -> Function:
    """An operator as ``newer``, without some attributes, and with the first ``inputs`` inputs only."""

    @functools.wraps(newer)
    def older(*arguments: Any, **attributes: Any) -> Any:
        return newer(*arguments, **attributes)

    def reduce() -> None:
        parameters = list(_python_signature(newer).parameters.values())
        positional = [p for p in parameters if p.kind is not p.KEYWORD_ONLY][: None if inputs is None else inputs + 1]
        attributes = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in without]
        older.__dict__["__signature__"] = inspect.Signature([*positional, *attributes])

    older.__dict__[_ON_DEMAND] = reduce
    return older


@cache
def _load_families() -> None:
    for family in _FAMILY_MODULES:
        _load_family(family)


@cache
def _load_family(family: str) -> None:
    importlib.import_module(f"{__package__}.{family}")


@cache
def _families_by_operator() -> dict[tuple[System, str, str], list[str]]:
    """The families of each operator by table key."""
    families: dict[tuple[System, str, str], list[str]] = {}
    for (system_name, domain, family), names in INDEX.items():
        system = System(system_name)
        for name in (names.lower() if system is System.OPENVINO else names).split():
            families.setdefault((system, domain, name), []).append(family)
    return families


def _definitions_for(key: tuple[System, str, str]) -> list[OperatorDefinition]:
    """An operator's definitions; imports only its families, or all for an unknown operator."""
    for family in _families_by_operator().get(key, ()):
        _load_family(family)
    if key not in _OPERATORS:
        _load_families()
    return _OPERATORS.get(key, [])


def definitions() -> list[tuple[System, str, OperatorDefinition]]:
    """Every version of every operator: system, domain, definition."""
    _load_families()
    return [(system, domain, entry) for (system, domain, _), entries in _OPERATORS.items() for entry in entries]


@cache
def find_definition(system: System, domain: str, op_type: str, version: int) -> OperatorDefinition | None:
    """The definition that is valid at an opset version, or None."""
    key = (system, domain, op_type.lower() if system is System.OPENVINO else op_type)
    for entry in _definitions_for(key):
        if entry.since <= version:
            return entry
    return None


def operator_system(system: System) -> System:
    """The system whose operators a graph consists of: TensorRT networks are lowered to ONNX."""
    return System.ONNX if system is System.TENSORRT else system


def _find_node_definition(node: Operation, system: System) -> OperatorDefinition | None:
    domain = "" if system is System.OPENVINO or node.domain == "ai.onnx" else node.domain
    return find_definition(operator_system(system), domain, node.op_type, node.version)


def is_random(node: Node, system: System) -> bool:
    """True if a node draws random numbers; with an input ``training_mode`` (Dropout) only if that is given."""
    definition = _find_node_definition(node, system) if isinstance(node, Operation) else None
    if definition is None or not definition.random:
        return False
    inputs = _signature(definition.function).inputs
    if "training_mode" not in inputs:
        return True
    mode = node.inputs[inputs.index("training_mode") :][:1]
    return any(value is not None and (value.constant is None or np.any(value.constant)) for value in mode)


class UnknownOperatorError(UnsupportedError):
    """The operator of a node has no implementation."""


def resolve(node: Operation, system: System) -> ResolvedOperator:
    """Resolve the operator of a node and bind its attributes.

    Raises:
        UnknownOperatorError: the operator has no implementation.
        ModelError: an attribute is missing, unknown or cannot be parsed.
    """
    if isinstance(node, ResolvedOperation):
        return node.op
    definition = _find_node_definition(node, system)
    if definition is not None:
        keywords = attribute_keywords(node, definition.function, system)
        d = definition
        return ResolvedOperator(d.function, keywords, d.native, d.pure, d.random, d.sequences)
    function = resolve_user_operator(node)
    if function is None and operator_system(system) is System.ONNX:
        from .onnx_reference import resolve_reference

        function = resolve_reference(node)
    if function is None:
        message = "; ".join((f"no implementation of operator {node.describe()}", *load_entry_points()))
        raise UnknownOperatorError(message, Remedy.REGISTER_OPERATOR, **node.error_fields)
    return ResolvedOperator(function, {}, native=False, pure=False)


def resolve_or_defer_error(node: Operation, system: System) -> ResolvedOperator:
    """Like :func:`resolve`, but an operator without implementation fails only when it runs.

    Raises:
        ModelError: an attribute is missing, unknown or cannot be parsed.
    """
    try:
        return resolve(node, system)
    except UnknownOperatorError as error:
        what, fields = error.what, error.fields

    def raise_unknown_operator(p: Any, *inputs: Any) -> Any:
        raise UnknownOperatorError(what, Remedy.REGISTER_OPERATOR, **fields)

    return ResolvedOperator(raise_unknown_operator, {}, native=False, pure=False)


def apply_standard_operator(
    p: Any, op_type: str, inputs: Sequence[Any], n_outputs: int = 1, version: int = 21, **attributes: Any
) -> tuple[Any, ...]:
    """Apply a standard ONNX operator on primitives ``p``, for use by other operators.

    ``inputs``: None for an absent one.

    Raises:
        NoNativeKernel: the operator cannot be bound to kernels.
    """
    frozen = tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in attributes.items())
    op = _standard_operator(op_type, tuple(x is not None for x in inputs), n_outputs, version, frozen)
    if p.emits and not op.native:
        raise NoNativeKernel
    return op.apply(p, inputs)


@cache
def _standard_operator(
    op_type: str, presence: tuple[bool, ...], n_outputs: int, version: int, attributes: tuple[tuple[str, Any], ...]
) -> ResolvedOperator:
    inputs = [Value(f"in{k}") if present else None for k, present in enumerate(presence)]
    outputs: list[Value | None] = [Value(f"out{k}") for k in range(n_outputs)]
    chosen = {
        name: list(value) if isinstance(value, tuple) else value for name, value in attributes if value is not None
    }
    return resolve(Operation(op_type, op_type, "", version, inputs, outputs, chosen), System.ONNX)


@record(frozen=True)
class OperatorSignature:
    """The parameters of an operator's function. ``optional``: for each input whether it may be absent; ``variadic``:
    any number of inputs, none absent."""

    attributes: Mapping[str, inspect.Parameter]
    hints: Mapping[str, Any]
    inputs: Sequence[str]
    min_inputs: int
    optional: Sequence[bool]
    variadic: bool


def _annotated_types(owner: Function | type) -> Mapping[str, Any]:
    """As ``typing.get_type_hints``, which compiles the same few annotations for each operator, in a tenth of the time:
    a cold start has dozens of operators."""
    if isinstance(owner, FunctionType):
        scopes: list[tuple[Any, dict[str, Any]]] = [(owner, owner.__globals__)]
    elif isinstance(owner, type):
        scopes = [(base, vars(sys.modules[base.__module__])) for base in owner.__mro__[-2::-1]]
    else:
        return get_type_hints(owner)
    return {
        name: eval(_compiled_annotation(text), names) if isinstance(text, str) else text
        for part, names in scopes
        for name, text in part.__annotations__.items()
    }


@cache
def _compiled_annotation(text: str) -> CodeType:
    return compile(text, "<annotation>", "eval")


@cache
def _signature(function: Function) -> OperatorSignature:
    _, *parameters = _python_signature(function).parameters.values()
    hints = _annotated_types(inspect.unwrap(function))
    attributes = {p.name: p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}
    inputs = [p for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    variadic = inspect.Parameter.VAR_POSITIONAL in [p.kind for p in parameters]
    # Variadic operators need at least one input.
    min_inputs = sum([p.default is inspect.Parameter.empty for p in inputs]) or int(variadic)
    optional = [type(None) in get_args(hints.get(p.name)) for p in inputs]
    return OperatorSignature(attributes, hints, [p.name for p in inputs], min_inputs, optional, variadic)


#: Annotations and their ONNX attribute types.
_ATTRIBUTE_KINDS: tuple[tuple[Any, str], ...] = (
    (int, "INT"),
    (bool, "INT"),
    (float, "FLOAT"),
    (str, "STRING"),
    (str | bytes, "STRING"),
    (Array, "TENSOR"),
    (Ints, "INTS"),
    (Sequence[int], "INTS"),
    (Floats, "FLOATS"),
    (Sequence[float], "FLOATS"),
    (Sequence[str], "STRINGS"),
    (Sequence[str | bytes], "STRINGS"),
)


def attribute_kinds(domain: str, op_type: str, version: int) -> dict[str, str] | None:
    """The attribute types of an ONNX operator (``INT``, ``STRINGS``, ...) by its annotations; None for an unknown
    operator."""
    definition = find_definition(System.ONNX, domain, op_type, version)
    return None if definition is None else attribute_kinds_of(definition.function)


def attribute_kinds_of(function: Callable[..., Any]) -> dict[str, str]:
    """The attribute types of a function, as in :func:`attribute_kinds`."""
    signature = _signature(function)
    kinds = {}
    for name in signature.attributes:
        hint = signature.hints.get(name)
        if isinstance(hint, UnionType):
            hint = functools.reduce(operator.or_, (part for part in get_args(hint) if part is not type(None)))
        attribute_type = next((attribute_type for kind, attribute_type in _ATTRIBUTE_KINDS if hint == kind), None)
        if attribute_type is not None and name not in ("n_outputs", "draws"):
            kinds[name] = attribute_type
    return kinds


def _check_inputs(node: Operation, signature: OperatorSignature) -> None:
    """Check the number of inputs of a node, and that absent ones are optional.

    Raises:
        ModelError: there are too few or too many, or a required one is absent.
    """
    count, max_inputs = len(node.inputs), len(signature.optional)
    if count > max_inputs and not signature.variadic:
        raise ModelError(
            f"{node.describe()} has {count_text(count, 'input')}; it takes at most {max_inputs}",
            **node.error_fields,
            name="inputs",
            expected=f"at most {max_inputs}",
            got=str(count),
        )
    if count < signature.min_inputs:
        raise ModelError(
            f"{node.describe()} has {count_text(count, 'input')}; it needs at least {signature.min_inputs}",
            **node.error_fields,
            name="inputs",
            expected=f"at least {signature.min_inputs}",
            got=str(count),
        )
    for k, value in enumerate(node.inputs):
        if value is None and not (k < max_inputs and signature.optional[k]):
            raise ModelError(
                f"{node.describe()} lacks its input {k}, which is not optional",
                **node.error_fields,
                name="inputs",
                got=f"no input {k}",
            )


def attribute_keywords(node: Operation, function: Function, system: System) -> dict[str, Any]:
    """The attributes of a node as keywords of its operator's function.

    Raises:
        ModelError: an attribute is missing, unknown or cannot be parsed, or the number of inputs is wrong.
    """
    signature = _signature(function)
    _check_inputs(node, signature)
    keyword_only, hints = signature.attributes, signature.hints
    keywords: dict[str, Any] = {}
    for attribute_name, text in node.attributes.items():
        # exclude-pad
        name = attribute_name.replace("-", "_") if system is System.OPENVINO else attribute_name
        if name not in keyword_only or name == "draws":
            if system is System.OPENVINO:  # plugin hints; OpenVINO's reader also ignores unknown ones
                continue
            if name == "consumed_inputs" and node.version < 6:  # a hint for in-place execution
                continue
            raise ModelError(
                f"{node.describe()} has an attribute '{name}' that this opset does not define",
                **node.error_fields,
                name=name,
            )
        if operator_system(system) is System.ONNX:
            keywords[name] = text
            continue
        try:
            keywords[name] = _parse_attribute(text, hints.get(name, str))
        except (ValueError, KeyError) as error:
            raise ModelError(
                f'{node.describe()}: attribute {name}="{text}" cannot be read: {error}',
                **node.error_fields,
                name=name,
                got=text,
            ) from None
    if "n_outputs" in keyword_only:
        keywords["n_outputs"] = len(node.outputs)
    for name, parameter in keyword_only.items():
        if parameter.default is inspect.Parameter.empty and name not in keywords:
            raise ModelError(f"{node.describe()} lacks its attribute '{name}'", **node.error_fields, name=name)
    return keywords


def _parse_attribute(text: str, kind: Any) -> Any:
    """Parse an XML attribute as the annotated type; ``X | None`` is parsed as X."""
    members = [member for member in get_args(kind) if member is not type(None)]
    if isinstance(kind, UnionType) and len(members) == 1:
        kind = members[0]
    if kind is bool:
        if text.lower() not in ("true", "false", "1", "0"):
            raise ValueError("expected true or false")
        return text.lower() in ("true", "1")
    if kind is int:
        return int(text)
    if kind is float:
        return float(text)
    if kind == Ints:
        return tuple(int(part) for part in text.replace(" ", "").split(",") if part)
    if kind == Floats:
        return tuple(float(part) for part in text.replace(" ", "").split(",") if part)
    if getattr(kind, "__name__", "") == "dtype" or "dtype" in str(kind):
        return dtype_from_openvino(text)
    return text
