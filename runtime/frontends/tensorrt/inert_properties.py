"""Parts of the API without effect: properties that are stored for scripts, ``with`` statements, constant results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar

from .checked_attribute import CheckedAttribute
from .enums import DataType, NetworkDefinitionCreationFlag, TensorLocation
from .script_location import require_type

Result = TypeVar("Result")


class InertContext:
    """Its ``with`` statement has no effect."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def constant_method(result: Result) -> Callable[[Any], Result]:
    """A method without parameters that always returns the same."""

    def method(self: Any) -> Result:
        return result

    method.__annotations__ = {"return": type(result).__name__}
    return method


class InertTensorProperties:
    """Properties of an ITensor."""

    location: TensorLocation = TensorLocation.DEVICE
    allowed_formats: int = 0xFFF
    broadcast_across_batch: bool = False
    _range: tuple[float, float] | None = None

    dynamic_range = CheckedAttribute[tuple[float, float] | None]("_range")

    def set_dynamic_range(self, min: float, max: float) -> bool:
        self._range = float(min), float(max)
        return True

    def reset_dynamic_range(self) -> None:
        self._range = None


class InertNetworkProperties(InertContext):
    """Properties of an INetworkDefinition."""

    _flags: int = 0
    _builder: Any = None
    error_recorder: Any = None
    has_implicit_batch_dimension: bool = False

    def __init__(self) -> None:
        super().__init__()
        self._debug_tensors: set[Any] = set()
        self._refittable: set[str] = set()

    builder = property(lambda self: self._builder)
    flags = property(lambda self: self._flags)

    def get_flag(self, flag: NetworkDefinitionCreationFlag) -> bool:
        require_type(flag, NetworkDefinitionCreationFlag, "get_flag takes a trt.NetworkDefinitionCreationFlag")
        return bool(self._flags >> int(flag) & 1)

    def set_weights_name(self, weights: Any, name: str) -> bool:
        return True

    def mark_debug(self, tensor: Any) -> bool:
        self._debug_tensors.add(tensor)
        return True

    def unmark_debug(self, tensor: Any) -> bool:
        self._debug_tensors.discard(tensor)
        return True

    def is_debug_tensor(self, tensor: Any) -> bool:
        return tensor in self._debug_tensors

    mark_unfused_tensors_as_debug_tensors = unmark_unfused_tensors_as_debug_tensors = constant_method(True)

    def mark_weights_refittable(self, name: str) -> bool:
        self._refittable.add(name)
        return True

    def unmark_weights_refittable(self, name: str) -> bool:
        self._refittable.discard(name)
        return True

    def are_weights_marked_refittable(self, name: str) -> bool:
        return name in self._refittable


class InertLayerProperties:
    """Properties of an ILayer: the requested precision in weakly typed networks."""

    _precision: DataType | None = None
    num_ranks: int = 1

    precision = CheckedAttribute[DataType]("_precision", unset=lambda layer: DataType.FLOAT)

    precision_is_set = property(lambda self: self._precision is not None)

    def reset_precision(self) -> None:
        self._precision = None
