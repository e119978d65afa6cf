"""Base classes of layers and tensors.

A layer infers the types of its outputs (:meth:`ILayer.infer`) and is lowered to operators (:meth:`ILayer.lower`). Only
its arguments are checked when it is added: its properties and some of its inputs are set later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar, Unpack

import numpy as np

from ...errors import ErrorFields, LoopdbgError, ModelError
from ...graph import Array, TensorType, Value
from .checked_attribute import CheckedAttribute
from .dims import Dims, sizes_from_shape
from .enums import DataType, LayerType, data_type, numpy_type
from .inert_properties import InertLayerProperties, InertTensorProperties
from .lowering_scope import LoweringScope
from .removed_api import missing_api_error
from .script_location import ScriptLocation, argument_error, call_error, caller_location

Kind = TypeVar("Kind")


class NetworkBase:
    """The part of a network that layers and tensors use: layers, inputs, outputs and type inference."""

    def __init__(self) -> None:
        self.layers: list[ILayer] = []
        self.inputs: list[ITensor] = []
        self.outputs: list[ITensor] = []
        #: Incremented when inferred types become stale.
        self._generation = 0

    def invalidate_types(self, layer: ILayer) -> None:
        """Invalidate the types of a layer whose property or input has changed."""
        layer._types = (-1, ())
        # No types were inferred from a layer without readers.
        self._generation += layer._has_reader

    def tensor_type(self, tensor: ITensor) -> TensorType:
        """The inferred type of a tensor.

        Raises:
            ModelError: a layer that computes it has invalid inputs.
        """
        if tensor._layer is None:
            return tensor._type
        return self.output_types(tensor._layer)[tensor._index]

    def output_types(self, layer: ILayer) -> Sequence[TensorType]:
        """The inferred types of a layer's outputs; stale layers before it are inferred again."""
        stack = [layer]
        entered: set[ILayer] = set()
        while stack:
            top = stack[-1]
            if self._is_typed(top):
                stack.pop()
                continue
            needed = [t for t in top.inference_inputs() if t is not None]
            pending = [t._layer for t in needed if t._layer is not None and not self._is_typed(t._layer)]
            if pending:
                if top in entered:
                    raise top.error("it is computed from its own output; only a recurrence leads back")
                entered.add(top)
                stack += pending
                continue
            known = {t: t._type if t._layer is None else t._layer._types[1][t._index] for t in needed}
            input_types = [TensorType() if t is None else known.get(t, TensorType()) for t in top._inputs]
            for check in top.CHECKS:
                check(top, input_types)
            types = list(top.infer(input_types))
            top._inferred = tuple(types)
            for index, dtype in top._output_types.items():
                types[index] = TensorType(numpy_type(dtype), types[index].shape)
            top._types = (self._generation, types)
            stack.pop()
        return layer._types[1]

    def _is_typed(self, layer: ILayer) -> bool:
        return layer._types[0] == self._generation

    def set_input_type(self, tensor: ITensor, dtype: DataType | None = None, shape: Any = None) -> None:
        """Change the type or shape of an input."""
        if tensor._layer is not None:
            raise call_error(f"{tensor} is no input of the network, so its shape cannot be set", name=tensor.name)
        known = tensor._type.shape
        if shape is not None:
            sizes = sizes_from_shape(shape, f"the shape of input '{tensor.name}'")
            if any(size < -1 for size in sizes):
                raise call_error(
                    f"input '{tensor.name}': the sizes {sizes} must be -1 or not negative",
                    name=tensor.name,
                    expected="-1 or not negative",
                    got=str(sizes),
                )
            known = tuple(None if size < 0 else size for size in sizes)
        tensor._type = TensorType(tensor._type.dtype if dtype is None else numpy_type(dtype), known)
        self._generation += 1

    def set_tensor_dtype(self, tensor: ITensor, dtype: DataType) -> None:
        """``tensor.dtype = ...``: the type of an input, or a request to the layer that computes the tensor."""
        enum_argument(DataType, dtype, f"{tensor}: dtype")
        if tensor._layer is None:
            self.set_input_type(tensor, dtype)
            return
        if self.strongly_typed and tensor.dtype is not dtype:
            raise call_error(
                f"{tensor} is {tensor.dtype.name} in a strongly typed network, where types follow "
                f"from the inputs: it cannot be set to {dtype.name}; add_cast converts"
            )
        tensor._layer._output_types[tensor._index] = dtype
        self._generation += 1

    @property
    def strongly_typed(self) -> bool:
        """Whether only cast layers convert types."""
        return False


#: Raises ModelError for wrong types of a layer's inputs.
InputCheck = Callable[["ILayer", Sequence[TensorType]], None]


class ITensor(InertTensorProperties):
    """A tensor of a network: an input, or an output of a layer."""

    def __init__(self, network: NetworkBase, layer: ILayer | None, index: int, name: str) -> None:
        """``layer``: computes it as its output ``index``; None: it is an input."""
        self._network, self._layer, self._index = network, layer, index
        self._name = name
        #: The type of an input.
        self._type = TensorType()
        self._location = caller_location()

    def _default_name(self) -> str:
        suffix = f"_{self._index}" if self._index else ""
        return f"{self._layer.name}_output{suffix}" if self._layer else self._name

    name = CheckedAttribute[str]("_name", unset=_default_name)

    @property
    def type(self) -> TensorType:
        """Its inferred type."""
        return self._network.tensor_type(self)

    @property
    def shape(self) -> Dims:
        """Its shape; -1 is an unknown dimension."""
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
        result = None if dtype is None else data_type(dtype)
        if result is None:
            raise call_error(f"{self}: TensorRT has no element type for {dtype}", name=self.name, got=str(dtype))
        return result

    @dtype.setter
    def dtype(self, dtype: DataType) -> None:
        self._network.set_tensor_dtype(self, dtype)

    def set_dimension_name(self, index: int, name: str) -> None:
        """Name an unknown dimension of an input; dimensions of one name are equal."""
        shape = list(self._type.shape or ())
        if self._layer is not None or not 0 <= index < len(shape):
            raise call_error(f"{self}: only dimensions of inputs can be named, and {index} is none")
        if not isinstance(shape[index], int):
            shape[index] = name
            self._type = TensorType(self._type.dtype, tuple(shape))
            self._network._generation += 1

    def get_dimension_name(self, index: int) -> str | None:
        shape = self._type.shape or ()
        dim = shape[index] if 0 <= index < len(shape) else None
        return dim if isinstance(dim, str) else None

    @property
    def is_shape_tensor(self) -> bool:
        """Whether it may be a shape tensor: small, and of a type of shapes and conditions."""
        kind = self.type
        small = kind.shape is not None and len(kind.shape) < 2
        return small and kind.dtype is not None and kind.dtype.name in ("int32", "int64", "bool")

    is_execution_tensor = property(lambda self: True)

    @property
    def is_network_input(self) -> bool:
        return self._layer is None

    @property
    def is_network_output(self) -> bool:
        return self in self._network.outputs

    def __repr__(self) -> str:
        return f"tensor '{self.name}'"


class ILayer(InertLayerProperties):
    """A layer. Properties are attributes of its class; setting one without underscore changes the network."""

    #: TensorRT's name of it, in the default names of layers.
    KIND: ClassVar[str] = ""
    TYPE: ClassVar[LayerType]
    #: Whether constant folding applies (constant_folding.py).
    FOLDABLE: ClassVar[bool] = True
    #: The number of outputs, and of inputs including those that ``set_input`` may add.
    OUTPUTS: ClassVar[int] = 1
    MAX_INPUTS: ClassVar[int] = 0
    #: Checks of the input types, in this order, before ``infer``.
    CHECKS: ClassVar[Sequence[InputCheck]] = ()
    #: The operator that the layer is lowered to, if it is only one: its type, its domain and the layer's attributes.
    OPERATOR: ClassVar[tuple[str, str, Sequence[str]]] = ("", "", ())

    metadata: str = ""

    def __init_subclass__(
        cls,
        type: LayerType | None = None,
        kind: str = "",
        operator: str = "",
        domain: str = "",
        attributes: Sequence[str] = (),
    ) -> None:
        """``type``: the LayerType; ``kind``: KIND if it is not the class name's; others: OPERATOR."""
        if type is not None:
            cls.TYPE = type
            cls.KIND = kind or cls.__name__.removeprefix("I").removesuffix("Layer")
        if operator:
            cls.OPERATOR = operator, domain, attributes

    def __init__(
        self, network: NetworkBase, inputs: Sequence[ITensor | None], outputs: int | None = None, **attributes: Any
    ) -> None:
        #: The layer that this is a view of (``view``), or itself.
        self._original: ILayer = self
        self._network = network
        self._location: ScriptLocation = caller_location()
        self._number = len(network.layers)
        self._name = ""
        self._inputs = list(inputs)
        self._outputs = [ITensor(network, self, k, "") for k in range(self.OUTPUTS if outputs is None else outputs)]
        #: The output types and their generation (``NetworkBase.output_types``).
        self._types: tuple[int, Sequence[TensorType]] = (-1, ())
        #: The inferred types before ``_output_types``.
        self._inferred: Sequence[TensorType] = ()
        #: Requested types by output: ``set_output_type``, ``tensor.dtype = ...``.
        self._output_types: dict[int, DataType] = {}
        #: Whether a layer reads one of its outputs.
        self._has_reader = False
        for tensor in inputs:
            if tensor is not None and tensor._layer is not None:
                tensor._layer._has_reader = True
        network.layers.append(self)
        self._set_attributes(attributes)

    def _set_attributes(self, attributes: Mapping[str, Any]) -> None:
        for name, value in attributes.items():
            setattr(self, name, value)

    @classmethod
    def view(cls, layer: ILayer) -> ILayer:
        """The view of a layer for scripts, whose class may be assigned to access its properties."""
        view = object.__new__(cls)
        object.__setattr__(view, "__dict__", layer.__dict__)
        return view

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ILayer) and self._original is other._original

    def __hash__(self) -> int:
        return id(self._original)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "__class__" and not issubclass(type(self._original), value):
            raise argument_error(
                f"{self} is a {type(self._original).__name__}, not a {value.__name__}",
                expected=value.__name__,
                got=type(self._original).__name__,
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

    # -- API for scripts

    name = CheckedAttribute[str](
        "_name", unset=lambda layer: f"(Unnamed Layer* {layer._number}) [{layer._original.KIND}]"
    )

    @property
    def type(self) -> Any:
        """Its LayerType, unless its class overrides ``type``."""
        return self._original._layer_type()

    def _layer_type(self) -> LayerType:
        return self.TYPE

    num_inputs = property(lambda self: len(self._inputs))
    num_outputs = property(lambda self: len(self._outputs))

    def get_input(self, index: int) -> ITensor | None:
        return self._inputs[index] if 0 <= index < len(self._inputs) else None

    def get_output(self, index: int) -> ITensor | None:
        return self._outputs[index] if 0 <= index < len(self._outputs) else None

    def get_output_type(self, index: int) -> DataType:
        return self._output(index).dtype

    def set_output_type(self, index: int, dtype: DataType) -> None:
        """Request conversion of an output to a type."""
        self._network.set_tensor_dtype(self._output(index), dtype)

    def output_type_is_set(self, index: int) -> bool:
        return index in self._output_types

    def reset_output_type(self, index: int) -> None:
        if self._output_types.pop(index, None) is not None:
            self._network._generation += 1

    def _output(self, index: int) -> ITensor:
        tensor = self.get_output(index)
        if tensor is None:
            raise call_error(f"{self} has no output {index}", name=f"output {index}")
        return tensor

    def set_input(self, index: int, tensor: ITensor) -> None:
        """Replace or add an input."""
        if type(self) is not type(self._original):
            self._original.set_input(index, tensor)
            return
        tensor_argument(self._network, tensor, f"{self}.set_input")
        limit = max(len(self._inputs), self.MAX_INPUTS)
        if not 0 <= index < limit:
            described = "no inputs" if not limit else "input 0" if limit == 1 else f"inputs 0 to {limit - 1}"
            raise call_error(f"{self} has {described}, so input {index} cannot be set", name=f"input {index}")
        self._network.invalidate_types(self)
        self._inputs += [None] * (index + 1 - len(self._inputs))
        self._inputs[index] = tensor
        if tensor._layer is not None:
            tensor._layer._has_reader = True

    def drop_input(self, index: int) -> None:
        """Remove an input that an attribute replaces: a single optional input is deleted, others become None."""
        if self.MAX_INPUTS == 2:
            del self._inputs[index:]
        elif index < len(self._inputs):
            self._inputs[index] = None

    def __repr__(self) -> str:
        return f"{self.KIND} '{self.name}'" if type(self) is type(self._original) else repr(self._original)

    # -- implemented by layer families

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        """Infer the types of the outputs; by default, outputs have the type of input 0.

        ``types``: of the inputs, ``TensorType()`` for absent ones; they passed ``CHECKS``.

        Raises:
            ModelError: the inputs or the properties are invalid (:meth:`error`).
        """
        return [types[0]] * self.OUTPUTS

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        """Add the operators of the layer to a scope; returns its outputs. By default it is one operator."""
        op_type, domain, names = self.OPERATOR
        values = {name: getattr(self, name) for name in names}
        attributes = {
            name: int(value) if isinstance(value, bool | np.bool_) else value for name, value in values.items()
        }
        return [scope.op(op_type, *inputs, domain=domain, **attributes)]

    def constant_outputs(self) -> Sequence[Array] | None:
        """The outputs of a layer that is constant by itself; else None."""
        return None

    def inference_inputs(self) -> Iterable[ITensor | None]:
        """The inputs whose types ``infer`` needs; others are passed as ``TensorType()``."""
        return self._inputs

    def error(self, text: str, **fields: Unpack[ErrorFields]) -> ModelError:
        """An error with the layer's name and its line of the script."""
        fields = {"node": self.name, "op_type": type(self).__name__, **fields}
        return ModelError(f"{self._location}: {self}: {text}", **fields)

    def required_input(self, index: int) -> ITensor:
        """A required input."""
        tensor = self.get_input(index)
        if tensor is None:
            raise self.error(
                f"its input {index} is not set; set_input({index}, tensor) does that", name=f"input {index}"
            )
        return tensor


def tensor_argument(network: NetworkBase, tensor: Any, label: str) -> ITensor:
    """Check that an argument is a tensor of the network.

    Raises:
        ArgumentError: it is something else.
        ModelError: it belongs to another network.
    """
    if not isinstance(tensor, ITensor):
        hint = "; a layer's tensor is layer.get_output(0)" if isinstance(tensor, ILayer) else ""
        got = _argument_text(tensor)
        raise argument_error(f"{label} takes an ITensor, not {got}{hint}", name=label, expected="ITensor", got=got)
    if tensor._network is not network:
        raise call_error(f"{label}: {tensor} belongs to another network", name=tensor.name)
    return tensor


def enum_argument(kind: type[Kind], value: Any, label: str) -> Kind:
    """Check that an argument is a member of an enum.

    Raises:
        ArgumentError: it is something else.
    """
    if not isinstance(value, kind):
        expected, got = f"trt.{kind.__name__}", _argument_text(value)
        raise argument_error(f"{label} must be a {expected}, not {got}", name=label, expected=expected, got=got)
    return value


def _argument_text(value: Any) -> str:
    if value is None:
        return "None"
    return repr(value) if isinstance(value, int | float | str | np.generic) else type(value).__name__


def with_layer_location(layer: ILayer, error: LoopdbgError) -> LoopdbgError:
    """Add the layer's name and line to an error that has no line yet."""
    return error if str(error).startswith(layer._location.path) else layer.error(error.what, **error.fields)
