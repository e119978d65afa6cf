"""ONNX types, tensors and attributes as ours: no names, no scopes, no nodes.

``at`` is the place that messages begin with; it names a node or a value.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from ...dtypes import dtype_from_onnx
from ...errors import ModelError, UnsupportedError, one_line
from ...graph import ANY_TYPE, Array, Dim, OptionalType, SequenceType, System, TensorType, ValueType
from ...ops.onnx_schemas import schema_for
from ...ops.registry import attribute_kinds, attribute_kinds_of
from ..recurrent import layer_function
from .external_data import ExternalDataReader
from .proto import (
    ATTRIBUTE_KINDS,
    AttributeProto,
    GraphProto,
    NodeProto,
    SparseTensorProto,
    TensorProto,
    TypeProto,
    copy_raw_data,
)
from .recurrent_functions import function_builder


def canonical_domain(name: str) -> str:
    """A domain as operators are told apart by it: ONNX's own has two names."""
    return "" if name == "ai.onnx" else name


def value_type(proto: TypeProto, at: str) -> ValueType:
    """The type that a model declares; what it leaves open stays open (IR specification, "Types").

    Raises:
        UnsupportedError: a map, a sparse tensor, an opaque type, or an unknown element type.
    """
    kind = proto.WhichOneof("value")
    if kind == "tensor_type":
        tensor = proto.tensor_type
        try:
            dtype = dtype_from_onnx(tensor.elem_type) if tensor.elem_type else None
        except UnsupportedError as error:
            raise UnsupportedError(f"{at}: {error}") from None
        shape = tuple(_decode_dim(d) for d in tensor.shape.dim) if tensor.HasField("shape") else None
        return TensorType(dtype, shape)
    if kind == "sequence_type":
        return SequenceType(value_type(proto.sequence_type.elem_type, at))
    if kind == "optional_type":
        return OptionalType(value_type(proto.optional_type.elem_type, at))
    if kind is None:
        return ANY_TYPE
    raise UnsupportedError(f"{at}: the type '{kind.removesuffix('_type')}' is not supported")


def _decode_dim(dim: Any) -> Dim:
    kind = dim.WhichOneof("value")
    if kind == "dim_value":
        return int(dim.dim_value) if dim.dim_value >= 0 else None  # exporters write -1 for "unknown"
    return str(dim.dim_param) or None if kind == "dim_param" else None


def tensor_to_array(tensor: TensorProto, beside: ExternalDataReader | None, at: str) -> Array:
    """The data of a tensor, read from the file ``beside`` the model where it is external. Strings: dtype object.

    Raises:
        ModelError: the data does not fit type and shape, or its file is missing or too short.
        UnsupportedError: an element type that is not supported.
    """
    try:
        dtype = dtype_from_onnx(tensor.data_type)
    except UnsupportedError as error:
        raise UnsupportedError(f"{at}: {error}") from None
    try:
        if tensor.data_type == TensorProto.STRING:
            # Not to_array: its detour over NumPy's own strings drops trailing NULs and needs UTF-8.
            strings = np.empty(len(tensor.string_data), dtype=object)
            strings[:] = [decode_text(item) for item in tensor.string_data]
            return strings.reshape(tuple(tensor.dims))
        external = None
        if tensor.data_location == TensorProto.EXTERNAL:
            if beside is None:
                raise ValueError("it is in another file, which nothing here can have")
            external = beside.read_tensor(tensor, dtype)
        plain = _decode_whole_bytes(tensor, dtype, external)
        return _decode_with_onnx(tensor, external) if plain is None else plain
    except Exception as error:  # to_array lets whatever NumPy, the file system or its C++ half says pass
        what = next((e.value for e in tensor.external_data if e.key == "location"), "")
        where = f" (in the file '{what}' beside the model)" if what else ""
        why = (isinstance(error, OSError) and error.strerror) or one_line(error)
        raise ModelError(f"{at}: its data{where} cannot be read: {why}") from None


def _decode_with_onnx(tensor: TensorProto, external: Array | None) -> Array:
    """The data of a tensor as the onnx package has it; ``external``: its bytes, where they are in another file."""
    import onnx.numpy_helper

    proto = onnx.TensorProto.FromString(tensor.SerializeToString())
    if external is not None:
        proto.data_location = onnx.TensorProto.DEFAULT
        del proto.external_data[:]
        proto.raw_data = external.tobytes()
    return onnx.numpy_helper.to_array(proto)


def sparse_to_array(sparse: SparseTensorProto, beside: ExternalDataReader | None, at: str) -> Array:
    """A sparse initializer as the dense tensor that it stands for (IR specification, "SparseTensorProto").

    Raises:
        ModelError: indices that do not fit the shape, or a shape that is too large for memory.
    """
    values = tensor_to_array(sparse.values, beside, at)
    indices = tensor_to_array(sparse.indices, beside, at)
    try:
        out = np.zeros(tuple(sparse.dims), values.dtype)
        if indices.ndim == 1:
            out.reshape(-1)[indices] = values
        else:
            out[tuple(indices.T)] = values
    except (IndexError, ValueError, MemoryError) as error:
        raise ModelError(f"{at}: a broken sparse tensor: {one_line(error)}") from None
    return out


def decode_text(data: bytes) -> Any:
    """A string attribute or element; bytes that are not UTF-8 stay bytes."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data


def _decode_whole_bytes(tensor: TensorProto, dtype: np.dtype[Any], external: Array | None) -> Array | None:
    """The data of a tensor that has whole bytes; None for others. ``external``: as for :func:`_by_onnx`."""
    if tensor.HasField("segment") or dtype.name in _SUB_BYTE_DTYPES or dtype.hasobject or sys.byteorder != "little":
        return None
    shape = tuple(tensor.dims)
    if external is not None:
        return external.view(dtype).reshape(shape)
    if tensor.HasField("raw_data"):
        return copy_raw_data(tensor).view(dtype).reshape(shape)
    if dtype.name in _DATA_FIELDS:
        return np.asarray(getattr(tensor, _DATA_FIELDS[dtype.name]), dtype).reshape(shape)
    if dtype.itemsize > 2:
        return None
    # Shorter ones stand in 32 bits each, of which the lower ones count.
    bits = np.asarray(tensor.int32_data, np.int32).astype(np.uint8 if dtype.itemsize == 1 else np.uint16)
    return bits.view(dtype).reshape(shape)


#: Where elements stand one by one.
_DATA_FIELDS = {
    "float32": "float_data",
    "float64": "double_data",
    "int32": "int32_data",
    "int64": "int64_data",
    "uint32": "uint64_data",
    "uint64": "uint64_data",
}
#: Several elements share a byte.
_SUB_BYTE_DTYPES = {"int4", "uint4", "int2", "uint2", "float4_e2m1fn"}
#: The attributes of operators with graphs.
_SUBGRAPH_OPERATORS = {
    "Loop": {"body": "GRAPH"},
    "If": {"then_branch": "GRAPH", "else_branch": "GRAPH"},
    "SequenceMap": {"body": "GRAPH"},
    "Scan": {"body": "GRAPH", "num_scan_inputs": "INT"}
    | {f"scan_{side}_{what}": "INTS" for side in ("input", "output") for what in ("axes", "directions")},
}


@cache
def _attribute_types(op_type: str, domain: str, version: int) -> Mapping[str, int]:
    """The types that the attributes of an operator have; empty where nobody knows the operator."""
    opened = layer_function(System.ONNX, domain, op_type, version) or function_builder(domain, op_type)
    if opened is not None:
        words: Mapping[str, str] | None = attribute_kinds_of(opened)
    else:
        words = (None if domain else _SUBGRAPH_OPERATORS.get(op_type)) or attribute_kinds(domain, op_type, version)
    if words is not None:
        return {name: ATTRIBUTE_KINDS[word] for name, word in words.items()}
    schema: Any = schema_for(op_type, version, domain)
    return {} if schema is None else {name: int(one.type.value) for name, one in schema.attributes.items()}


def decode_attributes(
    node: NodeProto,
    version: int,
    bound: Mapping[str, AttributeProto] | None,
    beside: ExternalDataReader | None,
    at: str,
) -> tuple[dict[str, Any], dict[str, GraphProto]]:
    """A node's attributes as plain Python values and arrays, and those that are graphs apart.

    ``version``: that of the node's operator set. ``bound``: what a function's caller gives for the function's
    attributes, None outside of functions. What it does not give is left out.

    Raises:
        ModelError: an attribute without type or of another than its operator's, or one that cannot be read.
        UnsupportedError: a list of graphs, a sparse tensor, an unsupported element type.
    """
    plain: dict[str, Any] = {}
    graphs: dict[str, GraphProto] = {}
    kinds = _attribute_types(node.op_type, canonical_domain(node.domain), version)
    for proto in node.attribute:
        given: AttributeProto | None = proto
        if proto.ref_attr_name:
            if bound is None:
                wanted = f"refers to the attribute '{proto.ref_attr_name}' of a function"
                raise ModelError(f"{at}: attribute '{proto.name}' {wanted}, but stands in none; state its value")
            given = bound.get(proto.ref_attr_name)
        if given is None:
            continue
        what = f"{at}: attribute '{proto.name}'"
        wanted_kind = kinds.get(proto.name)
        if wanted_kind is not None and given.type not in (wanted_kind, AttributeProto.UNDEFINED):
            raise ModelError(
                f"{what} is of the kind {_attribute_type_name(given.type)}, and {node.op_type} takes "
                f"{_attribute_type_name(wanted_kind)}; correct the"
                " writer of the file"
            )
        if given.type == AttributeProto.GRAPH:
            graphs[proto.name] = given.g
            continue
        plain[proto.name] = value = _decode_attribute(given, beside, what)
        # What a Constant holds is data, and strings may be any bytes; the attributes of other operators are words.
        words = wanted_kind is not None and node.op_type != "Constant"
        if words and any(isinstance(part, bytes) for part in (value if isinstance(value, list) else [value])):
            raise ModelError(f"{what} is not UTF-8, so the file is damaged; export the model again")
    return plain, graphs


def _attribute_type_name(code: int) -> str:
    """``INTS``: a type of attributes as the specification calls it."""
    return next((word for word, number in ATTRIBUTE_KINDS.items() if number == code), str(code))


def _decode_attribute(proto: AttributeProto, beside: ExternalDataReader | None, at: str) -> Any:
    match proto.type:
        case AttributeProto.INT:
            return proto.i
        case AttributeProto.FLOAT:
            return proto.f
        case AttributeProto.STRING:
            return decode_text(proto.s)
        case AttributeProto.INTS:
            return list(proto.ints)
        case AttributeProto.FLOATS:
            return list(proto.floats)
        case AttributeProto.STRINGS:
            return [decode_text(item) for item in proto.strings]
        case AttributeProto.TENSOR:
            return tensor_to_array(proto.t, beside, at)
        case AttributeProto.TENSORS:
            return [tensor_to_array(item, beside, at) for item in proto.tensors]
        case AttributeProto.TYPE_PROTO:
            return value_type(proto.tp, at)
        case AttributeProto.TYPE_PROTOS:
            return [value_type(item, at) for item in proto.type_protos]
        case AttributeProto.UNDEFINED:
            raise ModelError(f"{at} has no type; the writer of the file has to state it")
    raise UnsupportedError(
        f"{at} is of the kind {_attribute_type_name(proto.type)}, which is not supported; store dense tensors instead"
    )
