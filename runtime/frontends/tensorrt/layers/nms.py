"""Non-maximum suppression, and run-time assertions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ....graph import TensorType, Value
from ..constant_folding import constant_value
from ..enums import BoundingBoxFormat, DataType, LayerType, numpy_type
from ..layer import ILayer, ITensor, enum_argument, tensor_argument
from ..lowering_scope import LoweringScope
from ..network import INetworkDefinition, network_method
from ..script_location import ArgumentError, caller_location
from .argument_checks import checked_rank, int_argument, require_dtype_kind, require_equal_dtypes


class INMSLayer(ILayer):
    """The boxes that do not overlap a better one of their class too much: [n, 3] of batch, class, box; and n."""

    KIND: ClassVar[str] = "NMS"
    TYPE: ClassVar[LayerType] = LayerType.NMS
    EXTRA_INPUTS: ClassVar[int] = 2

    bounding_box_format: BoundingBoxFormat = BoundingBoxFormat.CORNER_PAIRS
    topk_box_limit: int = 0
    indices_type: DataType = DataType.INT32

    def __init__(self, network: INetworkDefinition, inputs: Sequence[ITensor], kind: DataType) -> None:
        super().__init__(network, inputs, 2)
        self.indices_type = kind

    def max_inputs(self) -> int:
        return 5

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        boxes, scores = types[:2]
        require_equal_dtypes(self, [boxes, scores])
        require_dtype_kind(self, 0, boxes, "float")
        checked_rank(self, 0, boxes, 3, 4)
        checked_rank(self, 1, scores, 3, 3)
        require_dtype_kind(self, 2, types[2], "index")
        checked_rank(self, 2, types[2], 0, 0)
        for k in range(3, len(types)):
            if self.get_input(k) is not None:
                require_dtype_kind(self, k, types[k], "float")
                checked_rank(self, k, types[k], 0, 0)
        int_argument(self.topk_box_limit, f"{self}: topk_box_limit")
        enum_argument(BoundingBoxFormat, self.bounding_box_format, f"{self}: bounding_box_format")
        if boxes.shape is not None and scores.shape is not None:
            pairs = [*zip(boxes.shape[:2], scores.shape[:2], strict=True), (boxes.shape[-1], 4)]
            if any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs):
                raise self.error(
                    f"boxes {boxes.shape_text()} and scores {scores.shape_text()} do not fit: they are [N, boxes, 4]"
                    " and [N, boxes, classes]"
                )
        kind = numpy_type(self.indices_type)
        return [TensorType(kind, (None, 3)), TensorType(np.dtype(np.int32), ())]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        centers = int(self.bounding_box_format is BoundingBoxFormat.CENTER_SIZES)
        boxes, count = scope.ops("NMS", inputs, 2, "tensorrt", centers=centers, limit=max(self.topk_box_limit, 0))
        if self.indices_type is not DataType.INT32:
            boxes = scope.cast(boxes, numpy_type(self.indices_type))
        return [boxes, count]


@network_method
def add_nms(
    network: INetworkDefinition,
    boxes: ITensor,
    scores: ITensor,
    max_output_boxes_per_class: ITensor,
    indices_type: DataType = DataType.INT32,
) -> INMSLayer:
    """Non-maximum suppression."""
    tensors = [
        tensor_argument(network, boxes, "add_nms: boxes"),
        tensor_argument(network, scores, "add_nms: scores"),
        tensor_argument(network, max_output_boxes_per_class, "add_nms: max_output_boxes_per_class, a tensor,"),
    ]
    return INMSLayer(network, tensors, enum_argument(DataType, indices_type, "add_nms: indices_type"))


class IAssertionLayer(ILayer):
    """A condition that has to hold, and the message where it does not."""

    KIND: ClassVar[str] = "Assertion"
    TYPE: ClassVar[LayerType] = LayerType.ASSERTION
    FOLDABLE: ClassVar[bool] = False

    message: str = ""

    def __init__(self, network: INetworkDefinition, condition: ITensor, message: str) -> None:
        super().__init__(network, [condition], 0)
        self.message = message

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        require_dtype_kind(self, 0, types[0], "bool")
        checked_rank(self, 0, types[0], 0, 1)
        condition = constant_value(self.required_input(0))
        if condition is not None and not condition.all():
            raise self.error(f"its condition never holds: {self.message}")
        return ()

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        # The output is unused, but every operator needs one.
        scope.op("Assertion", *inputs, domain="tensorrt", message=self.message or "the assertion does not hold")
        return ()


@network_method
def add_assertion(network: INetworkDefinition, condition: ITensor, message: str) -> IAssertionLayer:
    """Assert a condition while the network runs."""
    tensor_argument(network, condition, "add_assertion: condition")
    if not isinstance(message, str):
        raise ArgumentError(f"{caller_location()}: add_assertion: message must be a string, not {message!r:.60}")
    return IAssertionLayer(network, condition, message)
