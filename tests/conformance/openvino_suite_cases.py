"""Inputs that OpenVINO's own suite tries, in more types."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from loopdbg.runtime.graph import System
from loopdbg.runtime.ops import registry

from . import openvino_cases
from .operator_cases import CaseGenerator, OperatorCase, special_tensor
from .single_node import attribute_text


def suite_cases(name: str) -> CaseGenerator:
    """The rows of ``openvino_cases``, their float32 inputs in another type."""

    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for tried in openvino_cases.CASES:
            result = registry.find_definition(System.OPENVINO, "", tried.type, tried.opset)
            if tried.type.lower() != name.lower() or result is None or result.since != version:
                continue
            arrays = [x.array if isinstance(x, openvino_cases.ConstInput) else x for x in tried.inputs]
            with np.errstate(all="ignore"):
                arrays = [x.astype(dtype) if x.dtype == np.float32 else x for x in arrays]
            attributes = {key: attribute_text(value) for key, value in tried.attributes.items()}
            yield OperatorCase(arrays, attributes, 2 if name == "ConvertPromoteTypes" else 1)

    return each


#: Moved or summed by several kernels; what OpenVINO's suite has is odd enough.
SUITE_OPERATORS = (
    "BatchNormInference BatchToSpace ConvertPromoteTypes DepthToSpace EmbeddingBagOffsets EmbeddingBagOffsetsSum"
    " EmbeddingBagPacked EmbeddingBagPackedSum EmbeddingSegmentsSum ExtractImagePatches Eye FakeQuantize GRN"
    " GridSample Interpolate LRN NormalizeL2 ReorgYolo Reverse ReverseSequence Roll ShuffleChannels SliceScatter"
    " SpaceToBatch SpaceToDepth"
)


def read_value_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    for known in (False, True):
        yield OperatorCase([special_tensor(dtype, 3), np.array(known), special_tensor(dtype, 4)], {"variable_id": "h"})
