"""OnnxParser: adds an ONNX file, read by the ONNX front end, to a network.

Each node becomes a layer, including its loops and branches. Only values at the boundary of a node become tensors that
are visible to a script.
"""

from __future__ import annotations

import os
from typing import Any

from ...errors import LoopdbgError, one_line
from ...graph import Graph, System, TensorType, Value, bodies, captured_values
from ...ops.registry import find_definition
from .callbacks import ILogger
from .enums import ErrorCodeTRT, OnnxParserFlag, data_type, numpy_type
from .inert_properties import InertContext, constant_method
from .layer import ITensor
from .layers_from_onnx import OnnxConstantLayer, OnnxNodeLayer
from .network import INetworkDefinition
from .script_location import argument_error


class ParserError:
    """The reason why a file could not be read."""

    def __init__(self, text: str) -> None:
        self._text = text

    code = constant_method(ErrorCodeTRT.UNSPECIFIED_ERROR)
    file = func = node_name = node_operator = constant_method("")
    line = node = local_function_stack_size = constant_method(0)

    def desc(self) -> str:
        return self._text

    def local_function_stack(self) -> list[str]:
        return []

    def __str__(self) -> str:
        return self._text


class OnnxParser(InertContext):
    """Reads ONNX into a network."""

    def __init__(self, network: Any, logger: Any) -> None:
        if not isinstance(network, INetworkDefinition) or not isinstance(logger, ILogger):
            raise argument_error("OnnxParser takes a network and a trt.Logger")
        self._network: INetworkDefinition = network
        self._errors: list[ParserError] = []
        self._layers: dict[str, OnnxNodeLayer] = {}
        self.flags = 0

    def parse(self, model: Any, path: str | None = None) -> bool:
        """Read a model from bytes; ``path``: its file, for external data."""
        from ..onnx.proto import ModelProto
        from ..onnx.reader import from_proto

        label = os.fspath(path) if path is not None else "the parsed model"
        try:
            proto = ModelProto.FromString(bytes(model))
        except Exception as error:  # protobuf has its own error classes
            return self._add_error(f"{label}: not an ONNX model: {one_line(error)}")
        if not proto.HasField("graph"):
            return self._add_error(f"{label}: holds no graph, so it is not an ONNX model")
        try:
            return self._add_graph(from_proto(proto, label))
        except LoopdbgError as error:
            return self._add_error(str(error))

    def parse_from_file(self, model: str) -> bool:
        """Read a model file."""
        from ..onnx.reader import read

        try:
            return self._add_graph(read(model))
        except LoopdbgError as error:
            return self._add_error(str(error))

    def parse_with_weight_descriptors(self, model: Any) -> bool:
        return self.parse(model)

    def supports_model(self, model: Any, path: str | None = None) -> tuple[bool, list[Any]]:
        """Whether a model can be read, tested by reading it into a temporary network."""
        trial = OnnxParser(INetworkDefinition(), ILogger())
        return trial.parse(model, path), []

    def supports_operator(self, op_name: str) -> bool:
        return find_definition(System.ONNX, "", op_name, 1 << 16) is not None

    num_errors = property(lambda self: len(self._errors))

    def get_error(self, index: int) -> ParserError:
        return self._errors[index]

    def clear_errors(self) -> None:
        self._errors.clear()

    def set_flag(self, flag: OnnxParserFlag) -> None:
        self.flags |= 1 << int(flag)

    def clear_flag(self, flag: OnnxParserFlag) -> None:
        self.flags &= ~(1 << int(flag))

    def get_flag(self, flag: OnnxParserFlag) -> bool:
        return bool(self.flags >> int(flag) & 1)

    def set_builder_config(self, config: Any) -> bool:
        return True

    def get_used_vc_plugin_libraries(self) -> list[str]:
        return []

    def get_layer_output_tensor(self, name: str, i: int) -> ITensor | None:
        layer = self._layers.get(name)
        return None if layer is None else layer.get_output(i)

    def _add_error(self, text: str) -> bool:
        self._errors.append(ParserError(text))
        return False

    def _add_graph(self, graph: Graph) -> bool:
        """Add a graph to the network."""
        network = self._network
        tensors: dict[Value, ITensor] = {}
        inputs = [value for value in graph.inputs if value.name not in graph.defaults]
        for value in inputs:
            kind = value.type
            if not isinstance(kind, TensorType) or kind.dtype is None or data_type(kind.dtype) is None:
                return self._add_error(f"input '{value.name}' is {kind}, which TensorRT has no type for")
        if graph.variables:
            return self._add_error("the model keeps state from run to run, which TensorRT has no way to say")
        for value in inputs:
            kind = value.type
            assert isinstance(kind, TensorType)
            assert kind.dtype is not None
            dtype = data_type(kind.dtype)
            assert dtype is not None
            shape = kind.shape or ()
            tensor = network.add_input(value.name, dtype, [size if isinstance(size, int) else -1 for size in shape])
            # Keep names of dimensions, and unknown ranks.
            tensor._type = TensorType(numpy_type(dtype), kind.shape)
            tensors[value] = tensor
        for value in graph.inputs:
            if value.name in graph.defaults:
                value.constant = graph.defaults[value.name]
                value.type = TensorType(value.constant.dtype, value.constant.shape)
        defaults = [value for value in graph.inputs if value.constant is not None]
        for value in (*graph.constants, *defaults):
            tensors[value] = OnnxConstantLayer(network, value)._outputs[0]
        for node in graph.nodes:
            needed = [value for _, inner in bodies(node) for value in captured_values(inner)]
            layer = OnnxNodeLayer(network, node, [*node.inputs, *needed], tensors, graph.expanded_from.get(node))
            self._layers[node.name] = layer
            tensors.update((value, layer._outputs[k]) for k, value in enumerate(layer._values))
        names = graph.output_names or [value.name for value in graph.outputs]
        for name, value in zip(names, graph.outputs, strict=True):
            tensor = tensors[value]
            if tensor.is_network_input or tensor.is_network_output:
                tensor = network.add_identity(tensor)._outputs[0]
            tensor.name = name
            network.mark_output(tensor)
        network.notes += graph.notes
        return True
