"""IIfConditional and its boundary layers."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import ModelError
from ...graph import TensorType
from .checked_attribute import CheckedAttribute
from .constant_folding import constant_value
from .enums import LayerType
from .layer import ILayer, ITensor, NetworkBase, tensor_argument
from .script_location import caller_location


class IIfConditional:
    """A conditional: a condition, inputs, and outputs that each merge a tensor of both branches."""

    def __init__(self, network: NetworkBase, number: int) -> None:
        self._network, self.number = network, number
        self._name = ""
        self.script_location = caller_location()
        self.conditions: list[IConditionLayer] = []
        self.inputs: list[IIfConditionalInputLayer] = []
        self.outputs: list[IIfConditionalOutputLayer] = []

    name = CheckedAttribute[str]("_name", unset=lambda conditional: f"conditional_{conditional.number}")

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

    def error(self, text: str) -> ModelError:
        """An error with the conditional's name and its line of the script."""
        return ModelError(f"{self.script_location}: {self}: {text}")

    def __repr__(self) -> str:
        return f"IIfConditional '{self.name}'"


class IIfConditionalBoundaryLayer(ILayer):
    """A layer at the boundary of a conditional."""

    FOLDABLE = False

    def __init__(self, conditional: IIfConditional, inputs: Sequence[ITensor]) -> None:
        self._conditional = conditional
        super().__init__(conditional._network, inputs)

    @property
    def conditional(self) -> IIfConditional:
        """The conditional of the layer."""
        return self._conditional

    def __repr__(self) -> str:
        return f"{self.KIND} '{self.name}' of {self._conditional}"


class IConditionLayer(IIfConditionalBoundaryLayer, type=LayerType.CONDITION):
    """The condition."""

    OUTPUTS = 0

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        return ()


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
            constant_value(self._conditional.conditions[0].required_input(0)) if self._conditional.conditions else None
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
