"""TensorRT's enums: names and values of version 10, with additions of 11."""

from __future__ import annotations

import functools
from enum import Enum, EnumMeta
from typing import Any, NamedTuple

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
    FLOAT, HALF, INT8, INT32, BOOL, UINT8, FP8, BF16, INT64, INT4, FP4, E8M0 = range(12)

    @property
    def itemsize(self) -> float:
        """Bytes per element."""
        bits = _TYPES[self].bits
        return bits // 8 if bits >= 8 else bits / 8


class _TypeRow(NamedTuple):
    """``alias``: the type's other name in the module."""

    alias: str
    numpy_name: str
    bits: int


_TYPES = {
    DataType.FLOAT: _TypeRow("float32", "float32", 32),
    DataType.HALF: _TypeRow("float16", "float16", 16),
    DataType.INT8: _TypeRow("int8", "int8", 8),
    DataType.INT32: _TypeRow("int32", "int32", 32),
    DataType.BOOL: _TypeRow("bool", "bool", 8),
    DataType.UINT8: _TypeRow("uint8", "uint8", 8),
    DataType.FP8: _TypeRow("fp8", "float8_e4m3fn", 8),
    DataType.BF16: _TypeRow("bfloat16", "bfloat16", 16),
    DataType.INT64: _TypeRow("int64", "int64", 64),
    DataType.INT4: _TypeRow("int4", "int4", 4),
    DataType.FP4: _TypeRow("fp4", "float4_e2m1fn", 4),
    DataType.E8M0: _TypeRow("e8m0", "float8_e8m0fnu", 8),
}
TYPE_ALIASES = {row.alias: data_type for data_type, row in _TYPES.items()}
_DATA_TYPES = {row.numpy_name: data_type for data_type, row in _TYPES.items()}


def numpy_type(data_type: DataType) -> np.dtype[Any]:
    """The dtype of NumPy or ml_dtypes."""
    return dtype_of(_TYPES[data_type].numpy_name)


def data_type(dtype: np.dtype[Any]) -> DataType | None:
    """TensorRT's type; None where it has none."""
    return _DATA_TYPES.get(dtype.name)


class ElementWiseOperation(PybindEnum):
    SUM, PROD, MAX, MIN, SUB, DIV, POW, FLOOR_DIV, AND, OR, XOR, EQUAL, GREATER, LESS = range(14)


class UnaryOperation(PybindEnum):
    EXP, LOG, SQRT, RECIP, ABS, NEG, SIN, COS, TAN, SINH, COSH, ASIN, ACOS, ATAN, ASINH, ACOSH, ATANH = range(17)
    CEIL, FLOOR, ERF, NOT, SIGN, ROUND, ISINF, ISNAN = range(17, 25)


class ActivationType(PybindEnum):
    RELU, SIGMOID, TANH, LEAKY_RELU, ELU, SELU, SOFTSIGN, SOFTPLUS, CLIP, HARD_SIGMOID, SCALED_TANH = range(11)
    THRESHOLDED_RELU, GELU_ERF, GELU_TANH = range(11, 14)


class ReduceOperation(PybindEnum):
    SUM, PROD, MAX, MIN, AVG, NONE = range(6)


class TopKOperation(PybindEnum):
    MAX, MIN = range(2)


class MatrixOperation(PybindEnum):
    NONE, TRANSPOSE, VECTOR = range(3)


class SampleMode(PybindEnum):
    STRICT_BOUNDS, WRAP, CLAMP, FILL, REFLECT = range(5)


class GatherMode(PybindEnum):
    DEFAULT, ELEMENT, ND = range(3)


class ScatterMode(PybindEnum):
    ELEMENT, ND = range(2)


class FillOperation(PybindEnum):
    LINSPACE, RANDOM_UNIFORM, RANDOM_NORMAL = range(3)


class LoopOutput(PybindEnum):
    LAST_VALUE, CONCATENATE, REVERSE = range(3)


class TripLimit(PybindEnum):
    COUNT, WHILE = range(2)


class CumulativeOperation(PybindEnum):
    SUM = 0


class PaddingMode(PybindEnum):
    EXPLICIT_ROUND_DOWN, EXPLICIT_ROUND_UP, SAME_UPPER, SAME_LOWER = range(4)


class PoolingType(PybindEnum):
    MAX, AVERAGE, MAX_AVERAGE_BLEND = range(3)


class ScaleMode(PybindEnum):
    UNIFORM, CHANNEL, ELEMENTWISE = range(3)


class InterpolationMode(PybindEnum):
    NEAREST, LINEAR, CUBIC = range(3)


class ResizeCoordinateTransformation(PybindEnum):
    ALIGN_CORNERS, ASYMMETRIC, HALF_PIXEL = range(3)


class ResizeSelector(PybindEnum):
    FORMULA, UPPER = range(2)


class ResizeRoundMode(PybindEnum):
    HALF_UP, HALF_DOWN, FLOOR, CEIL = range(4)


class BoundingBoxFormat(PybindEnum):
    CORNER_PAIRS, CENTER_SIZES = range(2)


class AttentionNormalizationOp(PybindEnum):
    NONE, SOFTMAX = range(2)


class CausalMaskKind(PybindEnum):
    NONE, UPPER_LEFT, LOWER_RIGHT = range(3)


class AttentionIOForm(PybindEnum):
    PADDED_BHND, PACKED_NHD = range(2)


class KVCacheMode(PybindEnum):
    LINEAR = 0


class LayerType(PybindEnum):
    CONVOLUTION, CAST, ACTIVATION, POOLING, LRN, SCALE, SOFTMAX, DECONVOLUTION, CONCATENATION = range(9)
    ELEMENTWISE, PLUGIN, UNARY, PADDING, SHUFFLE, REDUCE, TOPK, GATHER, MATRIX_MULTIPLY, RAGGED_SOFTMAX = range(9, 19)
    CONSTANT, IDENTITY, PLUGIN_V2, SLICE, SHAPE, PARAMETRIC_RELU, RESIZE, TRIP_LIMIT, RECURRENCE = range(19, 28)
    ITERATOR, LOOP_OUTPUT, SELECT, FILL, QUANTIZE, DEQUANTIZE, CONDITION, CONDITIONAL_INPUT = range(28, 36)
    CONDITIONAL_OUTPUT, SCATTER, EINSUM, ASSERTION, ONE_HOT, NON_ZERO, GRID_SAMPLE, NMS = range(36, 44)
    REVERSE_SEQUENCE, NORMALIZATION, PLUGIN_V3, SQUEEZE, UNSQUEEZE, CUMULATIVE, DYNAMIC_QUANTIZE = range(44, 51)
    ATTENTION_INPUT, ATTENTION_OUTPUT, ROTARY_EMBEDDING, KV_CACHE_UPDATE, MOE, DIST_COLLECTIVE = range(51, 57)


class NetworkDefinitionCreationFlag(FlagEnum):
    EXPLICIT_BATCH, STRONGLY_TYPED, PREFER_JIT_PYTHON_PLUGINS, PREFER_AOT_PYTHON_PLUGINS = range(4)


class TensorLocation(PybindEnum):
    DEVICE, HOST = range(2)


class TensorIOMode(PybindEnum):
    NONE, INPUT, OUTPUT = range(3)


class DeviceType(PybindEnum):
    GPU, DLA = range(2)


class Severity(FlagEnum):
    INTERNAL_ERROR, ERROR, WARNING, INFO, VERBOSE = range(5)


class MemoryPoolType(PybindEnum):
    WORKSPACE, DLA_MANAGED_SRAM, DLA_LOCAL_DRAM, DLA_GLOBAL_DRAM, TACTIC_DRAM, TACTIC_SHARED_MEMORY = range(6)


class PreviewFeature(PybindEnum):
    PROFILE_SHARING_0806, ALIASED_PLUGIN_IO_10_03, RUNTIME_ACTIVATION_RESIZE_10_10 = range(3)
    MULTIDEVICE_RUNTIME_10_16 = 3


class OnnxParserFlag(FlagEnum):
    NATIVE_INSTANCENORM, ENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA, REPORT_CAPABILITY_DLA = range(3)
    ENABLE_PLUGIN_OVERRIDE, ADJUST_FOR_DLA = range(3, 5)


class ErrorCodeTRT(PybindEnum):
    SUCCESS, UNSPECIFIED_ERROR, INTERNAL_ERROR, INVALID_ARGUMENT, INVALID_CONFIG, FAILED_ALLOCATION = range(6)
    FAILED_INITIALIZATION, FAILED_EXECUTION, FAILED_COMPUTATION, INVALID_STATE, UNSUPPORTED_STATE = range(6, 11)


class BuilderFlag(FlagEnum):
    FP16, INT8, DEBUG, GPU_FALLBACK, REFIT, DISABLE_TIMING_CACHE, TF32, SPARSE_WEIGHTS, SAFETY_SCOPE = range(9)
    OBEY_PRECISION_CONSTRAINTS, PREFER_PRECISION_CONSTRAINTS, DIRECT_IO, REJECT_EMPTY_ALGORITHMS = range(9, 13)
    VERSION_COMPATIBLE, EXCLUDE_LEAN_RUNTIME, FP8, ERROR_ON_TIMING_CACHE_MISS, BF16 = range(13, 18)
    DISABLE_COMPILATION_CACHE, STRIP_PLAN = range(18, 20)
    WEIGHTLESS = STRIP_PLAN
    REFIT_IDENTICAL, WEIGHT_STREAMING, INT4, REFIT_INDIVIDUAL, STRICT_NANS, MONITOR_MEMORY = range(20, 26)
    FP4, EDITABLE_TIMING_CACHE, DISTRIBUTIVE_INDEPENDENCE = range(26, 29)


class PluginFieldType(PybindEnum):
    FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, CHAR, DIMS, UNKNOWN, BF16, INT64, FP8, INT4, FP4 = range(14)


#: Enums that only scripts name: their bases and members.
_SCRIPT_ENUM_MEMBERS: dict[str, tuple[Any, str]] = {
    "EngineCapability": (PybindEnum, "STANDARD SAFETY DLA_STANDALONE"),
    "ProfilingVerbosity": (PybindEnum, "LAYER_NAMES_ONLY NONE DETAILED"),
    "HardwareCompatibilityLevel": (PybindEnum, "NONE AMPERE_PLUS SAME_COMPUTE_CAPABILITY"),
    "RuntimePlatform": (PybindEnum, "SAME_AS_BUILD WINDOWS_AMD64"),
    "TilingOptimizationLevel": (PybindEnum, "NONE FAST MODERATE FULL"),
    "TacticSource": (FlagEnum, "CUBLAS CUBLAS_LT CUDNN EDGE_MASK_CONVOLUTIONS JIT_CONVOLUTIONS"),
    "MoEActType": (PybindEnum, "NONE SILU"),
    "CollectiveOperation": (
        PybindEnum,
        "ALL_REDUCE ALL_GATHER BROADCAST REDUCE REDUCE_SCATTER ALL_TO_ALL GATHER SCATTER",
    ),
    "WeightsRole": (PybindEnum, "KERNEL BIAS SHIFT SCALE CONSTANT ANY"),
    "LayerInformationFormat": (PybindEnum, "ONELINE JSON"),
    "ExecutionContextAllocationStrategy": (PybindEnum, "STATIC ON_PROFILE_CHANGE USER_MANAGED"),
    "PluginCapabilityType": (PybindEnum, "CORE BUILD RUNTIME"),
    "TensorRTPhase": (PybindEnum, "BUILD RUNTIME"),
    "SeekPosition": (PybindEnum, "SET CUR END"),
    "AllocatorFlag": (PybindEnum, "RESIZABLE"),
    "TensorFormat": (FlagEnum, "LINEAR CHW2 HWC8 CHW4 CHW16 CHW32 DHWC8 CDHW32 HWC DLA_LINEAR DLA_HWC4 HWC16 DHWC"),
    "TempfileControlFlag": (FlagEnum, "ALLOW_IN_MEMORY_FILES ALLOW_TEMPORARY_FILES"),
    "SerializationFlag": (FlagEnum, "EXCLUDE_WEIGHTS EXCLUDE_LEAN_RUNTIME INCLUDE_REFIT"),
    "QuantizationFlag": (FlagEnum, "CALIBRATE_BEFORE_FUSION"),
}
SCRIPT_ENUMS: dict[str, type[PybindEnum]] = {
    name: base(name, members, start=0, module=__name__) for name, (base, members) in _SCRIPT_ENUM_MEMBERS.items()
}
