"""TensorRT's enums: names and values of version 10, with what 11 adds (TensorRT's headers, Python bindings)."""

from __future__ import annotations

import functools
from enum import Enum, EnumMeta
from typing import Any

import numpy as np

from ...dtypes import dtype as dtype_of
from .gone import missing


class _Meta(EnumMeta):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise missing(cls.__name__, name, cls.__members__)


class BoundEnum(Enum, metaclass=_Meta):
    """Behaves as the enums of the Python bindings do: numbers only by ``int()``, equal only to their own kind."""

    def __int__(self) -> int:
        return int(self.value)

    __index__ = __int__


@functools.total_ordering
class _Arithmetic(BoundEnum):
    """One of the few that have an order and can be combined."""

    def __lt__(self, other: Any) -> bool:
        return int(self) < int(other)

    def __or__(self, other: Any) -> int:
        return int(self) | int(other)

    def __and__(self, other: Any) -> int:
        return int(self) & int(other)

    def __xor__(self, other: Any) -> int:
        return int(self) ^ int(other)

    __ror__, __rand__, __rxor__ = __or__, __and__, __xor__


class DataType(BoundEnum):
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
        """Bytes an element."""
        bits = _BITS[self.name]
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
_TYPES = {name: data_type for data_type, name in _NAMES.items()}
_BITS = {"FLOAT": 32, "HALF": 16, "BF16": 16, "FP8": 8, "FP4": 4, "E8M0": 8}
_BITS |= {"INT64": 64, "INT32": 32, "INT8": 8, "UINT8": 8, "INT4": 4, "BOOL": 8}


def numpy_type(data_type: DataType) -> np.dtype[Any]:
    """NumPy's type, or that of ml_dtypes."""
    return dtype_of(_NAMES[data_type])


def data_type(dtype: np.dtype[Any]) -> DataType | None:
    """TensorRT's type; None where it has none."""
    return _TYPES.get(dtype.name)


class ElementWiseOperation(BoundEnum):
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


class UnaryOperation(BoundEnum):
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


class ActivationType(BoundEnum):
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


class ReduceOperation(BoundEnum):
    SUM = 0
    PROD = 1
    MAX = 2
    MIN = 3
    AVG = 4
    NONE = 5


class TopKOperation(BoundEnum):
    MAX = 0
    MIN = 1


class MatrixOperation(BoundEnum):
    NONE = 0
    TRANSPOSE = 1
    VECTOR = 2


class SampleMode(BoundEnum):
    STRICT_BOUNDS = 0
    WRAP = 1
    CLAMP = 2
    FILL = 3
    REFLECT = 4


class GatherMode(BoundEnum):
    DEFAULT = 0
    ELEMENT = 1
    ND = 2


class ScatterMode(BoundEnum):
    ELEMENT = 0
    ND = 1


class FillOperation(BoundEnum):
    LINSPACE = 0
    RANDOM_UNIFORM = 1
    RANDOM_NORMAL = 2


class LoopOutput(BoundEnum):
    LAST_VALUE = 0
    CONCATENATE = 1
    REVERSE = 2


class TripLimit(BoundEnum):
    COUNT = 0
    WHILE = 1


class CumulativeOperation(BoundEnum):
    SUM = 0


class PaddingMode(BoundEnum):
    EXPLICIT_ROUND_DOWN = 0
    EXPLICIT_ROUND_UP = 1
    SAME_UPPER = 2
    SAME_LOWER = 3


class PoolingType(BoundEnum):
    MAX = 0
    AVERAGE = 1
    MAX_AVERAGE_BLEND = 2


class ScaleMode(BoundEnum):
    UNIFORM = 0
    CHANNEL = 1
    ELEMENTWISE = 2


class InterpolationMode(BoundEnum):
    NEAREST = 0
    LINEAR = 1
    CUBIC = 2


class ResizeCoordinateTransformation(BoundEnum):
    ALIGN_CORNERS = 0
    ASYMMETRIC = 1
    HALF_PIXEL = 2


class ResizeSelector(BoundEnum):
    FORMULA = 0
    UPPER = 1


class ResizeRoundMode(BoundEnum):
    HALF_UP = 0
    HALF_DOWN = 1
    FLOOR = 2
    CEIL = 3


class BoundingBoxFormat(BoundEnum):
    CORNER_PAIRS = 0
    CENTER_SIZES = 1


class AttentionNormalizationOp(BoundEnum):
    NONE = 0
    SOFTMAX = 1


class CausalMaskKind(BoundEnum):
    NONE = 0
    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class AttentionIOForm(BoundEnum):
    PADDED_BHND = 0
    PACKED_NHD = 1


class KVCacheMode(BoundEnum):
    LINEAR = 0


class MoEActType(BoundEnum):
    NONE = 0
    SILU = 1


class CollectiveOperation(BoundEnum):
    ALL_REDUCE = 0
    ALL_GATHER = 1
    BROADCAST = 2
    REDUCE = 3
    REDUCE_SCATTER = 4
    ALL_TO_ALL = 5
    GATHER = 6
    SCATTER = 7


class NetworkDefinitionCreationFlag(_Arithmetic):
    EXPLICIT_BATCH = 0
    STRONGLY_TYPED = 1
    PREFER_JIT_PYTHON_PLUGINS = 2
    PREFER_AOT_PYTHON_PLUGINS = 3


class TensorFormat(_Arithmetic):
    LINEAR = 0
    CHW2 = 1
    HWC8 = 2
    CHW4 = 3
    CHW16 = 4
    CHW32 = 5
    DHWC8 = 6
    CDHW32 = 7
    HWC = 8
    DLA_LINEAR = 9
    DLA_HWC4 = 10
    HWC16 = 11
    DHWC = 12


class TensorLocation(BoundEnum):
    DEVICE = 0
    HOST = 1


class TensorIOMode(BoundEnum):
    NONE = 0
    INPUT = 1
    OUTPUT = 2


class DeviceType(BoundEnum):
    GPU = 0
    DLA = 1


class WeightsRole(BoundEnum):
    KERNEL = 0
    BIAS = 1
    SHIFT = 2
    SCALE = 3
    CONSTANT = 4
    ANY = 5


class Severity(_Arithmetic):
    INTERNAL_ERROR = 0
    ERROR = 1
    WARNING = 2
    INFO = 3
    VERBOSE = 4


class MemoryPoolType(BoundEnum):
    WORKSPACE = 0
    DLA_MANAGED_SRAM = 1
    DLA_LOCAL_DRAM = 2
    DLA_GLOBAL_DRAM = 3
    TACTIC_DRAM = 4
    TACTIC_SHARED_MEMORY = 5


class EngineCapability(BoundEnum):
    STANDARD = 0
    SAFETY = 1
    DLA_STANDALONE = 2


class ProfilingVerbosity(BoundEnum):
    LAYER_NAMES_ONLY = 0
    NONE = 1
    DETAILED = 2


class LayerInformationFormat(BoundEnum):
    ONELINE = 0
    JSON = 1


class HardwareCompatibilityLevel(BoundEnum):
    NONE = 0
    AMPERE_PLUS = 1
    SAME_COMPUTE_CAPABILITY = 2


class RuntimePlatform(BoundEnum):
    SAME_AS_BUILD = 0
    WINDOWS_AMD64 = 1


class TilingOptimizationLevel(BoundEnum):
    NONE = 0
    FAST = 1
    MODERATE = 2
    FULL = 3


class TempfileControlFlag(_Arithmetic):
    ALLOW_IN_MEMORY_FILES = 0
    ALLOW_TEMPORARY_FILES = 1


class SerializationFlag(_Arithmetic):
    EXCLUDE_WEIGHTS = 0
    EXCLUDE_LEAN_RUNTIME = 1
    INCLUDE_REFIT = 2


class ExecutionContextAllocationStrategy(BoundEnum):
    STATIC = 0
    ON_PROFILE_CHANGE = 1
    USER_MANAGED = 2


class TacticSource(_Arithmetic):
    CUBLAS = 0
    CUBLAS_LT = 1
    CUDNN = 2
    EDGE_MASK_CONVOLUTIONS = 3
    JIT_CONVOLUTIONS = 4


class PreviewFeature(BoundEnum):
    PROFILE_SHARING_0806 = 0
    ALIASED_PLUGIN_IO_10_03 = 1
    RUNTIME_ACTIVATION_RESIZE_10_10 = 2
    MULTIDEVICE_RUNTIME_10_16 = 3


class OnnxParserFlag(_Arithmetic):
    NATIVE_INSTANCENORM = 0
    ENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA = 1
    REPORT_CAPABILITY_DLA = 2
    ENABLE_PLUGIN_OVERRIDE = 3
    ADJUST_FOR_DLA = 4


class ErrorCodeTRT(BoundEnum):
    SUCCESS = 0
    UNSPECIFIED_ERROR = 1
    INTERNAL_ERROR = 2
    INVALID_ARGUMENT = 3
    INVALID_CONFIG = 4
    FAILED_ALLOCATION = 5
    FAILED_INITIALIZATION = 6
    FAILED_EXECUTION = 7
    FAILED_COMPUTATION = 8
    INVALID_STATE = 9
    UNSUPPORTED_STATE = 10


class BuilderFlag(_Arithmetic):
    FP16 = 0
    INT8 = 1
    DEBUG = 2
    GPU_FALLBACK = 3
    REFIT = 4
    DISABLE_TIMING_CACHE = 5
    TF32 = 6
    SPARSE_WEIGHTS = 7
    SAFETY_SCOPE = 8
    OBEY_PRECISION_CONSTRAINTS = 9
    PREFER_PRECISION_CONSTRAINTS = 10
    DIRECT_IO = 11
    REJECT_EMPTY_ALGORITHMS = 12
    VERSION_COMPATIBLE = 13
    EXCLUDE_LEAN_RUNTIME = 14
    FP8 = 15
    ERROR_ON_TIMING_CACHE_MISS = 16
    BF16 = 17
    DISABLE_COMPILATION_CACHE = 18
    STRIP_PLAN = 19
    WEIGHTLESS = 19
    REFIT_IDENTICAL = 20
    WEIGHT_STREAMING = 21
    INT4 = 22
    REFIT_INDIVIDUAL = 23
    STRICT_NANS = 24
    MONITOR_MEMORY = 25
    FP4 = 26
    EDITABLE_TIMING_CACHE = 27
    DISTRIBUTIVE_INDEPENDENCE = 28


class LayerType(BoundEnum):
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


def enums() -> dict[str, type[BoundEnum]]:
    """Every enum by the name that the module has it under."""
    found = {
        name: kind
        for name, kind in globals().items()
        if isinstance(kind, type) and issubclass(kind, BoundEnum) and not name.startswith("_") and kind is not BoundEnum
    }
    del found["Severity"]  # it is Logger.Severity
    return found
