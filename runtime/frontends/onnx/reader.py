"""Reads ONNX models into graphs.

Specification: the pages of Loop, Scan and If, and the IR specification (docs/IR.md of ONNX) for scopes,
initializers and functions; docs/semantics.md 1 to 4. Names are resolved by ``name_scope``, loops built by
``control_flow``, types and data decoded by ``proto_decoding``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import ErrorFields, LoopdbgError, ModelError, UnsupportedError, file_error, one_line
from ...graph import ANY_TYPE, Array, Graph, Node, Note, Operation, System, TensorType, Value, loops
from ...ops.type_constraints import find_mixed_types
from ...safe_file_reading import StableFile
from ...text import count_text
from ..recurrent import expand_recurrent_operators
from . import control_flow
from .deviation_notes import OnnxProducerMap, graph_notes, hidden_name_note
from .expansion_limits import check_bracket_depth, check_expanded_size
from .external_data import ExternalDataReader
from .name_scope import FunctionCallContext, FunctionKey, NameScope, all_names, function_key
from .node_order import topological_node_order
from .node_origin import node_origin_source
from .operator_function_bodies import InferredTypes, function_body_for
from .proto import (
    NCHWC_DOMAIN,
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    convert_onnx_package_model,
)
from .proto_decoding import canonical_domain, decode_attributes, sparse_to_array, tensor_to_array
from .unsupported_types import UnsupportedTypePruner

#: The domain of onnxruntime's own operators.
MICROSOFT = "com.microsoft"
#: ONNX stores operator set versions in 32 bits.
_OPSET_VERSION_LIMIT = 1 << 31
#: A file that is blank up to this size is regarded as empty.
_BLANK_CHECK_BYTES = 4096
#: Text is converted to protobuf, which is limited to this size.
_MAX_TEXT_BYTES = 1 << 31
#: Operators whose inner graphs are supported.
_CONTROL_FLOW = ("Loop", "Scan", "If", "SequenceMap")


def read(path: str | os.PathLike[str]) -> Graph:
    """Read a model in any format that ``onnx.load`` reads, by its suffix, with external data in its folder.

    Raises:
        ModelError: not a model, or the specification rejects it; the message begins with the path.
        UnsupportedError: a valid model with an unsupported feature.
    """
    path_text = os.fspath(path)
    file_format = _file_format(os.path.splitext(path_text)[1].lower())
    try:
        with StableFile(path_text) as file:
            return from_proto(_parse_model(file, file_format, path_text), path_text)
    except OSError as error:
        raise file_error(ModelError, path_text, "cannot be read", error) from None
    except MemoryError:
        raise ModelError(f"{path_text}: it is larger than the memory that there is, or damaged") from None


def _parse_model(file: StableFile, fmt: str, path_text: str) -> ModelProto:
    """Parse the model in a file; ``path_text`` is the start of every message."""
    start = bytes(file.read_range(0, min(_BLANK_CHECK_BYTES, file.size)))
    if not start.strip():
        raise ModelError(f"{path_text}: the file is empty; export the model again")
    try:
        data = None if fmt == "protobuf" else _read_text(file)
        if data is not None and fmt == "onnxtxt":
            check_bracket_depth(data)
    except UnsupportedError as error:
        raise UnsupportedError(f"{path_text}, {error}") from None
    try:
        model = ModelProto.FromString(file) if data is None else _parse_text(data, fmt)
    except (OSError, MemoryError):
        raise
    except Exception as error:  # each of the four parsers has its own error classes
        reason = _escape_message(one_line(error))
        raise ModelError(
            f"{path_text}: not an ONNX model in {fmt} form: {reason}; {_parse_failure_hint(start, fmt)}"
        ) from None
    if not model.HasField("graph"):
        raise ModelError(f"{path_text}: holds no graph, so it is not an ONNX model; {_parse_failure_hint(start, fmt)}")
    return model


def _read_text(file: StableFile) -> bytes:
    """Read a text file."""
    if file.size > _MAX_TEXT_BYTES:
        raise UnsupportedError(
            f"it has {file.size} bytes; text of more than {_MAX_TEXT_BYTES} is not read: save it as .onnx"
        )
    return bytes(file.read_range(0, file.size))


def _file_format(suffix: str) -> str:
    """The format of a file with this suffix."""
    if suffix in (".onnx", ".pb"):
        return "protobuf"
    import onnx

    return onnx.serialization.registry.get_format_from_file_extension(suffix) or "protobuf"


def _parse_text(data: bytes, file_format: str) -> ModelProto:
    import onnx

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "The onnxtxt format is experimental"
        return convert_onnx_package_model(onnx.load_model_from_string(data, format=file_format))


def _parse_failure_hint(start: bytes, file_format: str) -> str:
    """Advice on a file that cannot be parsed."""
    start = start[:200].lstrip()
    if start.startswith(b"version https://git-lfs"):
        return "it is a Git LFS pointer: run 'git lfs pull'"
    if (
        file_format == "protobuf"
        and start.isascii()
        and start.replace(b"\n", b" ").replace(b"\t", b" ").decode().isprintable()
    ):
        suffix = {b"{": ".json", b"<": ".onnxtxt"}.get(start[:1], ".textproto")
        return f"it looks like text: give it the suffix {suffix}"
    return "check that the file is complete and that its suffix tells its form"


def from_proto(model: ModelProto, label: str, folder: Path | None = None) -> Graph:
    """Convert a model, which is not modified, to a graph.

    ``label``, its path or another name, is the start of every message; ``folder`` contains its external data, by
    default the folder of ``label``.
    Model-local functions are inlined: their names get the call's name as a prefix. SequenceMap becomes the Loop of its
    specification; LSTM, GRU and RNN become loops over their time steps. Constant nodes stay nodes, initializers become
    constants.

    Raises:
        ModelError: the specification rejects the model.
        UnsupportedError: a valid model with an unsupported feature.
    """
    model = convert_onnx_package_model(model)
    try:
        for proto in (model.graph, *model.functions):
            for name in all_names(proto):
                if not isinstance(name, str):  # protobuf returns bytes for text that is not UTF-8
                    raise ModelError(
                        f"the name {name!r} is not UTF-8, so the file is damaged; export the model again",
                        name=repr(name),
                    )
        check_expanded_size(model)
        graph = _OnnxGraphReader(
            model, ExternalDataReader(folder or os.path.dirname(os.path.abspath(label)))
        ).read_main_graph()
        expand_recurrent_operators(graph)
        return graph
    except LoopdbgError as error:
        raise type(error)(f"{label}: {_escape_message(error.what)}", error.remedy, **error.fields) from None
    except RecursionError:
        raise UnsupportedError(f"{label}: its graphs are nested too deeply") from None


def _escape_message(message: str) -> str:
    """Escape unprintable characters, so that names of a damaged file cannot break lines or control a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in message)


def _mixed_type_notes(graph: Graph) -> Iterator[Note]:
    """Notes on mismatched types, which the specification rejects but loopdbg accepts."""
    for mixed in find_mixed_types(graph):
        yield Note("B44", f"{mixed}; the specification wants one type: onnxruntime and OpenVINO refuse the model.")
    for loop in loops(graph):
        number = loop.iteration
        kind = number.type.dtype if number is not None and isinstance(number.type, TensorType) else None
        if number is not None and loop.op_type == "Loop" and kind not in (None, np.int64):
            yield Note(
                "B38",
                f"{loop.describe()} declares its iteration number '{number.name}' as {kind}; the specification has"
                " int64, and onnxruntime refuses the model.",
            )


class _OnnxGraphReader:
    def __init__(self, model: ModelProto, external_data: ExternalDataReader) -> None:
        self.model = model
        self.external_data = external_data
        self.functions: dict[FunctionKey, FunctionProto] = {function_key(f): f for f in model.functions}
        self.producers = OnnxProducerMap()
        self.inferred_types = InferredTypes(model)
        self.notes: list[str] = []

    def read_main_graph(self) -> Graph:
        """Read the main graph; inputs with an initializer are optional (IR specification, "Initializers")."""
        opsets = _imported_opsets(self.model.opset_import)
        if not opsets and self.model.ir_version < 3:
            opsets = {"": 1}  # before IR 3 there were no operator sets to import
        proto = self.model.graph
        graph = Graph(proto.name, system=System.ONNX, opsets=opsets)
        scope = NameScope(graph, proto, FunctionCallContext(opsets))
        initializers = self.read_initializers(proto, "")
        graph.inputs = [self.read_parameter(scope, info) for info in proto.input]
        names = [info.name for info in proto.input]
        graph.defaults = {name: initializers.pop(name) for name in names if name in initializers}
        self.add_constants(scope, initializers)
        self.read_nodes_and_outputs(scope)
        names = [info.name for info in proto.output]
        if names != [value.name for value in graph.outputs]:
            graph.output_names = names
        UnsupportedTypePruner(scope.unsupported).apply(graph)
        graph.notes = list(dict.fromkeys([*graph.notes, *self.notes, *_mixed_type_notes(graph), *graph_notes(graph)]))
        return graph

    @cached_property
    def block_channels(self) -> int:
        """The number of channels in a block of onnxruntime's NCHWc layout."""
        from .nchwc_block_size import infer_block_channels, native_block_channels

        size = infer_block_channels(self.model)
        if size is None:
            size = native_block_channels()
            self.notes.append(
                f"onnxruntime wrote it for one kind of processor, with channels in blocks of 8 or 16, and nothing in it"
                f" tells which: they are read as {size}, as on this machine. Written with ORT_ENABLE_EXTENDED instead"
                " of ORT_ENABLE_ALL it has no blocks."
            )
        return size

    def read_subgraph(
        self, proto: GraphProto, outer: NameScope, attribute: str, tail: str, count: int, params: str, label: str
    ) -> Graph:
        """Read the body of a loop or a branch of an If, which is an ``attribute`` of the current node and has ``count``
        parameters, described by ``params``.

        A body input that has an initializer in the body may be omitted (docs/semantics.md 3.3) and is then a constant.
        Before IR 4 each initializer had to be listed among the inputs.
        """
        initializers = self.read_initializers(proto, tail)
        inputs = list(proto.input)
        required = [info for info in inputs if info.name not in initializers]
        if len(inputs) != count and len(required) == count:
            inputs = required
        elif len(inputs) > count and all(info.name in initializers for info in inputs[count:]):
            inputs = inputs[:count]
        if len(inputs) != count:
            raise ModelError(
                f"{label}: its graph '{proto.name}' has {count_text(len(inputs), 'input')}; it needs {count}: {params}",
                name=proto.name,
                expected=f"{count} inputs",
                got=str(len(inputs)),
            )
        graph = Graph(proto.name, system=System.ONNX, opsets=outer.context.opsets)
        path = None if outer.path is None else (*outer.path, (outer.position, attribute))
        scope = NameScope(graph, proto, outer.context, tail, parent=outer, path=path)
        graph.inputs = [self.read_parameter(scope, info) for info in inputs]
        for info in inputs:
            initializers.pop(info.name, None)
        self.add_constants(scope, initializers)
        self.read_nodes_and_outputs(scope)
        return graph

    def read_initializers(self, proto: GraphProto, suffix: str) -> dict[str, Array]:
        arrays: dict[str, Array] = {}
        for tensor in proto.initializer:
            if tensor.name in arrays:
                raise ModelError(f"there are two initializers '{tensor.name}'{suffix}; remove one", name=tensor.name)
            arrays[tensor.name] = tensor_to_array(tensor, self.external_data, f"initializer '{tensor.name}'{suffix}")
        for sparse in proto.sparse_initializer:
            name = sparse.values.name
            if name in arrays:
                raise ModelError(f"there are two initializers '{name}'{suffix}; remove one", name=name)
            arrays[name] = sparse_to_array(sparse, self.external_data, f"sparse initializer '{name}'{suffix}")
        return arrays

    def read_parameter(self, scope: NameScope, info: Any) -> Value:
        """Read an input of a graph; it may hide an outer value (docs/semantics.md 3.4)."""
        if not info.name:
            raise ModelError(f"an input{scope.location_text or ' of the model'} has no name; name it")
        if info.name in scope.values:
            raise ModelError(f"there are two inputs '{info.name}'{scope.location_text}; rename one", name=info.name)
        value = Value(f"{scope.context.prefix}{info.name}")
        scope.set_declared_type(
            value, info.type if info.HasField("type") else None, f"input '{info.name}'{scope.location_text}"
        )
        self.note_hidden_name(scope, "input", info.name)
        scope.values[info.name] = value
        return value

    def note_hidden_name(self, scope: NameScope, kind: str, name: str) -> None:
        """Note an input or initializer that hides a visible outer value; a node output that does so is rejected."""
        if scope.scope_hidden_by(name) is not None:
            self.notes.append(hidden_name_note(kind, name, scope.location_text))

    def add_constants(self, scope: NameScope, initializers: Mapping[str, Array]) -> None:
        for name, data in initializers.items():
            self.note_hidden_name(scope, "initializer", name)
            value = Value(f"{scope.context.prefix}{name}", TensorType(data.dtype, data.shape), data)
            scope.graph.constants.append(value)
            scope.values[name] = value

    def read_nodes_and_outputs(self, scope: NameScope) -> None:
        """Read the nodes of a scope's graph, then its outputs."""
        self.read_nodes(scope)
        for info in scope.proto.output:
            if not info.name:
                raise ModelError(f"an output{scope.location_text or ' of the model'} has no name; name the value it is")
            value = scope.find(info.name, f"the list of outputs{scope.location_text or ' of the model'}")
            if value is None:
                raise ModelError(
                    f"output '{info.name}'{scope.location_text} is an input that the call leaves out", name=info.name
                )
            if value.type is ANY_TYPE:
                # An outer value without a type takes the type that the body declares.
                scope.set_declared_type(value, scope.types.get(info.name), f"output '{info.name}'{scope.location_text}")
            scope.graph.outputs.append(value)

    def read_nodes(self, scope: NameScope) -> None:
        order = topological_node_order(scope.proto.node)
        if order != list(range(len(order))):
            body_text = "onnxruntime and OpenVINO sort the main graph alone: each refuses this body"
            sentence = body_text if scope.location_text else "onnxruntime sorts them as well"
            self.notes.append(
                Note(
                    "B36" if scope.location_text else "",
                    f"the nodes{scope.location_text or ' of the model'} are in an order in which they cannot run, and"
                    f" were sorted; {sentence} (the ONNX specification demands a file in order).",
                )
            )
        for position in order:
            scope.position = position
            self.read_node(scope.proto.node[position], scope)
        scope.position = len(scope.proto.node)

    def read_node(self, proto: NodeProto, scope: NameScope) -> None:
        header = self._make_node_header(proto, scope)
        # For errors, which get its full description with the origin: decoding that takes longer than the rest.
        domain = f"{header.domain} " if header.domain else ""
        label = f"{header.op_type} '{header.name}' ({domain}opset {header.version}){scope.location_text}"
        header.source = node_origin_source(proto, scope.context.source)
        try:
            self._read_node(proto, header, scope, label)
        except LoopdbgError as error:
            what = error.what.replace(label, f"{header.describe()}{scope.location_text}", 1)
            fields: ErrorFields = {**header.error_fields, **error.fields}
            raise type(error)(what, error.remedy, **fields) from None

    def _make_node_header(self, proto: NodeProto, scope: NameScope) -> Node:
        """The name of a node, and the version of its operator."""
        domain = canonical_domain(proto.domain)
        version = scope.context.opsets.get(domain, 0)
        header = Node(scope.node_name(proto), proto.op_type, domain, version, [], [])
        if version or function_key(proto) in self.functions:
            return header
        if domain == MICROSOFT:
            header.version = 1
            self.notes.append(
                f"the model has operators of '{MICROSOFT}', such as {proto.op_type} '{header.name}', and does not"
                " import that domain: version 1 is taken, as onnxruntime takes it (its quantizer writes such bodies)."
            )
            return header
        header.source = node_origin_source(proto, scope.context.source)
        line = f" ({header.origin})" if header.origin.file else ""
        raise ModelError(
            f"{proto.op_type} '{header.name}'{line}{scope.location_text}: the model imports no operator set of its"
            f" domain '{domain or 'ai.onnx'}'; add it to opset_import",
            **header.error_fields,
            name=domain or "ai.onnx",
        )

    def _read_node(self, proto: NodeProto, header: Node, scope: NameScope, label: str) -> None:
        """Read a node's inputs, outputs, attributes and graphs. ``label``: its name in messages."""
        context, domain, function = scope.context, header.domain, self.functions.get(function_key(proto))
        header.inputs = [scope.find(name, label) if name else None for name in proto.input]
        if function is not None:
            self.inline_function(proto, function, header, scope, label)
            return
        if domain != "" or proto.op_type not in _CONTROL_FLOW:
            function = function_body_for(proto, header, scope, self.inferred_types, label)
            if function is not None:
                self.inline_function(proto, function, header, scope, label, builtin=True)
                return
        attributes, graphs = decode_attributes(proto, header.version, context.attributes, self.external_data, label)
        header.outputs = [scope.new_value(name) if name else None for name in proto.output]
        if domain == "" and proto.op_type in _CONTROL_FLOW:

            def read_inner(name: str, count: int, expected: str) -> Graph:
                if name not in graphs:
                    raise ModelError(f"{label} lacks its attribute '{name}', a graph", name=name)
                suffix = f" in the {name.replace('_', ' ')} of {proto.op_type} '{header.name}'{scope.location_text}"
                return self.read_subgraph(graphs[name], scope, name, suffix, count, expected, label)

            nodes = control_flow.build_control_flow(header, attributes, read_inner, self.producers, label)
        elif graphs:
            raise UnsupportedError(
                f"{label} has a graph as its attribute '{next(iter(graphs))}'; of the operators with graphs only"
                f" {', '.join(_CONTROL_FLOW)} are supported: express it by these",
                name=next(iter(graphs)),
            )
        elif domain == NCHWC_DOMAIN:
            from .nchwc_block_size import with_block_channels

            nodes = [with_block_channels(header, attributes, self.block_channels)]
        else:
            nodes = [Operation(**vars(header), attributes=attributes)]
        for node in nodes:
            node.source = header.source
            self.producers.add(node)
        scope.graph.nodes += nodes
        for name, value in zip(proto.output, header.outputs, strict=True):
            if value is not None:
                scope.define(name, value, label)

    def inline_function(
        self, proto: NodeProto, body: FunctionProto, header: Node, scope: NameScope, label: str, builtin: bool = False
    ) -> None:
        """Inline a model-local function (IR specification, "Model Local Functions"), or the body of an operator that
        ONNX defines by a function (``builtin``).

        ``onnx.inliner`` is not used: it skips functions that import another opset than the model, fails on a
        SequenceMap inside a loop, and copies the weights. Here a node keeps its own function's opset.
        """
        key = function_key(proto)
        if key in scope.context.call_stack:
            raise ModelError(f"{label} calls a function that it is part of; ONNX functions cannot be recursive")
        for kind, actual, formal in (
            ("inputs", proto.input, body.input),
            ("outputs", proto.output, body.output),
        ):
            if len(actual) > len(formal):
                raise ModelError(
                    f"{label} has {len(actual)} {kind}; its function takes at most {len(formal)}",
                    name=kind,
                    expected=f"at most {len(formal)}",
                    got=str(len(actual)),
                )
        opsets = _imported_opsets(body.opset_import)
        if builtin:  # such a function imports only the domains that it names
            opsets = {**scope.context.opsets, **opsets}
        context = FunctionCallContext(
            opsets or scope.context.opsets,
            f"{header.name}/",
            _bind_attributes(proto, body, scope.context.attributes),
            (*scope.context.call_stack, key),
            header.source,
        )
        suffix = f" in function {body.name} of '{header.name}'{scope.location_text}"
        inner_scope = NameScope(scope.graph, body, context, suffix, caller=scope, path=None)
        if builtin:  # inner graphs of the node became part of the function and may capture the caller's values
            inner_scope.fallback_scope = scope
        for k, name in enumerate(body.input):
            inner_scope.values[name] = header.inputs[k] if k < len(header.inputs) else None
        pairs = zip(proto.output, body.output, strict=False)  # a call may omit the last ones
        outputs = [(name, formal) for name, formal in pairs if name]
        for name, formal in outputs:
            # Results of a function have the names of the call's outputs.
            inner_scope.renamed.setdefault(formal, scope.renamed.get(name) or f"{scope.context.prefix}{name}")
            if name in scope.types:
                inner_scope.types[formal] = scope.types[name]
        first = len(scope.graph.nodes)
        self.read_nodes(inner_scope)
        for name, formal in outputs:
            scope.define(name, inner_scope.find(formal, f"the list of outputs{inner_scope.location_text}"), label)
        if builtin:
            attrs, graphs = decode_attributes(
                proto, header.version, scope.context.attributes, self.external_data, label
            )
            header.outputs = [scope.values[name] if name else None for name in proto.output]
            if not graphs:
                original = Operation(**vars(header), attributes=attrs)
                scope.graph.expanded_from.update((node, original) for node in scope.graph.nodes[first:])


def _imported_opsets(imports: Any) -> dict[str, int]:
    """The versions of the operator sets that a model or a function imports.

    Raises:
        ModelError: a version that no operator set can have.
    """
    opsets = {canonical_domain(entry.domain): int(entry.version) for entry in imports}
    for domain, version in opsets.items():
        if not 0 < version < _OPSET_VERSION_LIMIT:
            raise ModelError(
                f"it imports version {version} of the operator set '{domain or 'ai.onnx'}', which cannot be; correct"
                " opset_import",
                name=domain or "ai.onnx",
                got=str(version),
            )
    return opsets


def _bind_attributes(
    call: NodeProto, function: FunctionProto, outer: Mapping[str, AttributeProto] | None
) -> dict[str, AttributeProto]:
    """The values of a function's attributes in one call: those of the call, else the function's defaults."""
    bound = {proto.name: proto for proto in function.attribute_proto}
    for proto in call.attribute:
        value = (outer or {}).get(proto.ref_attr_name) if proto.ref_attr_name else proto
        if value is not None:
            bound[proto.name] = value
    return bound
