"""The message classes of an ONNX file, with the fields that are read (onnx.proto of the onnx package).

Names, fields and numbers match that package, whose import takes 25 ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph import Array
from ...safe_file_reading import FileSlice
from .wire_format import DecodeError, define_messages

if TYPE_CHECKING:
    from onnx import (
        AttributeProto,
        FunctionProto,
        GraphProto,
        ModelProto,
        NodeProto,
        SparseTensorProto,
        StringStringEntryProto,
        TensorProto,
        TypeProto,
    )

__all__ = [
    "ATTRIBUTE_KINDS",
    "NCHWC_DOMAIN",
    "AttributeProto",
    "DecodeError",
    "FunctionProto",
    "GraphProto",
    "ModelProto",
    "NodeProto",
    "SparseTensorProto",
    "StringStringEntryProto",
    "TensorProto",
    "TypeProto",
    "convert_onnx_package_model",
    "copy_raw_data",
]

#: The domain of onnxruntime's operators with blocked channels.
NCHWC_DOMAIN = "com.microsoft.nchwc"
#: Name of an attribute type -> its number.
ATTRIBUTE_KINDS = {
    **{"UNDEFINED": 0, "FLOAT": 1, "INT": 2, "STRING": 3, "TENSOR": 4, "GRAPH": 5, "FLOATS": 6, "INTS": 7},
    **{"STRINGS": 8, "TENSORS": 9, "GRAPHS": 10, "SPARSE_TENSOR": 11, "SPARSE_TENSORS": 12, "TYPE_PROTO": 13},
    "TYPE_PROTOS": 14,
}
_SCHEMA = {
    "AttributeProto": "1 name string, 21 ref_attr_name string, 20 type AttributeType, 2 f float, 3 i int64, 4 s bytes,"
    " 5 t TensorProto, 6 g GraphProto, 22 sparse_tensor SparseTensorProto, 14 tp TypeProto, 7 floats *float,"
    " 8 ints *int64, 9 strings *bytes, 10 tensors *TensorProto, 11 graphs *GraphProto,"
    " 23 sparse_tensors *SparseTensorProto, 15 type_protos *TypeProto",
    "ValueInfoProto": "1 name string, 2 type TypeProto",
    "NodeProto": "1 input *string, 2 output *string, 3 name string, 4 op_type string, 7 domain string,"
    " 8 overload string, 5 attribute *AttributeProto, 6 doc_string string, 9 metadata_props *raw",
    "ModelProto": "1 ir_version int64, 8 opset_import *OperatorSetIdProto, 7 graph GraphProto,"
    " 25 functions *FunctionProto",
    "StringStringEntryProto": "1 key string, 2 value string",
    "GraphProto": "1 node *NodeProto, 2 name string, 5 initializer *TensorProto,"
    " 15 sparse_initializer *SparseTensorProto, 11 input *ValueInfoProto, 12 output *ValueInfoProto,"
    " 13 value_info *ValueInfoProto",
    "Segment": "1 begin int64, 2 end int64",
    "TensorProto": "1 dims *int64, 2 data_type int32, 3 segment Segment, 4 float_data *float, 5 int32_data *int32,"
    " 6 string_data *bytes, 7 int64_data *int64, 8 name string, 9 raw_data raw,"
    " 13 external_data *StringStringEntryProto, 14 data_location DataLocation, 10 double_data *double,"
    " 11 uint64_data *uint64",
    "SparseTensorProto": "1 values TensorProto, 2 indices TensorProto, 3 dims *int64",
    "Dimension": "1 dim_value ?int64, 2 dim_param ?string",
    "TensorShapeProto": "1 dim *Dimension",
    "Tensor": "1 elem_type int32, 2 shape TensorShapeProto",
    "Element": "1 elem_type TypeProto",
    "Map": "1 key_type int32, 2 value_type TypeProto",
    "Unread": "1 unread int32",
    "TypeProto": "1 tensor_type ?Tensor, 4 sequence_type ?Element, 5 map_type ?Map, 9 optional_type ?Element,"
    " 8 sparse_tensor_type ?Tensor, 7 opaque_type ?Unread",
    "OperatorSetIdProto": "1 domain string, 2 version int64",
    "FunctionProto": "1 name string, 4 input *string, 5 output *string, 6 attribute *string,"
    " 11 attribute_proto *AttributeProto, 7 node *NodeProto, 9 opset_import *OperatorSetIdProto, 10 domain string,"
    " 13 overload string, 12 value_info *ValueInfoProto",
}
_ENUMS = {"AttributeType": frozenset(ATTRIBUTE_KINDS.values()), "DataLocation": frozenset([0, 1])}
#: Messages that are also passed to the onnx package.
_SERIALIZABLE = frozenset({"ModelProto", "NodeProto", "AttributeProto", "TensorProto"})

if not TYPE_CHECKING:
    _messages = define_messages(_SCHEMA, _SERIALIZABLE, _ENUMS)
    AttributeProto = _messages["AttributeProto"]
    FunctionProto = _messages["FunctionProto"]
    GraphProto = _messages["GraphProto"]
    ModelProto = _messages["ModelProto"]
    NodeProto = _messages["NodeProto"]
    SparseTensorProto = _messages["SparseTensorProto"]
    StringStringEntryProto = _messages["StringStringEntryProto"]
    TensorProto = _messages["TensorProto"]
    TypeProto = _messages["TypeProto"]
    for _word, _number in ATTRIBUTE_KINDS.items():
        setattr(AttributeProto, _word, _number)
    TensorProto.STRING, TensorProto.EXTERNAL = 8, 1


def copy_raw_data(tensor: TensorProto) -> Array:
    """An aligned copy of ``raw_data``."""
    data: Any = tensor.raw_data
    out = np.empty(len(data), np.uint8)
    if isinstance(data, FileSlice):
        data.read_into(out)
    else:
        out[:] = np.frombuffer(data, np.uint8)
    out.flags.writeable = False
    return out


def convert_onnx_package_model(message: Any) -> ModelProto:
    """Convert a model of the onnx package to this module's class."""
    if isinstance(message, ModelProto):
        return message
    model: ModelProto = ModelProto.FromString(message.SerializeToString())
    return model
