"""Unsupported layers of TensorRT: their classes exist, but adding one is an error."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from ..enums import LayerType
from ..layer import ILayer
from ..network import INetworkDefinition, network_method
from ..removed_api import unsupported_api_error


class IPluginV2Layer(ILayer):
    """A plugin of an older API version."""

    TYPE: ClassVar[LayerType] = LayerType.PLUGIN_V2


class IPluginV3Layer(ILayer):
    """A plugin."""

    TYPE: ClassVar[LayerType] = LayerType.PLUGIN_V3


class IDynamicQuantizeLayer(ILayer):
    """Quantisation by scales computed at run time."""

    TYPE: ClassVar[LayerType] = LayerType.DYNAMIC_QUANTIZE


class IMoELayer(ILayer):
    """A mixture of experts."""

    TYPE: ClassVar[LayerType] = LayerType.MOE


class IDistCollectiveLayer(ILayer):
    """A collective operation of several GPUs."""

    TYPE: ClassVar[LayerType] = LayerType.DIST_COLLECTIVE


@network_method
def add_plugin(network: INetworkDefinition, *_: Any, **__: Any) -> NoReturn:
    """A plugin by a function."""
    raise unsupported_api_error("INetworkDefinition", "add_plugin")


@network_method
def add_plugin_v2(network: INetworkDefinition, inputs: Any, plugin: Any) -> NoReturn:
    """A plugin of an older API version."""
    raise unsupported_api_error("INetworkDefinition", "add_plugin_v2")


@network_method
def add_plugin_v3(network: INetworkDefinition, inputs: Any, shape_inputs: Any, plugin: Any) -> NoReturn:
    """A plugin."""
    raise unsupported_api_error("INetworkDefinition", "add_plugin_v3")


@network_method
def add_dynamic_quantize(network: INetworkDefinition, *_: Any, **__: Any) -> NoReturn:
    """Quantisation by scales computed at run time."""
    raise unsupported_api_error("INetworkDefinition", "add_dynamic_quantize")


@network_method
def add_dynamic_quantize_v2(network: INetworkDefinition, *_: Any, **__: Any) -> NoReturn:
    """Quantisation by scales computed at run time, for blocks of any shape."""
    raise unsupported_api_error("INetworkDefinition", "add_dynamic_quantize_v2")


@network_method
def add_moe(network: INetworkDefinition, *_: Any, **__: Any) -> NoReturn:
    """A mixture of experts."""
    raise unsupported_api_error("INetworkDefinition", "add_moe")


@network_method
def add_dist_collective(network: INetworkDefinition, *_: Any, **__: Any) -> NoReturn:
    """A collective operation of several GPUs."""
    raise unsupported_api_error("INetworkDefinition", "add_dist_collective")
