"""INetworkDefinition: the network that a script builds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .control_flow import IIfConditional, ILoop
from .enums import DataType, NetworkDefinitionCreationFlag
from .inert_properties import InertNetworkProperties
from .layer import ILayer, ITensor, NetworkBase, enum_argument, tensor_argument
from .removed_api import missing_api_error
from .script_location import argument_error, call_error, caller_location


class INetworkDefinition(InertNetworkProperties, NetworkBase):
    """A network with layers, inputs and outputs in order of addition."""

    def __init__(self, name: str = "Unnamed Network 0") -> None:
        super().__init__()
        self.name = name
        self.loops: list[ILoop] = []
        self.conditionals: list[IIfConditional] = []
        self.script_location = caller_location()
        #: Notes of the model: one sentence each.
        self.notes: list[str] = []

    @property
    def strongly_typed(self) -> bool:
        return self.get_flag(NetworkDefinitionCreationFlag.STRONGLY_TYPED)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise missing_api_error("INetworkDefinition", name, dir(type(self)))

    # -- inputs and outputs

    def add_input(self, name: str, dtype: DataType, shape: Any) -> ITensor:
        """Add an input of the network; -1 in its shape is an unknown dimension."""
        if not isinstance(name, str):
            raise argument_error(
                f"add_input: the name must be a string, not {name!r}", name="name", expected="a string", got=repr(name)
            )
        if any(tensor.name == name for tensor in self.inputs):
            raise call_error(f"add_input: there is an input '{name}' already", name=name)
        tensor = ITensor(self, None, len(self.inputs), name)
        self.inputs.append(tensor)
        self.set_input_type(tensor, enum_argument(DataType, dtype, f"add_input('{name}'): dtype"), shape)
        return tensor

    def mark_output(self, tensor: ITensor) -> None:
        """Mark a tensor as an output of the network."""
        tensor_argument(self, tensor, "mark_output")
        if tensor._layer is None:
            raise call_error(
                f"mark_output: {tensor} is an input of the network; add_identity makes another", name=tensor.name
            )
        if tensor not in self.outputs:
            self.outputs.append(tensor)

    def unmark_output(self, tensor: ITensor) -> None:
        if tensor_argument(self, tensor, "unmark_output") in self.outputs:
            self.outputs.remove(tensor)

    def mark_output_for_shapes(self, tensor: ITensor) -> bool:
        """Mark a small tensor of integers as an output."""
        self.mark_output(tensor)
        return True

    def unmark_output_for_shapes(self, tensor: ITensor) -> bool:
        self.unmark_output(tensor)
        return True

    def remove_tensor(self, tensor: ITensor) -> None:
        """Remove an unused input."""
        if tensor_argument(self, tensor, "remove_tensor") in self.inputs and not any(
            tensor in layer._inputs for layer in self.layers
        ):
            self.inputs.remove(tensor)

    num_layers = property(lambda self: len(self.layers))
    num_inputs = property(lambda self: len(self.inputs))
    num_outputs = property(lambda self: len(self.outputs))

    def get_layer(self, index: int) -> ILayer | None:
        return ILayer.view(self.layers[index]) if 0 <= index < len(self.layers) else None

    def get_input(self, index: int) -> ITensor | None:
        return self.inputs[index] if 0 <= index < len(self.inputs) else None

    def get_output(self, index: int) -> ITensor | None:
        return self.outputs[index] if 0 <= index < len(self.outputs) else None

    def __len__(self) -> int:
        return len(self.layers)

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: int) -> ILayer:
        return ILayer.view(self.layers[index])

    def __iter__(self) -> Iterator[ILayer]:
        return iter([ILayer.view(layer) for layer in self.layers])

    # -- control flow

    def add_loop(self) -> ILoop:
        """Add a loop; its contents follow from the uses of its tensors."""
        self.loops.append(ILoop(self, len(self.loops)))
        return self.loops[-1]

    def add_if_conditional(self) -> IIfConditional:
        """Add a conditional; the contents of its branches follow from the dependences of its outputs."""
        self.conditionals.append(IIfConditional(self, len(self.conditionals)))
        return self.conditionals[-1]
