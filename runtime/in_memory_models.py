"""Conversion of in-memory models of other libraries to a graph, or to the path of their file.

Dispatches on the type name, without importing libraries: a caller with such an object has imported its library.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .atomic_file import scratch_folder, write_bytes
from .errors import ModelError, UnsupportedError, UsageError, one_line
from .graph import Graph

#: Default model name.
_DEFAULT_NAME = "model"
#: The node and its operator in the error message of PyTorch's exporter.
_TRANSLATION_ERROR = re.compile(r"translating node %(\w+) : .*?\[target=([\w.]+)\]")
#: Operators unsupported by the exporter -> advice.
_OPERATOR_ADVICE = {
    "map_impl": "write map(f, x) as a scan, scan(lambda carry, row: (carry.clone(), f(row)), torch.zeros(()), x)[1]",
}
_SUPPORTED_SOURCES = """\
a path, the bytes of a model or an open file, an onnx.ModelProto, an onnx_ir.Model, a torch.onnx.ONNXProgram, an
onnxscript function, a torch.export.ExportedProgram or torch.nn.Module (with example inputs), an openvino.Model, an
onnxruntime InferenceSession, a TensorRT INetworkDefinition"""


def graph_from_object(source: Any, inputs: Any = None) -> Graph | Path:
    """The graph of an in-memory model, or the path of one loaded from a file. ``inputs``: example inputs for models
    that need an export, a tuple, or a mapping of keywords.

    Raises:
        UsageError: the object is not a model, or needs example inputs.
        ModelError: it cannot be read.
    """
    names = {f"{base.__module__}.{base.__qualname__}" for base in type(source).__mro__}
    for name, convert in _CONVERSIONS.items():
        if any(type_name == name or type_name.endswith(f".{name}") for type_name in names):
            return convert(source, inputs)
    if isinstance(source, bytes | bytearray | memoryview):
        return _graph_from_bytes(bytes(source), _DEFAULT_NAME)
    if callable(getattr(source, "read", None)):
        return _graph_from_open_file(source)
    supported = " ".join(_SUPPORTED_SOURCES.split())
    raise UsageError(
        f"what is given ({type(source).__name__}) is no model; load takes {supported}",
        expected=supported,
        got=type(source).__name__,
    )


def _graph_from_bytes(data: bytes, name: str) -> Graph:
    """Read a model from a single file's bytes: ONNX, or an OpenVINO IR without external constants."""
    if data.lstrip()[:1] == b"<":
        return _graph_from_files({f"{name}.xml": data})
    from .frontends.onnx.proto import DecodeError, ModelProto
    from .frontends.onnx.reader import from_proto

    try:
        message = ModelProto.FromString(data)
    except DecodeError as error:
        raise ModelError(f"these {len(data)} bytes are no ONNX model: {one_line(error)}") from None
    return _with_default_name(from_proto(message, name), name)


def _graph_from_open_file(file: Any) -> Graph | Path:
    path = getattr(file, "name", None)
    if isinstance(path, str) and os.path.isfile(path):
        return Path(path)
    data = file.read()
    return _graph_from_bytes(data.encode() if isinstance(data, str) else bytes(data), _DEFAULT_NAME)


def _graph_from_proto(message: Any, inputs: Any = None) -> Graph:
    """Convert an ``onnx.ModelProto``; external data is searched in the current directory."""
    from .frontends.onnx.reader import from_proto

    name = message.graph.name or _DEFAULT_NAME
    return _with_default_name(from_proto(message, name), name)


def _graph_from_onnx_ir(model: Any, inputs: Any = None) -> Graph:
    import onnx_ir

    return _graph_from_proto(onnx_ir.to_proto(model))


def _graph_from_onnx_program(program: Any, inputs: Any = None) -> Graph:
    return _graph_from_proto(program.model_proto)


def _graph_from_onnxscript(function: Any, inputs: Any = None) -> Graph:
    return _graph_from_proto(function.to_model_proto())


def _graph_from_torch(module: Any, inputs: Any = None) -> Graph:
    """Export a module or an exported program with PyTorch's exporter."""
    import torch

    is_module = isinstance(module, torch.nn.Module)
    if is_module and inputs is None:
        raise UsageError("a torch.nn.Module is exported with example inputs: load(module, inputs=(x,))")
    positional, named = ((), dict(inputs)) if hasattr(inputs, "keys") else (tuple(inputs or ()), {})
    try:
        if is_module:
            program = torch.onnx.export(module, positional, kwargs=named or None, dynamo=True, verbose=False)
        else:
            program = torch.onnx.export(module, dynamo=True, verbose=False)
    except Exception as error:
        raise ModelError(_export_failure_message(module, positional, named, error)) from None
    return _graph_from_onnx_program(program)


def _export_failure_message(module: Any, positional: Sequence[Any], named: dict[str, Any], error: BaseException) -> str:
    """The message of a failed PyTorch export; names an operator without ONNX function and its location."""
    causes = [error]
    while (cause := causes[-1].__cause__) is not None:
        causes.append(cause)
    prefix = f"PyTorch cannot export {type(module).__name__}"
    node = next((match for chained in causes if (match := _TRANSLATION_ERROR.search(str(chained)))), None)
    if node is None or not str(causes[-1]).startswith("No ONNX function"):
        return f"{prefix}: {one_line(error)}"
    name, operator = node[1], node[2].removeprefix("torch.ops.").removeprefix("higher_order.")
    location = _torch_source_line(module, positional, named, name)
    advice = _OPERATOR_ADVICE.get(
        operator, "write it with other operators, or give torch.onnx.export a custom_translation_table"
    )
    where = f" ({location})" if location else ""
    return f"{prefix}: its ONNX exporter has no function for {operator}, '{name}'{where}: {advice}"


def _torch_source_line(module: Any, positional: Sequence[Any], named: dict[str, Any], name: str) -> str:
    """``file:line`` of a node of a program; empty if unknown."""
    import torch

    from .graph.stack_trace import origin_from_stack_trace

    try:
        program = torch.export.export(module, positional, named) if isinstance(module, torch.nn.Module) else module
    except Exception:
        return ""
    graphs = [submodule.graph for submodule in program.graph_module.modules() if hasattr(submodule, "graph")]
    traces = [node.meta.get("stack_trace") or "" for graph in graphs for node in graph.nodes if node.name == name]
    origin = next((origin_from_stack_trace(text) for text in traces if text), None)
    return f"{origin.file}:{origin.line}" if origin is not None and origin.file else ""


def _graph_from_openvino(model: Any, inputs: Any = None) -> Graph:
    import openvino

    with scratch_folder() as folder:
        path = folder / f"{_safe_file_name(model.get_friendly_name())}.xml"
        openvino.serialize(model, path)
        return _read_temporary_model(path)


def _reject_compiled_model(model: Any, inputs: Any = None) -> Graph:
    raise UnsupportedError(
        "an openvino.CompiledModel holds its plugin's own operators, without the loops: load the openvino.Model that "
        "it was compiled from"
    )


def _graph_from_ort_session(session: Any, inputs: Any = None) -> Graph | Path:
    path, data = getattr(session, "_model_path", None), getattr(session, "_model_bytes", None)
    if path:
        return Path(path)
    if data is None:
        raise UnsupportedError("this InferenceSession keeps neither its path nor its bytes: load what it was made of")
    return _graph_from_bytes(bytes(data), _DEFAULT_NAME)


def _graph_from_tensorrt_network(network: Any, inputs: Any = None) -> Graph:
    from .frontends.tensorrt.network import INetworkDefinition
    from .frontends.tensorrt.network_lowering import lower_network

    if not isinstance(network, INetworkDefinition):
        raise UnsupportedError("a network of TensorRT itself does not show its layers: load the script that builds it")
    return lower_network(network, network.name or _DEFAULT_NAME)


def _graph_from_files(files: dict[str, bytes]) -> Graph:
    with scratch_folder() as folder:
        for name, data in files.items():
            write_bytes(folder / name, data)
        return _read_temporary_model(folder / next(iter(files)))


def _read_temporary_model(path: Path) -> Graph:
    """Read a temporary file; errors omit its folder."""
    from .frontends import read_model

    try:
        graph = read_model(path)
    except ModelError as error:
        raise type(error)(error.what.replace(f"{path.parent}{os.sep}", ""), error.remedy, **error.fields) from None
    return _with_default_name(graph, path.stem)


def _with_default_name(graph: Graph, name: str) -> Graph:
    graph.name = graph.name or name
    return graph


def _safe_file_name(name: str) -> str:
    characters: Sequence[str] = [c if c.isalnum() or c in "-_." else "_" for c in name[:100]]
    return "".join(characters) or _DEFAULT_NAME


#: Suffix of a qualified type name -> converter. User-defined modules match by a base class of PyTorch.
_CONVERSIONS: dict[str, Callable[[Any, Any], Graph | Path]] = {
    "onnx_ml_pb2.ModelProto": _graph_from_proto,
    "onnx.ModelProto": _graph_from_proto,
    "onnx_ir.Model": _graph_from_onnx_ir,
    "torch.onnx.ONNXProgram": _graph_from_onnx_program,
    "onnxscript._internal.values.OnnxFunction": _graph_from_onnxscript,
    "onnxscript.values.OnnxFunction": _graph_from_onnxscript,
    "torch.export.exported_program.ExportedProgram": _graph_from_torch,
    "torch.nn.modules.module.Module": _graph_from_torch,
    "openvino._ov_api.Model": _graph_from_openvino,
    "openvino._pyopenvino.Model": _graph_from_openvino,
    "openvino._ov_api.CompiledModel": _reject_compiled_model,
    "openvino._pyopenvino.CompiledModel": _reject_compiled_model,
    "onnxruntime_inference_collection.InferenceSession": _graph_from_ort_session,
    "network.INetworkDefinition": _graph_from_tensorrt_network,
    "tensorrt.INetworkDefinition": _graph_from_tensorrt_network,
}
