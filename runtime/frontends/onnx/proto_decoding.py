"""Decodes ONNX types, tensors and attributes.

``label`` is the start of error messages; it names a node or a value.
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
from .microsoft_recurrent_functions import function_builder
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


def canonical_domain(name: str) -> str:
    """The canonical name of a domain: ONNX's own has two names."""
    return "" if name == "ai.onnx" else name


def value_type(proto: TypeProto, label: str) -> ValueType:
    """Decode a declared type, which may be incomplete (IR specification, "Types").

    Raises:
        UnsupportedError: a map, a sparse tensor, an opaque type, or an unknown element type.
    """
    kind = proto.WhichOneof("value")
    if kind == "tensor_type":
        tensor = proto.tensor_type
        try:
            dtype = dtype_from_onnx(tensor.elem_type) if tensor.elem_type else None
        except UnsupportedError as error:
            raise UnsupportedError.with_location(label, error) from None
        shape = tuple(_decode_dim(d) for d in tensor.shape.dim) if tensor.HasField("shape") else None
        return TensorType(dtype, shape)
    if kind == "sequence_type":
        return SequenceType(value_type(proto.sequence_type.elem_type, label))
    if kind == "optional_type":
        return OptionalType(value_type(proto.optional_type.elem_type, label))
    if kind is None:
        return ANY_TYPE
    raise UnsupportedError(
        f"{label}: the type '{kind.removesuffix('_type')}' is not supported", got=kind.removesuffix("_type")
    )


def _decode_dim(dim: Any) -> Dim:
    kind = dim.WhichOneof("value")
    if kind == "dim_value":
        return int(dim.dim_value) if dim.dim_value >= 0 else None  # exporters write -1 for "unknown"
    return str(dim.dim_param) or None if kind == "dim_param" else None


def tensor_to_array(tensor: TensorProto, external_data: ExternalDataReader | None, label: str) -> Array:
    """Decode the data of a tensor, which ``external_data`` reads where it is external. Strings have dtype object.

    Raises:
        ModelError: the data does not match type and shape, or its file is missing or too short.
        UnsupportedError: an element type that is not supported.
    """
    try:
        dtype = dtype_from_onnx(tensor.data_type)
    except UnsupportedError as error:
        raise UnsupportedError.with_location(label, error) from None
    try:
        if tensor.data_type == TensorProto.STRING:
            # Not to_array: its conversion through NumPy strings drops trailing NULs and requires UTF-8.
            strings = np.empty(len(tensor.string_data), dtype=object)
            strings[:] = [decode_text(item) for item in tensor.string_data]
            return strings.reshape(tuple(tensor.dims))
        external_bytes = None
        if tensor.data_location == TensorProto.EXTERNAL:
            if external_data is None:
                raise ValueError("it is in another file, which is not allowed here")
            external_bytes = external_data.read_tensor(tensor, dtype)
        array = _decode_byte_aligned(tensor, dtype, external_bytes)
        return _decode_with_onnx(tensor, external_bytes) if array is None else array
    except Exception as error:  # to_array passes on errors of NumPy, the file system and its C++ part
        file_name = next((e.value for e in tensor.external_data if e.key == "location"), "")
        suffix = f" (in the file '{file_name}' next to the model)" if file_name else ""
        reason = (isinstance(error, OSError) and error.strerror) or one_line(error)
        raise ModelError(f"{label}: its data{suffix} cannot be read: {reason}", got=reason) from None


def _decode_with_onnx(tensor: TensorProto, external: Array | None) -> Array:
    """Decode a tensor with the onnx package; ``external``: its bytes, where they are in another file."""
    import onnx.numpy_helper

    proto = onnx.TensorProto.FromString(tensor.SerializeToString())
    if external is not None:
        proto.data_location = onnx.TensorProto.DEFAULT
        del proto.external_data[:]
        proto.raw_data = external.tobytes()
    return onnx.numpy_helper.to_array(proto)


def sparse_to_array(sparse: SparseTensorProto, external_data: ExternalDataReader | None, label: str) -> Array:
    """Convert a sparse initializer to a dense tensor (IR specification, "SparseTensorProto").

    Raises:
        ModelError: indices are outside of the shape, or the shape is too large for memory.
    """
    values = tensor_to_array(sparse.values, external_data, label)
    indices = tensor_to_array(sparse.indices, external_data, label)
    try:
        out = np.zeros(tuple(sparse.dims), values.dtype)
        if indices.ndim == 1:
            out.reshape(-1)[indices] = values
        else:
            out[tuple(indices.T)] = values
    except (IndexError, ValueError, MemoryError) as error:
        raise ModelError(f"{label}: a broken sparse tensor: {one_line(error)}") from None
    return out


def decode_text(data: bytes) -> Any:
    """A string attribute or element; bytes that are not UTF-8 stay bytes."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data


def _decode_byte_aligned(tensor: TensorProto, dtype: np.dtype[Any], external: Array | None) -> Array | None:
    """Decode elements of whole bytes; None for others. ``external``: as for :func:`_decode_with_onnx`."""
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
    # Smaller elements are in the low bits of 32 bits each.
    bits = np.asarray(tensor.int32_data, np.int32).astype(np.uint8 if dtype.itemsize == 1 else np.uint16)
    return bits.view(dtype).reshape(shape)


#: Dtype -> the field with its elements.
_DATA_FIELDS = {
    "float32": "float_data",
    "float64": "double_data",
    "int32": "int32_data",
    "int64": "int64_data",
    "uint32": "uint64_data",
    "uint64": "uint64_data",
}
#: Dtypes of which several elements share a byte.
_SUB_BYTE_DTYPES = {"int4", "uint4", "int2", "uint2", "float4_e2m1fn"}
#: The attributes of control-flow operators.
_SUBGRAPH_OPERATORS = {
    "Loop": {"body": "GRAPH"},
    "If": {"then_branch": "GRAPH", "else_branch": "GRAPH"},
    "SequenceMap": {"body": "GRAPH"},
    "Scan": {"body": "GRAPH", "num_scan_inputs": "INT"}
    | {f"scan_{side}_{what}": "INTS" for side in ("input", "output") for what in ("axes", "directions")},
}


@cache
def _attribute_types(op_type: str, domain: str, version: int) -> Mapping[str, int]:
    """The attribute types of an operator; empty for an unknown operator."""
    builder = layer_function(System.ONNX, domain, op_type, version) or function_builder(domain, op_type)
    if builder is not None:
        kinds: Mapping[str, str] | None = attribute_kinds_of(builder)
    else:
        kinds = (None if domain else _SUBGRAPH_OPERATORS.get(op_type)) or attribute_kinds(domain, op_type, version)
    if kinds is not None:
        return {name: ATTRIBUTE_KINDS[kind] for name, kind in kinds.items()}
    schema: Any = schema_for(op_type, version, domain)
    return {} if schema is None else {name: int(attribute.type.value) for name, attribute in schema.attributes.items()}


def decode_attributes(
    node: NodeProto,
    version: int,
    bound: Mapping[str, AttributeProto] | None,
    external_data: ExternalDataReader | None,
    label: str,
) -> tuple[dict[str, Any], dict[str, GraphProto]]:
    """Decode a node's attributes to Python values and arrays; graph attributes are returned separately.

    ``version``: that of the node's operator set. ``bound``: the caller's values of the enclosing function's attributes,
    None outside of functions; references to missing ones are omitted.

    Raises:
        ModelError: an attribute has no type or a wrong one, or cannot be read.
        UnsupportedError: a list of graphs, a sparse tensor, an unsupported element type.
    """
    values: dict[str, Any] = {}
    graphs: dict[str, GraphProto] = {}
    kinds = _attribute_types(node.op_type, canonical_domain(node.domain), version)
    for proto in node.attribute:
        attribute: AttributeProto | None = proto
        if proto.ref_attr_name:
            if bound is None:
                problem = f"refers to the attribute '{proto.ref_attr_name}' of a function"
                raise ModelError(
                    f"{label}: attribute '{proto.name}' {problem}, but is in none; state its value", name=proto.name
                )
            attribute = bound.get(proto.ref_attr_name)
        if attribute is None:
            continue
        attribute_label = f"{label}: attribute '{proto.name}'"
        expected_kind = kinds.get(proto.name)
        if expected_kind is not None and attribute.type not in (expected_kind, AttributeProto.UNDEFINED):
            raise ModelError(
                f"{attribute_label} is of the kind {_attribute_type_name(attribute.type)}, and {node.op_type} takes "
                f"{_attribute_type_name(expected_kind)}; correct the"
                " writer of the file"
            )
        if attribute.type == AttributeProto.GRAPH:
            graphs[proto.name] = attribute.g
            continue
        values[proto.name] = value = _decode_attribute(attribute, external_data, attribute_label)
        # Strings of a Constant are data of any bytes; those of other operators are UTF-8.
        is_text = expected_kind is not None and node.op_type != "Constant"
        if is_text and any(isinstance(part, bytes) for part in (value if isinstance(value, list) else [value])):
            raise ModelError(f"{attribute_label} is not UTF-8, so the file is damaged; export the model again")
    return values, graphs


def _attribute_type_name(code: int) -> str:
    """The specification's name for an attribute type: ``INTS``."""
    return next((name for name, number in ATTRIBUTE_KINDS.items() if number == code), str(code))


def _decode_attribute(proto: AttributeProto, external_data: ExternalDataReader | None, name: str) -> Any:
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
            return tensor_to_array(proto.t, external_data, name)
        case AttributeProto.TENSORS:
            return [tensor_to_array(item, external_data, name) for item in proto.tensors]
        case AttributeProto.TYPE_PROTO:
            return value_type(proto.tp, name)
        case AttributeProto.TYPE_PROTOS:
            return [value_type(item, name) for item in proto.type_protos]
        case AttributeProto.UNDEFINED:
            raise ModelError(
                f"{name} has no type; the writer of the file has to state it", name=proto.name, expected="a type"
            )
    kind = _attribute_type_name(proto.type)
    raise UnsupportedError(
        f"{name} is of the kind {kind}, which is not supported; store dense tensors instead", name=proto.name, got=kind
    )
