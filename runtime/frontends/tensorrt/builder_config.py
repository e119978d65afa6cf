"""Build options: they are stored, as scripts read them back, but do not affect what a network computes."""

from __future__ import annotations

import copy
from typing import Any

from .checked_attribute import CheckedAttribute
from .enums import SCRIPT_ENUMS, BuilderFlag, DataType, DeviceType, MemoryPoolType, PreviewFeature
from .inert_properties import InertContext
from .optimization_profile import IOptimizationProfile
from .removed_api import missing_api_error
from .script_location import require_type
from .script_state import current_state

#: Result of get_memory_pool_limit for a pool without a limit; the size of an assumed GPU.
_WORKSPACE_BYTES = 16 << 30

_DEFAULTS: dict[str, Any] = {
    "builder_optimization_level": 3,
    "profiling_verbosity": SCRIPT_ENUMS["ProfilingVerbosity"].LAYER_NAMES_ONLY,
    "avg_timing_iterations": 1,
    "engine_capability": SCRIPT_ENUMS["EngineCapability"].STANDARD,
    "default_device_type": DeviceType.GPU,
    "DLA_core": -1,
    "max_num_tactics": -1,
    "hardware_compatibility_level": SCRIPT_ENUMS["HardwareCompatibilityLevel"].NONE,
    "runtime_platform": SCRIPT_ENUMS["RuntimePlatform"].SAME_AS_BUILD,
    "plugins_to_serialize": [],
    "max_aux_streams": -1,
    "progress_monitor": None,
    "tiling_optimization_level": SCRIPT_ENUMS["TilingOptimizationLevel"].NONE,
    "l2_limit_for_tiling": -1,
    "profile_stream": 0,
    "remote_auto_tuning_config": "",
    "build_route": None,
    "int8_calibrator": None,
    "algorithm_selector": None,
    "quantization_flags": 0,
}


class ITimingCache:
    """An empty timing cache."""

    def __init__(self, data: bytes = b"") -> None:
        self._data = bytes(data)

    def serialize(self) -> IHostMemory:
        return IHostMemory(self._data)

    def combine(self, input_cache: ITimingCache, ignore_mismatch: bool) -> bool:
        return True

    def reset(self) -> bool:
        self._data = b""
        return True


class IHostMemory(InertContext, bytes):
    """A buffer of bytes, for example the text that replaces an engine."""

    nbytes = property(len)

    @property
    def dtype(self) -> DataType:
        return DataType.INT8


class IBuilderConfig(InertContext):
    """Options of a build."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.__dict__.update(copy.deepcopy(_DEFAULTS))
        self._flags = 1 << int(BuilderFlag.TF32)
        self._pools: dict[MemoryPoolType, int] = {}
        self._profiles: list[IOptimizationProfile] = []
        self._devices: dict[int, DeviceType] = {}
        self._preview: dict[PreviewFeature, bool] = {}
        self._tactics = sum(1 << int(source) for source in SCRIPT_ENUMS["TacticSource"])
        self._cache: ITimingCache | None = None
        self._calibration: IOptimizationProfile | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise missing_api_error("IBuilderConfig", name, dir(self))

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _DEFAULTS and name != "flags" and not name.startswith("_"):
            raise missing_api_error("IBuilderConfig", name, dir(self))
        super().__setattr__(name, value)

    flags = CheckedAttribute[int]("_flags", lambda config, value, label: int(value))

    def set_flag(self, flag: BuilderFlag) -> None:
        self._flags |= 1 << int(_check_flag(flag))

    def clear_flag(self, flag: BuilderFlag) -> None:
        self._flags &= ~(1 << int(_check_flag(flag)))

    def get_flag(self, flag: BuilderFlag) -> bool:
        return bool(self._flags >> int(_check_flag(flag)) & 1)

    def set_memory_pool_limit(self, pool: MemoryPoolType, pool_size: int) -> None:
        require_type(pool, MemoryPoolType, "set_memory_pool_limit takes a trt.MemoryPoolType")
        self._pools[pool] = int(pool_size)

    def get_memory_pool_limit(self, pool: MemoryPoolType) -> int:
        return self._pools.get(pool, _WORKSPACE_BYTES if pool is MemoryPoolType.WORKSPACE else 0)

    def add_optimization_profile(self, profile: IOptimizationProfile) -> int:
        requirement = "add_optimization_profile takes what builder.create_optimization_profile() made"
        require_type(profile, IOptimizationProfile, requirement)
        self._profiles.append(profile)
        return len(self._profiles) - 1

    num_optimization_profiles = property(lambda self: len(self._profiles))

    def set_calibration_profile(self, profile: IOptimizationProfile) -> bool:
        self._calibration = profile
        return True

    def get_calibration_profile(self) -> IOptimizationProfile | None:
        return self._calibration

    def set_quantization_flag(self, flag: Any) -> None:
        self.quantization_flags |= 1 << int(flag)

    def clear_quantization_flag(self, flag: Any) -> None:
        self.quantization_flags &= ~(1 << int(flag))

    def get_quantization_flag(self, flag: Any) -> bool:
        return bool(self.quantization_flags >> int(flag) & 1)

    def set_device_type(self, layer: Any, device_type: DeviceType) -> None:
        self._devices[id(layer)] = device_type

    def get_device_type(self, layer: Any) -> DeviceType:
        device_type: DeviceType = self._devices.get(id(layer), self.default_device_type)
        return device_type

    def is_device_type_set(self, layer: Any) -> bool:
        return id(layer) in self._devices

    def reset_device_type(self, layer: Any) -> None:
        self._devices.pop(id(layer), None)

    def can_run_on_DLA(self, layer: Any) -> bool:
        return False

    def set_tactic_sources(self, tactic_sources: int) -> bool:
        self._tactics = int(tactic_sources)
        return True

    def get_tactic_sources(self) -> int:
        return self._tactics

    def create_timing_cache(self, serialized_timing_cache: bytes = b"") -> ITimingCache:
        return ITimingCache(serialized_timing_cache)

    def set_timing_cache(self, cache: ITimingCache, ignore_mismatch: bool = False) -> bool:
        self._cache = cache
        return True

    def get_timing_cache(self) -> ITimingCache | None:
        return self._cache

    def set_preview_feature(self, feature: PreviewFeature, enable: bool) -> None:
        self._preview[feature] = bool(enable)

    def get_preview_feature(self, feature: PreviewFeature) -> bool:
        return self._preview.get(feature, False)

    def all_build_routes(self) -> list[Any]:
        return []


def _check_flag(flag: Any) -> BuilderFlag:
    checked = require_type(flag, BuilderFlag, "a flag of a config is a trt.BuilderFlag")
    if checked is BuilderFlag.INT8:
        current_state().note(
            "BuilderFlag.INT8 is ignored: nothing is calibrated, and layers compute in the types they have"
        )
    return checked
