"""Builder, and stubs of engines: a script ends with building one, and here the network is the result."""

from __future__ import annotations

from typing import Any

from .build_checks import check_nesting, check_network
from .builder_config import IBuilderConfig, IHostMemory
from .callbacks import ILogger
from .dims import Dims
from .enums import DataType, NetworkDefinitionCreationFlag, TensorIOMode
from .inert_properties import InertContext
from .layer import ITensor
from .nesting import Nesting
from .network import INetworkDefinition
from .optimization_profile import IOptimizationProfile
from .removed_api import missing_api_error
from .script_location import argument_error, call_error, caller_location, require_type
from .script_state import current_state, no_engine_error

#: Written by scripts in place of an engine; the text explains that it is none.
_NO_ENGINE_BYTES = b"no engine: loopdbg builds no engine: run this script with TensorRT itself to get one\n"


_SETTABLE_ATTRIBUTES = ("logger", "max_threads", "error_recorder", "gpu_allocator")


class Builder(InertContext):
    """Creates networks."""

    num_DLA_cores = 0
    max_DLA_batch_size = 1
    platform_has_fast_fp16 = True
    platform_has_fast_int8 = True
    platform_has_tf32 = True

    def __init__(self, logger: ILogger) -> None:
        require_type(logger, ILogger, "Builder takes a trt.Logger")
        self.logger = logger
        self.max_threads = 1
        self.error_recorder: Any = None
        self.gpu_allocator: Any = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise missing_api_error("Builder", name, dir(self))

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _SETTABLE_ATTRIBUTES and not hasattr(type(self), name):
            raise missing_api_error("Builder", name, [*dir(self), *_SETTABLE_ATTRIBUTES])
        object.__setattr__(self, name, value)

    def create_network(self, flags: int = 0) -> INetworkDefinition:
        """An empty network; ``flags``: bits of NetworkDefinitionCreationFlag."""
        if isinstance(flags, bool) or not hasattr(flags, "__index__"):
            raise argument_error(
                f"create_network takes flags as a number, such as"
                f" 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED), not {flags!r:.60}"
            )
        known = 1 << len(NetworkDefinitionCreationFlag)
        if not 0 <= int(flags) < known:
            raise argument_error(f"create_network: TensorRT has no flags {int(flags):#x}")
        state = current_state()
        network = INetworkDefinition(f"Unnamed Network {len(state.networks)}")
        network._flags, network._builder = int(flags), self
        state.networks.append(network)
        return network

    def create_builder_config(self) -> IBuilderConfig:
        return IBuilderConfig()

    def create_optimization_profile(self) -> IOptimizationProfile:
        profile = IOptimizationProfile()
        current_state().profiles.append(profile)
        return profile

    def build_serialized_network(self, network: INetworkDefinition, config: IBuilderConfig) -> IHostMemory:
        """Check the network by the rules of a build. The result is not an engine."""
        _record_build(network, config, "build_serialized_network")
        return IHostMemory(_NO_ENGINE_BYTES)

    def build_serialized_network_to_stream(
        self, network: INetworkDefinition, config: IBuilderConfig, writer: Any
    ) -> bool:
        _record_build(network, config, "build_serialized_network_to_stream")
        return True

    def build_engine_with_config(self, network: INetworkDefinition, config: IBuilderConfig) -> ICudaEngine:
        _record_build(network, config, "build_engine_with_config")
        return ICudaEngine(network)

    def is_network_supported(self, network: INetworkDefinition, config: IBuilderConfig) -> bool:
        validate(network)
        return True

    def get_plugin_registry(self) -> Any:
        return get_plugin_registry()

    def reset(self) -> None:
        pass


def validate(network: INetworkDefinition) -> None:
    """Check a network by the rules of a build.

    Raises:
        ModelError: TensorRT would reject it.
    """
    check_network(network)
    check_nesting(Nesting(network))
    if not network.outputs:
        raise call_error("the network has no output; mark_output(tensor) marks one")


def _record_build(network: Any, config: Any, method: str) -> None:
    require_type(network, INetworkDefinition, f"{method} takes a network")
    require_type(config, IBuilderConfig, f"{method} takes a config of builder.create_builder_config()")
    validate(network)
    state = current_state()
    state.built_networks.append((network, list(config._profiles)))
    state.note(f"{caller_location().origin()}: {method} held the network to TensorRT's rules; no engine is built.")


class _UnavailableEngine(InertContext):
    """Base of classes that need an engine: any use of their attributes is an error that says so."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise no_engine_error(f"{type(self).__name__}.{name}")


class ICudaEngine(_UnavailableEngine):
    """An engine stub with the inputs and outputs of its network."""

    def __init__(self, network: INetworkDefinition) -> None:
        super().__init__()
        self._network = network

    def _io_tensors(self) -> dict[str, ITensor]:
        return {tensor.name: tensor for tensor in (*self._network.inputs, *self._network.outputs)}

    num_io_tensors = property(lambda self: len(self._io_tensors()))
    num_layers = property(lambda self: self._network.num_layers)
    name = property(lambda self: self._network.name)

    def get_tensor_name(self, index: int) -> str:
        return list(self._io_tensors())[index]

    def get_tensor_mode(self, name: str) -> TensorIOMode:
        tensor = self._io_tensors().get(name)
        if tensor is None:
            return TensorIOMode.NONE
        return TensorIOMode.INPUT if tensor.is_network_input else TensorIOMode.OUTPUT

    def get_tensor_shape(self, name: str) -> Dims:
        tensor = self._io_tensors().get(name)
        return Dims.invalid() if tensor is None else tensor.shape

    def get_tensor_dtype(self, name: str) -> DataType:
        tensor = self._io_tensors().get(name)
        return DataType.FLOAT if tensor is None else tensor.dtype

    def serialize(self) -> IHostMemory:
        return IHostMemory(_NO_ENGINE_BYTES)


class IExecutionContext(_UnavailableEngine):
    """Runs an engine."""


class Runtime(_UnavailableEngine):
    """Loads engines."""

    def deserialize_cuda_engine(self, serialized_engine: Any) -> Any:
        raise no_engine_error("Runtime.deserialize_cuda_engine")


class EngineInspector(_UnavailableEngine):
    """Inspects an engine."""


class IPluginRegistry:
    """An empty plugin registry."""

    plugin_creator_list: tuple[Any, ...] = ()
    all_creators: tuple[Any, ...] = ()

    def get_plugin_creator(self, type: str, version: str, plugin_namespace: str = "") -> None:
        return None

    def get_creator(self, type: str, version: str, plugin_namespace: str = "") -> None:
        return None

    def register_creator(self, creator: Any, plugin_namespace: str = "") -> bool:
        return True

    def load_library(self, plugin_path: str) -> None:
        return None


def get_plugin_registry() -> IPluginRegistry:
    return IPluginRegistry()


def get_builder_plugin_registry(capability: Any) -> IPluginRegistry:
    return IPluginRegistry()


def init_libnvinfer_plugins(logger: Any, namespace: str) -> bool:
    return True


def get_nv_onnx_parser_version() -> int:
    return 101600
