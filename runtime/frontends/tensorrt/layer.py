"""What all layers and tensors have.

A layer knows what its outputs are like (:meth:`ILayer.infer`) and which operators it is made of (:meth:`ILayer.lower`).
Nothing is checked when it is added but what its arguments are: its properties and some of its inputs are set later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from ...errors import LoopdbgError, ModelError
from ...graph import Array, TensorType, Value
from .checked_attribute import CheckedAttribute
from .dims import Dims, sizes_of
from .enums import DataType, LayerType, data_type, numpy_type
from .inert_properties import InertLayerProperties, InertTensorProperties
from .lowering_scope import LoweringScope
from .removed_api import missing_api_error
from .script_location import ArgumentError, ScriptLocation, caller_location

Kind = TypeVar("Kind")


class NetworkBase:
    """What layers and tensors know of their network: the others, and its present state."""

    def __init__(self) -> None:
        self.layers: list[ILayer] = []
        self.inputs: list[ITensor] = []
        self.outputs: list[ITensor] = []
        #: Grows whenever something that others were inferred from changes.
        self._generation = 0

    def invalidate_types(self, layer: ILayer) -> None:
        """A property or an input of a layer is another now."""
        layer._types = (-1, ())
        # Nothing was inferred from a layer that nobody reads.
        self._generation += layer._has_reader

    def tensor_type(self, tensor: ITensor) -> TensorType:
        """What is known of a tensor.

        Raises:
            ModelError: a layer that it is computed by was given what does not fit.
        """
        if tensor._layer is None:
            return tensor._type
        return self.output_types(tensor._layer)[tensor._index]

    def output_types(self, layer: ILayer) -> Sequence[TensorType]:
        """What is known of a layer's outputs; layers before it are inferred again if they changed."""
        stack = [layer]
        entered: set[ILayer] = set()
        while stack:
            top = stack[-1]
            if self._is_typed(top):
                stack.pop()
                continue
            needed = [t for t in top.inference_inputs() if t is not None]
            waits = [t._layer for t in needed if t._layer is not None and not self._is_typed(t._layer)]
            if waits:
                if top in entered:
                    raise top.error("it is computed from its own output; only a recurrence leads back")
                entered.add(top)
                stack += waits
                continue
            of = {t: t._type if t._layer is None else t._layer._types[1][t._index] for t in needed}
            types = list(top.infer([TensorType() if t is None else of.get(t, TensorType()) for t in top._inputs]))
            top._inferred = tuple(types)
            for index, dtype in top._output_types.items():
                types[index] = TensorType(numpy_type(dtype), types[index].shape)
            top._types = (self._generation, types)
            stack.pop()
        return layer._types[1]

    def _is_typed(self, layer: ILayer) -> bool:
        return layer._types[0] == self._generation

    def set_input_type(self, tensor: ITensor, dtype: DataType | None = None, shape: Any = None) -> None:
        """Give an input another type or shape."""
        if tensor._layer is not None:
            raise ModelError(f"{caller_location()}: {tensor} is no input of the network, so its shape cannot be set")
        known = tensor._type.shape
        if shape is not None:
            sizes = sizes_of(shape, f"the shape of input '{tensor.name}'")
            if any(size < -1 for size in sizes):
                raise ModelError(
                    f"{caller_location()}: input '{tensor.name}': the sizes {sizes} must be -1 or not negative"
                )
            known = tuple(None if size < 0 else size for size in sizes)
        tensor._type = TensorType(tensor._type.dtype if dtype is None else numpy_type(dtype), known)
        self._generation += 1

    def set_tensor_dtype(self, tensor: ITensor, dtype: DataType) -> None:
        """``tensor.dtype = ...``: of inputs, and a request to the layer that computes it."""
        enum_argument(DataType, dtype, f"{tensor}: dtype")
        if tensor._layer is None:
            self.set_input_type(tensor, dtype)
            return
        if self.strongly_typed and tensor.dtype is not dtype:
            raise ModelError(
                f"{caller_location()}: {tensor} is {tensor.dtype.name} in a strongly typed network, where types "
                "follow from the"
                f" inputs: it cannot be set to {dtype.name}; add_cast converts"
            )
        tensor._layer._output_types[tensor._index] = dtype
        self._generation += 1

    @property
    def strongly_typed(self) -> bool:
        """No layer converts unless it is a cast."""
        return False


class ITensor(InertTensorProperties):
    """A tensor of a network: an input, or what a layer computes."""

    def __init__(self, network: NetworkBase, layer: ILayer | None, index: int, name: str) -> None:
        """``layer``: what computes it, as its output ``index``; None: it is an input."""
        self._network, self._layer, self._index = network, layer, index
        self._name = name
        #: Of an input.
        self._type = TensorType()
        self._location = caller_location()

    def _default_name(self) -> str:
        more = f"_{self._index}" if self._index else ""
        return f"{self._layer.name}_output{more}" if self._layer else self._name

    name = CheckedAttribute[str]("_name", unset=_default_name)

    @property
    def type(self) -> TensorType:
        """What is known of it."""
        return self._network.tensor_type(self)

    @property
    def shape(self) -> Dims:
        """Its shape; -1 is a dimension that is not known."""
        known = self.type.shape
        if known is None:
            return Dims.invalid()
        return Dims(size if isinstance(size, int) else -1 for size in known)

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._network.set_input_type(self, shape=shape)

    @property
    def dtype(self) -> DataType:
        """Its element type."""
        dtype = self.type.dtype
        found = None if dtype is None else data_type(dtype)
        if found is None:
            raise ModelError(f"{caller_location()}: {self}: TensorRT has no element type for {dtype}")
        return found

    @dtype.setter
    def dtype(self, dtype: DataType) -> None:
        self._network.set_tensor_dtype(self, dtype)

    def set_dimension_name(self, index: int, name: str) -> None:
        """Name a dimension of an input that is not known; those of one name are equally long."""
        shape = list(self._type.shape or ())
        if self._layer is not None or not 0 <= index < len(shape):
            raise ModelError(
                f"{caller_location()}: {self}: only dimensions of inputs can be named, and {index} is none"
            )
        if not isinstance(shape[index], int):
            shape[index] = name
            self._type = TensorType(self._type.dtype, tuple(shape))
            self._network._generation += 1

    def get_dimension_name(self, index: int) -> str | None:
        shape = self._type.shape or ()
        found = shape[index] if 0 <= index < len(shape) else None
        return found if isinstance(found, str) else None

    @property
    def is_shape_tensor(self) -> bool:
        """It may be one: small, and of a type that shapes and conditions have."""
        kind = self.type
        small = kind.shape is not None and len(kind.shape) < 2
        return small and kind.dtype is not None and kind.dtype.name in ("int32", "int64", "bool")

    @property
    def is_execution_tensor(self) -> bool:
        return True

    @property
    def is_network_input(self) -> bool:
        return self._layer is None

    @property
    def is_network_output(self) -> bool:
        return self in self._network.outputs

    def __repr__(self) -> str:
        return f"tensor '{self.name}'"


class ILayer(InertLayerProperties):
    """A layer. Properties are attributes of its class; one without underscore that is set is a change to the network.

    ``KIND``: TensorRT's word for it, in the names of layers that have none of their own; ``TYPE``: its LayerType.
    """

    KIND: ClassVar[str] = ""
    TYPE: ClassVar[LayerType]
    #: What it gives may be computed beforehand where its inputs are constants (constant_folding.py).
    FOLDABLE: ClassVar[bool] = True
    #: Inputs beyond those that it was added with, which ``set_input`` may add.
    EXTRA_INPUTS: ClassVar[int] = 0

    metadata: str = ""

    def __init__(self, network: NetworkBase, inputs: Sequence[ITensor | None], outputs: int = 1) -> None:
        #: The layer of which this may be a view (``view``).
        self._original: ILayer = self
        self._network = network
        self._location: ScriptLocation = caller_location()
        self._number = len(network.layers)
        self._name = ""
        self._inputs = list(inputs)
        self._outputs = [ITensor(network, self, k, "") for k in range(outputs)]
        #: What ``infer`` gave, and when (Network.types).
        self._types: tuple[int, Sequence[TensorType]] = (-1, ())
        #: The same before ``_output_types``.
        self._inferred: Sequence[TensorType] = ()
        #: What its outputs are converted to, by output: ``set_output_type``, ``tensor.dtype = ...``.
        self._output_types: dict[int, DataType] = {}
        #: What it gives where that follows from constants, and when (Network.constant_of).
        self._folded: tuple[int, Sequence[Array | None]] = (-1, ())
        #: Some layer reads an output of it.
        self._has_reader = False
        for tensor in inputs:
            if tensor is not None and tensor._layer is not None:
                tensor._layer._has_reader = True
        network.layers.append(self)

    @classmethod
    def view(cls, layer: ILayer) -> ILayer:
        """A layer as scripts get it from a network: its class can be assigned, as is done to reach its properties."""
        found = object.__new__(cls)
        object.__setattr__(found, "__dict__", layer.__dict__)
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ILayer) and self._original is other._original

    def __hash__(self) -> int:
        return id(self._original)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "__class__" and not issubclass(type(self._original), value):
            raise ArgumentError(
                f"{caller_location()}: {self} is a {type(self._original).__name__}, not a {value.__name__}"
            )
        if not name.startswith("_"):
            if not hasattr(type(self), name):
                raise missing_api_error(type(self).__name__, name, dir(self))
            self._network.invalidate_types(self)
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise missing_api_error(type(self).__name__, name, dir(self))

    # -- what scripts ask

    name = CheckedAttribute[str](
        "_name", unset=lambda layer: f"(Unnamed Layer* {layer._number}) [{layer._original.KIND}]"
    )

    @property
    def type(self) -> Any:
        """Its LayerType, if its class has no type of its own."""
        return self._original._layer_type()

    def _layer_type(self) -> LayerType:
        return self.TYPE

    @property
    def num_inputs(self) -> int:
        return len(self._inputs)

    @property
    def num_outputs(self) -> int:
        return len(self._outputs)

    def get_input(self, index: int) -> ITensor | None:
        return self._inputs[index] if 0 <= index < len(self._inputs) else None

    def get_output(self, index: int) -> ITensor | None:
        return self._outputs[index] if 0 <= index < len(self._outputs) else None

    def get_output_type(self, index: int) -> DataType:
        return self._output(index).dtype

    def set_output_type(self, index: int, dtype: DataType) -> None:
        """Let an output be converted to a type."""
        self._network.set_tensor_dtype(self._output(index), dtype)

    def output_type_is_set(self, index: int) -> bool:
        return index in self._output_types

    def reset_output_type(self, index: int) -> None:
        if self._output_types.pop(index, None) is not None:
            self._network._generation += 1

    def _output(self, index: int) -> ITensor:
        found = self.get_output(index)
        if found is None:
            raise ModelError(f"{caller_location()}: {self} has no output {index}")
        return found

    def set_input(self, index: int, tensor: ITensor) -> None:
        """Give an input another tensor, or one that the layer was added without."""
        if type(self) is not type(self._original):
            self._original.set_input(index, tensor)
            return
        tensor_argument(self._network, tensor, f"{self}.set_input")
        most = len(self._inputs) if not self.EXTRA_INPUTS else max(len(self._inputs), self.max_inputs())
        if not 0 <= index < most:
            have = "no inputs" if not most else "input 0" if most == 1 else f"inputs 0 to {most - 1}"
            raise ModelError(f"{caller_location()}: {self} has {have}, so input {index} cannot be set")
        self._network.invalidate_types(self)
        self._inputs += [None] * (index + 1 - len(self._inputs))
        self._inputs[index] = tensor
        if tensor._layer is not None:
            tensor._layer._has_reader = True

    def drop_input(self, index: int) -> None:
        """An attribute gives what a tensor gave: a single optional input goes, one of several becomes None."""
        if self.EXTRA_INPUTS == 1:
            del self._inputs[index:]
        elif index < len(self._inputs):
            self._inputs[index] = None

    def max_inputs(self) -> int:
        """How many inputs it can have with all those that ``set_input`` adds."""
        return 1 + self.EXTRA_INPUTS

    def __repr__(self) -> str:
        return f"{self.KIND} '{self.name}'" if type(self) is type(self._original) else repr(self._original)

    # -- what a family says

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        """What the outputs are like. ``types``: of the inputs, those that are absent as ``TensorType()``.

        Raises:
            ModelError: the inputs or the properties do not fit (:meth:`error`).
        """
        raise NotImplementedError

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        """Add the operators that it is made of to a scope; returns its outputs."""
        raise NotImplementedError

    def constant_outputs(self) -> Sequence[Array] | None:
        """What it gives where that follows from what is known of it alone, as of a constant; else None."""
        return None

    def inference_inputs(self) -> Iterable[ITensor | None]:
        """The inputs that ``infer`` needs the types of; others are given as ``TensorType()``."""
        return self._inputs

    def error(self, text: str) -> ModelError:
        """What is wrong with it, told with its name and its line of the script."""
        return ModelError(f"{self._location}: {self}: {text}")

    def required_input(self, index: int) -> ITensor:
        """An input that has to be there."""
        found = self.get_input(index)
        if found is None:
            raise self.error(f"its input {index} is not set; set_input({index}, tensor) does that")
        return found


def tensor_argument(network: NetworkBase, tensor: Any, what: str) -> ITensor:
    """An argument that has to be a tensor of the network.

    Raises:
        ArgumentError: it is something else; ModelError: it is of another network.
    """
    if not isinstance(tensor, ITensor):
        hint = "; a layer's tensor is layer.get_output(0)" if isinstance(tensor, ILayer) else ""
        raise ArgumentError(f"{caller_location()}: {what} takes an ITensor, not {_argument_text(tensor)}{hint}")
    if tensor._network is not network:
        raise ModelError(f"{caller_location()}: {what}: {tensor} belongs to another network")
    return tensor


def enum_argument(kind: type[Kind], value: Any, what: str) -> Kind:
    """An argument that has to be of an enum.

    Raises:
        ArgumentError: it is something else.
    """
    if not isinstance(value, kind):
        raise ArgumentError(f"{caller_location()}: {what} must be a trt.{kind.__name__}, not {_argument_text(value)}")
    return value


def _argument_text(value: Any) -> str:
    if value is None:
        return "None"
    return repr(value) if isinstance(value, int | float | str | np.generic) else type(value).__name__


def with_layer_location(layer: ILayer, error: LoopdbgError) -> LoopdbgError:
    """The error with the layer's name and line, if it does not tell a line yet."""
    return error if str(error).startswith(layer._location.path) else layer.error(error.what)
