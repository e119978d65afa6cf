"""Non-maximum suppression, and run-time assertions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....graph import TensorType, Value
from ..constant_folding import constant_value
from ..enums import BoundingBoxFormat, DataType, LayerType, numpy_type
from ..layer import ILayer, ITensor, enum_argument
from ..lowering_scope import LoweringScope
from ..script_location import require_type
from .argument_checks import int_argument, same_types_check, sizes_differ, type_and_rank_check
from .network_methods import Parameter, network_method


@network_method(
    "add_nms",
    "Non-maximum suppression.",
    "boxes",
    "scores",
    max_output_boxes_per_class=Parameter(ITensor, label="add_nms: max_output_boxes_per_class, a tensor,"),
    indices_type=DataType.INT32,
)
class INMSLayer(ILayer, type=LayerType.NMS):
    """The boxes that do not overlap a better one of their class too much: [n, 3] of batch, class, box; and n."""

    OUTPUTS = 2
    MAX_INPUTS = 5
    CHECKS = (
        same_types_check(0, 1),
        type_and_rank_check(0, "float", 3, 4),
        type_and_rank_check(1, "", 3, 3),
        type_and_rank_check(2, "index", 0, 0),
        type_and_rank_check(3, "float", 0, 0),
        type_and_rank_check(4, "float", 0, 0),
    )

    bounding_box_format: BoundingBoxFormat = BoundingBoxFormat.CORNER_PAIRS
    topk_box_limit: int = 0
    indices_type: DataType = DataType.INT32

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        boxes, scores = types[:2]
        int_argument(self.topk_box_limit, f"{self}: topk_box_limit")
        enum_argument(BoundingBoxFormat, self.bounding_box_format, f"{self}: bounding_box_format")
        if boxes.shape is not None and scores.shape is not None:
            pairs = [*zip(boxes.shape[:2], scores.shape[:2], strict=True), (boxes.shape[-1], 4)]
            if any(sizes_differ(a, b) for a, b in pairs):
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


def _message_argument(message: Any, label: str) -> str:
    return require_type(message, str, f"{label} must be a string")


@network_method(
    "add_assertion",
    "Assert a condition while the network runs.",
    "condition",
    message=Parameter(str, check=_message_argument),
)
class IAssertionLayer(ILayer, type=LayerType.ASSERTION):
    """A condition that has to hold, and the message where it does not."""

    FOLDABLE = False
    OUTPUTS = 0
    CHECKS = (type_and_rank_check(0, "bool", 0, 1),)

    message: str = ""

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        condition = constant_value(self.required_input(0))
        if condition is not None and not condition.all():
            raise self.error(f"its condition never holds: {self.message}", name=self.message)
        return ()

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        # The output is unused, but every operator needs one.
        scope.op("Assertion", *inputs, domain="tensorrt", message=self.message or "the assertion does not hold")
        return ()
