"""Unsupported layers of TensorRT: their classes exist, but adding one is an error."""

from __future__ import annotations

from typing import Any, NoReturn

from ..enums import LayerType
from ..layer import ILayer
from ..network import INetworkDefinition
from ..removed_api import unsupported_api_error
from .network_methods import register_method

#: The classes of the layers -> their types and docstrings.
_CLASSES = {
    "IPluginV2Layer": (LayerType.PLUGIN_V2, "A plugin of an older API version."),
    "IPluginV3Layer": (LayerType.PLUGIN_V3, "A plugin."),
    "IDynamicQuantizeLayer": (LayerType.DYNAMIC_QUANTIZE, "Quantisation by scales computed at run time."),
    "IMoELayer": (LayerType.MOE, "A mixture of experts."),
    "IDistCollectiveLayer": (LayerType.DIST_COLLECTIVE, "A collective operation of several GPUs."),
}
globals().update(
    (name, type(name, (ILayer,), {"TYPE": layer_type, "__doc__": doc, "__module__": __name__}))
    for name, (layer_type, doc) in _CLASSES.items()
)

#: Methods of the network that take anything -> their docstrings.
_METHODS = {
    "add_plugin": "A plugin by a function.",
    "add_dynamic_quantize": "Quantisation by scales computed at run time.",
    "add_dynamic_quantize_v2": "Quantisation by scales computed at run time, for blocks of any shape.",
    "add_moe": "A mixture of experts.",
    "add_dist_collective": "A collective operation of several GPUs.",
}


def _register_unsupported(name: str, doc: str) -> None:
    def add(network: INetworkDefinition, *_: Any, **__: Any) -> NoReturn:
        raise unsupported_api_error("INetworkDefinition", name)

    add.__name__, add.__doc__ = name, doc
    register_method(add)


for _name, _doc in _METHODS.items():
    _register_unsupported(_name, _doc)


@register_method
def add_plugin_v2(network: INetworkDefinition, inputs: Any, plugin: Any) -> NoReturn:
    """A plugin of an older API version."""
    raise unsupported_api_error("INetworkDefinition", "add_plugin_v2")


@register_method
def add_plugin_v3(network: INetworkDefinition, inputs: Any, shape_inputs: Any, plugin: Any) -> NoReturn:
    """A plugin."""
    raise unsupported_api_error("INetworkDefinition", "add_plugin_v3")
