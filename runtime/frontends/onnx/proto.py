"""The messages of the onnx package without the rest of it, whose import takes as long as a short run.

Where nobody imported ``onnx`` so far its module of messages is loaded alone. Protobuf has one class for a message, so
these are the same classes that ``import onnx`` gives later on.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnx import (
        AttributeProto,
        FunctionProto,
        GraphProto,
        ModelProto,
        NodeProto,
        SparseTensorProto,
        TensorProto,
        TypeProto,
    )


def _messages() -> Any:
    package = None if "onnx" in sys.modules else find_spec("onnx")
    if package is not None:
        found = PathFinder.find_spec("onnx.onnx_ml_pb2", package.submodule_search_locations)
        if found is not None and found.loader is not None:
            module = module_from_spec(found)
            found.loader.exec_module(module)
            return module
    import onnx

    return onnx


if not TYPE_CHECKING:
    _found = _messages()
    AttributeProto = _found.AttributeProto
    FunctionProto = _found.FunctionProto
    GraphProto = _found.GraphProto
    ModelProto = _found.ModelProto
    NodeProto = _found.NodeProto
    SparseTensorProto = _found.SparseTensorProto
    TensorProto = _found.TensorProto
    TypeProto = _found.TypeProto

__all__ = [
    "AttributeProto",
    "FunctionProto",
    "GraphProto",
    "ModelProto",
    "NodeProto",
    "SparseTensorProto",
    "TensorProto",
    "TypeProto",
]
