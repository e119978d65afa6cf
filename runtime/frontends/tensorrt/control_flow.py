"""ILoop, IIfConditional, and their boundary layers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Unpack

from ...errors import ErrorFields, ModelError
from ...graph import Dim, TensorType
from .checked_attribute import CheckedAttribute
from .constant_folding import constant_int, constant_value
from .enums import LayerType, LoopOutput, TripLimit
from .layer import ILayer, ITensor, NetworkBase, enum_argument, tensor_argument
from .script_location import caller_location


class _ControlFlow:
    """A loop or a conditional; ``number``: among those of the network."""

    #: The beginning of its default name.
    _PREFIX: ClassVar[str]

    def __init__(self, network: NetworkBase, number: int) -> None:
        self._network, self.number = network, number
        self._name = ""
        self.script_location = caller_location()

    name = CheckedAttribute[str]("_name", unset=lambda owner: f"{owner._PREFIX}_{owner.number}")

    def error(self, text: str, **fields: Unpack[ErrorFields]) -> ModelError:
        """An error with its name and its line of the script."""
        fields = {"node": self.name, "op_type": type(self).__name__, **fields}
        return ModelError(f"{self.script_location}: {self}: {text}", **fields)

    def __repr__(self) -> str:
        return f"{type(self).__name__} '{self.name}'"


class _BoundaryLayer(ILayer):
    """A layer at the boundary of a loop or conditional."""

    FOLDABLE = False

    def __init__(self, owner: Any, inputs: Sequence[ITensor], **attributes: Any) -> None:
        self._owner = owner
        super().__init__(owner._network, inputs, **attributes)

    def __repr__(self) -> str:
        return f"{self.KIND} '{self.name}' of {self._owner}"


class ILoop(_ControlFlow):
    """A loop: its limits, iterators, recurrences and outputs, each in order of addition."""

    _PREFIX = "loop"

    def __init__(self, network: NetworkBase, number: int) -> None:
        super().__init__(network, number)
        self.limits: list[ITripLimitLayer] = []
        self.iterators: list[IIteratorLayer] = []
        self.recurrences: list[IRecurrenceLayer] = []
        self.outputs: list[ILoopOutputLayer] = []

    def add_trip_limit(self, tensor: ITensor, kind: TripLimit) -> ITripLimitLayer:
        """Limit the trips by a count, or by a condition that is tested before each iteration."""
        tensor_argument(self._network, tensor, f"{self}.add_trip_limit")
        enum_argument(TripLimit, kind, f"{self}.add_trip_limit: kind")
        self.limits.append(ITripLimitLayer(self, [tensor], _kind=kind))
        return self.limits[-1]

    def add_iterator(self, tensor: ITensor, axis: int = 0, reverse: bool = False) -> IIteratorLayer:
        """Add an iterator: iteration i gets part i of a tensor along an axis, which is removed from the parts."""
        tensor_argument(self._network, tensor, f"{self}.add_iterator")
        self.iterators.append(IIteratorLayer(self, [tensor], axis=axis, reverse=reverse))
        return self.iterators[-1]

    def add_recurrence(self, initial_value: ITensor) -> IRecurrenceLayer:
        """Carry a value; ``set_input(1, tensor)`` sets the value of the next iteration."""
        tensor_argument(self._network, initial_value, f"{self}.add_recurrence")
        self.recurrences.append(IRecurrenceLayer(self, [initial_value]))
        return self.recurrences[-1]

    def add_loop_output(self, tensor: ITensor, kind: LoopOutput, axis: int = 0) -> ILoopOutputLayer:
        """Add an output of the loop: the last value, or all values, stacked along a new axis."""
        tensor_argument(self._network, tensor, f"{self}.add_loop_output")
        enum_argument(LoopOutput, kind, f"{self}.add_loop_output: kind")
        self.outputs.append(ILoopOutputLayer(self, [tensor], axis=axis, _kind=kind))
        return self.outputs[-1]

    @property
    def layers(self) -> Sequence[ILoopBoundaryLayer]:
        """All boundary layers."""
        return (*self.limits, *self.iterators, *self.recurrences, *self.outputs)

    def limit(self, kind: TripLimit) -> ITripLimitLayer | None:
        """The limit of a kind, if there is one."""
        return next((limit for limit in self.limits if limit.kind is kind), None)


class ILoopBoundaryLayer(_BoundaryLayer):
    """A layer at the boundary of a loop."""

    @property
    def loop(self) -> ILoop:
        """The loop of the layer."""
        loop: ILoop = self._owner
        return loop


class ITripLimitLayer(ILoopBoundaryLayer, type=LayerType.TRIP_LIMIT):
    """A limit of a loop's trips."""

    OUTPUTS = 0

    _kind: TripLimit

    @property
    def kind(self) -> TripLimit:
        return self._kind


class IIteratorLayer(ILoopBoundaryLayer, type=LayerType.ITERATOR):
    """A part of a tensor per iteration."""

    axis: int = 0
    reverse: bool = False

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        shape = types[0].shape
        if shape is None:
            return [TensorType(types[0].dtype)]
        if not 0 <= self.axis < len(shape):
            raise self.error(
                f"its axis is {self.axis}, and {self.required_input(0)} has the shape {types[0].shape_text()}"
                + (f"; it may be 0 to {len(shape) - 1}" if shape else "; a scalar has no parts")
            )
        return [TensorType(types[0].dtype, (*shape[: self.axis], *shape[self.axis + 1 :]))]


class IRecurrenceLayer(ILoopBoundaryLayer, type=LayerType.RECURRENCE):
    """A carried value: input 0 in iteration 0, then input 1 of the previous iteration."""

    MAX_INPUTS = 2

    def inference_inputs(self) -> Iterable[ITensor | None]:
        return self._inputs[:1]


class ILoopOutputLayer(ILoopBoundaryLayer, type=LayerType.LOOP_OUTPUT):
    """An output of a loop; input 1 is the length of the new axis."""

    MAX_INPUTS = 2

    axis: int = 0
    _kind: LoopOutput
    #: Whether it was LAST_VALUE before a length was set.
    _was_last_value: bool = False

    @property
    def kind(self) -> LoopOutput:
        return self._kind

    @property
    def length(self) -> ITensor | None:
        """The length of the new axis."""
        return self.get_input(1)

    def set_input(self, index: int, tensor: ITensor) -> None:
        super().set_input(index, tensor)
        if index == 1 and self._kind is LoopOutput.LAST_VALUE:
            self._kind, self._was_last_value = LoopOutput.CONCATENATE, True

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        if self._kind is LoopOutput.LAST_VALUE or types[0].shape is None:
            return [types[0]]
        shape: list[Dim] = list(types[0].shape)
        if not 0 <= self.axis <= len(shape):
            raise self.error(
                f"its axis is {self.axis}; stacking {self.required_input(0)} of shape {types[0].shape_text()} adds an "
                f"axis, which may be 0 to {len(shape)}"
            )
        shape.insert(self.axis, constant_int(self.length))
        return [TensorType(types[0].dtype, tuple(shape))]


class IIfConditional(_ControlFlow):
    """A conditional: a condition, inputs, and outputs that each merge a tensor of both branches."""

    _PREFIX = "conditional"

    def __init__(self, network: NetworkBase, number: int) -> None:
        super().__init__(network, number)
        self.conditions: list[IConditionLayer] = []
        self.inputs: list[IIfConditionalInputLayer] = []
        self.outputs: list[IIfConditionalOutputLayer] = []

    def set_condition(self, condition: ITensor) -> IConditionLayer:
        """Set the condition that selects the branch."""
        tensor_argument(self._network, condition, f"{self}.set_condition")
        self.conditions.append(IConditionLayer(self, [condition]))
        return self.conditions[-1]

    def add_input(self, input: ITensor) -> IIfConditionalInputLayer:
        """Add an input of the branches."""
        tensor_argument(self._network, input, f"{self}.add_input")
        self.inputs.append(IIfConditionalInputLayer(self, [input]))
        return self.inputs[-1]

    def add_output(self, true_subgraph_output: ITensor, false_subgraph_output: ITensor) -> IIfConditionalOutputLayer:
        """Add an output: one tensor where the condition is true, another where it is false."""
        tensor_argument(self._network, true_subgraph_output, f"{self}.add_output")
        tensor_argument(self._network, false_subgraph_output, f"{self}.add_output")
        self.outputs.append(IIfConditionalOutputLayer(self, [true_subgraph_output, false_subgraph_output]))
        return self.outputs[-1]


class IIfConditionalBoundaryLayer(_BoundaryLayer):
    """A layer at the boundary of a conditional."""

    @property
    def conditional(self) -> IIfConditional:
        """The conditional of the layer."""
        conditional: IIfConditional = self._owner
        return conditional


class IConditionLayer(IIfConditionalBoundaryLayer, type=LayerType.CONDITION):
    """The condition."""

    OUTPUTS = 0


class IIfConditionalInputLayer(
    IIfConditionalBoundaryLayer, type=LayerType.CONDITIONAL_INPUT, kind="Input", operator="Identity"
):
    """An input tensor of the branches."""


class IIfConditionalOutputLayer(IIfConditionalBoundaryLayer, type=LayerType.CONDITIONAL_OUTPUT, kind="Output"):
    """The merged output of both branches."""

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        on_true, on_false = types
        if on_true.dtype is not None and on_false.dtype is not None and on_true.dtype != on_false.dtype:
            raise self.error(
                f"the true branch gives {on_true.dtype}, {self.required_input(0)}, the false branch {on_false.dtype}, "
                f"{self.required_input(1)}; they must be of one type"
            )
        condition = (
            constant_value(self.conditional.conditions[0].required_input(0)) if self.conditional.conditions else None
        )
        if condition is not None and condition.size == 1:
            # A constant condition removes the other branch.
            return [on_true if condition.reshape(()) else on_false]
        if on_true.shape is None or on_false.shape is None:
            return [TensorType(on_true.dtype)]
        if on_true.excludes(on_false):
            raise self.error(
                f"the true branch gives {on_true.shape_text()}, {self.required_input(0)}, the false branch "
                f"{on_false.shape_text()}, {self.required_input(1)}; they must have one shape, unless the condition is "
                "a constant"
            )
        shape = tuple(a if a == b else None for a, b in zip(on_true.shape, on_false.shape, strict=True))
        return [TensorType(on_true.dtype, shape)]
