"""TensorRT's enums, with its names and values."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from ...dtypes import dtype as dtype_of


class BoundEnum(Enum):
    """An enum as bound from C++: ``int(e)`` works, and it equals nothing but itself."""

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return int(self.value)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class DataType(BoundEnum):
    """Element types."""

    FLOAT = 0
    HALF = 1
    INT8 = 2
    INT32 = 3
    BOOL = 4
    UINT8 = 5
    FP8 = 6
    BF16 = 7
    INT64 = 8
    INT4 = 9
    FP4 = 10
    E8M0 = 11


_NAMES = {
    DataType.FLOAT: "float32",
    DataType.HALF: "float16",
    DataType.INT8: "int8",
    DataType.INT32: "int32",
    DataType.BOOL: "bool",
    DataType.UINT8: "uint8",
    DataType.FP8: "float8_e4m3fn",
    DataType.BF16: "bfloat16",
    DataType.INT64: "int64",
    DataType.INT4: "int4",
    DataType.FP4: "float4_e2m1fn",
    DataType.E8M0: "float8_e8m0fnu",
}
_TYPES = {name: data_type for data_type, name in _NAMES.items()}


def numpy_type(data_type: DataType) -> np.dtype[Any]:
    """The dtype of an element type; those that NumPy lacks come from ``ml_dtypes``."""
    return dtype_of(_NAMES[data_type])


def data_type(dtype: np.dtype[Any]) -> DataType | None:
    """The element type of a dtype; None where TensorRT has none."""
    return _TYPES.get(dtype.name)


class TripLimit(BoundEnum):
    """What limits the trips of a loop."""

    COUNT = 0
    WHILE = 1


class LoopOutput(BoundEnum):
    """What a loop's output is made of."""

    LAST_VALUE = 0
    CONCATENATE = 1
    REVERSE = 2


class ElementWiseOperation(BoundEnum):
    """Operations of two tensors, element by element."""

    SUM = 0
    PROD = 1
    MAX = 2
    MIN = 3
    SUB = 4
    DIV = 5
    POW = 6
    FLOOR_DIV = 7
    AND = 8
    OR = 9
    XOR = 10
    EQUAL = 11
    GREATER = 12
    LESS = 13


class LayerType(BoundEnum):
    """What kind of layer it is."""

    CONVOLUTION = 0
    CAST = 1
    ACTIVATION = 2
    POOLING = 3
    LRN = 4
    SCALE = 5
    SOFTMAX = 6
    DECONVOLUTION = 7
    CONCATENATION = 8
    ELEMENTWISE = 9
    PLUGIN = 10
    UNARY = 11
    PADDING = 12
    SHUFFLE = 13
    REDUCE = 14
    TOPK = 15
    GATHER = 16
    MATRIX_MULTIPLY = 17
    RAGGED_SOFTMAX = 18
    CONSTANT = 19
    IDENTITY = 20
    PLUGIN_V2 = 21
    SLICE = 22
    SHAPE = 23
    PARAMETRIC_RELU = 24
    RESIZE = 25
    TRIP_LIMIT = 26
    RECURRENCE = 27
    ITERATOR = 28
    LOOP_OUTPUT = 29
    SELECT = 30
    FILL = 31
    QUANTIZE = 32
    DEQUANTIZE = 33
    CONDITION = 34
    CONDITIONAL_INPUT = 35
    CONDITIONAL_OUTPUT = 36
    SCATTER = 37
    EINSUM = 38
    ASSERTION = 39
    ONE_HOT = 40
    NON_ZERO = 41
    GRID_SAMPLE = 42
    NMS = 43
    REVERSE_SEQUENCE = 44
    NORMALIZATION = 45
    PLUGIN_V3 = 46
    SQUEEZE = 47
    UNSQUEEZE = 48
    CUMULATIVE = 49
    DYNAMIC_QUANTIZE = 50
    ATTENTION_INPUT = 51
    ATTENTION_OUTPUT = 52
    ROTARY_EMBEDDING = 53
    KV_CACHE_UPDATE = 54
    MOE = 55
    DIST_COLLECTIVE = 56
