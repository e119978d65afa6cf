"""TensorRT's enums of tensors, layers and loops: names and values of version 10, with additions of 11."""

from __future__ import annotations

import functools
from enum import Enum, EnumMeta
from typing import Any

import numpy as np

from ...dtypes import dtype_from_name as dtype_of
from .removed_api import missing_api_error


class _ApiEnumMeta(EnumMeta):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise missing_api_error(cls.__name__, name, cls.__members__)


class PybindEnum(Enum, metaclass=_ApiEnumMeta):
    """Behaves as enums of the Python bindings: numbers only by ``int()``, equal only to members of the same enum."""

    def __int__(self) -> int:
        return int(self.value)

    __index__ = __int__


@functools.total_ordering
class FlagEnum(PybindEnum):
    """An enum that is ordered and whose members can be combined."""

    def __lt__(self, other: Any) -> bool:
        return int(self) < int(other)

    def __or__(self, other: Any) -> int:
        return int(self) | int(other)

    def __and__(self, other: Any) -> int:
        return int(self) & int(other)

    def __xor__(self, other: Any) -> int:
        return int(self) ^ int(other)

    __ror__, __rand__, __rxor__ = __or__, __and__, __xor__


class DataType(PybindEnum):
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

    @property
    def itemsize(self) -> float:
        """Bytes per element."""
        bits = _BIT_WIDTHS[self.name]
        return bits // 8 if bits >= 8 else bits / 8


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
_DATA_TYPES = {name: data_type for data_type, name in _NAMES.items()}
_BIT_WIDTHS = {"FLOAT": 32, "HALF": 16, "BF16": 16, "FP8": 8, "FP4": 4, "E8M0": 8}
_BIT_WIDTHS |= {"INT64": 64, "INT32": 32, "INT8": 8, "UINT8": 8, "INT4": 4, "BOOL": 8}


def numpy_type(data_type: DataType) -> np.dtype[Any]:
    """The dtype of NumPy or ml_dtypes."""
    return dtype_of(_NAMES[data_type])


def data_type(dtype: np.dtype[Any]) -> DataType | None:
    """TensorRT's type; None where it has none."""
    return _DATA_TYPES.get(dtype.name)


class ElementWiseOperation(PybindEnum):
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


class UnaryOperation(PybindEnum):
    EXP = 0
    LOG = 1
    SQRT = 2
    RECIP = 3
    ABS = 4
    NEG = 5
    SIN = 6
    COS = 7
    TAN = 8
    SINH = 9
    COSH = 10
    ASIN = 11
    ACOS = 12
    ATAN = 13
    ASINH = 14
    ACOSH = 15
    ATANH = 16
    CEIL = 17
    FLOOR = 18
    ERF = 19
    NOT = 20
    SIGN = 21
    ROUND = 22
    ISINF = 23
    ISNAN = 24


class ActivationType(PybindEnum):
    RELU = 0
    SIGMOID = 1
    TANH = 2
    LEAKY_RELU = 3
    ELU = 4
    SELU = 5
    SOFTSIGN = 6
    SOFTPLUS = 7
    CLIP = 8
    HARD_SIGMOID = 9
    SCALED_TANH = 10
    THRESHOLDED_RELU = 11
    GELU_ERF = 12
    GELU_TANH = 13


class ReduceOperation(PybindEnum):
    SUM = 0
    PROD = 1
    MAX = 2
    MIN = 3
    AVG = 4
    NONE = 5


class TopKOperation(PybindEnum):
    MAX = 0
    MIN = 1


class MatrixOperation(PybindEnum):
    NONE = 0
    TRANSPOSE = 1
    VECTOR = 2


class SampleMode(PybindEnum):
    STRICT_BOUNDS = 0
    WRAP = 1
    CLAMP = 2
    FILL = 3
    REFLECT = 4


class GatherMode(PybindEnum):
    DEFAULT = 0
    ELEMENT = 1
    ND = 2


class ScatterMode(PybindEnum):
    ELEMENT = 0
    ND = 1


class FillOperation(PybindEnum):
    LINSPACE = 0
    RANDOM_UNIFORM = 1
    RANDOM_NORMAL = 2


class LoopOutput(PybindEnum):
    LAST_VALUE = 0
    CONCATENATE = 1
    REVERSE = 2


class TripLimit(PybindEnum):
    COUNT = 0
    WHILE = 1


class CumulativeOperation(PybindEnum):
    SUM = 0


class PaddingMode(PybindEnum):
    EXPLICIT_ROUND_DOWN = 0
    EXPLICIT_ROUND_UP = 1
    SAME_UPPER = 2
    SAME_LOWER = 3


class PoolingType(PybindEnum):
    MAX = 0
    AVERAGE = 1
    MAX_AVERAGE_BLEND = 2


class ScaleMode(PybindEnum):
    UNIFORM = 0
    CHANNEL = 1
    ELEMENTWISE = 2


class InterpolationMode(PybindEnum):
    NEAREST = 0
    LINEAR = 1
    CUBIC = 2


class ResizeCoordinateTransformation(PybindEnum):
    ALIGN_CORNERS = 0
    ASYMMETRIC = 1
    HALF_PIXEL = 2


class ResizeSelector(PybindEnum):
    FORMULA = 0
    UPPER = 1


class ResizeRoundMode(PybindEnum):
    HALF_UP = 0
    HALF_DOWN = 1
    FLOOR = 2
    CEIL = 3


class BoundingBoxFormat(PybindEnum):
    CORNER_PAIRS = 0
    CENTER_SIZES = 1


class AttentionNormalizationOp(PybindEnum):
    NONE = 0
    SOFTMAX = 1


class CausalMaskKind(PybindEnum):
    NONE = 0
    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class AttentionIOForm(PybindEnum):
    PADDED_BHND = 0
    PACKED_NHD = 1


class KVCacheMode(PybindEnum):
    LINEAR = 0


class MoEActType(PybindEnum):
    NONE = 0
    SILU = 1


class CollectiveOperation(PybindEnum):
    ALL_REDUCE = 0
    ALL_GATHER = 1
    BROADCAST = 2
    REDUCE = 3
    REDUCE_SCATTER = 4
    ALL_TO_ALL = 5
    GATHER = 6
    SCATTER = 7


class LayerType(PybindEnum):
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
