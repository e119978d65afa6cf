"""TensorRT's enums of builds and engines: flags, formats, locations. Most of them have no effect here."""

from __future__ import annotations

from .enums import FlagEnum, PybindEnum


class NetworkDefinitionCreationFlag(FlagEnum):
    EXPLICIT_BATCH = 0
    STRONGLY_TYPED = 1
    PREFER_JIT_PYTHON_PLUGINS = 2
    PREFER_AOT_PYTHON_PLUGINS = 3


class TensorFormat(FlagEnum):
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


class TensorLocation(PybindEnum):
    DEVICE = 0
    HOST = 1


class TensorIOMode(PybindEnum):
    NONE = 0
    INPUT = 1
    OUTPUT = 2


class DeviceType(PybindEnum):
    GPU = 0
    DLA = 1


class WeightsRole(PybindEnum):
    KERNEL = 0
    BIAS = 1
    SHIFT = 2
    SCALE = 3
    CONSTANT = 4
    ANY = 5


class Severity(FlagEnum):
    INTERNAL_ERROR = 0
    ERROR = 1
    WARNING = 2
    INFO = 3
    VERBOSE = 4


class MemoryPoolType(PybindEnum):
    WORKSPACE = 0
    DLA_MANAGED_SRAM = 1
    DLA_LOCAL_DRAM = 2
    DLA_GLOBAL_DRAM = 3
    TACTIC_DRAM = 4
    TACTIC_SHARED_MEMORY = 5


class EngineCapability(PybindEnum):
    STANDARD = 0
    SAFETY = 1
    DLA_STANDALONE = 2


class ProfilingVerbosity(PybindEnum):
    LAYER_NAMES_ONLY = 0
    NONE = 1
    DETAILED = 2


class LayerInformationFormat(PybindEnum):
    ONELINE = 0
    JSON = 1


class HardwareCompatibilityLevel(PybindEnum):
    NONE = 0
    AMPERE_PLUS = 1
    SAME_COMPUTE_CAPABILITY = 2


class RuntimePlatform(PybindEnum):
    SAME_AS_BUILD = 0
    WINDOWS_AMD64 = 1


class TilingOptimizationLevel(PybindEnum):
    NONE = 0
    FAST = 1
    MODERATE = 2
    FULL = 3


class TempfileControlFlag(FlagEnum):
    ALLOW_IN_MEMORY_FILES = 0
    ALLOW_TEMPORARY_FILES = 1


class SerializationFlag(FlagEnum):
    EXCLUDE_WEIGHTS = 0
    EXCLUDE_LEAN_RUNTIME = 1
    INCLUDE_REFIT = 2


class ExecutionContextAllocationStrategy(PybindEnum):
    STATIC = 0
    ON_PROFILE_CHANGE = 1
    USER_MANAGED = 2


class TacticSource(FlagEnum):
    CUBLAS = 0
    CUBLAS_LT = 1
    CUDNN = 2
    EDGE_MASK_CONVOLUTIONS = 3
    JIT_CONVOLUTIONS = 4


class PreviewFeature(PybindEnum):
    PROFILE_SHARING_0806 = 0
    ALIASED_PLUGIN_IO_10_03 = 1
    RUNTIME_ACTIVATION_RESIZE_10_10 = 2
    MULTIDEVICE_RUNTIME_10_16 = 3


class OnnxParserFlag(FlagEnum):
    NATIVE_INSTANCENORM = 0
    ENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA = 1
    REPORT_CAPABILITY_DLA = 2
    ENABLE_PLUGIN_OVERRIDE = 3
    ADJUST_FOR_DLA = 4


class ErrorCodeTRT(PybindEnum):
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


class BuilderFlag(FlagEnum):
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


# -- plugins and allocators: unused here


class PluginFieldType(PybindEnum):
    FLOAT16 = 0
    FLOAT32 = 1
    FLOAT64 = 2
    INT8 = 3
    INT16 = 4
    INT32 = 5
    CHAR = 6
    DIMS = 7
    UNKNOWN = 8
    BF16 = 9
    INT64 = 10
    FP8 = 11
    INT4 = 12
    FP4 = 13


class PluginCapabilityType(PybindEnum):
    CORE = 0
    BUILD = 1
    RUNTIME = 2


class TensorRTPhase(PybindEnum):
    BUILD = 0
    RUNTIME = 1


class SeekPosition(PybindEnum):
    SET = 0
    CUR = 1
    END = 2


class AllocatorFlag(PybindEnum):
    RESIZABLE = 0


class QuantizationFlag(FlagEnum):
    CALIBRATE_BEFORE_FUSION = 0
